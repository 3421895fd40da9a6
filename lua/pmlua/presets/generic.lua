-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets by perf's generic names.
return {
  pmus = { "generic" },
  source = "Names of presets: PAPI; what they are made of: perf_event_open(2).",
  presets = {
    { name = "PAPI_TOT_CYC", about = "cycles",
      formula = "cycles", events = { cycles = "cycles" } },
    { name = "PAPI_REF_CYC", about = "reference cycles",
      formula = "ref", events = { ref = "ref-cycles" } },
    { name = "PAPI_TOT_INS", about = "instructions",
      formula = "instructions", events = { instructions = "instructions" } },
    { name = "PAPI_BR_INS", about = "branches",
      formula = "branches", events = { branches = "branches" } },
    { name = "PAPI_BR_MSP", about = "branches of all kinds that were guessed wrong",
      formula = "mispredicted", events = { mispredicted = "branch-misses" } },
    { name = "PAPI_L1_DCM", about = "data that L1 missed",
      formula = "missed", events = { missed = "L1-dcache-load-misses" } },
    { name = "PAPI_L3_TCA", about = "requests to L3",
      formula = "asked", events = { asked = "cache-references" } },
    { name = "PAPI_L3_TCM", about = "requests that L3 missed",
      formula = "missed", events = { missed = "cache-misses" } },
    { name = "PAPI_TLB_DM", about = "data addresses that all TLBs missed",
      formula = "missed", events = { missed = "dTLB-load-misses" } },
  },
}
