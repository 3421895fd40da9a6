-- SPDX-License-Identifier: BSD-3-Clause
-- AMD Zen 2.
return {
  pmus = { "amd64_fam17h_zen2" },
  source = "Event names and meanings: libpfm4 and the Processor Programming References that AMD publishes; groups: K. " ..
    "Mikami, K. Ono, J. Nonaka, Performance evaluation and visualization of scientific applications using " ..
    "PMlib.",
  constants = { line = { 64, "byte" }, joule = { 2.3283064365386962890625e-10, "J" } },
  events = {
    add_sub = "RETIRED_SSE_AVX_FLOPS:ADD_SUB_FLOPS",
    beyond = "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_CACHE:LS_MABRESP_RMT_DRAM",
    both = "LS_DISPATCH:LD_ST_DISPATCH", branches = "RETIRED_BRANCH_INSTRUCTIONS",
    code_asked = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_HIT_X:IC_FILL_HIT_S:IC_FILL_MISS",
    code_miss = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_MISS",
    code_missed = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_MISS",
    code_walks = "L1_ITLB_MISS_L2_ITLB_MISS:IF1G:IF2M:IF4K", cycles = "CYCLES_NOT_IN_HALT",
    data_asked = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C:LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_X:" ..
      "LS_RD_BLK_L_HIT_S:LS_RD_BLK_X",
    data_missed = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C",
    data_walks = "L1_DTLB_MISS:TLB_RELOAD_1G_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_4K_L2_MISS",
    decoded = "UOPS_DISPATCHED_FROM_DECODER:DECODER_DISPATCHED",
    dispatched = "UOPS_DISPATCHED_FROM_DECODER:DECODER_DISPATCHED:OPCACHE_DISPATCHED",
    div = "RETIRED_SSE_AVX_FLOPS:DIV_FLOPS", divider = "DIV_CYCLES_BUSY_COUNT", divisions = "DIV_OP_COUNT",
    flop_any = "RETIRED_SSE_AVX_FLOPS:ANY",
    fp_stalls = "DISPATCH_RESOURCE_STALL_CYCLES_1:FP_REG_FILE_RSRC_STALL:FP_SCHEDULER_FILE_RSRC_STALL",
    from_cache = "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_CACHE:LS_MABRESP_RMT_CACHE",
    from_cache_of_ops = "UOPS_DISPATCHED_FROM_DECODER:OPCACHE_DISPATCHED",
    from_dram = "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM",
    from_l2 = "DATA_CACHE_REFILLS_FROM_SYSTEM:MABRESP_LCL_L2", instructions = "RETIRED_INSTRUCTIONS",
    l2_hit = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_X:LS_RD_BLK_L_HIT_S:LS_RD_BLK_X",
    l2_miss = "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C",
    l2_tlb_hits = "L1_DTLB_MISS:TLB_RELOAD_1G_L2_HIT:TLB_RELOAD_2M_L2_HIT:TLB_RELOAD_4K_L2_HIT",
    load_stalls = "DISPATCH_RESOURCE_STALL_CYCLES_1:LOAD_QUEUE_RSRC_STALL", loads = "LS_DISPATCH:LD_DISPATCH",
    local_memory = "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM", mac = "RETIRED_SSE_AVX_FLOPS:MAC_FLOPS",
    misaligned = "MISALIGNED_LOADS", mispredicted = "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED",
    mult = "RETIRED_SSE_AVX_FLOPS:MULT_FLOPS", near_cache = "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_CACHE",
    ops = "RETIRED_UOPS", package = "amd64_rapl::RAPL_ENERGY_PKG",
    prefetched = "HARDWARE_PREFETCH_DATA_CACHE_FILLS:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM",
    queue_stalls = "DISPATCH_RESOURCE_STALL_CYCLES_1:LOAD_QUEUE_RSRC_STALL:STORE_QUEUE_RSRC_STALL",
    register_stalls = "DISPATCH_RESOURCE_STALL_CYCLES_1:INT_PHY_REG_FILE_RSRC_STALL",
    remote_clean = "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_RMT_CACHE",
    remote_memory = "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_RMT_DRAM", returns = "RETIRED_NEAR_RETURNS",
    returns_wrong = "RETIRED_NEAR_RETURNS_MISPREDICTED", sse = "RETIRED_MMX_FP_INSTRUCTIONS:SSE_INSTR",
    store_stalls = "DISPATCH_RESOURCE_STALL_CYCLES_1:STORE_QUEUE_RSRC_STALL", stores = "LS_DISPATCH:STORE_DISPATCH",
    taken = "RETIRED_TAKEN_BRANCH_INSTRUCTIONS",
    token_stalls = "DISPATCH_RESOURCE_STALL_CYCLES_1:FP_SCHEDULER_FILE_RSRC_STALL",
    x87 = "RETIRED_MMX_FP_INSTRUCTIONS:X87_INSTR",
  },
  groups = {
    FLOPS = {
      prose = "Floating-point operations that retired, elements and both halves of a multiply-add included. Up to 64 " ..
        "of them retire in a cycle, so the event takes two counters: an even one and the next.",
      "flop = flop_any", "flop_rate", "flop_per_cycle", "add_sub_share [%] = 100 * add_sub / flop_any",
      "mult_share [%] = 100 * mult / flop_any", "div_share", "mac_share [%] = 100 * mac / flop_any", "ipc",
    },
    BANDWIDTH = {
      prose = "Lines filled into the data cache, by where they came from. Demand fills and those of the hardware " ..
        "prefetcher are counted apart. Writes to memory are counted by uncore PMUs only, for the whole socket.",
      "from_l2_rate", "from_cache_rate", "memory_read = line * (from_dram + prefetched) / time",
    },
    VECTOR = {
      prose = "This PMU does not distinguish the widths of floating-point instructions. Operations per SSE and AVX " ..
        "instruction come close to them: moves and conversions are included, so " ..
        "the figure is a lower bound.",
      "flop_per_instruction [flop/instruction] = flop_any / sse; < 1: most SSE and AVX instructions are moves, or scalar",
      "sse_share [%] = 100 * sse / instructions",
      "x87_share [%] = 100 * x87 / instructions; > 1: old floating-point code is in use",
    },
    CACHE = {
      prose = "Requests of the data cache to L2 and their outcome. Requests of the L2 prefetcher are not included.",
      "l2_miss_ratio = 100 * l2_miss / (l2_hit + l2_miss)",
      "l1_miss_ratio = 100 * (l2_hit + l2_miss) / loads; requests to L2 per load that was dispatched",
      "l2_mpki = 1000 * l2_miss / instructions; > 20: latency of L3 or memory is likely to show", "code_mpki",
    },
    CYCLE = {
      prose = "Use of the cycles: instructions and their micro-operations, dispatch that was held up, " ..
        "mispredicted branches.",
      "ipc", "ops_per_instruction", "mispredict_ratio", "fp_stalled [%] = 100 * token_stalls / cycles",
      "memory_stalled = 100 * queue_stalls / cycles; > 20: the load and store queues fill up",
    },
    LOADSTORE = {
      prose = "Loads and stores that were dispatched to the load/store unit, including speculative ones.",
      "loads_per_instruction = (loads + both) / instructions", "stores_per_instruction = (stores + both) / instructions",
      "loads_per_store = (loads + both) / (stores + both)",
      "misaligned_ratio [%] = 100 * misaligned / (loads + both); > 5: data is not aligned to its access",
    },
    TOPDOWN = {
      prose = "Use of the six dispatch slots of a cycle, as far " ..
        "as Zen counts it: operations that retired, discarded operations, and empty slots. The three add up to 100 %.",
      "retiring = 100 * ops / (6 * cycles)",
      "bad_speculation = 100 * (dispatched - ops) / (6 * cycles); > 15: much is done on wrong paths; see BRANCH",
      "not_dispatched [%] = 100 * (6 * cycles - dispatched) / (6 * cycles); frontend and backend together; > 60: waits for " ..
        "instructions or units; see STALLS",
    },
    BRANCH = {
      prose = "Branches that retired and those that were mispredicted, by kind.",
      "branch_rate", "mispredict_ratio", "branch_mpki", "taken_share",
      "return_ratio [%] = 100 * returns_wrong / returns; of returns",
    },
    TLB = {
      prose = "Addresses that the first level of TLBs missed: those that the second had, and those that were walked.",
      "data_walk_mpki", "code_walk_mpki",
      "l2_tlb_ratio [%] = 100 * l2_tlb_hits / (l2_tlb_hits + data_walks); misses of the first level that hit the second",
    },
    L2 = {
      prose = "Requests of the data and code caches to L2, and the misses of L2, without L2's own prefetches.",
      "l2_data_ratio [%] = 100 * data_missed / data_asked; > 50: most misses of L1 also miss L2",
      "l2_code_ratio [%] = 100 * code_missed / code_asked", "l2_read_mpki = 1000 * data_missed / instructions", "l2_code_mpki",
    },
    L3 = {
      prose = "Lines that the data cache got from beyond L2: from L3 or another cache of the same core complex, or from " ..
        "farther away.",
      "l3_miss_ratio = 100 * beyond / (near_cache + beyond); > 50: most misses of L2 go to memory or another core " ..
        "complex",
      "l3_mpki = 1000 * beyond / instructions", "l3_rate [byte/s] = line * near_cache / time",
    },
    STALLS = {
      prose = "Cycles in which dispatch waited for a resource of the core: registers, queues of loads and stores, schedulers.",
      "stalled_on_registers [%] = 100 * register_stalls / cycles",
      "stalled_on_loads [%] = 100 * load_stalls / cycles; > 20: the load queue fills up: waits for memory",
      "stalled_on_stores [%] = 100 * store_stalls / cycles", "stalled_on_fp [%] = 100 * fp_stalls / cycles",
    },
    UOPS = {
      prose = "Micro-operations from the decoders and from the cache of decoded ones, and those that retired.",
      "uops_per_instruction",
      "opcache_share [%] = 100 * from_cache_of_ops / (decoded + from_cache_of_ops); < 50: most micro-operations come from the " ..
        "decoders, which are slower",
      "dispatched_per_retired [] = (decoded + from_cache_of_ops) / ops; above 1: work on wrong paths",
    },
    DIVIDE = {
      prose = "Divisions of integers, and the cycles in which the divider was busy.",
      "divider_busy", "cycles_per_division [] = divider / divisions",
    },
    NUMA = {
      prose = "Lines filled into the data cache by demands and prefetches, from this socket's memory and from another's.",
      "remote_share", "remote_cache_share = 100 * remote_clean / (local_memory + remote_memory + remote_clean)",
    },
    ENERGY = {
      prose = "Energy of the whole package, for all programs there, by RAPL; the kernel counts in units of 2^-32 J. " ..
        "Needs the rights for counting a whole cpu; most virtual machines have none.",
      "package_energy", "package_power",
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source, compared with the hardware's counts: the ratio " ..
        "and the difference of figures 1 to 3 and table IV of the PMlib paper.",
      inputs = { work = "the workload counted in the source (equation 1), in flop" },
      "flop = flop_any", "user_rate", "system_rate", "ratio", "difference",
    },
  },
}
