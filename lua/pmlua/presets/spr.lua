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
  },
}
