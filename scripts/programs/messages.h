/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/messages.h - messages between threads that work like the ranks of a parallel program.
 *
 * Each pair of ranks has a box for one message in each direction. Only the values are copied; a waiting rank sleeps. No
 * function of the library calls another one.
 */
#ifndef MESSAGES_H
#define MESSAGES_H

#define MESSAGE_RANKS 16
#define MESSAGE_VALUES 1024

/* Send to @to, once its box is empty. */
void message_send(int from, int to, const double *value, int n);
/* Receive from @from, once its message is there. */
void message_receive(int from, int to, double *value, int n);
/* Say where message_wait() shall put the next message from @from. One at a time for each rank. */
void message_post(int from, int to, double *value, int n);
void message_wait(int to);
/* Give each of @ranks the sum over all of them. */
double message_sum(int ranks, double value);

#endif
