-- SPDX-License-Identifier: BSD-3-Clause
-- AMD Zen 4.
return {
  like = { "zen3", "part/channels_amd" },
  pmus = { "amd64_fam19h_zen4" },
  constants = { slots = { 6, "" } }, -- that a cycle dispatches
  events = {
    backend = "DISPATCH_STALLS_1:BE_STALLS",
    beyond = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:NEAR_CACHE_NEAR_FAR:FAR_CACHE_NEAR_FAR:DRAM_IO_NEAR:DRAM_IO_FAR:ALT_MEM_NEAR_FAR",
    decoded = "OPS_SOURCE_DISPATCHED_FROM_DECODER:DECODER", dispatched = "OPS_SOURCE_DISPATCHED_FROM_DECODER:DECODER:OPCACHE",
    from_cache = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LOCAL_CCX:NEAR_CACHE_NEAR_FAR:FAR_CACHE_NEAR_FAR",
    from_cache_of_ops = "OPS_SOURCE_DISPATCHED_FROM_DECODER:OPCACHE",
    from_dram = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR:ALT_MEM_NEAR_FAR",
    load_waits = "CYCLES_NO_RETIRE:NOT_COMPLETE_MISSING_LOAD", local_memory = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR",
    microcode = "RETIRED_UCODE_OPS", near_cache = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LOCAL_CCX",
    no_ops = "DISPATCH_STALLS_1:FE_NO_OPS", p0_cycles = "P0_FREQ_CYCLES_NOT_IN_HALT:P0_FREQ_CYCLES",
    pack128 = "RETIRED_FP_OPS_BY_WIDTH:PACK128_UOPS_RETIRED", pack256 = "RETIRED_FP_OPS_BY_WIDTH:PACK256_UOPS_RETIRED",
    pack512 = "RETIRED_FP_OPS_BY_WIDTH:PACK512_UOPS_RETIRED",
    remote_clean = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:FAR_CACHE_NEAR_FAR",
    remote_memory = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_FAR", resyncs = "RESYNCS",
    scalar = "RETIRED_FP_OPS_BY_WIDTH:SCALAR_UOPS_RETIRED", starved = "DISPATCH_STALLS_1:FE_NO_OPS:c=6",
    waits = "CYCLES_NO_RETIRE:NOT_COMPLETE_LOAD_AND_ALU",
  },
  groups = {
    VECTOR = {
      prose = "Floating-point micro-operations that retired, by width. Zen 4 executes 512-bit instructions on 256-bit " ..
        "units and counts them by the width of the instruction.",
      "vector = 100 * (pack128 + pack256 + pack512) / (scalar + pack128 + pack256 + pack512)",
      "share_512bit [%] = 100 * pack512 / (scalar + pack128 + pack256 + pack512)",
      "share_256bit [%] = 100 * pack256 / (scalar + pack128 + pack256 + pack512)",
      "share_128bit [%] = 100 * pack128 / (scalar + pack128 + pack256 + pack512)",
    },
    TOPDOWN = {
      prose = "Where the dispatch slots of a cycle went, AMD's pipeline utilisation, level 1: retired, thrown away, not " ..
        "delivered by the frontend, held up by the backend, and given to the other thread. With the events of one run the " ..
        "shares add up to 100 %.",
      "retiring = 100 * ops / (slots * cycles)",
      "bad_speculation = 100 * (dispatched - ops) / (slots * cycles); > 15: much is done on wrong paths; see BRANCH",
      "frontend_bound = 100 * no_ops / (slots * cycles)",
      "backend_bound = 100 * backend / (slots * cycles); > 50: units or memory hold dispatch up; see STALLS",
      "smt_contention [%] = 100 * (slots * cycles - dispatched - no_ops - backend) / (slots * cycles); the other thread had " ..
        "the slots",
    },
    TOPDOWN2 = {
      prose = "Level 2 of AMD's pipeline utilisation: frontend_bound as slots of cycles without any operation and the rest of " ..
        "it; backend_bound, bad speculation and retiring by the shares of their causes.",
      "fetch_latency", "fetch_bandwidth = 100 * (no_ops - slots * starved) / (slots * cycles)",
      "mispredict_share = 100 * mispredicted / (mispredicted + resyncs)",
      "resync_share [%] = 100 * resyncs / (mispredicted + resyncs); of bad_speculation",
      "memory_bound = 100 * backend / (slots * cycles) * load_waits / waits; > 20: loads that missed hold retirement up; see " ..
        "L3, NUMA and TLB",
      "core_bound = 100 * backend / (slots * cycles) * (waits - load_waits) / waits",
      "microcode_share = 100 * microcode / ops; of retiring",
    },
    CYCLE = {
      prose = "Use of the cycles: instructions and their micro-operations, dispatch that was held up, " ..
        "mispredicted branches.",
      "ipc", "ops_per_instruction", "mispredict_ratio", "frontend_bound = 100 * no_ops / (slots * cycles); of the dispatch slots",
      "backend_bound = 100 * backend / (slots * cycles); of the dispatch slots; > 50: units or memory hold dispatch up",
      "frequency_ratio = cycles / p0_cycles",
    },
  },
}
