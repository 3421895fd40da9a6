-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets by the events that Intel defines for all of its processors.
return {
  pmus = { "core", "atom", "wsm", "wsm_dp", "slm", "knl", "knm" },
  source = "Names of presets: PAPI; what they are made of: libpfm4 and the manuals of the vendor.",
  presets = {
    { name = "PAPI_TOT_CYC", about = "cycles",
      formula = "cycles", events = { cycles = "UNHALTED_CORE_CYCLES" } },
    { name = "PAPI_TOT_INS", about = "instructions",
      formula = "instructions", events = { instructions = "INSTRUCTION_RETIRED" } },
    { name = "PAPI_REF_CYC", about = "reference cycles",
      formula = "ref", events = { ref = "UNHALTED_REFERENCE_CYCLES" } },
    { name = "PAPI_BR_INS", about = "branches",
      formula = "branches", events = { branches = "BRANCH_INSTRUCTIONS_RETIRED" } },
    { name = "PAPI_BR_MSP", about = "branches of all kinds that were guessed wrong",
      formula = "mispredicted", events = { mispredicted = "MISPREDICTED_BRANCH_RETIRED" } },
  },
}
