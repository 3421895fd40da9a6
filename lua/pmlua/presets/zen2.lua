-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD Zen 2.
return {
  pmus = { "amd64_fam17h_zen2" },
  source = "Names of presets: PAPI; what they are made of: libpfm4 and the event lists of the vendor.",
  presets = {
    { name = "PAPI_TOT_CYC", about = "cycles",
      formula = "cycles", events = { cycles = "CYCLES_NOT_IN_HALT" } },
    { name = "PAPI_TOT_INS", about = "instructions",
      formula = "instructions", events = { instructions = "RETIRED_INSTRUCTIONS" } },
    { name = "PAPI_BR_INS", about = "branches",
      formula = "branches", events = { branches = "RETIRED_BRANCH_INSTRUCTIONS" } },
    { name = "PAPI_BR_MSP", about = "branches that were guessed wrong",
      formula = "mispredicted", events = { mispredicted = "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED" } },
    { name = "PAPI_BR_TKN", about = "branches that were taken",
      formula = "taken", events = { taken = "RETIRED_TAKEN_BRANCH_INSTRUCTIONS" } },
    { name = "PAPI_BR_CN", about = "conditional branches",
      formula = "conditional", events = { conditional = "RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS" } },
    { name = "PAPI_L2_DCM", about = "data that L2 missed",
      formula = "missed", events = { missed = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C" } },
    { name = "PAPI_L2_DCA", about = "data asked of L2",
      formula = "asked",
      events = {
        asked = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C:LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_X:" ..
          "LS_RD_BLK_L_HIT_S:LS_RD_BLK_X",
      } },
    { name = "PAPI_L1_ICM", about = "code that L1 missed",
      formula = "hit + missed",
      events = {
        hit = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_HIT_X:IC_FILL_HIT_S",
        missed = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_MISS",
      } },
    { name = "PAPI_LD_INS", about = "loads",
      formula = "loads + both", events = { loads = "LS_DISPATCH:LD_DISPATCH", both = "LS_DISPATCH:LD_ST_DISPATCH" } },
    { name = "PAPI_SR_INS", about = "stores",
      formula = "stores + both",
      events = {
        stores = "LS_DISPATCH:STORE_DISPATCH", both = "LS_DISPATCH:LD_ST_DISPATCH",
      } },
    { name = "PAPI_TLB_DM", about = "data addresses that all TLBs missed",
      formula = "walks",
      events = {
        walks = "L1_DTLB_MISS:TLB_RELOAD_1G_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_4K_L2_MISS",
      } },
    { name = "PAPI_TLB_IM", about = "code addresses that all TLBs missed",
      formula = "walks", events = { walks = "L1_ITLB_MISS_L2_ITLB_MISS:IF1G:IF2M:IF4K" } },
    { name = "PAPI_FP_OPS", about = "floating-point operations",
      formula = "flop", events = { flop = "RETIRED_SSE_AVX_FLOPS:ANY" } },
    { name = "PAPI_FDV_INS", about = "floating-point divisions",
      formula = "divisions", events = { divisions = "RETIRED_SSE_AVX_FLOPS:DIV_FLOPS" } },
    { name = "PAPI_FP_INS", about = "floating-point instructions",
      formula = "sse + x87",
      events = {
        sse = "RETIRED_MMX_FP_INSTRUCTIONS:SSE_INSTR", x87 = "RETIRED_MMX_FP_INSTRUCTIONS:X87_INSTR",
      } },
  },
}
