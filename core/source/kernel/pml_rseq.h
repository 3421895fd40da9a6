/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/kernel/pml_rseq.h - restartable counter reads: no migration between loading the index and reading the
 * counter. Internal.
 *
 * If cores differ in kind, a thread that migrates after it has loaded the index reads a counter that the new core may
 * not have, which faults. A restartable sequence (rseq(2), registered by the C library) closes the window: the kernel
 * checks the thread's area whenever it preempts the thread or delivers a signal, and if the thread is between start and
 * end of the section whose descriptor is there, continues it at the section's abort address. So either both
 * instructions run on one cpu, or the try counts as disturbed by a kernel write. A stale descriptor does no harm: the
 * thread is outside of the section, and the library is never unloaded.
 */
#ifndef PML_RSEQ_H
#define PML_RSEQ_H

#include "source/kernel/pml_rdpmc_fault.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* From the thread pointer to the calling thread's area, as the C library says; set by pml__rseq_ready(). */
extern intptr_t pml__rseq_offset __attribute__((visibility("hidden")));

/*
 * pml__rseq_ready - is the calling thread's area registered with the kernel? False before glibc 2.35 or Linux 4.18,
 * where the tunable glibc.pthread.rseq is 0, and on architectures without a section here. Cost: some loads.
 * Thread-safe, async-signal-safe.
 */
bool pml__rseq_ready(void);

/* start, end and abort of a section are its labels 1, 2 and 4; 3 is its descriptor */
#define PML__RSEQ_DESCRIPTOR                                                                                           \
  ".pushsection pml_rseq_sections, \"aw\"\n\t"                                                                         \
  ".balign 32\n"                                                                                                       \
  "3:\t.long 0, 0\n\t"                                                                                                 \
  ".quad 1f, 2f - 1f, 4f\n\t"                                                                                          \
  ".popsection\n\t"

#if defined(__x86_64__)

#define PML_RSEQ 1

/* Replaced by specs, which own the counters. */
#ifndef PML_RSEQ_INSN
#define PML_RSEQ_INSN "rdpmc"
#endif

/*
 * pml__rseq_rdpmc - the counter that the page names. 1: *@pmc is read; 0: the page names none, or it is forbidden by
 * now (pml_rdpmc_fault.h); -1: the thread was disturbed. The stores to the area and the instructions between 1 and 2
 * stay in their order: they are one piece of assembly, and what interrupts them is the thread's own kernel entry.
 */
static inline __attribute__((always_inline)) int pml__rseq_rdpmc(const volatile struct perf_event_mmap_page *pc,
                                                                 uint64_t *pmc) {
  const volatile uint32_t *at = &pc->index;
  uint64_t lo = 0, hi = 0;
  __asm__ goto volatile(PML__RSEQ_DESCRIPTOR "movq %[offset], %%rdx\n\t"
                                             "leaq 3b(%%rip), %%rcx\n\t"
                                             "movq %%rcx, %%fs:8(%%rdx)\n"
                                             "1:\tmovl %[index], %%ecx\n\t"
                                             "subl $1, %%ecx\n\t"
                                             "jb %l[none]\n"
                                             "5:\t" PML_RSEQ_INSN "\n"
                                             "2:\n\t"
                                             ".pushsection .text.unlikely, \"ax\"\n\t"
                                             ".byte 0x0f, 0xb9, 0x3d\n\t" /* ud1: the signature is no instruction */
                                             ".long 0x53053053\n"
                                             "4:\tjmp %l[disturbed]\n\t"
                                             ".popsection\n\t" PML__RDPMC_FAULT("4b", "%[page]", "%l[none]")
                                                 PML__RDPMC_FAULT("5b", "%[page]", "%l[none]")
                        : "=a"(lo), "=&d"(hi)
                        : [index] "m"(*at), [page] "r"(pc), [offset] "m"(pml__rseq_offset)
                        : "rcx", "cc", "memory"
                        : none, disturbed);
  *pmc = hi << 32 | lo;
  return 1;
none:
  return 0;
disturbed:
  return -1;
}

#elif defined(__aarch64__)

#define PML_RSEQ 1

/* As on x86-64; the number of a counter is part of the instruction, so there is one for each, and a jump among them. */
static inline __attribute__((always_inline)) int pml__rseq_rdpmc(const volatile struct perf_event_mmap_page *pc,
                                                                 uint64_t *pmc) {
  uintptr_t area = (uintptr_t)__builtin_thread_pointer() + (uintptr_t)pml__rseq_offset;
  uint64_t value, at, index;
  __asm__ goto volatile(PML__RSEQ_DESCRIPTOR
                        "adrp %[at], 3b\n\t"
                        "add %[at], %[at], :lo12:3b\n\t"
                        "str %[at], [%[area], #8]\n"
                        "1:\tldr %w[index], %[from]\n\t"
                        "subs %w[index], %w[index], #1\n\t"
                        "b.lo %l[none]\n\t"
                        "cmp %w[index], #31\n\t"
                        "b.hi %l[none]\n\t"
                        "adr %[at], 5f\n\t"
                        "add %[at], %[at], %[index], lsl #3\n\t"
                        "br %[at]\n"
                        "5:\n\t"
                        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, "
                        "24, 25, 26, 27, 28, 29, 30\n\t"
                        "mrs %[value], pmevcntr\\n\\()_el0\n\t"
                        "b 2f\n\t"
                        ".endr\n\t"
                        "mrs %[value], pmccntr_el0\n"
                        "2:\n\t"
                        ".pushsection .text.unlikely, \"ax\"\n\t"
                        ".inst 0xd428bc00\n" /* the signature: a brk that is never executed */
                        "4:\tb %l[disturbed]\n\t"
                        ".popsection\n\t" PML__RDPMC_FAULT("4b", "%[page]", "%l[none]")
                        : [value] "=&r"(value), [at] "=&r"(at), [index] "=&r"(index)
                        : [from] "m"(pc->index), [page] "r"(pc), [area] "r"(area)
                        : "cc", "memory"
                        : none, disturbed);
  *pmc = value;
  return 1;
none:
  return 0;
disturbed:
  return -1;
}

#else

#define PML_RSEQ 0

static inline int pml__rseq_rdpmc(const volatile struct perf_event_mmap_page *pc, uint64_t *pmc) {
  (void)pc, (void)pmc;
  return 0;
}

#endif

#endif
