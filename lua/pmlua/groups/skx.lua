-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Skylake-X and Cascade Lake-X.
return {
  pmus = { "skx", "clx" },
  source = "Event names and meanings: libpfm4 and the event lists that Intel publishes for its performance monitoring " ..
    "units; groups and equation 7: K. Mikami, K. Ono, J. Nonaka, Performance evaluation and visualization of " ..
    "scientific applications using PMlib.",
  constants = { line = { 64, "byte" }, joule = { 2.3283064365386962890625e-10, "J" } },
  events = {
    all_stalls = "CYCLE_ACTIVITY:STALLS_TOTAL", asked = "L2_RQSTS:ALL_DEMAND_REFERENCES",
    branches = "BR_INST_RETIRED:ALL_BRANCHES", clears = "MACHINE_CLEARS:COUNT", code_missed = "L2_RQSTS:CODE_RD_MISS",
    code_stalls = "ICACHE_16B:IFDATA_STALL", code_walks = "ITLB_MISSES:WALK_COMPLETED",
    conditional = "BR_INST_RETIRED:CONDITIONAL", conditional_wrong = "BR_MISP_RETIRED:CONDITIONAL",
    cycles = "CPU_CLK_THREAD_UNHALTED:THREAD_P", decoded = "IDQ:MITE_UOPS", divider = "ARITH:DIVIDER_ACTIVE",
    executed = "UOPS_EXECUTED:THREAD", fpdp1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE",
    fpdp2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", fpdp4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE",
    fpdp8 = "FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE", fpsp1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE",
    fpsp16 = "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE", fpsp4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
    fpsp8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", from_dsb = "IDQ:DSB_UOPS", instructions = "INST_RETIRED:ANY_P",
    issued = "UOPS_ISSUED:ANY", l1_hit = "MEM_LOAD_RETIRED:L1_HIT", l1_in = "L1D:REPLACEMENT",
    l1_miss = "MEM_LOAD_RETIRED:L1_MISS", l1_stalls = "CYCLE_ACTIVITY:STALLS_L1D_MISS", l2_hit = "MEM_LOAD_RETIRED:L2_HIT",
    l2_in = "L2_LINES_IN:ALL", l2_miss = "MEM_LOAD_RETIRED:L2_MISS", l2_out = "L2_TRANS:L2_WB",
    l2_stalls = "CYCLE_ACTIVITY:STALLS_L2_MISS", l3_asked = "LONGEST_LAT_CACHE:REFERENCE", l3_hit = "MEM_LOAD_RETIRED:L3_HIT",
    l3_miss = "LONGEST_LAT_CACHE:MISS", l3_missed = "LONGEST_LAT_CACHE:MISS", l3_stalls = "CYCLE_ACTIVITY:STALLS_L3_MISS",
    load_walking = "DTLB_LOAD_MISSES:WALK_ACTIVE", load_walks = "DTLB_LOAD_MISSES:WALK_COMPLETED",
    loads = "MEM_INST_RETIRED:ALL_LOADS", local_memory = "MEM_LOAD_L3_MISS_RETIRED:LOCAL_DRAM",
    memory_stalls = "CYCLE_ACTIVITY:STALLS_MEM_ANY", microcode = "IDQ:MS_UOPS", mispredicted = "BR_MISP_RETIRED:ALL_BRANCHES",
    missed = "L2_RQSTS:ALL_DEMAND_MISS", owns_missed = "L2_RQSTS:RFO_MISS", package = "rapl::RAPL_ENERGY_PKG",
    read0 = "skx_unc_imc0::UNC_M_CAS_COUNT:RD", read1 = "skx_unc_imc1::UNC_M_CAS_COUNT:RD",
    read2 = "skx_unc_imc2::UNC_M_CAS_COUNT:RD", read3 = "skx_unc_imc3::UNC_M_CAS_COUNT:RD",
    read4 = "skx_unc_imc4::UNC_M_CAS_COUNT:RD", read5 = "skx_unc_imc5::UNC_M_CAS_COUNT:RD",
    reads_missed = "L2_RQSTS:DEMAND_DATA_RD_MISS", recovery = "INT_MISC:RECOVERY_CYCLES",
    ref_cycles = "UNHALTED_REFERENCE_CYCLES", remote_clean = "MEM_LOAD_L3_MISS_RETIRED:REMOTE_FWD",
    remote_memory = "MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM", remote_modified = "MEM_LOAD_L3_MISS_RETIRED:REMOTE_HITM",
    resteers = "INT_MISC:CLEAR_RESTEER_CYCLES", retired_slots = "UOPS_RETIRED:RETIRE_SLOTS",
    sent0 = "skx_unc_upi0::UNC_UPI_TXL_FLITS:ALL_DATA", sent1 = "skx_unc_upi1::UNC_UPI_TXL_FLITS:ALL_DATA",
    sent2 = "skx_unc_upi2::UNC_UPI_TXL_FLITS:ALL_DATA", split_loads = "MEM_INST_RETIRED:SPLIT_LOADS",
    stalls = "CYCLE_ACTIVITY:STALLS_TOTAL", starved = "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE",
    store_stalls = "EXE_ACTIVITY:BOUND_ON_STORES", store_walking = "DTLB_STORE_MISSES:WALK_ACTIVE",
    store_walks = "DTLB_STORE_MISSES:WALK_COMPLETED", stores = "MEM_INST_RETIRED:ALL_STORES",
    tag_stalls = "ICACHE_64B:IFTAG_STALL", taken = "BR_INST_RETIRED:NEAR_TAKEN",
    tlb_loads = "MEM_INST_RETIRED:STLB_MISS_LOADS", undelivered = "IDQ_UOPS_NOT_DELIVERED:CORE",
    write0 = "skx_unc_imc0::UNC_M_CAS_COUNT:WR", write1 = "skx_unc_imc1::UNC_M_CAS_COUNT:WR",
    write2 = "skx_unc_imc2::UNC_M_CAS_COUNT:WR", write3 = "skx_unc_imc3::UNC_M_CAS_COUNT:WR",
    write4 = "skx_unc_imc4::UNC_M_CAS_COUNT:WR", write5 = "skx_unc_imc5::UNC_M_CAS_COUNT:WR",
  },
  groups = {
    FLOPS = {
      prose = "Floating-point operations: instructions retired by width, times the elements of that width; a fused " ..
        "multiply-add is counted twice by the hardware. The sum is equation 7 of the PMlib paper. Its eight " ..
        "events need eight general counters: with SMT on, a Skylake-X thread has four, and single and double " ..
        "precision are counted in runs of their own.",
      "sp_flop = fpsp1 + 4 * fpsp4 + 8 * fpsp8 + 16 * fpsp16", "dp_flop = fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8",
      "flop; equation 7", "sp_rate", "dp_rate", "flop_rate", "dp_per_cycle", "ipc",
    },
    BANDWIDTH = {
      prose = "Lines moved between the levels of the cache, as one core sees them. Traffic of the memory controllers " ..
        "themselves is counted by uncore PMUs, for the whole socket.",
      "l2_to_l1", "into_l2", "out_of_l2", "l3_miss_rate",
    },
    VECTOR = {
      prose = "How much of the floating-point work is done by vector instructions, and of which width, as shares of " ..
        "operations; per precision, so that each share is from one run.",
      "sp_vector = 100 * (4 * fpsp4 + 8 * fpsp8 + 16 * fpsp16) / (fpsp1 + 4 * fpsp4 + 8 * fpsp8 + 16 * fpsp16)",
      "dp_vector = 100 * (2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8) / (fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8)",
      "sp_512bit [%] = 100 * 16 * fpsp16 / (fpsp1 + 4 * fpsp4 + 8 * fpsp8 + 16 * fpsp16)",
      "dp_512bit [%] = 100 * 8 * fpdp8 / (fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8)",
      "dp_256bit = 100 * 4 * fpdp4 / (fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8)",
      "dp_128bit = 100 * 2 * fpdp2 / (fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8)",
    },
    CACHE = {
      prose = "Where loads that retired found their data. A line that was already on its way (fill buffer) is neither " ..
        "a hit nor a miss of L1. These events count on the lower four counters only.",
      events = { l3_miss = "MEM_LOAD_RETIRED:L3_MISS" },
      "l1_miss_ratio = 100 * l1_miss / (l1_hit + l1_miss)", "l2_miss_ratio = 100 * l2_miss / (l2_hit + l2_miss)",
      "l3_miss_ratio = 100 * l3_miss / (l3_hit + l3_miss)", "l3_mpki = 1000 * l3_miss / instructions",
    },
    CYCLE = {
      prose = "Use of the cycles: instructions, stalls, mispredicted branches. Reference " ..
        "cycles tick at the rate of the TSC, so their ratio to cycles shows the frequency.",
      "ipc", "frequency_ratio = cycles / ref_cycles", "stalled = 100 * stalls / cycles",
      "memory_stalled = 100 * memory_stalls / cycles", "mispredict_ratio",
    },
    LOADSTORE = {
      prose = "Loads and stores that retired, and those that straddle two lines or miss the second-level TLB.",
      "loads_per_instruction", "stores_per_instruction", "loads_per_store",
      "split_loads_ratio [%] = 100 * split_loads / loads; > 5: data is not aligned to its access",
      "tlb_miss_ratio [%] = 100 * tlb_loads / loads; > 1: pages are visited too sparsely; larger pages may help",
    },
    TOPDOWN = {
      prose = "Where the four issue slots of a cycle went, level 1 of top-down: the four shares add up to 100 %. They are " ..
        "differences of counts over a difference of cycles, so they hold for a section as for a run. With SMT the other " ..
        "thread's slots look like backend_bound.",
      "retiring = 100 * retired_slots / (4 * cycles)",
      "bad_speculation = 100 * (issued - retired_slots + 4 * recovery) / (4 * cycles); > 15: much is done on wrong paths; see " ..
        "TOPDOWN2 and BRANCH",
      "frontend_bound = 100 * undelivered / (4 * cycles); > 20: instructions do not arrive fast enough; see TOPDOWN2",
      "backend_bound = 100 * (4 * cycles - undelivered - issued - 4 * recovery) / (4 * cycles); > 50: units or memory hold " ..
        "issue up; see TOPDOWN2 and TOPDOWN3",
    },
    TOPDOWN2 = {
      prose = "Level 2 of top-down: frontend_bound as slots of cycles without any micro-operation and the rest of it; bad " ..
        "speculation and backend_bound by the shares of their causes.",
      "fetch_latency", "fetch_bandwidth", "mispredict_share", "clear_share", "memory_share", "core_share",
    },
    TOPDOWN3 = {
      prose = "Level 3 of top-down, as shares of cycles: the levels that stalling loads have already " ..
        "missed, and the causes of missing instructions. Waiting for a line in L1 counts as l1_bound.",
      "l1_bound", "l2_bound", "l3_bound [%] = 100 * (l2_stalls - l3_stalls) / cycles",
      "dram_bound [%] = 100 * l3_stalls / cycles; > 20: waits for memory; see BANDWIDTH, NUMA and TLB",
      "store_bound [%] = 100 * store_stalls / cycles", "icache_misses [%] = 100 * code_stalls / cycles",
      "itlb_misses [%] = 100 * tag_stalls / cycles", "branch_resteers [%] = 100 * resteers / cycles",
      "divider_active [%] = 100 * divider / cycles",
    },
    BRANCH = {
      prose = "Branches that retired and those that were mispredicted, by kind.",
      "branch_rate", "mispredict_ratio", "branch_mpki",
      "conditional_ratio [%] = 100 * conditional_wrong / conditional; share of conditional branches that were mispredicted",
      "taken_share",
    },
    TLB = {
      prose = "Misses of the second-level TLB, which cause page walks, " ..
        "and the cycles in which a walk was active.",
      "load_walk_mpki [miss/1000 instructions] = 1000 * load_walks / instructions; > 1: pages are visited too sparsely; " ..
        "larger pages may help",
      "store_walk_mpki [miss/1000 instructions] = 1000 * store_walks / instructions", "code_walk_mpki",
      "load_walking_share [%] = 100 * load_walking / cycles", "store_walking_share [%] = 100 * store_walking / cycles",
    },
    L2 = {
      prose = "Demand requests to L2 and its misses: loads, stores and code, without prefetches.",
      "l2_demand_ratio", "l2_read_mpki = 1000 * reads_missed / instructions", "l2_write_mpki", "l2_code_mpki",
    },
    L3 = {
      prose = "Requests of one core to L3, both demands and prefetches, and the misses of L3.",
      "l3_bandwidth", "l3_missed_ratio; > 50: most accesses to L3 go to memory", "l3_missed_mpki",
    },
    STALLS = {
      prose = "Cycles in which nothing was executed, and with which misses outstanding; a cycle with a miss of L3 is one with " ..
        "a miss of L2 and L1, too.",
      "stalled", "stalled_on_memory [%] = 100 * memory_stalls / cycles", "stalled_beyond_l1", "stalled_beyond_l2",
    },
    UOPS = {
      prose = "Micro-operations from the decoders, from the cache of decoded ones and from microcode; issued, executed, retired.",
      "uops_per_instruction = retired_slots / instructions", "dsb_share", "microcode_share",
      "executed_per_issued [] = executed / issued", "issued_per_retired",
    },
    DIVIDE = {
      prose = "Cycles in which the divider was busy with divisions or square roots, of integers or floating-point numbers.",
      "divider_busy",
    },
    NUMA = {
      prose = "Loads that L3 missed, by where the line came from: the memory of this socket, of another, or a cache of another.",
      "remote_share",
      "remote_cache_share = 100 * (remote_modified + remote_clean) / (local_memory + remote_memory + remote_modified + " ..
        "remote_clean)",
    },
    MEMORY = {
      prose = "Lines that the memory controllers of the whole socket read and wrote, for all programs there, over six " ..
        "channels. Needs the rights for counting a whole cpu; most virtual machines have none.",
      "memory_reads = line * (read0 + read1 + read2 + read3 + read4 + read5) / time",
      "memory_writes = line * (write0 + write1 + write2 + write3 + write4 + write5) / time", "memory_bandwidth",
      { name = "busiest_channel", unit = "%",
        formula = "100 * max(read0 + write0, read1 + write1, read2 + write2, read3 + write3, read4 + write4, " ..
          "read5 + write5) / (read0 + read1 + read2 + read3 + read4 + read5 + write0 + write1 + write2 + write3 + write4 + " ..
          "write5)",
        about = "of all lines; 16.7 % where six channels share them evenly",
        thresholds = { { "> 30", "channels are used unevenly: look at where the memory modules are" } } },
    },
    UPI = {
      prose = "Data that the socket sent over its links to other sockets. A line takes nine flits of data and header, so a " ..
        "flit stands for 64/9 bytes. A processor with two links has no link2.",
      "link0_sent = line * sent0 / 9 / time", "link1_sent = line * sent1 / 9 / time",
      "link2_sent [byte/s] = line * sent2 / 9 / time",
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
      "sp_flop = fpsp1 + 4 * fpsp4 + 8 * fpsp8 + 16 * fpsp16", "dp_flop = fpdp1 + 2 * fpdp2 + 4 * fpdp4 + 8 * fpdp8", "flop",
      "user_rate", "system_rate", "ratio", "difference",
    },
  },
}
