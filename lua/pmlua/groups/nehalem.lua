-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Nehalem, which counts no mispredicted branches that retired.
return {
  like = "architectural",
  pmus = { "nhm", "nhm_ex" },
  groups = {
    CYCLE = {
      prose = "Cycles and instructions.",
      events = { cycles = "UNHALTED_CORE_CYCLES", instructions = "INSTRUCTION_RETIRED" },
      metrics = { "ipc" },
    },
    BRANCH = {
      prose = "Branches that retired.",
      events = { branches = "BRANCH_INSTRUCTIONS_RETIRED", instructions = "INSTRUCTION_RETIRED" },
      metrics = { "branch_rate" },
    },
  },
}
