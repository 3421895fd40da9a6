-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Neoverse V1.
return {
  like = "neoverse_n1",
  pmus = { "arm_v1" },
  events = {
    fixed = "FP_FIXED_OPS_SPEC", ref = "CNT_CYCLES", scalable = "FP_SCALE_OPS_SPEC", simd = "ASE_INST_SPEC",
    sve = "SVE_INST_SPEC",
  },
  presets = {
    "PAPI_FP_OPS = fixed + 2 * scalable", "PAPI_REF_CYC; cycles of a clock of constant frequency",
    "PAPI_VEC_INS = simd + sve; vector instructions", { name = "PAPI_L3_DCA", events = false },
    { name = "PAPI_L3_DCM", events = false },
  },
}
