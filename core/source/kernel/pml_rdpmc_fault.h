/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/kernel/pml_rdpmc_fault.h - fallback to read(2) when a user-space counter read faults. Internal.
 *
 * When root writes 0 to the PMU's rdpmc file (x86) or to kernel.perf_user_access (arm64), the kernel forbids the
 * counter instruction on all cpus at once, and pages that are mapped do not say so: the next read faults. Nothing that
 * a reader could look at first would help, as the permission may go between the look and the instruction. So the
 * instruction may fault: the objects that have one name it in a table, with where to go on and the register that holds
 * the page, and a handler of the signal looks there. It puts a page in the place of the one that was read which says
 * that it may not be read, so that a page costs one signal and not one for each read. A read that does not fault takes
 * no instruction more.
 */
#ifndef PML_RDPMC_FAULT_H
#define PML_RDPMC_FAULT_H

#include "base/pml_api.h"

#include <linux/perf_event.h>

/*
 * pml__rdpmc_guard - catch SIGSEGV (x86) or SIGILL (arm64) of the counter instructions from now on; once, before the
 * first page is read. All other signals go to what was installed before, with its flags and mask; where that was the
 * default, the program ends by the signal as without this. A program that installs its own handler afterwards takes the
 * place of this one, and then gets the signal of a read that was forbidden meanwhile.
 * Cost: two syscalls, the first time. Thread-safe, not async-signal-safe.
 */
void pml__rdpmc_guard(void);

/* An entry of the table: at label @insn, with the page in register @page, a fault leads to @landing. */
#if defined(__x86_64__)
/* The number of a register is its place in a signal's context. */
#define PML__RDPMC_FAULT(insn, page, landing)                                                                          \
  ".pushsection pml_rdpmc_faults, \"a\"\n\t"                                                                           \
  ".balign 4\n\t"                                                                                                      \
  ".long " insn " - ., " landing " - .\n\t"                                                                            \
  ".set .Lpml_register, 0\n\t"                                                                                         \
  ".irp r, r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp\n\t"                           \
  ".ifc " page ", %%\\r\n\t"                                                                                           \
  ".long .Lpml_register\n\t"                                                                                           \
  ".endif\n\t"                                                                                                         \
  ".set .Lpml_register, .Lpml_register + 1\n\t"                                                                        \
  ".endr\n\t"                                                                                                          \
  ".popsection\n\t"
#elif defined(__aarch64__)
#define PML__RDPMC_FAULT(insn, page, landing)                                                                          \
  ".pushsection pml_rdpmc_faults, \"a\"\n\t"                                                                           \
  ".balign 4\n\t"                                                                                                      \
  ".long " insn " - ., " landing " - .\n\t"                                                                            \
  ".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, " \
  "29, 30\n\t"                                                                                                         \
  ".ifc " page ", x\\r\n\t"                                                                                            \
  ".long \\r\n\t"                                                                                                      \
  ".endif\n\t"                                                                                                         \
  ".endr\n\t"                                                                                                          \
  ".popsection\n\t"
#endif

#endif
