-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Ice Lake-X and Ice Lake.
return {
  like = "skx",
  pmus = { "icx", "icl" },
  presets = {
    { name = "PAPI_TOT_CYC", about = "cycles",
      formula = "cycles", events = { cycles = "CPU_CLK_UNHALTED:THREAD_P" } },
    { name = "PAPI_REF_CYC", about = "reference cycles",
      formula = "ref", events = { ref = "CPU_CLK_UNHALTED:REF_TSC" } },
    { name = "PAPI_BR_CN", about = "conditional branches",
      formula = "conditional", events = { conditional = "BR_INST_RETIRED:COND" } },
    { name = "PAPI_L3_TCA", about = "requests to L3",
      formula = "asked", events = { asked = "LONGEST_LAT_CACHE:REFERENCES" } },
    { name = "PAPI_RES_STL", about = "cycles stalled",
      formula = "stalls", events = { stalls = "CYCLE_ACTIVITY:STALLS_TOTAL" } },
  },
}
