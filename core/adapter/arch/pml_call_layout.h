/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/pml_call_layout.h - field offsets for stubs.S, checked against the structures in pml_call.c. */
#ifndef PML_CALL_LAYOUT_H
#define PML_CALL_LAYOUT_H

/* struct pml__stream_own, of the thread */
#define OWN_OPEN 16
#define OWN_STREAM 24
#define OWN_FROM 32
#define OWN_TICKS 40

/* struct pml__stream_thread: its guard, the value of that when free, and the functions that get enters and leaves of
 * calls */
#define THREAD_GUARD 0
#define THREAD_FREE 8
#define ENTERS_FAST 16
#define ENTERS_DATA 24
#define LEAVES_FAST 32
#define LEAVES_DATA 40

/* struct pml__call_frame */
#define FRAME_OUTER 0
#define FRAME_INNER 8
#define FRAME_SP 16
#define FRAME_KNOWN 24
#define FRAME_REGION 32

/* struct pml__call_known, and where these are in struct pml__call_table; a slot's code; the hash: pml__call_hash() */
#define KNOWN_BACK 0
#define KNOWN_CODE 8
#define KNOWN_AT 0x100000
#define KNOWN_SHIFT 11
#define KNOWN_MASK 0x1ffff0
#define HASH 0x9e3779b1

#define FUNCTION_REGION 8

#endif
