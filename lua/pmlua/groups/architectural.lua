-- SPDX-License-Identifier: BSD-3-Clause
-- Intel's processors before Sandy Bridge, and those for phones and of many small cores: the events that Intel defines for all.
return {
  pmus = { "core", "atom", "wsm", "wsm_dp", "slm", "knl", "knm" },
  source = "Event names: libpfm4; meanings: Intel 64 Architectures Software Developer's Manual, volume 3, pre-defined " ..
    "architectural performance events.",
  constants = { line = { 64, "byte" } },
  events = {
    branches = "BRANCH_INSTRUCTIONS_RETIRED", cycles = "UNHALTED_CORE_CYCLES", instructions = "INSTRUCTION_RETIRED",
    mispredicted = "MISPREDICTED_BRANCH_RETIRED", misses = "LLC_MISSES", references = "LLC_REFERENCES",
  },
  groups = {
    CYCLE = {
      prose = "Cycles, instructions, and the mispredicted branches.",
      "ipc", "mispredict_ratio",
    },
    BRANCH = {
      prose = "Branches that retired and those that were mispredicted.",
      "branch_rate", "mispredict_ratio", "branch_mpki",
    },
    CACHE = {
      prose = "Requests to the last level of the cache, and its misses; prefetches may be among them. The " ..
        "last level is L3, and L2 of a processor without one.",
      "ll_miss_ratio", "ll_mpki",
    },
    BANDWIDTH = {
      prose = "Misses of the last level of the cache and requests to it, taken as lines of 64 bytes.",
      "memory_read", "last_level",
    },
  },
}
