-- SPDX-License-Identifier: BSD-3-Clause
-- A PMU that is known by perf's generic names only. How many counters it has is not known before it is asked.
return {
  names = { "generic" },
  title = "any PMU, by perf's generic names",
  source = "the architectural minimum: four general counters on x86 since 2008 (Intel architectural performance " ..
    "monitoring version 2, AMD K7 and later), and on Arm's PMUv3 as most cores have it; a plan is verified by opening it",
  general = { smt = 4, single = 4 },
  fixed = {},
  lists = {},
  shared = {},
  generic = {},
}
