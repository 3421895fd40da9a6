-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD Zen 5.
return {
  like = "zen4",
  pmus = { "amd64_fam1ah_zen5" },
  presets = {
    { name = "PAPI_TLB_DM", events = { walks = "L1_DTLB_MISS:ALL_L2_MISS" } },
    { name = "PAPI_TLB_IM", events = { walks = "L1_ITLB_MISS_L2_ITLB_MISS:ANY" } },
    { name = "PAPI_TLB_TL",
      events = { data_walks = "L1_DTLB_MISS:ALL_L2_MISS", code_walks = "L1_ITLB_MISS_L2_ITLB_MISS:ANY" } },
    { name = "PAPI_L1_DCM", events = { asked = "REQUESTS_TO_L2_GROUP1:ALL_DC" } },
  },
}
