-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Sapphire Rapids.
return {
  like = "icx",
  pmus = { "spr" },
  presets = {
    { name = "PAPI_L3_TCA", about = "requests to L3",
      formula = "asked", events = { asked = "LONGEST_LAT_CACHE:REFERENCE" } },
    { name = "PAPI_L3_TCR", events = { asked = "LONGEST_LAT_CACHE:REFERENCE" } },
    { name = "PAPI_CA_SHR", events = { reads = "OFFCORE_REQUESTS:DATA_RD" } },
    { name = "PAPI_CA_CLN", events = false },
    { name = "PAPI_HP_OPS", about = "floating-point operations, half precision",
      formula = "h1 + 8 * h8 + 16 * h16 + 32 * h32",
      events = {
        h1 = "FP_ARITH_INST_RETIRED2:SCALAR_HALF", h8 = "FP_ARITH_INST_RETIRED2:128B_PACKED_HALF",
        h16 = "FP_ARITH_INST_RETIRED2:256B_PACKED_HALF", h32 = "FP_ARITH_INST_RETIRED2:512B_PACKED_HALF",
      } },
    { name = "PAPI_VEC_HP", about = "vector instructions, half precision",
      formula = "h8 + h16 + h32",
      events = {
        h8 = "FP_ARITH_INST_RETIRED2:128B_PACKED_HALF", h16 = "FP_ARITH_INST_RETIRED2:256B_PACKED_HALF",
        h32 = "FP_ARITH_INST_RETIRED2:512B_PACKED_HALF",
      } },
  },
}
