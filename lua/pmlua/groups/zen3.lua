-- SPDX-License-Identifier: BSD-3-Clause
-- AMD Zen 3.
return {
  like = "zen2",
  pmus = { "amd64_fam19h_zen3" },
  events = {
    beyond = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:EXT_CACHE_LCL:EXT_CACHE_RMT:MEM_IO_LCL:MEM_IO_RMT",
    decoded = "OPS_SOURCE_DISPATCHED_FROM_DECODER:X86DECODER_DISPATCHED",
    dispatched = "OPS_SOURCE_DISPATCHED_FROM_DECODER:X86DECODER_DISPATCHED:OPCACHE_DISPATCHED",
    fp_stalls = "DISPATCH_RESOURCE_STALL_CYCLES_1:FP_REG_FILE_RSRC_STALL:FP_SCHEDULER_RSRC_STALL",
    from_cache = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:INT_CACHE:EXT_CACHE_LCL:EXT_CACHE_RMT",
    from_cache_of_ops = "OPS_SOURCE_DISPATCHED_FROM_DECODER:OPCACHE_DISPATCHED",
    from_dram = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT", from_l2 = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LCL_L2",
    local_memory = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL", misaligned = "MISALIGNED_LOADS:MA64",
    near_cache = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:INT_CACHE", ops = "RETIRED_OPS",
    remote_clean = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:EXT_CACHE_RMT",
    remote_memory = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_RMT",
    token_stalls = "DISPATCH_RESOURCE_STALL_CYCLES_1:FP_SCHEDULER_RSRC_STALL",
  },
  groups = {
    BANDWIDTH = {
      prose = "Lines filled into the data cache, by where they came from. Demand fills and prefetches alike. Writes " ..
        "to memory are counted by uncore PMUs only, for the whole socket.",
      "from_l2_rate", "from_cache_rate", "memory_read = line * from_dram / time",
    },
  },
}
