-- SPDX-License-Identifier: BSD-3-Clause
-- AMD Zen 4.
return {
  like = "zen3",
  pmus = { "amd64_fam19h_zen4" },
  groups = {
    BANDWIDTH = {
      events = {
        from_cache = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LOCAL_CCX:NEAR_CACHE_NEAR_FAR:FAR_CACHE_NEAR_FAR",
        from_dram = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR:ALT_MEM_NEAR_FAR",
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
  },
}
