-- SPDX-License-Identifier: BSD-3-Clause
-- What callgrind counts of a program that it simulates: no PMU is needed. Times of a simulation say nothing, so no metric
-- has any.
return {
  pmus = { "simulation" },
  source = "Events: the manual of valgrind 3.19, chapters 5 and 6 (cachegrind, callgrind). Misses are those of its model: two " ..
    "levels, least recently used, lines of 64 bytes.",
  constants = { line = { 64, "byte" } },
  events = {
    conditional = "sim::Bc", indirect = "sim::Bi", instructions = "sim::Ir", ll_read_misses = "sim::DLmr",
    ll_write_misses = "sim::DLmw", loads = "sim::Dr", mispredicted = "sim::Bcm", mistaken = "sim::Bim",
    read_misses = "sim::D1mr", reads = "sim::Dr", stores = "sim::Dw", write_misses = "sim::D1mw", writes = "sim::Dw",
  },
  groups = {
    CYCLE = {
      prose = "Instructions and branches of user space, counted one by one; mispredictions by a simple model.",
      "instruction_count [instruction] = instructions", "branch_share [%] = 100 * (conditional + indirect) / instructions",
      "mispredict_ratio = 100 * (mispredicted + mistaken) / (conditional + indirect)",
    },
    CACHE = {
      prose = "Misses of the simulated caches, per access and per 1,000 instructions.",
      "l1_miss_ratio = 100 * (read_misses + write_misses) / (reads + writes)",
      "ll_miss_ratio = 100 * (ll_read_misses + ll_write_misses) / (read_misses + write_misses)",
      "ll_mpki = 1000 * (ll_read_misses + ll_write_misses) / instructions",
    },
    BANDWIDTH = {
      prose = "Lines that the simulated last level fetches from memory, in bytes.",
      events = { instructions = "sim::ILmr", read_misses = "sim::DLmr", write_misses = "sim::DLmw" },
      "memory_volume [byte] = line * (read_misses + write_misses + instructions)",
    },
    LOADSTORE = {
      prose = "Data reads and writes as the processor makes them.",
      "loads_per_instruction", "stores_per_instruction", "loads_per_store",
    },
  },
}
