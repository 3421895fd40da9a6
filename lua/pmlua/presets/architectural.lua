-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets by the events that Intel defines for all of its processors.
return {
  pmus = { "core", "atom", "wsm", "wsm_dp", "slm", "knl", "knm" },
  source = "Names of presets: PAPI; what they are made of: libpfm4 and the manuals of the vendor.",
  events = {
    branches = "BRANCH_INSTRUCTIONS_RETIRED", cycles = "UNHALTED_CORE_CYCLES", instructions = "INSTRUCTION_RETIRED",
    mispredicted = "MISPREDICTED_BRANCH_RETIRED", ref = "UNHALTED_REFERENCE_CYCLES",
  },
  presets = { "PAPI_BR_INS", "PAPI_BR_MSP", "PAPI_REF_CYC", "PAPI_TOT_CYC", "PAPI_TOT_INS" },
}
