-- SPDX-License-Identifier: BSD-3-Clause
-- LIKWID's names of core events that libpfm4 spells otherwise, matched by their codes: an event of libpfm4 with the same event
-- number, unit mask and options, or where it has none the code itself, as PERF_TYPE_RAW takes it.
return {
  source = "Event numbers and unit masks: LIKWID's event tables (5.x), libpfm4 4.13 and Intel's event files",
  spellings = {
    { pmus = { "amd64_fam10h_barcelona" },
      events = {
        CPU_TO_DRAM_LOCAL_TO_0 = "CPU_TO_DRAM_REQUESTS_TO_TARGET_NODE:LOCAL_TO_0",
        CPU_TO_DRAM_LOCAL_TO_1 = "CPU_TO_DRAM_REQUESTS_TO_TARGET_NODE:LOCAL_TO_1",
        CPU_TO_DRAM_LOCAL_TO_2 = "CPU_TO_DRAM_REQUESTS_TO_TARGET_NODE:LOCAL_TO_2",
        CPU_TO_DRAM_LOCAL_TO_3 = "CPU_TO_DRAM_REQUESTS_TO_TARGET_NODE:LOCAL_TO_3",
        CPU_TO_DRAM_LOCAL_TO_4 = "CPU_TO_DRAM_REQUESTS_TO_TARGET_NODE:LOCAL_TO_4",
        CPU_TO_DRAM_LOCAL_TO_5 = "CPU_TO_DRAM_REQUESTS_TO_TARGET_NODE:LOCAL_TO_5",
        CPU_TO_DRAM_LOCAL_TO_6 = "CPU_TO_DRAM_REQUESTS_TO_TARGET_NODE:LOCAL_TO_6",
        CPU_TO_DRAM_LOCAL_TO_7 = "CPU_TO_DRAM_REQUESTS_TO_TARGET_NODE:LOCAL_TO_7", DATA_CACHE_EVICTED_ALL = "r1f44",
        DATA_CACHE_REFILLS_L2_ALL = "r1e42", DRAM_ACCESSES_DCT1_ALL = "r38e0", DRAM_ACCESSES_DCTO_ALL = "r7e0",
        DTLB_L2_HIT_ALL = "r745", DTLB_L2_MISS_ALL = "L1_DTLB_AND_L2_DTLB_MISS:ALL",
        FP_INSTRUCTIONS_RETIRED_ALL = "RETIRED_MMX_AND_FP_INSTRUCTIONS:ALL", L2_FILL_ALL = "L2_FILL_WRITEBACK:ALL",
        L2_MISSES_ALL = "r77e", L2_REQUESTS_ALL = "r77d", NORTHBRIDGE_READ_RESPONSE_ALL = "r76c",
        OCTWORDS_WRITE_TRANSFERS = "QUADWORDS_WRITTEN_TO_SYSTEM:ALL", SSE_RETIRED_ADD_DOUBLE_FLOPS = "r4803",
        SSE_RETIRED_ADD_SINGLE_FLOPS = "r4103", SSE_RETIRED_MULT_DOUBLE_FLOPS = "r5003",
        SSE_RETIRED_MULT_SINGLE_FLOPS = "r4203", X87_FLOPS_RETIRED_ADD = "r1000001c0", X87_FLOPS_RETIRED_DIV = "r1000004c0",
        X87_FLOPS_RETIRED_MULT = "r1000002c0",
      } },
    { pmus = { "amd64_fam10h_barcelona", "amd64_fam15h_interlagos", "amd64_fam16h", "amd64_k8_revf" },
      events = {
        CPU_CLOCKS_UNHALTED = "CPU_CLK_UNHALTED",
      } },
    { pmus = { "amd64_fam10h_barcelona", "amd64_k8_revf" },
      events = {
        BRANCH_MISPREDICT_RETIRED = "RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS",
        BRANCH_RETIRED = "RETIRED_BRANCH_INSTRUCTIONS", DATA_CACHE_REFILLS_NORTHBRIDGE_ALL = "r1e43",
        ICACHE_FETCHES = "INSTRUCTION_CACHE_FETCHES", ICACHE_REFILLS_L2 = "INSTRUCTION_CACHE_REFILLS_FROM_L2",
        ICACHE_REFILLS_MEM = "INSTRUCTION_CACHE_REFILLS_FROM_SYSTEM", INSTRUCTIONS_RETIRED = "RETIRED_INSTRUCTIONS",
        UOPS_RETIRED = "RETIRED_UOPS",
      } },
    { pmus = { "amd64_fam15h_interlagos" },
      events = {
        DATA_CACHE_REFILLS_ALL = "DATA_CACHE_REFILLS_FROM_L2_OR_NORTHBRIDGE:ALL",
        DATA_CACHE_REFILLS_SYSTEM = "DATA_CACHE_REFILLS_FROM_NORTHBRIDGE",
        DATA_CACHE_REFILLS_VALID = "DATA_CACHE_REFILLS_FROM_L2_OR_NORTHBRIDGE:GOOD",
        L2_CACHE_MISS_DC_FILL = "L2_CACHE_MISS:DATA", L2_FILL_WB_FILL = "L2_CACHE_FILL_WRITEBACK:L2_FILLS",
        L2_FILL_WB_WB = "L2_CACHE_FILL_WRITEBACK:L2_WRITEBACKS", REQUESTS_TO_L2_DC_FILL = "REQUESTS_TO_L2:DATA",
        RETIRED_FLOPS_DOUBLE_ALL = "rf003", RETIRED_FLOPS_SINGLE_ALL = "rf03",
        RETIRED_FP_INSTRUCTIONS_ALL = "RETIRED_MMX_FP_INSTRUCTIONS:ALL",
      } },
    { pmus = { "amd64_fam15h_interlagos", "amd64_fam16h" },
      events = {
        FPU_EXCEPTION_ALL = "FPU_EXCEPTIONS:ALL", INSTRUCTION_CACHE_L2_REFILLS = "INSTRUCTION_CACHE_REFILLS_FROM_L2",
        INSTRUCTION_CACHE_SYSTEM_REFILLS = "INSTRUCTION_CACHE_REFILLS_FROM_SYSTEM",
        RETIRED_MISPREDICTED_BRANCH_INSTR = "RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS",
      } },
    { pmus = { "amd64_fam15h_interlagos", "amd64_fam16h", "amd64_fam17h_zen1", "amd64_fam17h_zen2",
        "amd64_fam19h_zen3", "amd64_fam19h_zen4" },
      events = {
        RETIRED_BRANCH_INSTR = "RETIRED_BRANCH_INSTRUCTIONS",
      } },
    { pmus = { "amd64_fam16h" },
      events = {
        DATA_CACHE_REFILLS_NB_ALL = "r1e43", L2_DTLB_HIT_ALL = "r145", RETIRED_FLOPS_DOUBLE_ALL = "r7003",
        RETIRED_FLOPS_SINGLE_ALL = "r703", RETIRED_FP_INSTRUCTIONS_ALL = "RETIRED_MMX_AND_FP_INSTRUCTIONS:ALL",
      } },
    { pmus = { "amd64_fam16h", "amd64_k8_revf" },
      events = {
        DATA_CACHE_EVICTED_ALL = "DATA_CACHE_LINES_EVICTED:ALL",
      } },
    { pmus = { "amd64_fam17h_zen1" },
      events = {
        ICACHE_FETCHES = "32_BYTE_INSTRUCTION_CACHE_FETCH", RETIRED_SSE_AVX_FLOPS_DOUBLE_ALL = "rf003",
        RETIRED_SSE_AVX_FLOPS_SINGLE_ALL = "rf03",
      } },
    { pmus = { "amd64_fam17h_zen1", "amd64_fam17h_zen2" },
      events = {
        DATA_CACHE_REFILLS_ALL = "r5b43", DATA_CACHE_REFILLS_LOCAL_ALL = "rb43", HWPREF_DATA_CACHE_FILLS_LOCAL_ALL = "rb5a",
      } },
    { pmus = { "amd64_fam17h_zen1", "amd64_fam17h_zen2", "amd64_fam19h_zen3" },
      events = {
        DATA_CACHE_REFILLS_REMOTE_ALL = "r5043", HWPREF_DATA_CACHE_FILLS_REMOTE_ALL = "r505a",
      } },
    { pmus = { "amd64_fam17h_zen1", "amd64_fam17h_zen2", "amd64_fam19h_zen3", "amd64_fam19h_zen4" },
      events = {
        DIV_BUSY_CYCLES = "DIV_CYCLES_BUSY_COUNT", ICACHE_L2_REFILLS = "INSTRUCTION_CACHE_REFILLS_FROM_L2",
        ICACHE_SYSTEM_REFILLS = "INSTRUCTION_CACHE_REFILLS_FROM_SYSTEM", L1_DTLB_MISS_ANY_L2_HIT = "rf45",
        L1_DTLB_MISS_ANY_L2_MISS = "rf045", LS_DISPATCH_LOADS = "LS_DISPATCH:LD_DISPATCH",
        LS_DISPATCH_STORES = "LS_DISPATCH:STORE_DISPATCH", REQUESTS_TO_L2_GRP1_ALL_NO_PF = "rf960",
        RETIRED_MISP_BRANCH_INSTR = "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED",
      } },
    { pmus = { "amd64_fam17h_zen2", "amd64_fam19h_zen3" },
      events = {
        ICACHE_FETCHES = "r80",
      } },
    { pmus = { "amd64_fam17h_zen2", "amd64_fam19h_zen3", "amd64_fam19h_zen4" },
      events = {
        DATA_CACHE_ACCESSES = "r40", RETIRED_SSE_AVX_FLOPS_ALL = "RETIRED_SSE_AVX_FLOPS:ANY",
      } },
    { pmus = { "amd64_fam19h_zen3" },
      events = {
        DATA_CACHE_REFILLS_ALL = "rff43", DATA_CACHE_REFILLS_LOCAL_ALL = "rf43",
      } },
    { pmus = { "amd64_fam19h_zen3", "amd64_fam19h_zen4" },
      events = {
        CORE_TO_L2_CACHE_REQUESTS_HITS = "rf664", HWPREF_DATA_CACHE_FILLS_LOCAL_ALL = "rf5a",
        L1_ITLB_MISS_L2_ITLB_MISS_ANY = "rf85", L2_CACHE_MISS_AFTER_L1_MISS = "r964", L2_PF_HIT_IN_L2 = "rff70",
        L2_PF_HIT_IN_L3 = "rff71", L2_PF_MISS_IN_L3 = "rff72", LS_DISPATCH_LOAD_OP_STORES = "LS_DISPATCH:LD_ST_DISPATCH",
        RETIRED_UOPS = "RETIRED_OPS",
      } },
    { pmus = { "amd64_fam19h_zen4" },
      events = {
        ANY_DATA_CACHE_FILLS_ALL = "rdf44", ANY_DATA_CACHE_FILLS_LOCAL_ALL = "rf44",
        ANY_DATA_CACHE_FILLS_REMOTE_ALL = "rd044",
        HWPREF_DATA_CACHE_FILLS_REMOTE_DRAM = "HARDWARE_PREFETCH_DATA_CACHE_FILLS:DRAM_IO_FAR",
        IC_TAG_ANY = "IC_TAG_HIT_MISS:ALL_IC_ACCESS",
      } },
    { pmus = { "amd64_k8_revf" },
      events = {
        DATA_CACHE_REFILLS_L2_ALL = "DATA_CACHE_REFILLS:ALL",
      } },
    { pmus = { "atom" },
      events = {
        BUS_TRANS_MEM_THIS_CORE_THIS_A = "r406f",
      } },
    { pmus = { "bdw", "bdw_ep" },
      events = {
        ARITH_FPU_DIV_ACTIVE = "ARITH:FPU_DIV_ACTIVE", MEM_UOPS_RETIRED_LOADS_ALL = "MEM_UOPS_RETIRED:ALL_LOADS",
        MEM_UOPS_RETIRED_STORES_ALL = "MEM_UOPS_RETIRED:ALL_STORES",
      } },
    { pmus = { "bdw", "bdw_ep", "hsw", "hsw_ep", "ivb", "ivb_ep" },
      events = {
        MEM_LOAD_UOPS_RETIRED_L3_ALL = "r24d1",
      } },
    { pmus = { "bdw", "bdw_ep", "hsw", "hsw_ep", "ivb", "ivb_ep", "snb", "snb_ep" },
      events = {
        ICACHE_ACCESSES = "r380",
      } },
    { pmus = { "bdw", "hsw", "hsw_ep", "ivb", "ivb_ep", "snb", "snb_ep" },
      events = {
        INT_MISC_RECOVERY_COUNT = "INT_MISC:RECOVERY_STALLS_COUNT",
      } },
    { pmus = { "clx", "hsw", "hsw_ep", "ivb", "ivb_ep", "skl", "skx" },
      events = {
        L1D_M_EVICT = "r451",
      } },
    { pmus = { "clx", "hsw", "hsw_ep", "ivb", "ivb_ep", "skl", "skx", "snb", "snb_ep" },
      events = {
        CPU_CLOCK_UNHALTED_TOTAL_CYCLES = "r280003c", UOPS_ISSUED_USED_CYCLES = "r100010e",
      } },
    { pmus = { "clx", "icl", "icx", "skl", "skx" },
      events = {
        ARITH_DIVIDER_COUNT = "r1040114", L2_TRANS_ALL_REQUESTS = "r80f0",
      } },
    { pmus = { "clx", "skl", "skx" },
      events = {
        CYCLE_ACTIVITY_CYCLES_NO_EXECUTE = "CYCLE_ACTIVITY:STALLS_TOTAL",
        CYCLE_ACTIVITY_STALLS_L1D_PENDING = "CYCLE_ACTIVITY:STALLS_L1D_MISS",
        CYCLE_ACTIVITY_STALLS_L2_PENDING = "CYCLE_ACTIVITY:STALLS_L2_MISS",
        CYCLE_ACTIVITY_STALLS_LDM_PENDING = "CYCLE_ACTIVITY:STALLS_MEM_ANY",
        UOPS_EXECUTED_USED_CYCLES = "UOPS_EXECUTED:THREAD_CYCLES_GE_1",
      } },
    { pmus = { "core" },
      events = {
        BUS_TRANS_MEM_THIS_CORE_THIS_A = "BUS_TRANS_MEM:THIS_AGENT", BUS_TRANS_WB_THIS_CORE_ALL_A = "BUS_TRANS_WB:ALL_AGENTS",
        L2_RQSTS_SELF_I_STATE = "LAST_LEVEL_CACHE_MISSES", L2_RQSTS_THIS_CORE_ALL_MESI = "L2_RQSTS:MESI",
        RS_UOPS_DISPATCHED_ALL = "RS_UOPS_DISPATCHED", UOPS_RETIRED_STALL_CYCLES = "r1800fc2",
        UOPS_RETIRED_USED_CYCLES = "r1000fc2",
      } },
    { pmus = { "glm" },
      events = {
        CYCLES_DIV_BUSY_ALL_COUNT = "r10400cd", PAGE_WALKS_D_SIDE_COUNT = "r40105", PAGE_WALKS_I_SIDE_COUNT = "r40205",
      } },
    { pmus = { "hsw", "hsw_ep" },
      events = {
        ARITH_DIVIDER_CYCLES = "r114", AVX_INSTS_CALC = "r4c6", MEM_LOAD_UOPS_RETIRED_ALL_ALL = "r3fd1",
        UOPS_EXECUTED_THREAD = "r1b1",
      } },
    { pmus = { "hsw", "hsw_ep", "ivb", "ivb_ep" },
      events = {
        CYCLE_ACTIVITY_STALLS_TOTAL = "CYCLE_ACTIVITY:CYCLES_NO_EXECUTE",
      } },
    { pmus = { "hsw", "hsw_ep", "ivb", "ivb_ep", "snb", "snb_ep" },
      events = {
        MEM_UOPS_RETIRED_LOADS = "MEM_UOPS_RETIRED:ALL_LOADS", MEM_UOPS_RETIRED_STORES = "MEM_UOPS_RETIRED:ALL_STORES",
        UOPS_EXECUTED_USED_CYCLES = "UOPS_EXECUTED:CYCLES_GE_1_UOP_EXEC", UOPS_RETIRED_USED_CYCLES = "r10001c2",
      } },
    { pmus = { "icl", "icx" },
      events = {
        L2_RQSTS_MISS = "r2f24", L2_TRANS_L1D_WB = "r10f0",
      } },
    { pmus = { "icl", "skl" },
      events = {
        ICACHE_64B_IFTAG_ALL = "r383",
      } },
    { pmus = { "ivb", "ivb_ep" },
      events = {
        ARITH_NUM_DIV = "r1040114",
      } },
    { pmus = { "ivb", "ivb_ep", "snb", "snb_ep" },
      events = {
        FP_COMP_OPS_EXE_SSE_FP_PACKED_SINGLE = "FP_COMP_OPS_EXE:SSE_PACKED_SINGLE",
        FP_COMP_OPS_EXE_SSE_FP_SCALAR_DOUBLE = "FP_COMP_OPS_EXE:SSE_SCALAR_DOUBLE", L2_RQSTS_MISS = "raa24",
        L2_TRANS_ALL_REQUESTS = "L2_TRANS:ALL", MEM_LOAD_UOPS_RETIRED_ALL = "r7fd1",
      } },
    { pmus = { "knl" },
      events = {
        CYCLES_DIV_BUSY_COUNT = "r10401cd", NO_ALLOC_CYCLES_ALL_COUNT = "r47fca",
        PAGE_WALKS_DTLB_COUNT = "PAGE_WALKS:D_SIDE_WALKS", PAGE_WALKS_ITLB_COUNT = "PAGE_WALKS:I_SIDE_WALKS",
        UOPS_RETIRED_STALLED_CYCLES = "r18010c2", UOPS_RETIRED_STALLS = "r18410c2",
      } },
    { pmus = { "knl", "slm" },
      events = {
        PAGE_WALKS_DTLB_CYCLES = "PAGE_WALKS:D_SIDE_CYCLES", PAGE_WALKS_ITLB_CYCLES = "PAGE_WALKS:I_SIDE_CYCLES",
      } },
    { pmus = { "nhm", "nhm_ex" },
      events = {
        BR_MISP_RETIRED_ALL_BRANCHES = "rc5",
      } },
    { pmus = { "nhm_ex" },
      events = {
        ARITH_CYCLES_DIV_BUSY = "ARITH:CYCLES_DIV_BUSY",
      } },
    { pmus = { "skl" },
      events = {
        INT_MISC_RECOVERY_COUNT = "r4010d", MEM_INST_RETIRED_ALL = "MEM_INST_RETIRED:ANY",
      } },
    { pmus = { "slm" },
      events = {
        LONGEST_LAT_CACHE_MISS = "LAST_LEVEL_CACHE_MISSES", LONGEST_LAT_CACHE_REFERENCE = "LAST_LEVEL_CACHE_REFERENCES",
        MEM_UOPS_RETIRED_ALL_LOADS = "MEM_UOP_RETIRED:ANY_LD", MEM_UOPS_RETIRED_ALL_STORES = "MEM_UOP_RETIRED:ANY_ST",
      } },
    { pmus = { "snb", "snb_ep" },
      events = {
        ARITH_NUM_DIV = "ARITH:FPU_DIV", CYCLE_ACTIVITY_CYCLES_NO_EXECUTE = "CYCLE_ACTIVITY:CYCLES_NO_DISPATCH",
        CYCLE_ACTIVITY_STALLS_TOTAL = "CYCLE_ACTIVITY:CYCLES_NO_DISPATCH", ICACHE_IFETCH_STALL = "r480",
        L2_LINES_IN_ALL = "L2_LINES_IN:ANY",
      } },
    { pmus = { "spr" },
      events = {
        ARITH_FPDIV_COUNT = "r10401b0", ARITH_IDIV_COUNT = "r10408b0", ICACHE_TAG_MISS = "r283", L2_REQUEST_ALL = "rff24",
        L2_REQUEST_MISS = "r3f24", L2_TRANS_L1D_WB = "r1023",
      } },
    { pmus = { "wsm", "wsm_dp" },
      events = {
        ARITH_NUM_DIV = "ARITH:DIV", L2_LINES_OUT_DIRTY_ANY = "raf2", UOPS_EXECUTED_THREAD = "rc0b1",
      } },
  },
}
