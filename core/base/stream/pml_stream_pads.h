/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/stream/pml_stream_pads.h - the pads of calls under way, which adapter/arch returns calls through: here are
 * their tables, as each thread's first pad, which is of no call, is where its row begins. Internal.
 */
#ifndef PML_STREAM_PADS_H
#define PML_STREAM_PADS_H

#include "base/pml_region.h"

#include <stdint.h>

#define PML_ARCH_PADS 32768u /* calls under way at a time, in all threads; pads.S has the same number */
#define PML_ARCH_PAD_BYTES 16u

/*
 * What belongs to the calls of the pads, in tables side by side: so from a place in one the other two are at fixed
 * distances. A slot has the size of a pad: the rule of unwinding counts on it, and finds the slots first.
 */
struct pml_arch_slot {
  uintptr_t address; /* the code that made the call; the rule of unwinding reads it */
  uintptr_t sp;      /* of the call */
};
struct pml__call_pad {
  struct pml__call_pad *outer, *inner; /* in the thread's row of pads */
};
struct pml__call_what {
  uintptr_t code; /* the pad's address; plus one while its call is a tail call, which the leave code in C ends */
  pml_region_t region;
  uint32_t tail; /* 0: the call returns to the slot's address; else it ends a recorded call, and returns to that pad */
};
extern __attribute__((visibility("hidden"))) struct pml__call_table {
  struct pml_arch_slot slot[PML_ARCH_PADS];
  struct pml__call_pad pad[PML_ARCH_PADS];
  struct pml__call_what what[PML_ARCH_PADS];
} pml__call_table;

#define PML__CALL_NONE (&pml__call_table.pad[0]) /* of no thread: the row of one that has no pads */

#endif
