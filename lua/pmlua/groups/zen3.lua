-- SPDX-License-Identifier: BSD-3-Clause
-- AMD Zen 3.
return {
  like = "zen2",
  pmus = { "amd64_fam19h_zen3" },
  groups = {
    BANDWIDTH = {
      prose = "Lines filled into the data cache, by where they came from. Demand fills and prefetches alike. Writes " ..
        "to memory are counted by uncore PMUs only, for the whole socket.",
      events = {
        from_l2 = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LCL_L2",
        from_cache = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:INT_CACHE:EXT_CACHE_LCL:EXT_CACHE_RMT",
        from_dram = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT",
      },
      metrics = {
        { name = "from_l2_rate", unit = "byte/s", formula = "line * from_l2 / time" },
        { name = "from_cache_rate", unit = "byte/s", formula = "line * from_cache / time" },
        { name = "memory_read", unit = "byte/s", formula = "line * from_dram / time" },
      },
    },
    CYCLE = {
      events = { ops = "RETIRED_OPS", token_stalls = "DISPATCH_RESOURCE_STALL_CYCLES_1:FP_SCHEDULER_RSRC_STALL" },
    },
    LOADSTORE = { events = { misaligned = "MISALIGNED_LOADS:MA64" } },
  },
}
