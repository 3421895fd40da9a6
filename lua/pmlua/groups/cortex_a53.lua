-- SPDX-License-Identifier: BSD-3-Clause
-- Event groups of Arm Cortex-A53, whose PMU counts neither floating-point operations nor stalls.
return {
  pmus = { "arm_ac53" },
  source = "Event names and meanings: libpfm4 and Arm Cortex-A53 Technical Reference Manual, performance monitoring unit.",
  constants = { line = { 64, "byte" } },
  events = {
    asked = "L2D_CACHE_ACCESS", code_miss = "L1I_CACHE_REFILL", code_misses = "L1I_TLB_REFILL", cycles = "CPU_CYCLES",
    data_misses = "L1D_TLB_REFILL", instructions = "INST_RETIRED", l1 = "L1D_CACHE_ACCESS", l1_in = "L1D_CACHE_REFILL",
    l1_out = "L1D_CACHE_WB", l1_refill = "L1D_CACHE_REFILL", l2 = "L2D_CACHE_ACCESS", l2_in = "L2D_CACHE_REFILL",
    l2_out = "L2D_CACHE_WB", l2_refill = "L2D_CACHE_REFILL", loads = "LD_RETIRED", mispredicted = "BRANCH_MISPRED",
    missed = "L2D_CACHE_REFILL", predicted = "BRANCH_PRED", stores = "ST_RETIRED", unaligned = "UNALIGNED_LDST_RETIRED",
  },
  groups = {
    CYCLE = {
      prose = "Cycles, instructions, and the mispredicted branches.",
      "ipc", "mispredict_ratio = 100 * mispredicted / predicted; of the branches with a prediction",
    },
    BRANCH = {
      prose = "Predicted and mispredicted branches, also on wrong paths.",
      "branch_rate = predicted / instructions", "mispredict_ratio = 100 * mispredicted / predicted", "branch_mpki",
    },
    CACHE = {
      prose = "Accesses and refills of the caches of data, and refills of the cache of code.",
      "l1_miss_ratio", "l2_miss_ratio", "l2_mpki = 1000 * l2_refill / instructions", "code_mpki",
    },
    L2 = {
      prose = "Accesses to L2, misses, and lines written back.",
      "l2_demand_ratio", "l2_refill_mpki", "l2_write_backs",
    },
    BANDWIDTH = {
      prose = "Lines moved between the levels of the cache, as one core sees them.",
      "l2_to_l1", "l1_to_l2", "into_l2", "out_of_l2",
    },
    TLB = {
      prose = "Misses of the first-level TLBs of data and code.",
      "data_tlb_mpki; > 10: pages are visited too sparsely; larger pages may help", "code_tlb_mpki",
    },
    LOADSTORE = {
      prose = "Loads and stores that retired, and those whose address is not aligned.",
      "loads_per_instruction", "stores_per_instruction", "loads_per_store",
      "unaligned_ratio = 100 * unaligned / (loads + stores)",
    },
  },
}
