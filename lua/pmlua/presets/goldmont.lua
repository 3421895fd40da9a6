-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Goldmont and Tremont.
return {
  like = "architectural",
  pmus = { "glm", "tmt" },
  presets = {
    { name = "PAPI_BR_INS", events = { branches = "BR_INST_RETIRED:ALL_BRANCHES" } },
    { name = "PAPI_BR_MSP", events = { mispredicted = "BR_MISP_RETIRED:ALL_BRANCHES" } },
  },
}
