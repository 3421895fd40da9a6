-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Neoverse V2.
return {
  like = "neoverse_n2",
  pmus = { "arm_v2" },
  presets = {
    { name = "PAPI_L2_DCA", events = { asked = "L2D_CACHE" } },
    { name = "PAPI_L2_DCH", events = { asked = "L2D_CACHE" } },
    { name = "PAPI_L2_TCA", events = { asked = "L2D_CACHE" } },
    { name = "PAPI_L2_TCH", events = { asked = "L2D_CACHE" } },
  },
}
