-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Neoverse N2: as V1, with SVE vectors of 128 bits.
return {
  like = "neoverse_v1",
  pmus = { "arm_n2" },
  events = {
    l3_data_asked = "L3D_CACHE", l3_refilled = "L3D_CACHE_REFILL",
  },
  presets = { "PAPI_L3_DCM", "PAPI_FP_OPS = fixed + scalable", "PAPI_L3_DCA = l3_data_asked; data asked of L3" },
}
