-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Goldmont and Tremont: the architectural events by other names.
return {
  like = "architectural",
  pmus = { "glm", "tmt" },
  events = {
    branches = "BR_INST_RETIRED:ALL_BRANCHES", mispredicted = "BR_MISP_RETIRED:ALL_BRANCHES",
    misses = "LONGEST_LAT_CACHE:MISS", references = "LONGEST_LAT_CACHE:REFERENCE",
  },
}
