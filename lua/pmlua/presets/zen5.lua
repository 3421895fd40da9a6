-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD Zen 5.
return {
  like = "zen4",
  pmus = { "amd64_fam1ah_zen5" },
  events = {
    code_tlb_missed = "L1_ITLB_MISS_L2_ITLB_MISS:ANY", data_tlb_missed = "L1_DTLB_MISS:ALL_L2_MISS",
    l1_missed = "REQUESTS_TO_L2_GROUP1:ALL_DC",
  },
}
