-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Broadwell: as Skylake, with the events that Skylake renamed.
return {
  like = "skl",
  pmus = { "bdw" },
  events = {
    all_stalls = "CYCLE_ACTIVITY:CYCLES_NO_EXECUTE", divider = "ARITH:FPU_DIV_ACTIVE",
    l1_hit = "MEM_LOAD_UOPS_RETIRED:L1_HIT", l1_miss = "MEM_LOAD_UOPS_RETIRED:L1_MISS",
    l1_stalls = "CYCLE_ACTIVITY:STALLS_L1D_PENDING", l2_hit = "MEM_LOAD_UOPS_RETIRED:L2_HIT",
    l2_miss = "MEM_LOAD_UOPS_RETIRED:L2_MISS", l2_stalls = "CYCLE_ACTIVITY:STALLS_L2_PENDING",
    l3_hit = "MEM_LOAD_UOPS_RETIRED:L3_HIT", load_walking = "DTLB_LOAD_MISSES:WALK_DURATION",
    loads = "MEM_UOPS_RETIRED:ALL_LOADS", memory_stalls = "CYCLE_ACTIVITY:STALLS_LDM_PENDING",
    split_loads = "MEM_UOPS_RETIRED:SPLIT_LOADS", stalls = "CYCLE_ACTIVITY:CYCLES_NO_EXECUTE",
    store_walking = "DTLB_STORE_MISSES:WALK_DURATION", stores = "MEM_UOPS_RETIRED:ALL_STORES",
    tlb_loads = "MEM_UOPS_RETIRED:STLB_MISS_LOADS",
  },
  groups = {
    CACHE = {
      prose = "Where micro-operations of loads that retired found their data. A line that was already on its way (fill " ..
        "buffer) is neither a hit nor a miss of L1. These events count on the lower four counters only.",
      events = { l3_miss = "MEM_LOAD_UOPS_RETIRED:L3_MISS" },
    },
    LOADSTORE = {
      prose = "Micro-operations of loads and stores that retired, and those that straddle two lines or miss the " ..
        "second-level TLB.",
    },
    TOPDOWN2 = {
      prose = "Level 2 of top-down: frontend_bound as slots of cycles without any micro-operation and the rest of it; bad " ..
        "speculation and backend_bound by the shares of their causes. Stores that hold execution up are among core_share.",
      "fetch_latency", "fetch_bandwidth", "mispredict_share", "clear_share",
      "memory_share = 100 * memory_stalls / all_stalls; of the cycles in which nothing was executed",
      "core_share = 100 * (all_stalls - memory_stalls) / all_stalls",
    },
    TOPDOWN3 = {
      prose = "Level 3 of top-down, as shares of cycles: the levels that stalling loads have already missed. Waiting " ..
        "for a line in L1 counts as l1_bound.",
      "l1_bound", "l2_bound", "beyond_l2_bound",
    },
    NUMA = false,
  },
}
