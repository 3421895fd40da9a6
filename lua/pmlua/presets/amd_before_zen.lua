-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD's processors of families 0Fh to 16h.
return {
  pmus = {
    "amd64_k8_revb", "amd64_k8_revc", "amd64_k8_revd", "amd64_k8_reve", "amd64_k8_revf", "amd64_k8_revg",
    "amd64_fam10h_barcelona", "amd64_fam10h_shanghai", "amd64_fam10h_istanbul", "amd64_fam12h_llano", "amd64_fam14h_bobcat",
    "amd64_fam15h_interlagos", "amd64_fam16h",
  },
  source = "Names of presets: PAPI; what they are made of: libpfm4 and the manuals of the vendor.",
  presets = {
    { name = "PAPI_TOT_CYC", about = "cycles",
      formula = "cycles", events = { cycles = "CPU_CLK_UNHALTED" } },
    { name = "PAPI_TOT_INS", about = "instructions",
      formula = "instructions", events = { instructions = "RETIRED_INSTRUCTIONS" } },
    { name = "PAPI_BR_INS", about = "branches",
      formula = "branches", events = { branches = "RETIRED_BRANCH_INSTRUCTIONS" } },
    { name = "PAPI_BR_MSP", about = "branches of all kinds that were guessed wrong",
      formula = "mispredicted", events = { mispredicted = "RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS" } },
    { name = "PAPI_BR_TKN", about = "branches of all kinds that were taken",
      formula = "taken", events = { taken = "RETIRED_TAKEN_BRANCH_INSTRUCTIONS" } },
    { name = "PAPI_L1_DCA", about = "data asked of L1",
      formula = "l1", events = { l1 = "DATA_CACHE_ACCESSES" } },
    { name = "PAPI_L1_DCM", about = "data that L1 missed",
      formula = "l1_miss", events = { l1_miss = "DATA_CACHE_MISSES" } },
  },
}
