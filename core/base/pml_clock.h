/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_clock.h - the clock: ticks that cost one instruction, and their conversion to nanoseconds. */
#ifndef PML_CLOCK_H
#define PML_CLOCK_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

enum pml_clock_kind {
  PML_CLOCK_MONOTONIC, /* clock_gettime(CLOCK_MONOTONIC_RAW): a tick is a nanosecond */
  PML_CLOCK_COUNTER,   /* invariant TSC, or arm64's cntvct_el0 */
  PML_CLOCK_SYSTEM,    /* the counter's ticks, computed from a system call since the counter was forbidden */
};

/*
 * The calibration: ns = zero_ns + (ticks * mult >> PML_CLOCK_SHIFT), the product taken in 128 bits, so that it cannot
 * overflow for any tick. The shift is a constant because a shift by a variable costs more than the multiplication; 48
 * bits hold 2^-48 ns per tick and counters down to 16 kHz. Written once by pml_clock_init() before any other thread
 * reads it, then constant, so that the inline readers need no barrier. Until then it is the clock_gettime clock, whose
 * ticks are ns: the readers are right, only slower, but ticks from before and after must not be subtracted.
 */
#define PML_CLOCK_SHIFT 48

struct pml_clock {
  enum pml_clock_kind kind;
  uint64_t mult;    /* ns per tick, times 2^48 */
  uint64_t zero_ns; /* CLOCK_MONOTONIC_RAW when ticks were 0, modulo 2^64 */
  double ticks_per_second;
};

extern PML_API struct pml_clock pml__clock;

/* The result of pml_clock_describe(). */
struct pml_clock_info {
  const char *name;        /* "tsc", "cntvct" or "clock_gettime" */
  const char *calibration; /* what ticks were calibrated against, or why they are not in use */
  double ticks_per_second;
  double resolution_ns; /* the step of which differences of reads are, as a rule, multiples */
  double cost_ns;       /* median cost of one pml_clock_ticks(), over batches */
};

/*
 * pml_clock_init - choose and calibrate the clock; idempotent, called by every opener of the core.
 *
 * The counter is chosen when the CPU says it is invariant and the kernel itself trusts it; PMLUA_CLOCK=counter or
 * PMLUA_CLOCK=monotonic overrides. Its rate comes from the first available source: a parent process, if the clocks are
 * the same (PMLUA_CLOCK_RATE, RATE@TICKS:NS; see pml__clock_tell()); the kernel (mult and shift of a perf page);
 * cntfrq_el0; the RATE of PMLUA_CLOCK_RATE alone, in ticks per second. It is checked against CLOCK_MONOTONIC_RAW. If it
 * disagrees, or if no source is available, the rate is measured against CLOCK_MONOTONIC_RAW, to about 1e-6. Check and
 * measurement begin when the library is loaded. Cost, once: 10 us, and the rest of 0.05 ms since loading if the rate is
 * known, or of 1.5 ms if it is measured; a few times as long if the process was suspended or is a second old. Returns
 * 0, -EINVAL for an unknown PMLUA_CLOCK, or -ENOTSUP where PMLUA_CLOCK=counter and no counter can be read; the clock is
 * clock_gettime then. Every call returns the same. Thread-safe.
 */
PML_API int pml_clock_init(void);

/*
 * pml_clock_describe - what the clock is, with resolution and cost measured now (about 2 ms). Strings are static.
 * Returns what pml_clock_init() returns; @info is filled even on failure. Thread-safe.
 */
PML_API int pml_clock_describe(struct pml_clock_info *info);

/*
 * pml__clock_tell - write the value of PMLUA_CLOCK_RATE for child processes, which then neither query the kernel, which
 * may take 10 ms, nor measure. Returns as snprintf(); 100 bytes are enough. After pml_clock_init().
 */
PML__SHARED int pml__clock_tell(char *text, size_t size);

/* pml_clock_realtime_ns - CLOCK_REALTIME in ns since 1970, for the time stamps of files. */
PML_API uint64_t pml_clock_realtime_ns(void);

/* The rate in a perf page, ns per tick times 2^48; 0 without one (no cap_user_time, or a writer that never ends). */
struct perf_event_mmap_page;
uint64_t pml__clock_page_mult(const volatile struct perf_event_mmap_page *page);

/* As pml_clock_info has it, without measuring anything; after pml_clock_init(). */
static inline const char *pml__clock_name(void) {
  if (pml__clock.kind == PML_CLOCK_MONOTONIC) return "clock_gettime";
#if defined(__aarch64__)
  return "cntvct";
#else
  return "tsc";
#endif
}

/* The bare counter; only meaningful where kind is PML_CLOCK_COUNTER. */
static inline uint64_t pml__clock_counter(void) {
#if defined(__x86_64__)
  uint64_t lo, hi; /* their upper halves are zeros; __builtin_ia32_rdtsc() leaves the compiler fewer registers */
  __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
  return (hi << 32) + lo;
#elif defined(__aarch64__)
  uint64_t v;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
#else
  return 0;
#endif
}

/* CLOCK_MONOTONIC_RAW in ns; out of line, because strict C11 declares no clock_gettime(). Async-signal-safe. */
PML_API uint64_t pml__clock_monotonic(void);

/* The ticks where the counter is not read. Async-signal-safe. */
PML_API uint64_t pml__clock_slowly(void);

/* pml__clock_forbid - stop using the counter, and the vDSO, which reads it, because a thread is about to drop the right
 * to read it (PR_SET_TSC), which the threads and children that it creates inherit. Ticks continue without a jump. */
PML__SHARED void pml__clock_forbid(void);

/*
 * pml_clock_ticks - now, in ticks. Not ordered against neighbouring instructions.
 * Cost: one rdtsc or mrs and one predicted branch. Async-signal-safe.
 */
static inline uint64_t pml_clock_ticks(void) {
  if (PML_LIKELY(pml__clock.kind == PML_CLOCK_COUNTER)) return pml__clock_counter();
  return pml__clock_slowly();
}

/* No instruction passes it, in either direction. */
static inline void pml__clock_fence(void) {
#if defined(__x86_64__)
  __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

/*
 * pml_clock_ticks_ordered - read the ticks after every earlier instruction has finished and before any later one
 * starts. Required to time a few instructions, because the CPU may otherwise move them out of the timed interval. Cost:
 * pml_clock_ticks() and two fences.
 */
static inline uint64_t pml_clock_ticks_ordered(void) {
  pml__clock_fence();
  uint64_t t = pml_clock_ticks();
  pml__clock_fence();
  return t;
}

__extension__ typedef unsigned __int128 pml__product; /* not ISO C */

/* pml_clock_ticks_to_ns - a tick difference in ns, rounded down; never smaller for a larger difference. */
static inline uint64_t pml_clock_ticks_to_ns(uint64_t ticks) {
  return (uint64_t)(((pml__product)ticks * pml__clock.mult) >> PML_CLOCK_SHIFT);
}

/* pml_clock_at_ns - the moment @ticks on the CLOCK_MONOTONIC_RAW axis, in ns. */
static inline uint64_t pml_clock_at_ns(uint64_t ticks) {
  return pml__clock.zero_ns + pml_clock_ticks_to_ns(ticks);
}

/* pml_clock_ns - now, in ns. */
static inline uint64_t pml_clock_ns(void) {
  return pml_clock_at_ns(pml_clock_ticks());
}

PML_END_DECLS

#endif
