/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_breakpoint.h - test of hardware breakpoints on this machine. */
#ifndef PML_BREAKPOINT_H
#define PML_BREAKPOINT_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * pml__breakpoint_check - does a breakpoint on a variable of pmlua count a write to it?
 * @name: what the caller wants to open, for the detail.
 *
 * Some virtual machines accept breakpoints and never trap: every count would be 0. Returns 0 (also where it could not
 * be tried, so that the caller's own open says why) or PML_ENOTHERE. Cost: the first call opens, reads and closes an
 * event.
 */
int pml__breakpoint_check(const char *name);

/*
 * pml__breakpoint_target - may breakpoint @name be set in thread @pid (0: the calling one, negative: a whole cpu)?
 * A symbol (mem:SYMBOL) is resolved in the calling process: its address is wrong for another program.
 * @on_exec: the thread becomes another program first. Returns 0 or PML_ENOSYMBOL. Cost: two system calls of others.
 */
int pml__breakpoint_target(const char *name, pid_t pid, bool on_exec);

#endif
