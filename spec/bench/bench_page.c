/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/bench/bench_page.c - the page read beside the bare instructions it is made of, on a page that the bench owns.
 *
 * Where there is no PMU rdpmc faults; rdtsc (cntvct elsewhere), which costs about the same, stands in for it in both.
 */
#include <stdint.h>

static inline uint64_t pml__rdpmc_cycles(void);
#define PML_RDPMC_INSN(counter) ((void)(counter), pml__rdpmc_cycles())

#include "bench.h"
#include "source/kernel/pml_rdpmc.h"

static volatile struct perf_event_mmap_page page = {
    .index = 1, .pmc_width = 48, .offset = 1000, .time_mult = 1u << 10, .time_shift = 10, .capabilities = 0x1c};
static volatile uint64_t sink;

void bench_page_count(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    uint64_t raw = 0;
    pml_rdpmc_count(&page, &raw);
    sink = raw;
  }
}

/* No lock, no check, no retry: the least that gives a count. */
void bench_page_count_bare(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    uint64_t pmc = PML_RDPMC_INSN(page.index - 1);
    sink = (uint64_t)page.offset + (uint64_t)((int64_t)(pmc << 16) >> 16);
  }
}

void bench_page_read(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    struct pml_reading r = {0};
    pml_rdpmc_read(&page, &r);
    sink = r.raw + r.enabled_ns + r.running_ns;
  }
}

void bench_page_read_bare(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    uint64_t pmc = PML_RDPMC_INSN(page.index - 1);
    uint64_t raw = (uint64_t)page.offset + (uint64_t)((int64_t)(pmc << 16) >> 16);
    uint64_t cyc = pml__rdpmc_cycles(), mult = page.time_mult;
    uint64_t delta = page.time_offset + (cyc >> 10) * mult + (((cyc & 1023) * mult) >> 10);
    sink = raw + page.time_enabled + delta + page.time_running + delta;
  }
}
