-- SPDX-License-Identifier: BSD-3-Clause
-- Arm Neoverse N1.
return {
  pmus = { "arm_n1" },
  source = "Event names and meanings: libpfm4, the Arm Architecture Reference Manual and the technical reference " ..
    "manual of the core; groups: K. Mikami, K. Ono, J. Nonaka, Performance evaluation and visualization of " ..
    "scientific applications using PMlib.",
  constants = { line = { 64, "byte" } },
  events = {
    asked = "L2D_CACHE_ACCESS", backend = "STALL_BACKEND", backend_stalls = "STALL_BACKEND", branches = "BR_RETIRED",
    code_walks = "ITLB_WALK", cycles = "CPU_CYCLES", data_walks = "DTLB_WALK", frontend = "STALL_FRONTEND",
    frontend_stalls = "STALL_FRONTEND", instructions = "INST_RETIRED", l1 = "L1D_CACHE", l1_in = "L1D_CACHE_REFILL",
    l1_out = "L1D_CACHE_WB", l1_refill = "L1D_CACHE_REFILL", l2 = "L2D_CACHE_ACCESS", l2_in = "L2D_CACHE_REFILL",
    l2_out = "L2D_CACHE_WB", l2_refill = "L2D_CACHE_REFILL", l3_asked = "LL_CACHE_RD", l3_missed = "LL_CACHE_MISS_RD",
    ll = "LL_CACHE_RD", ll_miss = "LL_CACHE_MISS_RD", loads = "LD_SPEC", mispredicted = "BR_MIS_PRED_RETIRED",
    missed = "L2D_CACHE_REFILL", reads = "MEM_ACCESS_RD", remote_memory = "REMOTE_ACCESS", scalar_fp = "VFP_SPEC",
    simd = "ASE_SPEC", speculated = "INST_SPEC", stores = "ST_SPEC", tlb_accesses = "L1D_TLB", tlb_refills = "L1D_TLB_REFILL",
    unaligned = "UNALIGNED_LDST_SPEC", writes = "MEM_ACCESS_WR",
  },
  groups = {
    FLOPS = {
      prose = "Neoverse N1 counts floating-point and Advanced SIMD instructions, not the operations in them: an " ..
        "Advanced SIMD instruction is integer or floating-point work on up to 16 elements. Therefore this group has rates " ..
        "of instructions, not of operations.",
      "scalar_fp_rate", "simd_rate", "fp_simd_per_cycle [instruction/cycle] = (scalar_fp + simd) / cycles", "fp_simd_share",
      "ipc",
    },
    BANDWIDTH = {
      prose = "Lines that moved into and out of the levels of the cache of one core. Reads that missed the last level " ..
        "came from memory; the PMUs of the memory controllers count their transfers.",
      "l2_to_l1", "l1_to_l2", "into_l2", "out_of_l2", "memory_read = line * ll_miss / time",
    },
    VECTOR = {
      prose = "Advanced SIMD and scalar floating-point instructions, as shares " ..
        "of both. Integer SIMD counts as Advanced SIMD.",
      "vector", "simd_share",
    },
    CACHE = {
      prose = "Accesses to the levels of the cache, and those that had to be refilled or came from memory.",
      "l1_miss_ratio", "l2_miss_ratio", "ll_miss_ratio = 100 * ll_miss / ll; > 50: most reads of the last level go to memory",
      "ll_mpki = 1000 * ll_miss / instructions",
    },
    CYCLE = {
      prose = "Use of the cycles: instructions, cycles without dispatch because no operation " ..
        "arrived or no resource was free, mispredicted branches.",
      "ipc", "frontend_stalled [%] = 100 * frontend / cycles; > 20: instructions do not arrive fast enough",
      "backend_stalled [%] = 100 * backend / cycles; > 50: units or memory hold dispatch up", "mispredict_ratio",
    },
    LOADSTORE = {
      prose = "Loads and stores, including speculative ones, and those that are not aligned.",
      "loads_per_instruction", "stores_per_instruction", "loads_per_store", "unaligned_ratio",
    },
    TOPDOWN = {
      prose = "Level 1 of top-down in cycles: those in which the frontend delivered nothing, those in which the backend " ..
        "took nothing, and the others, divided as instructions that retired are to those executed. The four add up to " ..
        "100 %.",
      "frontend_bound", "backend_bound", "retiring", "bad_speculation",
    },
    STALLS = {
      prose = "Cycles in which the frontend delivered nothing and cycles in which the backend took nothing.",
      "stalled_by_frontend", "stalled_by_backend",
    },
    BRANCH = {
      prose = "Branches that retired and those that were mispredicted.",
      "branch_rate", "mispredict_ratio", "branch_mpki",
    },
    TLB = {
      prose = "Accesses to the first level of TLBs, those that it missed, and walks of page tables.",
      "l1_tlb_ratio [%] = 100 * tlb_refills / tlb_accesses", "data_walk_mpki", "code_walk_mpki",
    },
    L2 = {
      prose = "Accesses to L2, misses, and lines written back.",
      "l2_demand_ratio", "l2_refill_mpki", "l2_write_backs",
    },
    L3 = {
      prose = "Reads of the last level of the cache, and its misses.",
      "l3_bandwidth", "l3_missed_ratio", "l3_missed_mpki",
    },
    NUMA = {
      prose = "Accesses that another socket answered, beside those that missed the last level.",
      "remote_mpki [access/1000 instructions] = 1000 * remote_memory / instructions",
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source. This PMU counts no operations; operations " ..
        "per floating-point or SIMD instruction are an upper bound of the width.",
      inputs = { work = "the workload counted in the source (equation 1), in flop" },
      "user_rate", "work_per_cycle [flop/cycle] = work / cycles",
      "work_per_instruction = work / (scalar_fp + simd); < 1: more instructions than operations: moves and conversions, or " ..
        "longer sequences",
    },
  },
}
