/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_guard.c - the process that restores changed settings after another process's death. */
#include "control/tune/pml_tune_control_private.h"

#include "base/pml_error.h"
#include "base/pml_libc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAPS 10000 /* naps until its end: one second in total */
#define NAP_NS 100000
#define PASSES 2 /* a limit may be refused until another is restored */

struct pml__guard {
  size_t n, bytes;
  pid_t pid;
  int end; /* a socket whose other end belongs to the watching process; -1: not watched */
  struct pml__guard_slot slot[];
};

int pml__guard_write(int fd, bool truncate, const char *text, size_t n) {
  if (pwrite(fd, text, n, 0) < 0) return -errno;
  if (truncate && ftruncate(fd, (off_t)n) < 0) return -errno;
  return 0;
}

/* --- the watching process: only system calls --- */

static void put_back(struct pml__guard *g) {
  for (int pass = 0; pass < PASSES; pass++) {
    for (size_t i = 0; i < g->n; i++) {
      struct pml__guard_slot *s = &g->slot[i];
      if (!atomic_load_explicit(&s->changed, memory_order_acquire)) continue;
      if (pml__guard_write(s->fd, s->truncate, s->text, s->n) == 0) atomic_store(&s->changed, false);
    }
  }
  /* Children of the dead process may have copies of its descriptors, and with them its locks. */
  for (size_t i = 0; i < g->n; i++)
    if (g->slot[i].fd >= 0) (void)flock(g->slot[i].fd, LOCK_UN);
}

static void close_range_of(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
  for (unsigned fd = first; fd <= last && fd < 65536; fd++) close((int)fd);
}

/* @keep is sorted. */
static void close_all_but(const int *keep, size_t n) {
  unsigned first = 0;
  for (size_t i = 0; i < n; i++) {
    if (keep[i] < 0) continue;
    if (keep[i] > 0) close_range_of(first, (unsigned)keep[i] - 1);
    first = (unsigned)keep[i] + 1;
  }
  close_range_of(first, ~0u);
}

static _Noreturn void watch(struct pml__guard *g, const int *keep, size_t nkeep, int end, int parent) {
  (void)setsid();
  (void)prctl(PR_SET_NAME, "pmlua-guard");
  (void)!chdir("/");
  close_all_but(keep, nkeep);
  struct pollfd p[2] = {{.fd = end, .events = POLLIN}, {.fd = parent, .events = POLLIN}};
  while (poll(p, 2, -1) < 0 && errno == EINTR) {
  }
  put_back(g);
  _exit(0);
}

/* --- the watched process --- */

static int ascending(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

/* Created without an exit signal, so that a wait() of the program does not return it. A raw system call, because
 * handlers of fork() are for children that continue the program. */
static int clone_watch(struct pml__guard *g, const int *keep, size_t nkeep, int end, int parent) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  g->pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
  int err = g->pid < 0 ? -errno : 0;
  if (g->pid == 0) watch(g, keep, nkeep, end, parent);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return err;
}

static int start_watch(struct pml__guard *g) {
  int end[2];
  int *keep = calloc(g->n + 2, sizeof *keep);
  if (keep == NULL) return -ENOMEM;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) < 0) {
    int err = -errno;
    free(keep);
    return err;
  }
  int parent =
      (int)syscall(SYS_pidfd_open, getpid(), 0); /* before Linux 5.3 only the socket reports the parent's death */
  for (size_t i = 0; i < g->n; i++) keep[i] = g->slot[i].fd;
  keep[g->n] = end[0];
  keep[g->n + 1] = parent;
  qsort(keep, g->n + 2, sizeof *keep, ascending);
  int err = clone_watch(g, keep, g->n + 2, end[0], parent);
  free(keep);
  close(end[0]);
  if (parent >= 0) close(parent);
  if (err < 0)
    close(end[1]);
  else
    g->end = end[1];
  return err;
}

int pml__guard_start(struct pml__guard **out, const int *fd, size_t n, bool watched) {
  size_t bytes = sizeof(struct pml__guard) + n * sizeof(struct pml__guard_slot);
  *out = NULL;
  struct pml__guard *g = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (g == MAP_FAILED) return pml_fail(-ENOMEM, "no memory for the values of %zu files", n);
  g->n = n;
  g->bytes = bytes;
  g->end = -1;
  for (size_t i = 0; i < n; i++) g->slot[i].fd = fd[i];
  int err = watched ? start_watch(g) : 0;
  if (err < 0) {
    munmap(g, bytes);
    return pml_fail(err, "cannot start the process that restores settings after a crash: %s", pml_error_text(err));
  }
  *out = g;
  return 0;
}

/* A message, not only end of file, because children of this process may also hold the socket. */
void pml__guard_stop(struct pml__guard *g) {
  if (g == NULL) return;
  if (g->end >= 0) {
    (void)!send(g->end, "", 1, MSG_NOSIGNAL);
    close(g->end);
    for (unsigned i = 0; i < NAPS && waitpid(g->pid, NULL, (int)__WCLONE | WNOHANG) == 0; i++)
      nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
  }
  munmap(g, g->bytes);
}

struct pml__guard_slot *pml__guard_slot(struct pml__guard *g, size_t i) {
  return &g->slot[i];
}
