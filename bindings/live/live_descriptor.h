/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/live/live_descriptor.h - a socket that survives close() calls of the program and reuse of its number.
 *
 * Daemons close every descriptor and open new ones. So each of ours is a socket, which has a unique inode (all eventfds
 * and epolls share one), and its identity is checked before each use. Between the check and the call another thread may
 * still exchange it. Therefore it gets a high number soon after it was made, which the program's descriptors do not
 * get; and send, recv and accept fail on anything but a socket.
 */
#ifndef LIVE_DESCRIPTOR_H
#define LIVE_DESCRIPTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct live_descriptor {
  _Atomic int fd; /* -1: none. Stored last (release): a forked child that sees it has the rest */
  dev_t device;
  ino_t inode;
};

/* live_descriptor_none, live_descriptor_take - hold none, or @fd from now on. The previous one is not closed. */
void live_descriptor_none(struct live_descriptor *d);
void live_descriptor_take(struct live_descriptor *d, int fd);

/* live_descriptor_lift - move the descriptor of @d to a high number, if one is free. */
void live_descriptor_lift(struct live_descriptor *d);

/*
 * live_descriptor_take_bound - the same for a new socket whose name is @path: none of the program's has that, which may
 * have closed ours and opened its own since. False: @fd is not ours any more, and not to be touched; none is held.
 */
bool live_descriptor_take_bound(struct live_descriptor *d, int fd, const char *path);

/* live_descriptor_move - what @from holds is held by @to. */
void live_descriptor_move(struct live_descriptor *to, struct live_descriptor *from);

static inline bool live_descriptor_held(const struct live_descriptor *d) {
  return atomic_load_explicit(&((struct live_descriptor *)d)->fd, memory_order_acquire) >= 0;
}

/* live_descriptor_get - its number; -1: not open, or closed by the program. Cost: one fstat. */
int live_descriptor_get(const struct live_descriptor *d);

/* live_descriptor_lost - one was held, and the program has closed it. */
bool live_descriptor_lost(const struct live_descriptor *d);

/*
 * live_descriptor_close - and hold none. A copy in a forked child keeps a socket open; with @shut its other end sees
 * end-of-file nevertheless. A descriptor that is not ours any more is only forgotten.
 */
void live_descriptor_close(struct live_descriptor *d, bool shut);

#endif
