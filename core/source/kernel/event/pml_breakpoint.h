/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_breakpoint.h - whether hardware breakpoints fire on this machine. */
#ifndef PML_BREAKPOINT_H
#define PML_BREAKPOINT_H

/*
 * pml__breakpoint_check - does a breakpoint on a variable of our own count a write to it?
 * @name: what the caller wants to open, for the detail.
 *
 * Some virtual machines accept breakpoints and never trap: every count would be 0. Returns 0 (also where it could not
 * be tried, so that the caller's own open says why) or PML_ENOTHERE. Cost: the first call opens, reads and closes an
 * event.
 */
int pml__breakpoint_check(const char *name);

#endif
