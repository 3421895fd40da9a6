-- SPDX-License-Identifier: BSD-3-Clause
-- AMD Zen 1: as Zen 2, with operations by precision, and fills of the data cache by prefetches only.
return {
  like = "zen2",
  pmus = { "amd64_fam17h_zen1" },
  events = {
    div = "RETIRED_SSE_AVX_OPERATIONS:SP_DIV_FLOPS:DP_DIV_FLOPS",
    dp = "RETIRED_SSE_AVX_OPERATIONS:DP_ADD_SUB_FLOPS:DP_MULT_FLOPS:DP_MULT_ADD_FLOPS:DP_DIV_FLOPS",
    flop_any = "RETIRED_SSE_AVX_OPERATIONS:SP_ADD_SUB_FLOPS:SP_MULT_FLOPS:SP_MULT_ADD_FLOPS:SP_DIV_FLOPS:" ..
      "DP_ADD_SUB_FLOPS:DP_MULT_FLOPS:DP_MULT_ADD_FLOPS:DP_DIV_FLOPS",
    from_cache = "HARDWARE_PREFETCH_DATA_CACHE_FILLS:LS_MABRESP_LCL_CACHE:LS_MABRESP_LCL_RMT_CACHE",
    from_dram = "HARDWARE_PREFETCH_DATA_CACHE_FILLS:LS_MABRESP_LCL_DRAM:LS_MABRESP_LCL_RMT_DRAM",
    from_l2 = "HARDWARE_PREFETCH_DATA_CACHE_FILLS:MABRESP_LCL_L2",
    local_memory = "HARDWARE_PREFETCH_DATA_CACHE_FILLS:LS_MABRESP_LCL_DRAM",
    remote_clean = "HARDWARE_PREFETCH_DATA_CACHE_FILLS:LS_MABRESP_LCL_RMT_CACHE",
    remote_memory = "HARDWARE_PREFETCH_DATA_CACHE_FILLS:LS_MABRESP_LCL_RMT_DRAM",
    sp = "RETIRED_SSE_AVX_OPERATIONS:SP_ADD_SUB_FLOPS:SP_MULT_FLOPS:SP_MULT_ADD_FLOPS:SP_DIV_FLOPS",
  },
  groups = {
    FLOPS = {
      prose = "Floating-point operations that retired, by precision; both halves of a multiply-add are counted. Up to 64 of " ..
        "them retire in a cycle, so the event takes two counters: an even one and the next.",
      "flop = flop_any", "flop_rate", "sp_rate = sp / time", "dp_rate = dp / time", "flop_per_cycle", "div_share", "ipc",
    },
    BANDWIDTH = {
      prose = "Lines that the hardware prefetcher filled into the data cache, by where they came from; Zen 1 does not " ..
        "report the origin of demand fills, so these rates are lower bounds. Software prefetches are not included.",
      "prefetched_from_l2 [byte/s] = line * from_l2 / time", "prefetched_from_cache [byte/s] = line * from_cache / time",
      "prefetched_from_memory [byte/s] = line * from_dram / time",
    },
    L3 = false,
    NUMA = {
      prose = "Lines that the hardware prefetcher filled into the data cache, from this socket's memory and from another's.",
    },
  },
}
