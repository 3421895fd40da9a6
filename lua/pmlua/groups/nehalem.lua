-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Nehalem, which counts no mispredicted branches that retired.
return {
  like = "architectural",
  pmus = { "nhm", "nhm_ex" },
  groups = {
    CYCLE = {
      prose = "Cycles and instructions.",
      "ipc",
    },
    BRANCH = {
      prose = "Branches that retired.",
      "branch_rate",
    },
  },
}
