-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Cortex-A57.
return {
  like = "cortex_a53",
  pmus = { "arm_ac57" },
  source = "Names of presets: PAPI; what they are made of: libpfm4 and the event lists of the vendor.",
  events = {
    branches = "INST_SPEC_EXEC_SOFT_PC", l1_reads = "L1D_READ_ACCESS", l1_writes = "L1D_WRITE_ACCESS",
    l2_reads_refilled = "L2D_READ_REFILL", l2_writes_refilled = "L2D_WRITE_REFILL", loads = "INST_SPEC_EXEC_LOAD",
    reads = "L2D_READ_ACCESS", scalar = "INST_SPEC_EXEC_VFP", simd = "INST_SPEC_EXEC_SIMD", speculated = "INST_SPEC_EXEC",
    stores = "INST_SPEC_EXEC_STORE", writes = "L2D_WRITE_ACCESS",
  },
  presets = {
    "PAPI_FP_INS", "PAPI_L1_DCR", "PAPI_L1_DCW", "PAPI_L2_DCR", "PAPI_TOT_IIS",
    "PAPI_BR_INS; branches, including speculative branches", "PAPI_L2_DCW = writes",
    "PAPI_L2_LDM = l2_reads_refilled; reads that L2 missed", "PAPI_L2_STM = l2_writes_refilled; writes that L2 missed",
    "PAPI_VEC_INS = simd; vector instructions",
  },
}
