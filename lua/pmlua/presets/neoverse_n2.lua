-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Neoverse N2: as V1, with SVE vectors of 128 bits.
return {
  like = "neoverse_v1",
  pmus = { "arm_n2" },
  presets = {
    { name = "PAPI_FP_OPS", about = "floating-point operations",
      formula = "fixed + scalable", events = { fixed = "FP_FIXED_OPS_SPEC", scalable = "FP_SCALE_OPS_SPEC" } },
  },
}
