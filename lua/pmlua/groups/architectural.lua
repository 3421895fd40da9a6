-- SPDX-License-Identifier: BSD-3-Clause
-- Intel's processors before Sandy Bridge, and those for phones and of many small cores: the events that Intel defines for all.
return {
  pmus = { "core", "atom", "wsm", "wsm_dp", "slm", "knl", "knm" },
  source = "Event names: libpfm4; meanings: Intel 64 Architectures Software Developer's Manual, volume 3, pre-defined " ..
    "architectural performance events.",
  constants = { line = { 64, "byte" } },
  groups = {
    CYCLE = {
      prose = "Cycles, instructions, and the branches that were guessed wrong.",
      events = {
        cycles = "UNHALTED_CORE_CYCLES", instructions = "INSTRUCTION_RETIRED", branches = "BRANCH_INSTRUCTIONS_RETIRED",
        mispredicted = "MISPREDICTED_BRANCH_RETIRED",
      },
      metrics = {
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
        { name = "mispredict_ratio", unit = "%", formula = "100 * mispredicted / branches",
          thresholds = { { "> 5", "branches are hard to predict" } } },
      },
    },
    BRANCH = {
      prose = "Branches that retired and those that were guessed wrong.",
      events = {
        branches = "BRANCH_INSTRUCTIONS_RETIRED", mispredicted = "MISPREDICTED_BRANCH_RETIRED",
        instructions = "INSTRUCTION_RETIRED",
      },
      metrics = {
        { name = "branch_rate", unit = "", formula = "branches / instructions", about = "branches for an instruction" },
        { name = "mispredict_ratio", unit = "%", formula = "100 * mispredicted / branches",
          thresholds = { { "> 5", "branches are hard to predict" } } },
        { name = "branch_mpki", unit = "miss/1000 instructions", formula = "1000 * mispredicted / instructions" },
      },
    },
    CACHE = {
      prose = "Requests to the last level of the cache, and those that it did not have; prefetches may be among them. The " ..
        "last level is L3, and L2 of a processor without one.",
      events = { references = "LLC_REFERENCES", misses = "LLC_MISSES", instructions = "INSTRUCTION_RETIRED" },
      metrics = {
        { name = "ll_miss_ratio", unit = "%", formula = "100 * misses / references",
          thresholds = { { "> 50", "most of what reaches the last level goes to memory" } } },
        { name = "ll_mpki", unit = "miss/1000 instructions", formula = "1000 * misses / instructions" },
      },
    },
    BANDWIDTH = {
      prose = "Misses of the last level of the cache and requests to it, taken as lines of 64 bytes.",
      events = { references = "LLC_REFERENCES", misses = "LLC_MISSES" },
      metrics = {
        { name = "memory_read", unit = "byte/s", formula = "line * misses / time" },
        { name = "last_level", unit = "byte/s", formula = "line * references / time" },
      },
    },
  },
}
