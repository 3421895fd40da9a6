-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD's processors of families 0Fh to 16h.
return {
  pmus = {
    "amd64_k8_revb", "amd64_k8_revc", "amd64_k8_revd", "amd64_k8_reve", "amd64_k8_revf", "amd64_k8_revg",
    "amd64_fam10h_barcelona", "amd64_fam10h_shanghai", "amd64_fam10h_istanbul", "amd64_fam12h_llano", "amd64_fam14h_bobcat",
    "amd64_fam15h_interlagos", "amd64_fam16h",
  },
  source = "Names of presets: PAPI; what they are made of: libpfm4 and the manuals of the vendor.",
  events = {
    branches = "RETIRED_BRANCH_INSTRUCTIONS", cycles = "CPU_CLK_UNHALTED", instructions = "RETIRED_INSTRUCTIONS",
    l1_asked = "DATA_CACHE_ACCESSES", l1_missed = "DATA_CACHE_MISSES",
    mispredicted = "RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS", taken = "RETIRED_TAKEN_BRANCH_INSTRUCTIONS",
  },
  presets = {
    "PAPI_BR_INS", "PAPI_BR_MSP", "PAPI_BR_TKN", "PAPI_L1_DCA", "PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_L1_DCM = l1_missed",
  },
}
