-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Sapphire Rapids.
return {
  like = "icx",
  pmus = { "spr" },
  events = {
    h1 = "FP_ARITH_INST_RETIRED2:SCALAR_HALF", h16 = "FP_ARITH_INST_RETIRED2:256B_PACKED_HALF",
    h32 = "FP_ARITH_INST_RETIRED2:512B_PACKED_HALF", h8 = "FP_ARITH_INST_RETIRED2:128B_PACKED_HALF",
    l3_asked = "LONGEST_LAT_CACHE:REFERENCE", reads_asked = "OFFCORE_REQUESTS:DATA_RD",
  },
  presets = { "PAPI_HP_OPS", "PAPI_VEC_HP", { name = "PAPI_CA_CLN", events = false } },
}
