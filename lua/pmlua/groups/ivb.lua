-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Ivy Bridge: as Sandy Bridge, with events that were renamed.
return {
  like = "snb",
  pmus = { "ivb" },
  groups = {
    BRANCH = { events = { conditional = "BR_INST_RETIRED:COND", conditional_wrong = "BR_MISP_RETIRED:COND" } },
    CYCLE = { events = { stalls = "CYCLE_ACTIVITY:CYCLES_NO_EXECUTE" } },
    STALLS = { events = { all_stalls = "CYCLE_ACTIVITY:CYCLES_NO_EXECUTE" } },
    TOPDOWN2 = {
      events = { all_stalls = "CYCLE_ACTIVITY:CYCLES_NO_EXECUTE", memory_stalls = "CYCLE_ACTIVITY:STALLS_LDM_PENDING" },
    },
    L2 = { events = { had = "L2_RQSTS:DEMAND_DATA_RD_HIT" } },
  },
}
