-- SPDX-License-Identifier: BSD-3-Clause
-- Arm Cortex-A53: what its PMU counts; it counts no floating-point operations and no stalls.
return {
  pmus = { "arm_ac53" },
  source = "Event names and meanings: libpfm4 and Arm Cortex-A53 Technical Reference Manual, performance monitoring unit.",
  constants = { line = { 64, "byte" } },
  groups = {
    CYCLE = {
      prose = "Cycles, instructions, and the branches that were guessed wrong.",
      events = {
        cycles = "CPU_CYCLES", instructions = "INST_RETIRED", mispredicted = "BRANCH_MISPRED", predicted = "BRANCH_PRED",
      },
      metrics = {
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
        { name = "mispredict_ratio", unit = "%", formula = "100 * mispredicted / predicted",
          about = "of the branches that could be guessed", thresholds = { { "> 5", "branches are hard to predict" } } },
      },
    },
    BRANCH = {
      prose = "Branches that could be guessed and those that were guessed wrong, on wrong paths too.",
      events = { mispredicted = "BRANCH_MISPRED", predicted = "BRANCH_PRED", instructions = "INST_RETIRED" },
      metrics = {
        { name = "branch_rate", unit = "", formula = "predicted / instructions", about = "branches for an instruction" },
        { name = "mispredict_ratio", unit = "%", formula = "100 * mispredicted / predicted",
          thresholds = { { "> 5", "branches are hard to predict" } } },
        { name = "branch_mpki", unit = "miss/1000 instructions", formula = "1000 * mispredicted / instructions" },
      },
    },
    CACHE = {
      prose = "Accesses and refills of the caches of data, and refills of the cache of code.",
      events = {
        l1 = "L1D_CACHE_ACCESS", l1_refill = "L1D_CACHE_REFILL", l2 = "L2D_CACHE_ACCESS", l2_refill = "L2D_CACHE_REFILL",
        code_miss = "L1I_CACHE_REFILL", instructions = "INST_RETIRED",
      },
      metrics = {
        { name = "l1_miss_ratio", unit = "%", formula = "100 * l1_refill / l1",
          thresholds = { { "> 10", "the working set does not stay in L1" } } },
        { name = "l2_miss_ratio", unit = "%", formula = "100 * l2_refill / l2",
          thresholds = { { "> 50", "L2 does not hold what L1 misses" } } },
        { name = "l2_mpki", unit = "miss/1000 instructions", formula = "1000 * l2_refill / instructions",
          thresholds = { { "> 10", "memory latency is likely to show" } } },
        { name = "code_mpki", unit = "miss/1000 instructions", formula = "1000 * code_miss / instructions" },
      },
    },
    L2 = {
      prose = "Accesses to L2, what it did not have, and what it wrote back.",
      events = {
        asked = "L2D_CACHE_ACCESS", missed = "L2D_CACHE_REFILL", l2_out = "L2D_CACHE_WB", instructions = "INST_RETIRED",
      },
      metrics = {
        { name = "l2_demand_ratio", unit = "%", formula = "100 * missed / asked",
          thresholds = { { "> 50", "L2 does not hold what L1 misses" } } },
        { name = "l2_refill_mpki", unit = "miss/1000 instructions", formula = "1000 * missed / instructions" },
        { name = "l2_write_backs", unit = "byte/s", formula = "line * l2_out / time" },
      },
    },
    BANDWIDTH = {
      prose = "Lines moved between the levels of the cache, as one core sees them.",
      events = {
        l1_in = "L1D_CACHE_REFILL", l1_out = "L1D_CACHE_WB", l2_in = "L2D_CACHE_REFILL", l2_out = "L2D_CACHE_WB",
      },
      metrics = {
        { name = "l2_to_l1", unit = "byte/s", formula = "line * l1_in / time" },
        { name = "l1_to_l2", unit = "byte/s", formula = "line * l1_out / time" },
        { name = "into_l2", unit = "byte/s", formula = "line * l2_in / time" },
        { name = "out_of_l2", unit = "byte/s", formula = "line * l2_out / time" },
      },
    },
    TLB = {
      prose = "Addresses that the first TLBs of data and of code did not have.",
      events = { data_misses = "L1D_TLB_REFILL", code_misses = "L1I_TLB_REFILL", instructions = "INST_RETIRED" },
      metrics = {
        { name = "data_tlb_mpki", unit = "miss/1000 instructions", formula = "1000 * data_misses / instructions",
          thresholds = { { "> 10", "pages are visited too sparsely; larger pages may help" } } },
        { name = "code_tlb_mpki", unit = "miss/1000 instructions", formula = "1000 * code_misses / instructions" },
      },
    },
    LOADSTORE = {
      prose = "Loads and stores that retired, and those whose address is not aligned.",
      events = {
        loads = "LD_RETIRED", stores = "ST_RETIRED", unaligned = "UNALIGNED_LDST_RETIRED", instructions = "INST_RETIRED",
      },
      metrics = {
        { name = "loads_per_instruction", unit = "", formula = "loads / instructions" },
        { name = "stores_per_instruction", unit = "", formula = "stores / instructions" },
        { name = "loads_per_store", unit = "", formula = "loads / stores" },
        { name = "unaligned_ratio", unit = "%", formula = "100 * unaligned / (loads + stores)",
          thresholds = { { "> 5", "data is not aligned to its access" } } },
      },
    },
  },
}
