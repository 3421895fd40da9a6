/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/confine.h - wrappers of prctl(), syscall() and clone(), which can revoke resources of a recording:
 * system calls (seccomp), the processor's clock (seccomp's strict mode, PR_SET_TSC), and thread-local data that only
 * one thread uses (clone). Internal.
 *
 * A program that confines itself by inline system calls is not detected.
 */
#ifndef PML_CONFINE_H
#define PML_CONFINE_H

#include <stdbool.h>

/* The calling thread, and perhaps the process, is about to be confined. Not called for other operations of prctl(). */
void pml__preload_confined(bool without_clock);

/* The same for the processor's clock: the kernel's clock replaces it, and events are no longer counted. */
void pml__preload_clockless(void);

/* The calling thread is about to share its thread-local data with a child that runs at the same time. */
void pml__preload_twinned(void);

/*
 * pml__preload_begin - the process is about to drop rights: a child without a log so far makes its log now. Not in a
 * signal handler.
 */
void pml__preload_begin(void);

#endif
