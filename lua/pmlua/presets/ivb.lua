-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Ivy Bridge: as Sandy Bridge, with events that were renamed.
return {
  like = "snb",
  pmus = { "ivb", "ivb_ep" },
  presets = {
    { name = "PAPI_BR_CN", events = { conditional = "BR_INST_RETIRED:COND" } },
    { name = "PAPI_BR_UCN", events = { conditional = "BR_INST_RETIRED:COND" } },
    { name = "PAPI_BR_TKN", events = { conditional = "BR_INST_RETIRED:COND" } },
    { name = "PAPI_BR_PRC", events = { conditional = "BR_INST_RETIRED:COND" } },
    { name = "PAPI_L2_DCA", events = { owns = "L2_RQSTS:ALL_RFO" } },
    { name = "PAPI_L2_DCH", events = { reads_hit = "L2_RQSTS:DEMAND_DATA_RD_HIT", owns_hit = "L2_RQSTS:RFO_HIT" } },
    { name = "PAPI_L2_DCM", events = { reads_hit = "L2_RQSTS:DEMAND_DATA_RD_HIT" } },
    { name = "PAPI_L2_DCW", events = { owns = "L2_RQSTS:ALL_RFO" } },
    { name = "PAPI_L2_LDM", events = { reads_hit = "L2_RQSTS:DEMAND_DATA_RD_HIT" } },
    { name = "PAPI_L2_TCA", events = { owns = "L2_RQSTS:ALL_RFO" } },
    { name = "PAPI_L2_TCH", events = { reads_hit = "L2_RQSTS:DEMAND_DATA_RD_HIT", owns_hit = "L2_RQSTS:RFO_HIT" } },
    { name = "PAPI_L2_TCM", events = { reads_hit = "L2_RQSTS:DEMAND_DATA_RD_HIT" } },
    { name = "PAPI_L2_TCW", events = { owns = "L2_RQSTS:ALL_RFO" } },
    { name = "PAPI_L3_DCA", events = { reads_hit = "L2_RQSTS:DEMAND_DATA_RD_HIT" } },
  },
}
