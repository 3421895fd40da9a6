-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Goldmont and Tremont: the architectural events by other names.
return {
  like = "architectural",
  pmus = { "glm", "tmt" },
  groups = {
    CYCLE = { events = { branches = "BR_INST_RETIRED:ALL_BRANCHES", mispredicted = "BR_MISP_RETIRED:ALL_BRANCHES" } },
    BRANCH = { events = { branches = "BR_INST_RETIRED:ALL_BRANCHES", mispredicted = "BR_MISP_RETIRED:ALL_BRANCHES" } },
    CACHE = { events = { references = "LONGEST_LAT_CACHE:REFERENCE", misses = "LONGEST_LAT_CACHE:MISS" } },
    BANDWIDTH = { events = { references = "LONGEST_LAT_CACHE:REFERENCE", misses = "LONGEST_LAT_CACHE:MISS" } },
  },
}
