-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Neoverse V1.
return {
  like = "neoverse_n1",
  pmus = { "arm_v1" },
  presets = {
    { name = "PAPI_VEC_INS", about = "vector instructions",
      formula = "simd + sve", events = { simd = "ASE_INST_SPEC", sve = "SVE_INST_SPEC" } },
    { name = "PAPI_FP_OPS", about = "floating-point operations",
      formula = "fixed + 2 * scalable", events = { fixed = "FP_FIXED_OPS_SPEC", scalable = "FP_SCALE_OPS_SPEC" } },
    { name = "PAPI_REF_CYC", about = "cycles of a clock of constant frequency",
      formula = "ref", events = { ref = "CNT_CYCLES" } },
    { name = "PAPI_L3_DCA", events = false },
    { name = "PAPI_L3_DCM", events = false },
  },
}
