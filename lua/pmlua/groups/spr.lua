-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Sapphire Rapids.
return {
  like = "icx",
  pmus = { "spr" },
  events = {
    code_stalls = "ICACHE_DATA:STALLS", divider = "ARITH:DIV_ACTIVE", fphp1 = "FP_ARITH_INST_RETIRED2:SCALAR_HALF",
    fphp16 = "FP_ARITH_INST_RETIRED2:256B_PACKED_HALF", fphp32 = "FP_ARITH_INST_RETIRED2:512B_PACKED_HALF",
    fphp8 = "FP_ARITH_INST_RETIRED2:128B_PACKED_HALF", heavy = "UOPS_RETIRED:HEAVY",
    l1_stalls = "MEMORY_ACTIVITY:STALLS_L1D_MISS", l2_stalls = "MEMORY_ACTIVITY:STALLS_L2_MISS",
    l3_asked = "LONGEST_LAT_CACHE:REFERENCE", l3_stalls = "MEMORY_ACTIVITY:STALLS_L3_MISS", latency_slots = "r8600",
    lines_read = "uncore_imc_*/event=0x05,umask=0xcf/", lines_written = "uncore_imc_*/event=0x05,umask=0xf0/",
    memory_slots = "TOPDOWN:MEMORY_BOUND_SLOTS", memory_stalls = "EXE_ACTIVITY:BOUND_ON_LOADS",
    mispredict_slots = "TOPDOWN:BR_MISPREDICT_SLOTS", tag_stalls = "ICACHE_TAG:STALLS",
  },
  groups = {
    HALF = {
      prose = "Floating-point operations in half precision: instructions retired by width, times the elements of that width; " ..
        "a fused multiply-add is counted twice by the hardware. Operations on complex numbers are not included.",
      "hp_flop = fphp1 + 8 * fphp8 + 16 * fphp16 + 32 * fphp32", "hp_rate",
      "hp_vector [%] = 100 * (hp_flop - fphp1) / hp_flop; < 50: most operations are scalar",
    },
    CYCLE = { events = { memory_stalls = "MEMORY_ACTIVITY:STALLS_L1D_MISS" } },
    TOPDOWN2 = {
      prose = "Level 2 of top-down in slots, of which a cycle has six: each pair adds up to its share of level 1, " ..
        "frontend_bound, retiring and backend_bound; branch_mispredicts is a part of bad_speculation, whose rest are " ..
        "machine clears.",
      "fetch_latency = 100 * 6 * starved / slots", "fetch_bandwidth = 100 * (undelivered - 6 * starved) / slots",
      "branch_mispredicts", "memory_bound", "core_bound", "heavy_operations", "light_operations",
    },
    TOPDOWN2_METRICS = {
      prose = "Level 2 of top-down by the register PERF_METRICS, which takes no counter: each pair adds up to its share " ..
        "of level 1.",
      events = {
        backend_slots = "r8300", heavy = "r8400", memory_slots = "r8700", mispredict_slots = "r8500", retired_slots = "r8000",
        slots = "r400",
      },
      "heavy_operations", "light_operations", "branch_mispredicts",
      "machine_clears [%] = 100 * (wasted_slots - mispredict_slots) / slots", "fetch_latency = 100 * latency_slots / slots",
      "fetch_bandwidth = 100 * (starved_slots - latency_slots) / slots", "memory_bound", "core_bound",
    },
  },
}
