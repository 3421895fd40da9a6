-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Cortex-A53.
return {
  pmus = { "arm_ac53" },
  source = "Names of presets: PAPI; what they are made of: libpfm4 and the event lists of the vendor.",
  events = {
    branches = "BRANCH_PRED", code = "L1I_CACHE_ACCESS", code_refilled = "L1I_CACHE_REFILL",
    code_tlb_missed = "L1I_TLB_REFILL", cycles = "CPU_CYCLES", data_tlb_missed = "L1D_TLB_REFILL",
    fast_interrupts = "EXCEPTION_FIQ", instructions = "INST_RETIRED", interrupts = "EXCEPTION_IRQ",
    l1_asked = "L1D_CACHE_ACCESS", l1_refilled = "L1D_CACHE_REFILL", l2_asked = "L2D_CACHE_ACCESS",
    l2_refilled = "L2D_CACHE_REFILL", loads = "LD_RETIRED", mispredicted = "BRANCH_MISPRED", stores = "ST_RETIRED",
  },
  presets = {
    "PAPI_BR_MSP", "PAPI_HW_INT", "PAPI_L1_DCA", "PAPI_L1_ICA", "PAPI_L1_ICM", "PAPI_L2_DCA", "PAPI_L2_DCM", "PAPI_LD_INS",
    "PAPI_LST_INS", "PAPI_SR_INS", "PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_BR_INS; branches with a prediction",
    "PAPI_L1_DCM = l1_refilled", "PAPI_L2_DCH = l2_asked - l2_refilled",
    "PAPI_TLB_DM; data addresses that the first TLB missed", "PAPI_TLB_IM; code addresses that the first TLB missed",
  },
}
