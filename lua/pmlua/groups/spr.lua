-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Sapphire Rapids.
return {
  pmus = { "spr" },
  source = "Event names and meanings: libpfm4 and the event lists that Intel publishes for its performance monitoring " ..
    "units; groups and equation 7: K. Mikami, K. Ono, J. Nonaka, Performance evaluation and visualization of " ..
    "scientific applications using PMlib.",
  constants = { line = { 64, "byte" } },
  groups = {
    FLOPS = {
      prose = "Floating-point operations: instructions retired by width, times the elements of that width; a fused " ..
        "multiply-add is counted twice by the hardware. The sum is equation 7 of the PMlib paper. Its eight " ..
        "events need eight general counters: with SMT on, a Skylake-X thread has four, and single and double " ..
        "precision are counted in runs of their own.",
      events = {
        fpsp1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", fpsp4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
        fpsp8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", fpsp16 = "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE",
        fpdp1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", fpdp2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE",
        fpdp4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE", fpdp8 = "FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE",
        cycles = "CPU_CLK_UNHALTED:THREAD_P", instructions = "INST_RETIRED:ANY_P",
      },
      metrics = {
        { name = "sp_flop", unit = "flop", formula = "fpsp1 + 4 * fpsp4 + 8 * fpsp8 + 16 * fpsp16" },
        { name = "dp_flop", unit = "flop", formula = "fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8" },
        { name = "flop", unit = "flop", formula = "sp_flop + dp_flop", about = "equation 7" },
        { name = "sp_rate", unit = "flop/s", formula = "sp_flop / time" },
        { name = "dp_rate", unit = "flop/s", formula = "dp_flop / time" },
        { name = "flop_rate", unit = "flop/s", formula = "flop / time" },
        { name = "dp_per_cycle", unit = "flop/cycle", formula = "dp_flop / cycles",
          thresholds = { { "< 1", "no more than a scalar operation a cycle" } } },
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
      },
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
    VECTOR = {
      prose = "How much of the floating-point work is done by vector instructions, and of which width, as shares of " ..
        "operations; per precision, so that each share is from one run.",
      events = {
        fpsp1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", fpsp4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
        fpsp8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", fpsp16 = "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE",
        fpdp1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", fpdp2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE",
        fpdp4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE", fpdp8 = "FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE",
      },
      metrics = {
        { name = "sp_vector", unit = "%",
          formula = "100 * (4 * fpsp4 + 8 * fpsp8 + 16 * fpsp16) / (fpsp1 + 4 * fpsp4 + 8 * fpsp8 + 16 * fpsp16)",
          thresholds = { { "< 50", "most single precision work is scalar" } } },
        { name = "dp_vector", unit = "%",
          formula = "100 * (2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8) / (fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8)",
          thresholds = { { "< 50", "most double precision work is scalar" } } },
        { name = "sp_512bit", unit = "%",
          formula = "100 * 16 * fpsp16 / (fpsp1 + 4 * fpsp4 + 8 * fpsp8 + 16 * fpsp16)" },
        { name = "dp_512bit", unit = "%",
          formula = "100 * 8 * fpdp8 / (fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8)" },
        { name = "dp_256bit", unit = "%",
          formula = "100 * 4 * fpdp4 / (fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8)" },
        { name = "dp_128bit", unit = "%",
          formula = "100 * 2 * fpdp2 / (fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8)" },
      },
    },
    CACHE = {
      prose = "Where loads that retired found their data. A line that was already on its way (fill buffer) is neither " ..
        "a hit nor a miss of L1. These events count on the lower four counters only.",
      events = {
        l1_hit = "MEM_LOAD_RETIRED:L1_HIT", l1_miss = "MEM_LOAD_RETIRED:L1_MISS", l2_hit = "MEM_LOAD_RETIRED:L2_HIT",
        l2_miss = "MEM_LOAD_RETIRED:L2_MISS", l3_hit = "MEM_LOAD_RETIRED:L3_HIT",
        l3_miss = "MEM_LOAD_RETIRED:L3_MISS", instructions = "INST_RETIRED:ANY_P",
      },
      metrics = {
        { name = "l1_miss_ratio", unit = "%", formula = "100 * l1_miss / (l1_hit + l1_miss)",
          thresholds = { { "> 10", "the working set does not stay in L1" } } },
        { name = "l2_miss_ratio", unit = "%", formula = "100 * l2_miss / (l2_hit + l2_miss)",
          thresholds = { { "> 50", "L2 does not hold what L1 misses" } } },
        { name = "l3_miss_ratio", unit = "%", formula = "100 * l3_miss / (l3_hit + l3_miss)",
          thresholds = { { "> 50", "most of what L2 misses comes from memory" } } },
        { name = "l3_mpki", unit = "miss/1000 instructions", formula = "1000 * l3_miss / instructions",
          thresholds = { { "> 10", "memory latency is likely to show" } } },
      },
    },
    CYCLE = {
      prose = "What the cycles were spent on: instructions, stalls, branches that were guessed wrong. Reference " ..
        "cycles tick at the rate of the TSC, so their ratio to cycles shows the frequency.",
      events = {
        cycles = "CPU_CLK_UNHALTED:THREAD_P", ref_cycles = "CPU_CLK_UNHALTED:REF_TSC",
        instructions = "INST_RETIRED:ANY_P", branches = "BR_INST_RETIRED:ALL_BRANCHES",
        mispredicted = "BR_MISP_RETIRED:ALL_BRANCHES", stalls = "CYCLE_ACTIVITY:STALLS_TOTAL",
        memory_stalls = "MEMORY_ACTIVITY:STALLS_L1D_MISS",
      },
      metrics = {
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
        { name = "frequency_ratio", unit = "", formula = "cycles / ref_cycles",
          thresholds = { { "< 1", "the core ran below its nominal frequency" } } },
        { name = "stalled", unit = "%", formula = "100 * stalls / cycles",
          thresholds = { { "> 50", "the core waits for more than half of its cycles" } } },
        { name = "memory_stalled", unit = "%", formula = "100 * memory_stalls / cycles" },
        { name = "mispredict_ratio", unit = "%", formula = "100 * mispredicted / branches",
          thresholds = { { "> 5", "branches are hard to predict" } } },
      },
    },
    LOADSTORE = {
      prose = "Loads and stores that retired, and those that straddle two lines or miss the second-level TLB.",
      events = {
        loads = "MEM_INST_RETIRED:ALL_LOADS", stores = "MEM_INST_RETIRED:ALL_STORES",
        split_loads = "MEM_INST_RETIRED:SPLIT_LOADS", tlb_loads = "MEM_INST_RETIRED:STLB_MISS_LOADS",
        instructions = "INST_RETIRED:ANY_P",
      },
      metrics = {
        { name = "loads_per_instruction", unit = "", formula = "loads / instructions" },
        { name = "stores_per_instruction", unit = "", formula = "stores / instructions" },
        { name = "loads_per_store", unit = "", formula = "loads / stores" },
        { name = "split_loads_ratio", unit = "%", formula = "100 * split_loads / loads",
          thresholds = { { "> 5", "data is not aligned to its access" } } },
        { name = "tlb_miss_ratio", unit = "%", formula = "100 * tlb_loads / loads",
          thresholds = { { "> 1", "pages are visited too sparsely; larger pages may help" } } },
      },
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source, beside what the hardware did: the ratio " ..
        "and the difference of figures 1 to 3 and table IV of the PMlib paper.",
      inputs = { work = "the workload counted in the source (equation 1), in flop" },
      events = {
        fpsp1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", fpsp4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
        fpsp8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", fpsp16 = "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE",
        fpdp1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", fpdp2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE",
        fpdp4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE", fpdp8 = "FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE",
      },
      metrics = {
        { name = "sp_flop", unit = "flop", formula = "fpsp1 + 4 * fpsp4 + 8 * fpsp8 + 16 * fpsp16" },
        { name = "dp_flop", unit = "flop", formula = "fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8" },
        { name = "flop", unit = "flop", formula = "sp_flop + dp_flop" },
        { name = "user_rate", unit = "flop/s", formula = "work / time", about = "equation 2, user perspective" },
        { name = "system_rate", unit = "flop/s", formula = "flop / time", about = "equation 2, system perspective" },
        { name = "ratio", unit = "", formula = "flop / work", about = "figure 3 and table IV",
          thresholds = {
            { "> 2", "the compiler replaced operations by longer sequences (division, roots), or the source was undercounted" },
            { "< 0.9", "the source was overcounted, or the compiler removed work" },
          } },
        { name = "difference", unit = "flop", formula = "flop - work" },
      },
    },
  },
}
