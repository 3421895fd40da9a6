-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Ice Lake-X.
return {
  like = "skx",
  pmus = { "icx" },
  groups = {
    FLOPS = {
      prose = "Floating-point operations: instructions retired by width, times the elements of that width; a fused " ..
        "multiply-add is counted twice by the hardware. The sum is equation 7 of the PMlib paper. Its eight " ..
        "events fill the eight general counters of a thread.",
      events = { cycles = "CPU_CLK_UNHALTED:THREAD_P" },
    },
    BANDWIDTH = {
      prose = "Lines moved between the levels of the cache, as one core sees them. Traffic of the memory controllers " ..
        "themselves is counted by uncore PMUs, for the whole socket.",
      events = {
        l1_in = "L1D:REPLACEMENT", l2_in = "L2_LINES_IN:ALL", l2_out = "L2_LINES_OUT:NON_SILENT",
        l3_miss = "LONGEST_LAT_CACHE:MISS", dram_reads = "OCR:READS_TO_CORE_DRAM",
      },
      metrics = {
        { name = "l2_to_l1", unit = "byte/s", formula = "line * l1_in / time" },
        { name = "into_l2", unit = "byte/s", formula = "line * l2_in / time" },
        { name = "out_of_l2", unit = "byte/s", formula = "line * l2_out / time" },
        { name = "l3_miss_rate", unit = "byte/s", formula = "line * l3_miss / time",
          about = "what the core asked of L3 and L3 did not have" },
        { name = "memory_read", unit = "byte/s", formula = "line * dram_reads / time",
          about = "demand reads and prefetches of this core that DRAM answered" },
      },
    },
    CYCLE = { events = { cycles = "CPU_CLK_UNHALTED:THREAD_P", ref_cycles = "CPU_CLK_UNHALTED:REF_TSC" } },
  },
}
