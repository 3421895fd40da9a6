-- SPDX-License-Identifier: BSD-3-Clause
-- AMD Zen 4.
return {
  pmus = { "amd64_fam19h_zen4" },
  source = "Event names and meanings: libpfm4 and the Processor Programming References that AMD publishes; groups: K. " ..
    "Mikami, K. Ono, J. Nonaka, Performance evaluation and visualization of scientific applications using " ..
    "PMlib.",
  constants = { line = { 64, "byte" } },
  groups = {
    FLOPS = {
      prose = "Floating-point operations that retired, elements and both halves of a multiply-add included. Up to 64 " ..
        "of them retire in a cycle, so the event takes two counters: an even one and the next.",
      events = {
        flop_any = "RETIRED_SSE_AVX_FLOPS:ANY", add_sub = "RETIRED_SSE_AVX_FLOPS:ADD_SUB_FLOPS",
        mult = "RETIRED_SSE_AVX_FLOPS:MULT_FLOPS", div = "RETIRED_SSE_AVX_FLOPS:DIV_FLOPS",
        mac = "RETIRED_SSE_AVX_FLOPS:MAC_FLOPS", cycles = "CYCLES_NOT_IN_HALT",
        instructions = "RETIRED_INSTRUCTIONS",
      },
      metrics = {
        { name = "flop", unit = "flop", formula = "flop_any" },
        { name = "flop_rate", unit = "flop/s", formula = "flop / time" },
        { name = "flop_per_cycle", unit = "flop/cycle", formula = "flop / cycles",
          thresholds = { { "< 1", "no more than a scalar operation a cycle" } } },
        { name = "add_sub_share", unit = "%", formula = "100 * add_sub / flop_any" },
        { name = "mult_share", unit = "%", formula = "100 * mult / flop_any" },
        { name = "div_share", unit = "%", formula = "100 * div / flop_any",
          thresholds = { { "> 10", "divisions take many cycles each" } } },
        { name = "mac_share", unit = "%", formula = "100 * mac / flop_any" },
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
      },
    },
    BANDWIDTH = {
      prose = "Lines filled into the data cache, by where they came from. Demand fills and prefetches alike. Writes " ..
        "to memory are counted by uncore PMUs only, for the whole socket.",
      events = {
        from_l2 = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LCL_L2",
        from_cache = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LOCAL_CCX:NEAR_CACHE_NEAR_FAR:FAR_CACHE_NEAR_FAR",
        from_dram = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR:ALT_MEM_NEAR_FAR",
      },
      metrics = {
        { name = "from_l2_rate", unit = "byte/s", formula = "line * from_l2 / time" },
        { name = "from_cache_rate", unit = "byte/s", formula = "line * from_cache / time" },
        { name = "memory_read", unit = "byte/s", formula = "line * from_dram / time" },
      },
    },
    VECTOR = {
      prose = "Floating-point micro-operations that retired, by width. Zen 4 executes 512-bit instructions on 256-bit " ..
        "units and counts them by the width of the instruction.",
      events = {
        scalar = "RETIRED_FP_OPS_BY_WIDTH:SCALAR_UOPS_RETIRED",
        pack128 = "RETIRED_FP_OPS_BY_WIDTH:PACK128_UOPS_RETIRED",
        pack256 = "RETIRED_FP_OPS_BY_WIDTH:PACK256_UOPS_RETIRED",
        pack512 = "RETIRED_FP_OPS_BY_WIDTH:PACK512_UOPS_RETIRED",
      },
      metrics = {
        { name = "vector", unit = "%",
          formula = "100 * (pack128 + pack256 + pack512) / (scalar + pack128 + pack256 + pack512)",
          thresholds = { { "< 50", "most floating-point instructions are scalar" } } },
        { name = "share_512bit", unit = "%", formula = "100 * pack512 / (scalar + pack128 + pack256 + pack512)" },
        { name = "share_256bit", unit = "%", formula = "100 * pack256 / (scalar + pack128 + pack256 + pack512)" },
        { name = "share_128bit", unit = "%", formula = "100 * pack128 / (scalar + pack128 + pack256 + pack512)" },
      },
    },
    CACHE = {
      prose = "Requests of the data cache to L2 and their outcome. Requests of the L2 prefetcher are not among them.",
      events = {
        l2_hit = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_X:LS_RD_BLK_L_HIT_S:LS_RD_BLK_X",
        l2_miss = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C",
        code_miss = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_MISS", loads = "LS_DISPATCH:LD_DISPATCH",
        instructions = "RETIRED_INSTRUCTIONS",
      },
      metrics = {
        { name = "l2_miss_ratio", unit = "%", formula = "100 * l2_miss / (l2_hit + l2_miss)",
          thresholds = { { "> 50", "L2 does not hold what L1 misses" } } },
        { name = "l1_miss_ratio", unit = "%", formula = "100 * (l2_hit + l2_miss) / loads",
          about = "requests to L2 per load that was dispatched",
          thresholds = { { "> 10", "the working set does not stay in L1" } } },
        { name = "l2_mpki", unit = "miss/1000 instructions", formula = "1000 * l2_miss / instructions",
          thresholds = { { "> 20", "latency of L3 or memory is likely to show" } } },
        { name = "code_mpki", unit = "miss/1000 instructions", formula = "1000 * code_miss / instructions" },
      },
    },
    CYCLE = {
      prose = "What the cycles were spent on: instructions and their micro-operations, dispatch that was held up, " ..
        "branches that were guessed wrong.",
      events = {
        cycles = "CYCLES_NOT_IN_HALT", instructions = "RETIRED_INSTRUCTIONS", ops = "RETIRED_OPS",
        branches = "RETIRED_BRANCH_INSTRUCTIONS", mispredicted = "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED",
        no_ops = "DISPATCH_STALLS_1:FE_NO_OPS", backend = "DISPATCH_STALLS_1:BE_STALLS",
        p0_cycles = "P0_FREQ_CYCLES_NOT_IN_HALT:P0_FREQ_CYCLES",
      },
      metrics = {
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
        { name = "ops_per_instruction", unit = "", formula = "ops / instructions" },
        { name = "mispredict_ratio", unit = "%", formula = "100 * mispredicted / branches",
          thresholds = { { "> 5", "branches are hard to predict" } } },
        { name = "frontend_bound", unit = "%", formula = "100 * no_ops / (6 * cycles)",
          about = "of six dispatch slots a cycle",
          thresholds = { { "> 20", "instructions do not arrive fast enough" } } },
        { name = "backend_bound", unit = "%", formula = "100 * backend / (6 * cycles)",
          about = "of six dispatch slots a cycle",
          thresholds = { { "> 50", "units or memory hold dispatch up" } } },
        { name = "frequency_ratio", unit = "", formula = "cycles / p0_cycles",
          thresholds = { { "< 1", "the core ran below its nominal frequency" } } },
      },
    },
    LOADSTORE = {
      prose = "Loads and stores that were dispatched to the load/store unit, speculative ones among them.",
      events = {
        loads = "LS_DISPATCH:LD_DISPATCH", stores = "LS_DISPATCH:STORE_DISPATCH",
        both = "LS_DISPATCH:LD_ST_DISPATCH", misaligned = "MISALIGNED_LOADS:MA64",
        instructions = "RETIRED_INSTRUCTIONS",
      },
      metrics = {
        { name = "loads_per_instruction", unit = "", formula = "(loads + both) / instructions" },
        { name = "stores_per_instruction", unit = "", formula = "(stores + both) / instructions" },
        { name = "loads_per_store", unit = "", formula = "(loads + both) / (stores + both)" },
        { name = "misaligned_ratio", unit = "%", formula = "100 * misaligned / (loads + both)",
          thresholds = { { "> 5", "data is not aligned to its access" } } },
      },
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source, beside what the hardware did: the ratio " ..
        "and the difference of figures 1 to 3 and table IV of the PMlib paper.",
      inputs = { work = "the workload counted in the source (equation 1), in flop" },
      events = {
        flop_any = "RETIRED_SSE_AVX_FLOPS:ANY",
      },
      metrics = {
        { name = "flop", unit = "flop", formula = "flop_any" },
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
