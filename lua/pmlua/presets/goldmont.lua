-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Goldmont and Tremont.
return {
  like = "architectural",
  pmus = { "glm", "tmt" },
  events = {
    branches = "BR_INST_RETIRED:ALL_BRANCHES", mispredicted = "BR_MISP_RETIRED:ALL_BRANCHES",
  },
}
