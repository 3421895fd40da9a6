/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_control_private.h - structure of a setting. Internal. */
#ifndef PML_TUNE_CONTROL_PRIVATE_H
#define PML_TUNE_CONTROL_PRIVATE_H

#include "base/pml_cancel.h"
#include "control/tune/pml_tune_control.h"
#include "control/tune/pml_tune_guard.h"

#include <stdatomic.h>
#include <sys/types.h>

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
  bool held;    /* no other process has it, and the slot what was there */
  bool refused; /* by the last write */
  bool told_refused, told_other;
  char in_force[PML__CONTROL_TEXT];     /* written last; before the first, what is there */
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

/* With the control file's lock. pml__control_put_back - as it was, to the byte; a value that was none cannot be, and
 * need not. pml__control_tell - that the last write was refused, once. */
int pml__control_put_back(struct pml__control *x);
void pml__control_tell(struct pml__control *x, int err);

#endif
