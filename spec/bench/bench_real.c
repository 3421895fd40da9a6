/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_real.c - the page read on a real counter, where there is a PMU. */
#include "bench.h"
#include "source/kernel/pml_rdpmc.h"

static volatile uint64_t sink;

void bench_real_count(void *arg, size_t n) {
  const struct pml_counter *c = arg;
  for (size_t i = 0; i < n; i++) {
    uint64_t raw = 0;
    pml_rdpmc_count(c->page, &raw);
    sink = raw;
  }
}

void bench_real_count_bare(void *arg, size_t n) {
  const struct pml_counter *c = arg;
  for (size_t i = 0; i < n; i++) {
    uint32_t index = c->page->index;
    if (index == 0) continue; /* rdpmc of no counter would be fatal */
    uint64_t pmc = 0;
    if (!pml__rdpmc_insn(c->page, index - 1, &pmc)) continue; /* forbidden by now */
    sink = (uint64_t)c->page->offset + (uint64_t)((int64_t)(pmc << 16) >> 16);
  }
}
