/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_descriptor.c - a socket that survives close() calls of the program. */
#include "live/live_descriptor.h"

#include "base/pml_file.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

void live_descriptor_none(struct live_descriptor *d) {
  atomic_store_explicit(&d->fd, -1, memory_order_release);
}

static bool is(int fd, const struct live_descriptor *d) {
  struct stat st;
  return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == d->device && st.st_ino == d->inode;
}

void live_descriptor_take(struct live_descriptor *d, int fd) {
  struct stat st;
  bool there = fd >= 0 && fstat(fd, &st) == 0;
  if (there) {
    d->device = st.st_dev;
    d->inode = st.st_ino;
  }
  atomic_store_explicit(&d->fd, there ? fd : -1, memory_order_release);
}

void live_descriptor_lift(struct live_descriptor *d) {
  int fd = live_descriptor_get(d), high = fd < 0 ? -1 : pml__file_high(fd);
  if (high < 0) return;
  if (!is(high, d)) {
    close(high);
    return;
  }
  if (is(fd, d)) close(fd);
  atomic_store_explicit(&d->fd, high, memory_order_release);
}

static bool is_bound(int fd, const char *path) {
  struct sockaddr_un a = {.sun_family = AF_UNSPEC};
  socklen_t n = sizeof a;
  return getsockname(fd, (struct sockaddr *)&a, &n) == 0 && a.sun_family == AF_UNIX &&
         strncmp(a.sun_path, path, sizeof a.sun_path) == 0;
}

/* In this order: if the name is ours, so was the descriptor that was taken before. */
bool live_descriptor_take_bound(struct live_descriptor *d, int fd, const char *path) {
  live_descriptor_take(d, fd);
  if (is_bound(fd, path))
    live_descriptor_lift(d);
  else
    live_descriptor_none(d);
  return live_descriptor_held(d);
}

void live_descriptor_move(struct live_descriptor *to, struct live_descriptor *from) {
  to->device = from->device;
  to->inode = from->inode;
  atomic_store_explicit(&to->fd, from->fd, memory_order_release);
  live_descriptor_none(from);
}

int live_descriptor_get(const struct live_descriptor *d) {
  int fd = atomic_load_explicit(&((struct live_descriptor *)d)->fd, memory_order_acquire);
  return is(fd, d) ? fd : -1;
}

bool live_descriptor_lost(const struct live_descriptor *d) {
  return live_descriptor_held(d) && live_descriptor_get(d) < 0;
}

void live_descriptor_close(struct live_descriptor *d, bool shut) {
  if (!live_descriptor_held(d)) return; /* not written: a forked child shares the page until it is */
  int fd = live_descriptor_get(d);
  live_descriptor_none(d);
  if (fd < 0) return;
  if (shut) shutdown(fd, SHUT_RDWR);
  close(fd);
}
