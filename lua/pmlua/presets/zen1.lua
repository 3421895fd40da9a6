-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD Zen 1. PAPI's PAPI_L1_ICA, ICR, ICH and TCA are left out: AMD says that the events of accesses of the
-- instruction cache (0x80, 0x81) count wrong on Zen.
return {
  like = "zen2",
  pmus = { "amd64_fam17h_zen1" },
  presets = {
    { name = "PAPI_L1_DCA", about = "accesses of L1 for data", formula = "asked", events = { asked = "DATA_CACHE_ACCESSES" } },
    { name = "PAPI_STL_ICY", about = "cycles in which the instruction cache delivered nothing",
      formula = "idle", events = { idle = "INSTRUCTION_PIPE_STALL:IC_STALL_ANY" } },
    { name = "PAPI_FP_OPS",
      events = {
        flop = "RETIRED_SSE_AVX_OPERATIONS:SP_ADD_SUB_FLOPS:SP_MULT_FLOPS:SP_MULT_ADD_FLOPS:SP_DIV_FLOPS:" ..
          "DP_ADD_SUB_FLOPS:DP_MULT_FLOPS:DP_MULT_ADD_FLOPS:DP_DIV_FLOPS",
      } },
    { name = "PAPI_SP_OPS", about = "floating-point operations, single precision",
      formula = "flop",
      events = { flop = "RETIRED_SSE_AVX_OPERATIONS:SP_ADD_SUB_FLOPS:SP_MULT_FLOPS:SP_MULT_ADD_FLOPS:SP_DIV_FLOPS" } },
    { name = "PAPI_DP_OPS", about = "floating-point operations, double precision",
      formula = "flop",
      events = { flop = "RETIRED_SSE_AVX_OPERATIONS:DP_ADD_SUB_FLOPS:DP_MULT_FLOPS:DP_MULT_ADD_FLOPS:DP_DIV_FLOPS" } },
    { name = "PAPI_FDV_INS", events = { divisions = "RETIRED_SSE_AVX_OPERATIONS:SP_DIV_FLOPS:DP_DIV_FLOPS" } },
    { name = "PAPI_FSQ_INS", events = { divisions = "RETIRED_SSE_AVX_OPERATIONS:SP_DIV_FLOPS:DP_DIV_FLOPS" } },
    { name = "PAPI_FAD_INS", events = { add_sub = "RETIRED_SSE_AVX_OPERATIONS:SP_ADD_SUB_FLOPS:DP_ADD_SUB_FLOPS" } },
    { name = "PAPI_FML_INS", events = { mult = "RETIRED_SSE_AVX_OPERATIONS:SP_MULT_FLOPS:DP_MULT_FLOPS" } },
  },
}
