-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD Zen 2.
return {
  pmus = { "amd64_fam17h_zen2" },
  source = "Names of presets: PAPI; what they are made of: libpfm4 and the event lists of the vendor.",
  events = {
    add_sub = "RETIRED_SSE_AVX_FLOPS:ADD_SUB_FLOPS", both = "LS_DISPATCH:LD_ST_DISPATCH",
    branches = "RETIRED_BRANCH_INSTRUCTIONS", code = "REQUESTS_TO_L2_GROUP1:CACHEABLE_IC_READ",
    code_hit = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_HIT_X:IC_FILL_HIT_S",
    code_missed = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_MISS",
    code_tlb_missed = "L1_ITLB_MISS_L2_ITLB_MISS:IF1G:IF2M:IF4K", conditional = "RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS",
    cycles = "CYCLES_NOT_IN_HALT",
    data_hit = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_X:LS_RD_BLK_L_HIT_S:LS_RD_BLK_X",
    data_missed = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C",
    data_tlb_missed = "L1_DTLB_MISS:TLB_RELOAD_1G_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_4K_L2_MISS",
    divisions = "RETIRED_SSE_AVX_FLOPS:DIV_FLOPS", flop = "RETIRED_SSE_AVX_FLOPS:ANY", instructions = "RETIRED_INSTRUCTIONS",
    l1_asked = "LS_DISPATCH:LD_DISPATCH:STORE_DISPATCH:LD_ST_DISPATCH",
    l1_missed = "REQUESTS_TO_L2_GROUP1:RD_BLK_L:RD_BLK_X:LS_RD_BLK_C_S:CHANGE_TO_X",
    l2_asked = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C:LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_X:" ..
      "LS_RD_BLK_L_HIT_S:LS_RD_BLK_X",
    l2_hit = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_X:LS_RD_BLK_L_HIT_S:" ..
      "LS_RD_BLK_X:IC_FILL_HIT_X:IC_FILL_HIT_S",
    l2_missed = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C:IC_FILL_MISS", loads = "LS_DISPATCH:LD_DISPATCH",
    mispredicted = "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED", mult = "RETIRED_SSE_AVX_FLOPS:MULT_FLOPS",
    reads = "REQUESTS_TO_L2_GROUP1:RD_BLK_L:LS_RD_BLK_C_S", sse = "RETIRED_MMX_FP_INSTRUCTIONS:SSE_INSTR",
    stores = "LS_DISPATCH:STORE_DISPATCH", taken = "RETIRED_TAKEN_BRANCH_INSTRUCTIONS",
    x87 = "RETIRED_MMX_FP_INSTRUCTIONS:X87_INSTR",
  },
  presets = {
    "PAPI_BR_CN", "PAPI_BR_INS", "PAPI_BR_MSP", "PAPI_BR_PRC", "PAPI_BR_TKN", "PAPI_BR_UCN", "PAPI_FAD_INS", "PAPI_FDV_INS",
    "PAPI_FML_INS", "PAPI_FP_OPS", "PAPI_FSQ_INS", "PAPI_L2_DCA", "PAPI_L2_DCR", "PAPI_L2_ICA", "PAPI_L2_ICH", "PAPI_L2_ICM",
    "PAPI_L2_ICR", "PAPI_TLB_DM", "PAPI_TLB_IM", "PAPI_TLB_TL", "PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_VEC_INS",
    "PAPI_BR_NTK = branches - taken; branches of all kinds that were not taken", "PAPI_FP_INS = sse + x87",
    "PAPI_L1_DCA; loads and stores that were dispatched to L1", "PAPI_L1_DCM = l1_missed; data that L1 asked of L2",
    "PAPI_L1_ICM = code_hit + code_missed", "PAPI_L2_DCH = data_hit", "PAPI_L2_DCM = data_missed",
    "PAPI_L2_TCA = l2_hit + l2_missed; data and code asked of L2", "PAPI_L2_TCH = l2_hit; data and code that L2 had",
    "PAPI_L2_TCM; data and code that L2 missed", "PAPI_LD_INS = loads + both", "PAPI_SR_INS = stores + both",
  },
}
