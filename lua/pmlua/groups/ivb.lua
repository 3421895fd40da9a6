-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Ivy Bridge: as Sandy Bridge, with events that were renamed.
return {
  like = "snb",
  pmus = { "ivb" },
  events = {
    all_stalls = "CYCLE_ACTIVITY:CYCLES_NO_EXECUTE", conditional = "BR_INST_RETIRED:COND",
    conditional_wrong = "BR_MISP_RETIRED:COND", had = "L2_RQSTS:DEMAND_DATA_RD_HIT",
    stalls = "CYCLE_ACTIVITY:CYCLES_NO_EXECUTE",
  },
  groups = {
    TOPDOWN2 = { events = { memory_stalls = "CYCLE_ACTIVITY:STALLS_LDM_PENDING" } },
  },
}
