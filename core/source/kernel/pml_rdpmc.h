/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_rdpmc.h - counter reads from the self-monitoring page, inline and without a system call. */
#ifndef PML_RDPMC_H
#define PML_RDPMC_H

#include "source/kernel/pml_counter.h"
#include "source/kernel/pml_rdpmc_fault.h"
#include "source/kernel/pml_rseq.h"

PML_BEGIN_DECLS

/*
 * The page is a seqlock whose writer is the kernel, in an interrupt, an NMI or a context switch of the very thread that
 * reads. An interrupt is precise: instructions before it in program order have executed, instructions after it have
 * not. So the reader sees the writer's stores in order if the compiler keeps the reader's loads in order; a thread that
 * moves to another cpu passes through the scheduler, which is a full barrier. The first fence acts as an acquire (no
 * access of the body before the first load of lock), the second as a load-load fence before the second load. x86 never
 * reorders loads, hence a compiler fence suffices even for a writer on another cpu; elsewhere an acquire fence is
 * needed for that. The counter instruction itself is ordered by the first argument only.
 */
#if defined(__x86_64__)
#define PML_RDPMC_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#else
#define PML_RDPMC_FENCE() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

/* An interrupt in the window costs one more try; 16 in a row mean that something else is wrong: let the kernel read. */
#define PML_RDPMC_TRIES 16

/*
 * The instructions of each architecture: counter number (page index - 1) to its bits, false where the instruction is
 * forbidden by now (pml_rdpmc_fault.h), which costs no instruction; and the clock of the page.
 */
#if defined(__x86_64__)

#define PML_RDPMC_COUNTERS UINT32_MAX /* fixed counters have bit 30 set */

static inline __attribute__((always_inline)) bool pml__rdpmc_insn(const volatile void *pc, uint32_t counter,
                                                                  uint64_t *value) {
  uint64_t lo = 0, hi = 0; /* both instructions clear the upper halves */
  __asm__ goto volatile("1:\trdpmc\n\t" PML__RDPMC_FAULT("1b", "%[page]", "%l[forbidden]")
                        : "=a"(lo), "=d"(hi)
                        : "c"(counter), [page] "r"(pc)
                        :
                        : forbidden);
  *value = hi << 32 | lo;
  return true;
forbidden:
  return false;
}

static inline uint64_t pml__rdpmc_cycles(void) {
  uint64_t lo, hi;
  __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
  return hi << 32 | lo;
}

#elif defined(__aarch64__)

#define PML_RDPMC_COUNTERS 32u /* 0 to 30: event counters, 31: the cycle counter */

/* The number is part of the instruction: PMSELR_EL0, which would make it a variable, is shared state. */
/* clang-format off */
#define PML__RDPMC_EACH(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
  X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30)
/* clang-format on */
#define PML__RDPMC_CASE(n)                                                                                             \
  case n:                                                                                                              \
    __asm__ goto volatile("1:\tmrs %0, pmevcntr" #n "_el0\n\t" PML__RDPMC_FAULT("1b", "%[page]", "%l[forbidden]")      \
                          : "=r"(v)                                                                                    \
                          : [page] "r"(pc)                                                                             \
                          :                                                                                            \
                          : forbidden);                                                                                \
    break;

static inline __attribute__((always_inline)) bool pml__rdpmc_insn(const volatile void *pc, uint32_t counter,
                                                                  uint64_t *value) {
  uint64_t v;
  switch (counter) {
    PML__RDPMC_EACH(PML__RDPMC_CASE)
  default:
    __asm__ goto volatile("1:\tmrs %0, pmccntr_el0\n\t" PML__RDPMC_FAULT("1b", "%[page]", "%l[forbidden]")
                          : "=r"(v)
                          : [page] "r"(pc)
                          :
                          : forbidden);
    break;
  }
  *value = v;
  return true;
forbidden:
  return false;
}
#undef PML__RDPMC_CASE
#undef PML__RDPMC_EACH

static inline uint64_t pml__rdpmc_cycles(void) {
  uint64_t v;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
}

#elif defined(__riscv) && __riscv_xlen == 64

#define PML_RDPMC_COUNTERS 32u /* cycle, time, instret, hpmcounter3 to 31: CSR 0xc00 + n */

/* clang-format off */
#define PML__RDPMC_EACH(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
  X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
/* clang-format on */
#define PML__RDPMC_CASE(n)                                                                                             \
  case n:                                                                                                              \
    __asm__ volatile("csrr %0, %1" : "=r"(v) : "i"(0xc00 + n));                                                        \
    break;

static inline bool pml__rdpmc_insn(const volatile void *pc, uint32_t counter, uint64_t *value) {
  uint64_t v = 0;
  (void)pc;
  switch (counter) { PML__RDPMC_EACH(PML__RDPMC_CASE) }
  *value = v;
  return true;
}
#undef PML__RDPMC_CASE
#undef PML__RDPMC_EACH

static inline uint64_t pml__rdpmc_cycles(void) {
  uint64_t v;
  __asm__ volatile("rdtime %0" : "=r"(v));
  return v;
}

#else

#define PML_RDPMC_COUNTERS 0u /* no counter is ever read here: every read falls back */

static inline bool pml__rdpmc_insn(const volatile void *pc, uint32_t counter, uint64_t *value) {
  (void)pc, (void)counter, (void)value;
  return false;
}
static inline uint64_t pml__rdpmc_cycles(void) {
  return 0;
}

#endif

/* Tests and benches define these before they include this header, to read simulated pages. */
#ifdef PML_RDPMC_INSN
#define PML__RDPMC_TAKE(pc, counter, value) (*(value) = PML_RDPMC_INSN(counter), true)
#else
#define PML__RDPMC_TAKE(pc, counter, value) pml__rdpmc_insn(pc, counter, value)
#endif
#ifndef PML_RDPMC_CYCLES
#define PML_RDPMC_CYCLES() pml__rdpmc_cycles()
#endif

/* The counter has @width bits, and counts up from a negative number: bit @width - 1 is its sign. */
static inline uint64_t pml__rdpmc_sign_extend(uint64_t pmc, unsigned width) {
  unsigned shift = (0u - width) & 63u;
  return (uint64_t)((int64_t)(pmc << shift) >> shift);
}

/* ns since the kernel last wrote the times of the page; formula and names of linux/perf_event.h. */
static inline uint64_t pml__rdpmc_delta_ns(const volatile struct perf_event_mmap_page *pc) {
  uint64_t cyc = PML_RDPMC_CYCLES();
  if (pc->cap_user_time_short) {
    uint64_t cycles = pc->time_cycles;
    cyc = cycles + ((cyc - cycles) & pc->time_mask);
  }
  unsigned shift = pc->time_shift & 63u;
  uint64_t mult = pc->time_mult;
  uint64_t quot = cyc >> shift;
  uint64_t rem = cyc & (((uint64_t)1 << shift) - 1);
  return pc->time_offset + quot * mult + ((rem * mult) >> shift);
}

/* The register that the page names. 1: *@pmc has it. 0: let the kernel read. -1: the thread was disturbed meanwhile. */
static inline __attribute__((always_inline)) int pml__rdpmc_register(const volatile struct perf_event_mmap_page *pc,
                                                                     uint64_t *pmc, bool restarts) {
  if (restarts) return pml__rseq_rdpmc(pc, pmc);
  uint32_t index = pc->index;
  if (PML_UNLIKELY(index == 0 || index > PML_RDPMC_COUNTERS)) return 0; /* not on a counter, or on an unknown one */
  return PML__RDPMC_TAKE(pc, index - 1, pmc) ? 1 : 0;
}

/*
 * One try of both readers; @times and @restarts are constants in each. With the latter, index and register are read in
 * a restartable section (pml_rseq.h). 1: *@r has it. 0: let the kernel read. -1: the kernel
 * wrote meanwhile.
 */
static inline __attribute__((always_inline)) int pml__rdpmc_try(const volatile struct perf_event_mmap_page *pc,
                                                                struct pml_reading *r, bool times, bool restarts) {
  uint32_t seq = pc->lock;
  PML_RDPMC_FENCE();

  if (PML_UNLIKELY(!pc->cap_user_rdpmc)) return 0;
  uint64_t pmc = 0;
  int rc = pml__rdpmc_register(pc, &pmc, restarts);
  if (PML_UNLIKELY(rc <= 0)) return rc;
  pmc = pml__rdpmc_sign_extend(pmc, pc->pmc_width);
  uint64_t raw = (uint64_t)pc->offset + pmc;

  uint64_t enabled = 0, running = 0;
  if (times) {
    if (PML_UNLIKELY(!pc->cap_user_time)) return 0;
    uint64_t delta = pml__rdpmc_delta_ns(pc);
    enabled = pc->time_enabled + delta;
    running = pc->time_running + delta; /* it is on a counter: it runs */
  }

  PML_RDPMC_FENCE();
  bool stable = pc->lock == (seq & ~1u); /* never, if it was odd: the kernel was writing */
  if (PML_UNLIKELY(!stable)) return -1;
  r->raw = raw;
  r->enabled_ns = enabled;
  r->running_ns = running;
  return 1;
}

static inline __attribute__((always_inline)) int pml__rdpmc(const volatile struct perf_event_mmap_page *pc,
                                                            struct pml_reading *r, bool times, bool restarts) {
  for (int tries = 1; tries <= PML_RDPMC_TRIES; tries++) {
    int rc = pml__rdpmc_try(pc, r, times, restarts);
    if (PML_LIKELY(rc >= 0)) return rc > 0 ? tries : 0;
  }
  return 0;
}

/*
 * pml_rdpmc_read - the count since open and its times.
 * @pc: page of a counter that counts the calling thread and no other; the caller makes sure of that.
 *
 * Returns the number of tries (>= 1), or 0 with *@r untouched: the event is not on a counter now, the kernel forbids
 * it, or the page never stood still; then read(2) must be used. Never a syscall. Async-signal-safe. Cost: some 70
 * instructions, a counter and a clock instruction among them (each path's: spec/data/instruction_costs.tsv).
 *
 * Where user-space reads are forbidden while the page is open, the next read costs a signal that pmlua handles itself,
 * and returns 0 from then on (pml_rdpmc_fault.h).
 */
static inline int pml_rdpmc_read(const volatile struct perf_event_mmap_page *pc, struct pml_reading *r) {
  return pml__rdpmc(pc, r, true, false);
}

/*
 * pml_rdpmc_read_restartable - the same where cores differ in kind, of a thread of which pml__rseq_ready() is true.
 * Cost: 3 instructions more.
 */
static inline int pml_rdpmc_read_restartable(const volatile struct perf_event_mmap_page *pc, struct pml_reading *r) {
  return pml__rdpmc(pc, r, true, true);
}

/* pml_rdpmc_count - the same without the times: some 30 to 45 instructions, no clock. */
static inline int pml_rdpmc_count(const volatile struct perf_event_mmap_page *pc, uint64_t *raw) {
  struct pml_reading r;
  int tries = pml__rdpmc(pc, &r, false, false);
  if (PML_LIKELY(tries > 0)) *raw = r.raw;
  return tries;
}

PML_END_DECLS

#endif
