/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/pml_call_layout.h - where stubs.S finds what; pml_call.c holds it to the structures. */
#ifndef PML_CALL_LAYOUT_H
#define PML_CALL_LAYOUT_H

/* struct pml__stream_own, of the thread */
#define OWN_OPEN 16
#define OWN_TICKS 24

/* struct pml__stream_thread: its pass, what that is else, and what it knows that enters and leaves of calls are handed
 * to */
#define THREAD_PASS 0
#define THREAD_FREE 8
#define ENTERS_PLAIN 16
#define ENTERS_DATA 24
#define LEAVES_PLAIN 32
#define LEAVES_DATA 40

/* From a pad's place in its table: */
#define PADS_BYTES 0x80000 /* of all pads, and of each table */
#define CALL_OUTER 0
#define CALL_INNER 8
#define CALL_ADDRESS (-PADS_BYTES)
#define CALL_SP (-PADS_BYTES + 8)
#define CALL_CODE (PADS_BYTES)
#define CALL_REGION (PADS_BYTES + 8)

#define FUNCTION_REGION 8

#endif
