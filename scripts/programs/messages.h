/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/messages.h - messages between threads that work like the ranks of a parallel program.
 *
 * Each pair of ranks has a box for one message in each direction. Nothing is copied but the values; a rank that waits
 * sleeps. No function calls another one of the library.
 */
#ifndef MESSAGES_H
#define MESSAGES_H

#define MESSAGE_RANKS 16
#define MESSAGE_VALUES 1024

/* To @to, once its box is empty. */
void message_send(int from, int to, const double *value, int n);
/* From @from, once it is there. */
void message_receive(int from, int to, double *value, int n);
/* Where the next message from @from is wanted; message_wait() puts it there. One at a time for each rank. */
void message_post(int from, int to, double *value, int n);
void message_wait(int to);
/* The sum over all @ranks, to each of them. */
double message_sum(int ranks, double value);

#endif
