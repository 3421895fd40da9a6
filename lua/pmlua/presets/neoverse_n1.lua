-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Neoverse N1.
return {
  pmus = { "arm_n1" },
  source = "Names of presets: PAPI; what they are made of: libpfm4 and the event lists of the vendor.",
  events = {
    backend_stalls = "STALL_BACKEND", branches = "BR_RETIRED", code = "L1I_CACHE_ACCESS", code_refilled = "L1I_CACHE_REFILL",
    code_tlb_missed = "ITLB_WALK", cycles = "CPU_CYCLES", data_tlb_missed = "DTLB_WALK", dmb = "DMB_SPEC", dsb = "DSB_SPEC",
    fast_interrupts = "EXC_FIQ", frontend_stalls = "STALL_FRONTEND", instructions = "INST_RETIRED", integer = "DP_SPEC",
    interrupts = "EXC_IRQ", isb = "ISB_SPEC", l1_asked = "L1D_CACHE", l1_reads = "L1D_CACHE_RD",
    l1_refilled = "L1D_CACHE_REFILL", l1_writes = "L1D_CACHE_WR", l2_asked = "L2D_CACHE_ACCESS",
    l2_reads_refilled = "L2D_CACHE_REFILL_RD", l2_refilled = "L2D_CACHE_REFILL", l2_writes_refilled = "L2D_CACHE_REFILL_WR",
    l3_asked = "LL_CACHE_RD", l3_data_asked = "L3D_CACHE", l3_missed = "LL_CACHE_MISS_RD", l3_refilled = "L3D_CACHE_REFILL",
    loads = "LD_SPEC", mispredicted = "BR_MIS_PRED_RETIRED", reads = "L2D_CACHE_RD", reads_refilled = "L1D_CACHE_REFILL_RD",
    scalar = "VFP_SPEC", simd = "ASE_SPEC", speculated = "INST_SPEC", stalls = "STALL_BACKEND", stores = "ST_SPEC",
    writes = "L2D_CACHE_WR", writes_refilled = "L1D_CACHE_REFILL_WR",
  },
  presets = {
    "PAPI_BR_INS", "PAPI_BR_MSP", "PAPI_BR_PRC", "PAPI_FP_INS", "PAPI_HW_INT", "PAPI_INT_INS", "PAPI_L1_DCA", "PAPI_L1_DCH",
    "PAPI_L1_DCR", "PAPI_L1_DCW", "PAPI_L1_ICA", "PAPI_L1_ICH", "PAPI_L1_ICM", "PAPI_L1_TCA", "PAPI_L1_TCH", "PAPI_L2_DCA",
    "PAPI_L2_DCM", "PAPI_L2_DCR", "PAPI_L3_DCM", "PAPI_L3_TCA", "PAPI_L3_TCM", "PAPI_LD_INS", "PAPI_LST_INS", "PAPI_RES_STL",
    "PAPI_SR_INS", "PAPI_SYC_INS", "PAPI_TLB_DM", "PAPI_TLB_IM", "PAPI_TLB_TL", "PAPI_TOT_CYC", "PAPI_TOT_IIS", "PAPI_TOT_INS",
    "PAPI_L1_DCM = l1_refilled", "PAPI_L1_LDM = reads_refilled; reads that L1 missed",
    "PAPI_L1_STM = writes_refilled; writes that L1 missed", "PAPI_L1_TCM = l1_refilled + code_refilled",
    "PAPI_L2_DCH = l2_asked - l2_refilled", "PAPI_L2_DCW = writes", "PAPI_L2_LDM = l2_reads_refilled; reads that L2 missed",
    "PAPI_L2_STM = l2_writes_refilled; writes that L2 missed",
    "PAPI_L2_TCA; data and code asked of L2, and lines that L1 wrote back",
    "PAPI_L2_TCH = l2_asked - l2_refilled; data and code that L2 had",
    "PAPI_L2_TCM = l2_refilled; data and code that L2 missed", "PAPI_L2_TCR = reads; reads of L2", "PAPI_L2_TCW = writes",
    "PAPI_L3_DCA = l3_data_asked; data asked of L3",
    "PAPI_STL_ICY = frontend_stalls + backend_stalls; cycles without a new operation, for want of operations or of resources",
    "PAPI_VEC_INS = simd; vector instructions",
  },
}
