/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_knob_private.h - structure of a setting. Internal. */
#ifndef PML_TUNE_KNOB_PRIVATE_H
#define PML_TUNE_KNOB_PRIVATE_H

#include "base/pml_cancel.h"
#include "control/tune/pml_tune_guard.h"
#include "control/tune/pml_tune_knob.h"

#include <stdatomic.h>
#include <sys/types.h>

struct pml__knob_request {
  uint64_t owner;
  char text[PML__KNOB_TEXT];
};

struct pml__knob {
  struct pml__knobs *of;
  struct pml__knob *next;
  char *path;
  char value[PML__KNOB_TEXT];
  dev_t device;
  ino_t inode;
  int fd;        /* -1: it cannot be written */
  bool truncate; /* no file of the kernel */
  struct pml__mutex lock;
  struct pml__guard_slot *slot;
  bool held;    /* no other process has it, and the slot what was there */
  bool refused; /* by the last write */
  bool told_refused, told_other;
  char in_force[PML__KNOB_TEXT];     /* written last; before the first, what is there */
  struct pml__knob_request *request; /* [n] in the order of asking */
  size_t n, room;
};

struct pml__knobs {
  struct pml__knobs_options options;
  char *root;
  pid_t pid;
  struct pml__knob *first, **last;
  size_t n;
  struct pml__guard *guard;
  struct pml__notes notes;
  atomic_bool ended; /* nothing is written any more */
  _Atomic uint64_t writes, refused;
  struct pml__knobs *next_open;
};

/* pml__knob_read - the first line of the file; -errno. */
int pml__knob_read(int fd, char text[PML__KNOB_TEXT]);

/* With the knob's lock. pml__knob_put_back - as it was, to the byte; a value that was none cannot be, and need not.
 * pml__knob_tell - that the last write was refused, once. */
int pml__knob_put_back(struct pml__knob *x);
void pml__knob_tell(struct pml__knob *x, int err);

#endif
