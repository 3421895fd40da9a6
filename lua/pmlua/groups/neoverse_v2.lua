-- SPDX-License-Identifier: BSD-3-Clause
-- Arm Neoverse V2: as V1, with SVE vectors of 128 bits.
return {
  like = "neoverse_v1",
  pmus = { "arm_v2" },
  constants = { lanes = { 1, "" } },
  events = { asked = "L2D_CACHE", l2 = "L2D_CACHE" },
  groups = {
    FLOPS = {
      prose = "Floating-point operations, including speculative ones. SVE vectors have 128 bits, which is the size that the " ..
        "event assumes. A fused multiply-add counts twice.",
    },
  },
}
