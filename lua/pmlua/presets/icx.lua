-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Ice Lake-X.
return {
  like = "skx",
  pmus = { "icx" },
  events = {
    cached = "IDQ:DSB_CYCLES_OK", conditional = "BR_INST_RETIRED:COND", cycles = "CPU_CLK_UNHALTED:THREAD_P",
    decoded = "IDQ:MITE_CYCLES_OK", forwarded = "OCR:DEMAND_DATA_RD_L3_HIT_SNOOP_HIT_WITH_FWD",
    full = "UOPS_RETIRED:SLOTS:c=4", l3_asked = "LONGEST_LAT_CACHE:REFERENCES", mispredicted = "BR_MISP_RETIRED:COND",
    modified = "OCR:DEMAND_DATA_RD_L3_HIT_SNOOP_HITM", not_taken = "BR_INST_RETIRED:COND_NTAKEN",
    ref = "CPU_CLK_UNHALTED:REF_TSC", stalls = "CYCLE_ACTIVITY:STALLS_TOTAL", taken = "BR_INST_RETIRED:COND_TAKEN",
  },
  presets = {
    "PAPI_BR_TKN; conditional branches that were taken",
    "PAPI_FUL_ICY; cycles in which the frontend delivered all the micro-operations it can",
    { name = "PAPI_CA_SNP", events = false }, { name = "PAPI_PRF_DM", events = false },
  },
}
