-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Broadwell: as Haswell, with floating-point operations.
return {
  like = "hsw",
  pmus = { "bdw", "bdw_ep" },
  presets = {
    { name = "PAPI_SP_OPS", about = "floating-point operations, single precision",
      formula = "s1 + 4 * s4 + 8 * s8",
      events = {
        s1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", s4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
        s8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE",
      } },
    { name = "PAPI_DP_OPS", about = "floating-point operations, double precision",
      formula = "d1 + 2 * d2 + 4 * d4",
      events = {
        d1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", d2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE",
        d4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE",
      } },
    { name = "PAPI_VEC_SP", about = "vector instructions, single precision",
      formula = "s4 + s8",
      events = { s4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE", s8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE" } },
    { name = "PAPI_VEC_DP", about = "vector instructions, double precision",
      formula = "d2 + d4",
      events = { d2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", d4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE" } },
    { name = "PAPI_FP_OPS", about = "floating-point operations",
      formula = "s1 + 4 * s4 + 8 * s8 + d1 + 2 * d2 + 4 * d4",
      events = {
        s1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", s4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
        s8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", d1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE",
        d2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", d4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE",
      } },
  },
}
