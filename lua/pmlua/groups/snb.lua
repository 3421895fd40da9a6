-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Sandy Bridge: as Haswell, with the events that Ivy Bridge and Haswell renamed.
return {
  like = { "hsw", "part/vectors_256" },
  pmus = { "snb" },
  events = {
    all_stalls = "CYCLE_ACTIVITY:CYCLES_NO_DISPATCH", asked = "L2_RQSTS:ALL_DEMAND_DATA_RD",
    cycles = "CPU_CLK_UNHALTED:THREAD_P", fpdp1 = "FP_COMP_OPS_EXE:SSE_SCALAR_DOUBLE",
    fpdp2 = "FP_COMP_OPS_EXE:SSE_FP_PACKED_DOUBLE", fpdp4 = "SIMD_FP_256:PACKED_DOUBLE",
    fpsp1 = "FP_COMP_OPS_EXE:SSE_FP_SCALAR_SINGLE", fpsp4 = "FP_COMP_OPS_EXE:SSE_PACKED_SINGLE",
    fpsp8 = "SIMD_FP_256:PACKED_SINGLE", had = "L2_RQSTS:ALL_DEMAND_RD_HIT", in_flight = "MEM_LOAD_UOPS_RETIRED:HIT_LFB",
    l2_in = "L2_LINES_IN:ANY", l3_asked = "LAST_LEVEL_CACHE_REFERENCES", l3_miss = "LAST_LEVEL_CACHE_MISSES",
    l3_missed = "LAST_LEVEL_CACHE_MISSES", memory_stalls = "CYCLE_ACTIVITY:STALLS_L1D_PENDING",
    stalls = "CYCLE_ACTIVITY:CYCLES_NO_DISPATCH",
  },
  groups = {
    FLOPS = {
      prose = "Floating-point operations by width, times the elements of that width. They are counted when they are " ..
        "executed, not when they retire: an operation that waits for its data in cache is counted again at each try, so " ..
        "that the rates are upper bounds for code that misses L1.",
    },
    VECTOR = {
      prose = "How much of the floating-point work is done by vector instructions, and of which width, as shares of " ..
        "operations executed; per precision, so that each share is from one run.",
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source, compared with the operations that the " ..
        "hardware executed: an operation that waits for its data is counted at each try, so that the ratio is an upper " ..
        "bound for code that misses L1.",
    },
    CACHE = {
      prose = "Where micro-operations of loads that retired found their data; a line that was already on its way (fill " ..
        "buffer) is apart. These events count on the lower four counters only.",
      "l1_miss_ratio = 100 * (loads - l1_hit - in_flight) / (loads - in_flight)",
      "l2_miss_ratio = 100 * (loads - l1_hit - in_flight - l2_hit) / (loads - l1_hit - in_flight)",
    },
    TOPDOWN2 = {
      prose = "Level 2 of top-down: frontend_bound as slots of cycles without any micro-operation and the rest of it; bad " ..
        "speculation by its causes, and the cycles without dispatch by whether a miss of L1 was outstanding.",
    },
    TOPDOWN3 = {
      prose = "Level 3 of top-down, as shares of cycles: the levels that stalling loads have already missed.",
      "l2_bound", "beyond_l2_bound",
    },
    L2 = {
      prose = "Demand loads that reached L2, and the misses of L2 by loads, stores and code.",
      "l2_demand_ratio = 100 * (asked - had) / asked", "l2_read_mpki = 1000 * (asked - had) / instructions", "l2_write_mpki",
      "l2_code_mpki",
    },
    STALLS = {
      prose = "Cycles in which nothing was dispatched, and with which misses outstanding; a cycle with a miss of L2 is one " ..
        "with a miss of L1, too.",
      "stalled", "stalled_beyond_l1", "stalled_beyond_l2",
    },
    DIVIDE = {
      prose = "Cycles in which the divider was busy with divisions or square roots, of integers or floating-point numbers.",
      "divider_busy",
    },
  },
}
