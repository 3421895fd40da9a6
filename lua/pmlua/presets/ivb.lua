-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Ivy Bridge: as Sandy Bridge, with events that were renamed.
return {
  like = "snb",
  pmus = { "ivb", "ivb_ep" },
  events = {
    conditional = "BR_INST_RETIRED:COND", owns = "L2_RQSTS:ALL_RFO", owns_hit = "L2_RQSTS:RFO_HIT",
    reads_hit = "L2_RQSTS:DEMAND_DATA_RD_HIT",
  },
}
