-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Neoverse V2.
return {
  like = "neoverse_n2",
  pmus = { "arm_v2" },
  events = {
    l2_asked = "L2D_CACHE",
  },
}
