-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Sapphire Rapids.
return {
  like = "icx",
  pmus = { "spr" },
  groups = {
    MEMORY = {
      events = { lines_read = "uncore_imc_*/event=0x05,umask=0xcf/", lines_written = "uncore_imc_*/event=0x05,umask=0xf0/" },
    },
    HALF = {
      prose = "Floating-point operations in half precision: instructions retired by width, times the elements of that width; " ..
        "a fused multiply-add is counted twice by the hardware. Those of complex numbers are not among them.",
      events = {
        fphp1 = "FP_ARITH_INST_RETIRED2:SCALAR_HALF", fphp8 = "FP_ARITH_INST_RETIRED2:128B_PACKED_HALF",
        fphp16 = "FP_ARITH_INST_RETIRED2:256B_PACKED_HALF", fphp32 = "FP_ARITH_INST_RETIRED2:512B_PACKED_HALF",
      },
      metrics = {
        { name = "hp_flop", formula = "fphp1 + 8 * fphp8 + 16 * fphp16 + 32 * fphp32" },
        "hp_rate",
        { name = "hp_vector", unit = "%", formula = "100 * (hp_flop - fphp1) / hp_flop",
          thresholds = { { "< 50", "most operations are scalar" } } },
      },
    },
    CYCLE = { events = { memory_stalls = "MEMORY_ACTIVITY:STALLS_L1D_MISS" } },
    TOPDOWN2 = {
      prose = "Level 2 of top-down in slots, of which a cycle has six: each pair adds up to its share of level 1, " ..
        "frontend_bound, retiring and backend_bound; branch_mispredicts is a part of bad_speculation, whose rest are " ..
        "machine clears.",
      events = {
        slots = "TOPDOWN:SLOTS_P", undelivered = "IDQ_UOPS_NOT_DELIVERED:CORE",
        starved = "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE", mispredict_slots = "TOPDOWN:BR_MISPREDICT_SLOTS",
        memory_slots = "TOPDOWN:MEMORY_BOUND_SLOTS", backend_slots = "TOPDOWN:BACKEND_BOUND_SLOTS",
        heavy = "UOPS_RETIRED:HEAVY", retired_slots = "UOPS_RETIRED:SLOTS",
      },
      metrics = {
        { name = "fetch_latency", formula = "100 * 6 * starved / slots" },
        { name = "fetch_bandwidth", formula = "100 * (undelivered - 6 * starved) / slots" },
        "branch_mispredicts", "memory_bound", "core_bound", "heavy_operations", "light_operations",
      },
    },
    TOPDOWN2_METRICS = {
      prose = "Level 2 of top-down by the register PERF_METRICS, which takes no counter: each pair adds up to its share " ..
        "of level 1.",
      events = {
        slots = "r400", retired_slots = "r8000", wasted_slots = "r8100", starved_slots = "r8200", backend_slots = "r8300",
        heavy = "r8400", mispredict_slots = "r8500", latency_slots = "r8600", memory_slots = "r8700",
      },
      metrics = {
        "heavy_operations", "light_operations", "branch_mispredicts",
        { name = "machine_clears", unit = "%", formula = "100 * (wasted_slots - mispredict_slots) / slots" },
        { name = "fetch_latency", formula = "100 * latency_slots / slots" },
        { name = "fetch_bandwidth", formula = "100 * (starved_slots - latency_slots) / slots" },
        "memory_bound", "core_bound",
      },
    },
    TOPDOWN3 = {
      events = {
        memory_stalls = "EXE_ACTIVITY:BOUND_ON_LOADS", l1_stalls = "MEMORY_ACTIVITY:STALLS_L1D_MISS",
        l2_stalls = "MEMORY_ACTIVITY:STALLS_L2_MISS", l3_stalls = "MEMORY_ACTIVITY:STALLS_L3_MISS",
        code_stalls = "ICACHE_DATA:STALLS", tag_stalls = "ICACHE_TAG:STALLS", divider = "ARITH:DIV_ACTIVE",
      },
    },
    L3 = { events = { l3_asked = "LONGEST_LAT_CACHE:REFERENCE" } },
    STALLS = {
      events = {
        memory_stalls = "EXE_ACTIVITY:BOUND_ON_LOADS", l1_stalls = "MEMORY_ACTIVITY:STALLS_L1D_MISS",
        l2_stalls = "MEMORY_ACTIVITY:STALLS_L2_MISS",
      },
    },
    DIVIDE = { events = { divider = "ARITH:DIV_ACTIVE" } },
  },
}
