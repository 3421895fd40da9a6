-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Neoverse N2: as V1, with SVE vectors of 128 bits.
return {
  like = "neoverse_v1",
  pmus = { "arm_n2" },
  presets = {
    { name = "PAPI_FP_OPS", about = "floating-point operations",
      formula = "fixed + scalable", events = { fixed = "FP_FIXED_OPS_SPEC", scalable = "FP_SCALE_OPS_SPEC" } },
    { name = "PAPI_L3_DCA", about = "data asked of L3",
      formula = "asked", events = { asked = "L3D_CACHE" } },
    { name = "PAPI_L3_DCM", about = "data that L3 missed",
      formula = "refilled", events = { refilled = "L3D_CACHE_REFILL" } },
  },
}
