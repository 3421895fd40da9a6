/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/stream/pml_stream_calls.h - return slots and frames of recorded calls (see adapter/arch/pml_call.h). The
 * tables are here because each thread's state begins with a frame. Internal.
 */
#ifndef PML_STREAM_CALLS_H
#define PML_STREAM_CALLS_H

#include "base/pml_region.h"

#include <stdint.h>

#define PML_ARCH_SLOTS 65536u /* return addresses of recorded calls; slots.S has the same number */
#define PML_ARCH_SLOT_BYTES 16u

/* Never changes once its code is in use: a return through the slot continues at @back. */
struct pml_arch_slot {
  uintptr_t address; /* the caller of the call, for unwinding; for a tail call, the caller of the call it ends */
  uintptr_t back;    /* where the call returns to: the same, or for a tail call the slot of the call it ends */
};

/* Which slot a return address has: an entry of a hash table. Never changes once @back is set, which is last. */
struct pml__call_known {
  uintptr_t back; /* atomic; 0: free, or about to be set */
  uintptr_t code; /* atomic; of the slot */
};
#define PML__CALL_KNOWN (2 * PML_ARCH_SLOTS)

/* An open call. It serves the measurement only: no call returns by it unless sp and slot agree. */
struct pml__call_frame {
  struct pml__call_frame *outer, *inner; /* in the thread's list */
  uintptr_t sp;                          /* of the call */
  const struct pml__call_known *known;   /* its slot's entry; the entry without an address: a wrapper's call */
  pml_region_t region;
  uint32_t site; /* part of the return address of an instrumented function */
};
#define PML__CALL_FRAMES 32768u /* calls under way at a time, in all threads; then more are mapped */

extern __attribute__((visibility("hidden"))) struct pml__call_table {
  struct pml_arch_slot slot[PML_ARCH_SLOTS]; /* first: the rule of unwinding counts on it */
  struct pml__call_known known[PML__CALL_KNOWN];
  struct pml__call_frame frame[PML__CALL_FRAMES];
} pml__call_table;

#define PML__CALL_NONE (&pml__call_table.frame[0]) /* belongs to no thread: the list of a thread without frames */

#endif
