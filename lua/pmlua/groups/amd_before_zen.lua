-- SPDX-License-Identifier: BSD-3-Clause
-- Event groups of AMD processors, families 0Fh to 16h, for events that all of them number equally.
return {
  pmus = {
    "amd64_k8_revb", "amd64_k8_revc", "amd64_k8_revd", "amd64_k8_reve", "amd64_k8_revf", "amd64_k8_revg",
    "amd64_fam10h_barcelona", "amd64_fam10h_shanghai", "amd64_fam10h_istanbul", "amd64_fam12h_llano", "amd64_fam14h_bobcat",
    "amd64_fam15h_interlagos", "amd64_fam16h",
  },
  source = "Event names: libpfm4; meanings: AMD's BIOS and Kernel Developer's Guides of families 0Fh to 16h.",
  events = {
    branches = "RETIRED_BRANCH_INSTRUCTIONS", cycles = "CPU_CLK_UNHALTED", instructions = "RETIRED_INSTRUCTIONS",
    l1 = "DATA_CACHE_ACCESSES", l1_miss = "DATA_CACHE_MISSES", mispredicted = "RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS",
    ops = "RETIRED_UOPS", taken = "RETIRED_TAKEN_BRANCH_INSTRUCTIONS",
  },
  groups = {
    CYCLE = {
      prose = "Cycles, instructions, and the mispredicted branches.",
      "ipc", "mispredict_ratio",
    },
    BRANCH = {
      prose = "Branches that retired, those that were taken, and those that were mispredicted.",
      "branch_rate", "taken_ratio [%] = 100 * taken / branches", "mispredict_ratio", "branch_mpki",
    },
    CACHE = {
      prose = "Accesses to the cache of data of the first level, and its misses.",
      "l1_miss_ratio = 100 * l1_miss / l1", "l1_mpki [miss/1000 instructions] = 1000 * l1_miss / instructions",
    },
    UOPS = {
      prose = "Micro-operations that retired.",
      "uops_per_instruction",
    },
  },
}
