/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/control/tune/pml_tune_guard.h - a process that restores settings when the process that changed them is gone.
 * Internal.
 */
#ifndef PML_TUNE_GUARD_H
#define PML_TUNE_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PML__GUARD_TEXT 64

/*
 * A file that is guarded, in memory that both processes see. The one that changes the file fills @text, then sets
 * @changed, then writes; when it has put the file back it clears @changed.
 */
struct pml__guard_slot {
  int fd;
  bool truncate; /* no file of the kernel: what is longer than the new text stays without it */
  uint32_t n;
  char text[PML__GUARD_TEXT];
  atomic_bool changed;
};

struct pml__guard;

/*
 * pml__guard_start - @n slots, all zero but for @fd[i], and the process, which sees the files by the descriptors that
 * are open now. @watched: false makes the slots alone.
 * pml__guard_stop - the process goes, and touches nothing that is not changed.
 *
 * The process is no child that wait() meets, has no terminal, has all signals blocked and no descriptor but those it
 * needs. It waits for the death of the process that started it (pidfd), or for its exec or stop (end of a socket). Its
 * memory is a copy, as after any fork: later changes of the parent are not visible in it. It does not survive SIGKILL
 * to itself: of a job's whole control group, or the end of a container whose first process is the parent.
 *
 * Returns 0, -ENOMEM, -EAGAIN or -EMFILE. Not async-signal-safe; start and stop are not to be called at once.
 */
int pml__guard_start(struct pml__guard **g, const int *fd, size_t n, bool watched);
void pml__guard_stop(struct pml__guard *g);

struct pml__guard_slot *pml__guard_slot(struct pml__guard *g, size_t i);

/* pml__guard_write - @n bytes as the file's content; 0 or -errno. Async-signal-safe. */
int pml__guard_write(int fd, bool truncate, const char *text, size_t n);

#endif
