-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Nehalem, which counts no mispredicted branches that retired.
return {
  like = "architectural",
  pmus = { "nhm", "nhm_ex" },
  groups = {
    CYCLE = {
      prose = "Cycles and instructions.",
      events = { cycles = "UNHALTED_CORE_CYCLES", instructions = "INSTRUCTION_RETIRED" },
      metrics = {
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
      },
    },
    BRANCH = {
      prose = "Branches that retired.",
      events = { branches = "BRANCH_INSTRUCTIONS_RETIRED", instructions = "INSTRUCTION_RETIRED" },
      metrics = {
        { name = "branch_rate", unit = "", formula = "branches / instructions", about = "branches for an instruction" },
      },
    },
  },
}
