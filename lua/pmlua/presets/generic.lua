-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets by perf's generic names.
return {
  pmus = { "generic" },
  source = "Names of presets: PAPI; what they are made of: perf_event_open(2).",
  events = {
    branches = "branches", cycles = "cycles", data_tlb_missed = "dTLB-load-misses", instructions = "instructions",
    l1_missed = "L1-dcache-load-misses", l3_asked = "cache-references", l3_missed = "cache-misses",
    mispredicted = "branch-misses", ref = "ref-cycles",
  },
  presets = {
    "PAPI_BR_INS", "PAPI_BR_MSP", "PAPI_L3_TCA", "PAPI_L3_TCM", "PAPI_REF_CYC", "PAPI_TLB_DM", "PAPI_TOT_CYC", "PAPI_TOT_INS",
    "PAPI_L1_DCM = l1_missed",
  },
}
