/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_control_private.h - structure of a control file, and the process that restores it.
 * Internal. */
#ifndef PML_TUNE_CONTROL_PRIVATE_H
#define PML_TUNE_CONTROL_PRIVATE_H

#include "base/pml_cancel.h"
#include "control/tune/pml_tune_control.h"

#include <stdatomic.h>
#include <sys/types.h>

/* ---- a process that restores settings when the process that changed them is gone: pml_tune_guard.c ---- */

#define PML__GUARD_TEXT 64

/* A guarded file, in memory that both processes share. The process that changes the file fills @text, then sets
 * @changed, then writes; once it has restored the file it clears @changed. */
struct pml__guard_slot {
  int fd;
  bool truncate; /* a regular file, which must be truncated to the new text */
  uint32_t n;
  char text[PML__GUARD_TEXT];
  atomic_bool changed;
};

struct pml__guard;

/*
 * pml__guard_start - make @n slots, zero except for @fd[i], and the guard process, which inherits the descriptors that
 * are open now. @watched: false makes only the slots.
 * pml__guard_stop - end the guard process, which restores only changed files.
 *
 * The guard process is invisible to wait(), has no terminal, blocks all signals and keeps only the descriptors that it
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

/* ---- control files ---- */

struct pml__control_request {
  uint64_t owner;
  char text[PML__CONTROL_TEXT];
};

struct pml__control {
  struct pml__controls *of;
  struct pml__control *next;
  char *path;
  char value[PML__CONTROL_TEXT];
  dev_t device;
  ino_t inode;
  int fd;        /* -1: it cannot be written */
  bool truncate; /* no file of the kernel */
  struct pml__mutex lock;
  struct pml__guard_slot *slot;
  bool held;    /* no other process has it, and the slot contains the original text */
  bool refused; /* by the last write */
  bool told_refused, told_other;
  char in_force[PML__CONTROL_TEXT];     /* written last; before the first write, the original text */
  struct pml__control_request *request; /* [n] in the order of asking */
  size_t n, room;
};

struct pml__controls {
  struct pml__controls_options options;
  char *root;
  pid_t pid;
  struct pml__control *first, **last;
  size_t n;
  struct pml__guard *guard;
  struct pml__notes notes;
  atomic_bool ended; /* nothing is written any more */
  _Atomic uint64_t writes, refused;
  struct pml__controls *next_open;
};

/* pml__control_read - the first line of the file; -errno. */
int pml__control_read(int fd, char text[PML__CONTROL_TEXT]);

/* With the control file's lock. pml__control_put_back - restore the original bytes; an invalid original value cannot be
 * restored, and need not be. pml__control_tell - report once that the last write was refused. */
int pml__control_put_back(struct pml__control *x);
void pml__control_tell(struct pml__control *x, int err);

#endif
