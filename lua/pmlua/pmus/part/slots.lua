-- SPDX-License-Identifier: BSD-3-Clause
-- What Ice Lake brought to Intel's cores: eight counters for each thread, and the register PERF_METRICS.
return {
  general = { smt = 8, single = 8 },
  -- Fractions of slots, of which the kernel makes counts: in the group of slots they take no counter.
  metrics = { 0x8000, 0x8100, 0x8200, 0x8300 },
  -- Event 0 selects fixed counters by number; the kernel supports only the codes of existing fixed counters.
  dead = {
    { code = 0x0200, why = "the kernel has no fixed counter for code 0x0200; cycles are CPU_CLK_UNHALTED:THREAD_P" },
    { event = 0x00, why = "event 0 is for fixed counters, and the kernel has none for this unit mask" },
  },
}
