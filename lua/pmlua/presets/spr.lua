-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Sapphire Rapids.
return {
  like = "icx",
  pmus = { "spr" },
  presets = {
    { name = "PAPI_L3_TCA", about = "requests to L3",
      formula = "asked", events = { asked = "LONGEST_LAT_CACHE:REFERENCE" } },
  },
}
