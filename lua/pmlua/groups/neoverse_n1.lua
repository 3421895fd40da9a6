-- SPDX-License-Identifier: BSD-3-Clause
-- Arm Neoverse N1.
return {
  pmus = { "arm_n1" },
  source = "Event names and meanings: libpfm4, the Arm Architecture Reference Manual and the technical reference " ..
    "manual of the core; groups: K. Mikami, K. Ono, J. Nonaka, Performance evaluation and visualization of " ..
    "scientific applications using PMlib.",
  constants = { line = { 64, "byte" } },
  groups = {
    FLOPS = {
      prose = "Neoverse N1 counts floating-point and Advanced SIMD instructions, not the operations in them: an " ..
        "Advanced SIMD instruction is integer or floating-point work on up to 16 elements. So there are rates " ..
        "of instructions here, no flop.",
      events = {
        scalar_fp = "VFP_SPEC", simd = "ASE_SPEC", cycles = "CPU_CYCLES", instructions = "INST_RETIRED",
        speculated = "INST_SPEC",
      },
      metrics = {
        { name = "scalar_fp_rate", unit = "instruction/s", formula = "scalar_fp / time" },
        { name = "simd_rate", unit = "instruction/s", formula = "simd / time" },
        { name = "fp_simd_per_cycle", unit = "instruction/cycle", formula = "(scalar_fp + simd) / cycles" },
        { name = "fp_simd_share", unit = "%", formula = "100 * (scalar_fp + simd) / speculated" },
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
      },
    },
    BANDWIDTH = {
      prose = "Lines that moved into and out of the levels of the cache of one core. Reads that missed the last level " ..
        "came from memory; what the memory controllers moved is counted by their own PMUs.",
      events = {
        l1_in = "L1D_CACHE_REFILL", l1_out = "L1D_CACHE_WB", l2_in = "L2D_CACHE_REFILL", l2_out = "L2D_CACHE_WB",
        ll_miss = "LL_CACHE_MISS_RD",
      },
      metrics = {
        { name = "l2_to_l1", unit = "byte/s", formula = "line * l1_in / time" },
        { name = "l1_to_l2", unit = "byte/s", formula = "line * l1_out / time" },
        { name = "into_l2", unit = "byte/s", formula = "line * l2_in / time" },
        { name = "out_of_l2", unit = "byte/s", formula = "line * l2_out / time" },
        { name = "memory_read", unit = "byte/s", formula = "line * ll_miss / time" },
      },
    },
    VECTOR = {
      prose = "Advanced SIMD instructions beside scalar floating-point ones, as shares of the two. Integer SIMD is " ..
        "among the first.",
      events = {
        scalar_fp = "VFP_SPEC", simd = "ASE_SPEC", speculated = "INST_SPEC",
      },
      metrics = {
        { name = "vector", unit = "%", formula = "100 * simd / (scalar_fp + simd)",
          thresholds = { { "< 50", "most floating-point instructions are scalar" } } },
        { name = "simd_share", unit = "%", formula = "100 * simd / speculated" },
      },
    },
    CACHE = {
      prose = "Accesses to the levels of the cache, and those that had to be refilled or came from memory.",
      events = {
        l1 = "L1D_CACHE", l1_refill = "L1D_CACHE_REFILL", l2 = "L2D_CACHE_ACCESS", l2_refill = "L2D_CACHE_REFILL",
        ll = "LL_CACHE_RD", ll_miss = "LL_CACHE_MISS_RD", instructions = "INST_RETIRED",
      },
      metrics = {
        { name = "l1_miss_ratio", unit = "%", formula = "100 * l1_refill / l1",
          thresholds = { { "> 10", "the working set does not stay in L1" } } },
        { name = "l2_miss_ratio", unit = "%", formula = "100 * l2_refill / l2",
          thresholds = { { "> 50", "L2 does not hold what L1 misses" } } },
        { name = "ll_miss_ratio", unit = "%", formula = "100 * ll_miss / ll",
          thresholds = { { "> 50", "most reads of the last level go to memory" } } },
        { name = "ll_mpki", unit = "miss/1000 instructions", formula = "1000 * ll_miss / instructions",
          thresholds = { { "> 10", "memory latency is likely to show" } } },
      },
    },
    CYCLE = {
      prose = "What the cycles were spent on: instructions, cycles without dispatch because nothing arrived or " ..
        "nothing could be taken, branches that were guessed wrong.",
      events = {
        cycles = "CPU_CYCLES", instructions = "INST_RETIRED", frontend = "STALL_FRONTEND", backend = "STALL_BACKEND",
        branches = "BR_RETIRED", mispredicted = "BR_MIS_PRED_RETIRED",
      },
      metrics = {
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
        { name = "frontend_stalled", unit = "%", formula = "100 * frontend / cycles",
          thresholds = { { "> 20", "instructions do not arrive fast enough" } } },
        { name = "backend_stalled", unit = "%", formula = "100 * backend / cycles",
          thresholds = { { "> 50", "units or memory hold dispatch up" } } },
        { name = "mispredict_ratio", unit = "%", formula = "100 * mispredicted / branches",
          thresholds = { { "> 5", "branches are hard to predict" } } },
      },
    },
    LOADSTORE = {
      prose = "Loads and stores, speculative ones among them, and those that are not aligned.",
      events = {
        loads = "LD_SPEC", stores = "ST_SPEC", unaligned = "UNALIGNED_LDST_SPEC", instructions = "INST_RETIRED",
        reads = "MEM_ACCESS_RD", writes = "MEM_ACCESS_WR",
      },
      metrics = {
        { name = "loads_per_instruction", unit = "", formula = "loads / instructions" },
        { name = "stores_per_instruction", unit = "", formula = "stores / instructions" },
        { name = "loads_per_store", unit = "", formula = "loads / stores" },
        { name = "unaligned_ratio", unit = "%", formula = "100 * unaligned / (reads + writes)",
          thresholds = { { "> 5", "data is not aligned to its access" } } },
      },
    },
    TOPDOWN = {
      prose = "Level 1 of top-down in cycles: those in which the frontend delivered nothing, those in which the backend took " ..
        "nothing, and the others, divided as instructions that retired are to those executed. The four add up to 100 %.",
      events = {
        cycles = "CPU_CYCLES", frontend_stalls = "STALL_FRONTEND", backend_stalls = "STALL_BACKEND",
        instructions = "INST_RETIRED", speculated = "INST_SPEC",
      },
      metrics = {
        { name = "frontend_bound", unit = "%", formula = "100 * frontend_stalls / cycles",
          thresholds = { { "> 20", "instructions do not arrive fast enough" } } },
        { name = "backend_bound", unit = "%", formula = "100 * backend_stalls / cycles",
          thresholds = { { "> 50", "units or memory hold execution up" } } },
        { name = "retiring", unit = "%",
          formula = "100 * (cycles - frontend_stalls - backend_stalls) / cycles * instructions / speculated" },
        { name = "bad_speculation", unit = "%",
          formula = "100 * (cycles - frontend_stalls - backend_stalls) / cycles * (speculated - instructions) / speculated" },
      },
    },
    STALLS = {
      prose = "Cycles in which the frontend delivered nothing and cycles in which the backend took nothing.",
      events = { cycles = "CPU_CYCLES", frontend_stalls = "STALL_FRONTEND", backend_stalls = "STALL_BACKEND" },
      metrics = {
        { name = "stalled_by_frontend", unit = "%", formula = "100 * frontend_stalls / cycles" },
        { name = "stalled_by_backend", unit = "%", formula = "100 * backend_stalls / cycles",
          thresholds = { { "> 50", "units or memory are waited for in more than half of the cycles" } } },
      },
    },
    BRANCH = {
      prose = "Branches that retired and those that were guessed wrong.",
      events = { branches = "BR_RETIRED", mispredicted = "BR_MIS_PRED_RETIRED", instructions = "INST_RETIRED" },
      metrics = {
        { name = "branch_rate", unit = "", formula = "branches / instructions", about = "branches for an instruction" },
        { name = "mispredict_ratio", unit = "%", formula = "100 * mispredicted / branches",
          thresholds = { { "> 5", "branches are hard to predict" } } },
        { name = "branch_mpki", unit = "miss/1000 instructions", formula = "1000 * mispredicted / instructions" },
      },
    },
    TLB = {
      prose = "Accesses to the first level of TLBs, those that it missed, and walks of page tables.",
      events = {
        tlb_accesses = "L1D_TLB", tlb_refills = "L1D_TLB_REFILL", data_walks = "DTLB_WALK", code_walks = "ITLB_WALK",
        instructions = "INST_RETIRED",
      },
      metrics = {
        { name = "l1_tlb_ratio", unit = "%", formula = "100 * tlb_refills / tlb_accesses" },
        { name = "data_walk_mpki", unit = "miss/1000 instructions", formula = "1000 * data_walks / instructions",
          thresholds = { { "> 1", "pages are visited too sparsely; larger pages may help" } } },
        { name = "code_walk_mpki", unit = "miss/1000 instructions", formula = "1000 * code_walks / instructions" },
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
    L3 = {
      prose = "Reads of the last level of the cache, and those that it did not have.",
      events = { l3_asked = "LL_CACHE_RD", l3_missed = "LL_CACHE_MISS_RD", instructions = "INST_RETIRED" },
      metrics = {
        { name = "l3_bandwidth", unit = "byte/s", formula = "line * l3_asked / time" },
        { name = "l3_missed_ratio", unit = "%", formula = "100 * l3_missed / l3_asked",
          thresholds = { { "> 50", "most of what reaches the last level goes to memory" } } },
        { name = "l3_missed_mpki", unit = "miss/1000 instructions", formula = "1000 * l3_missed / instructions" },
      },
    },
    NUMA = {
      prose = "Accesses that another socket answered, beside those that missed the last level.",
      events = { remote_memory = "REMOTE_ACCESS", instructions = "INST_RETIRED" },
      metrics = {
        { name = "remote_mpki", unit = "access/1000 instructions", formula = "1000 * remote_memory / instructions" },
      },
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source. This PMU has no count of operations to " ..
        "set beside it; operations per floating-point or SIMD instruction say how wide the instructions are at " ..
        "best.",
      inputs = { work = "the workload counted in the source (equation 1), in flop" },
      events = {
        scalar_fp = "VFP_SPEC", simd = "ASE_SPEC", cycles = "CPU_CYCLES",
      },
      metrics = {
        { name = "user_rate", unit = "flop/s", formula = "work / time", about = "equation 2, user perspective" },
        { name = "work_per_cycle", unit = "flop/cycle", formula = "work / cycles" },
        { name = "work_per_instruction", unit = "flop/instruction", formula = "work / (scalar_fp + simd)",
          thresholds = {
            { "< 1", "more instructions than operations: moves and conversions, or longer sequences" },
          } },
      },
    },
  },
}
