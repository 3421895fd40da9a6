/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_client.h - the client side of a running application's socket. */
#ifndef LIVE_CLIENT_H
#define LIVE_CLIENT_H

#include "live/live_frame.h"

#include <stdbool.h>

struct live_client {
  int fd;
  bool owed; /* an answer, whose question was asked: the wait for it was interrupted */
  struct live_frame answer;
};

/*
 * live_client_open - connect to the socket @path: 0, or why not, and nothing is open. live_client_close - disconnect.
 * live_client_send - one question, until @deadline on the monotonic clock; the answer to an abandoned question comes
 * first, and is dropped. live_client_receive - its answer into @answer, of which the caller resets the frame.
 * 0, -ETIMEDOUT, -ECONNRESET, -EINTR, PML_EFORMAT or the system's code.
 */
int live_client_open(struct live_client *c, const char *path);
void live_client_close(struct live_client *c);
int live_client_send(struct live_client *c, enum live_kind kind, const char *payload, size_t n, double deadline);
int live_client_receive(struct live_client *c, double deadline);
double live_client_now(void); /* seconds of the monotonic clock */

#endif
