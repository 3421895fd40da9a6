/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/confine.h - wrappers of prctl() and syscall(), which can revoke resources of a recording: system calls
 * (seccomp) and the processor's clock (seccomp's strict mode, PR_SET_TSC). Internal.
 *
 * A program that confines itself by instructions of its own is not seen.
 */
#ifndef PML_CONFINE_H
#define PML_CONFINE_H

#include <stdbool.h>

/* The calling thread, and with it perhaps the process, is about to be confined. What else prctl() does is not told. */
void pml__preload_confined(bool without_clock);

/* The same of the processor's clock: the kernel's takes its place, and events are not counted any more. */
void pml__preload_clockless(void);

/*
 * pml__preload_begin - the process is about to give up rights: a child that has waited so far makes its log now. Not in
 * a signal handler.
 */
void pml__preload_begin(void);

#endif
