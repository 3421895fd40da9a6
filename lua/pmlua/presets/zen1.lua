-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD Zen 1. PAPI's PAPI_L1_ICA, ICR, ICH and TCA are left out: AMD says that the events of accesses of the
-- instruction cache (0x80, 0x81) count wrong on Zen.
return {
  like = "zen2",
  pmus = { "amd64_fam17h_zen1" },
  events = {
    add_sub = "RETIRED_SSE_AVX_OPERATIONS:SP_ADD_SUB_FLOPS:DP_ADD_SUB_FLOPS",
    divisions = "RETIRED_SSE_AVX_OPERATIONS:SP_DIV_FLOPS:DP_DIV_FLOPS",
    dp_flop = "RETIRED_SSE_AVX_OPERATIONS:DP_ADD_SUB_FLOPS:DP_MULT_FLOPS:DP_MULT_ADD_FLOPS:DP_DIV_FLOPS",
    flop = "RETIRED_SSE_AVX_OPERATIONS:SP_ADD_SUB_FLOPS:SP_MULT_FLOPS:SP_MULT_ADD_FLOPS:SP_DIV_FLOPS:DP_ADD_SUB_FLOPS:" ..
      "DP_MULT_FLOPS:DP_MULT_ADD_FLOPS:DP_DIV_FLOPS",
    l1_asked = "DATA_CACHE_ACCESSES", mult = "RETIRED_SSE_AVX_OPERATIONS:SP_MULT_FLOPS:DP_MULT_FLOPS",
    sp_flop = "RETIRED_SSE_AVX_OPERATIONS:SP_ADD_SUB_FLOPS:SP_MULT_FLOPS:SP_MULT_ADD_FLOPS:SP_DIV_FLOPS",
    starved = "INSTRUCTION_PIPE_STALL:IC_STALL_ANY",
  },
  presets = {
    "PAPI_DP_OPS = dp_flop", "PAPI_L1_DCA; accesses of L1 for data", "PAPI_SP_OPS = sp_flop",
    "PAPI_STL_ICY; cycles in which the instruction cache delivered nothing",
  },
}
