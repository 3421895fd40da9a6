/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/kernel/pml_rdpmc_fault.h - fallback to read(2) when a user-space counter read faults. Internal.
 *
 * When root writes 0 to the PMU's rdpmc file (x86) or to kernel.perf_user_access (arm64), the kernel forbids the
 * counter instruction on all cpus at once, but mapped pages do not show it: the next read faults. A check before the
 * instruction would not help, because the permission may be lost between check and instruction. So the instruction may
 * fault: each object that contains one lists it in a table, with the address to continue at and the register that holds
 * the page, and a signal handler looks it up there. The handler replaces the page by a page that forbids reads, so a
 * page costs a single signal, not a signal for each read. A read that does not fault takes no further instruction.
 */
#ifndef PML_RDPMC_FAULT_H
#define PML_RDPMC_FAULT_H

#include "base/pml_api.h"

#include <linux/perf_event.h>

/*
 * pml__rdpmc_guard - start catching SIGSEGV (x86) or SIGILL (arm64) of the counter instructions; once, before the first
 * page is read. All other signals go to the previous handler, with its flags and mask; if that was the default, the
 * signal ends the program as usual. A handler that the program installs later replaces this one, and then gets the
 * signal of a read that was forbidden meanwhile. Cost: two syscalls, the first time. Thread-safe, not
 * async-signal-safe.
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
