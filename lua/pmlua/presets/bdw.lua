-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Broadwell: as Haswell, with floating-point operations.
return {
  like = "hsw",
  pmus = { "bdw", "bdw_ep" },
  events = {
    d1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", d2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE",
    d4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE", s1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE",
    s4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE", s8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE",
  },
  presets = {
    "PAPI_DP_OPS = d1 + 2 * d2 + 4 * d4", "PAPI_FP_OPS = s1 + 4 * s4 + 8 * s8 + d1 + 2 * d2 + 4 * d4",
    "PAPI_SP_OPS = s1 + 4 * s4 + 8 * s8", "PAPI_VEC_DP = d2 + d4", "PAPI_VEC_SP = s4 + s8",
  },
}
