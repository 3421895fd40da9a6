-- SPDX-License-Identifier: BSD-3-Clause
-- Fujitsu A64FX.
return {
  pmus = { "arm_a64fx" },
  source = "Event names and meanings: libpfm4 and the A64FX PMU events specification that Fujitsu publishes; groups " ..
    "and equation 8: K. Mikami, K. Ono, J. Nonaka, Performance evaluation and visualization of scientific " ..
    "applications using PMlib.",
  constants = { line = { 256, "byte" } },
  events = {
    asked = "L2D_CACHE", backend_stalls = "STALL_BACKEND", branches = "BR_PRED", code_misses = "L1I_TLB_REFILL",
    code_walks = "L2I_TLB_REFILL", cycles = "CPU_CYCLES", data_misses = "L1D_TLB_REFILL", data_walks = "L2D_TLB_REFILL",
    demand = "L2D_CACHE_REFILL_DM", dp_fixed = "FP_DP_FIXED_OPS_SPEC", dp_scalable = "FP_DP_SCALE_OPS_SPEC",
    fixed = "FP_FIXED_OPS_SPEC", fma = "FP_FMA_SPEC", fp = "FP_SPEC", fp_wait = "FL_COMP_WAIT",
    frontend_stalls = "STALL_FRONTEND", gathers = "SVE_LD_GATHER_SPEC", hp_fixed = "FP_HP_FIXED_OPS_SPEC",
    hp_scalable = "FP_HP_SCALE_OPS_SPEC", instructions = "INST_RETIRED", l1 = "L1D_CACHE", l1_demand = "L1D_CACHE_REFILL_DM",
    l1_in = "L1D_CACHE_REFILL", l1_out = "L1D_CACHE_WB", l1_refill = "L1D_CACHE_REFILL", l2 = "L2D_CACHE",
    l2_demand = "L2D_CACHE_REFILL_DM", l2_in = "L2D_CACHE_REFILL", l2_out = "L2D_CACHE_WB", l2_refill = "L2D_CACHE_REFILL",
    l2_wait = "LD_COMP_WAIT_L2_MISS", loads = "LD_SPEC", memory_reads = "BUS_READ_TOTAL_MEM", memory_wait = "LD_COMP_WAIT",
    memory_writes = "BUS_WRITE_TOTAL_MEM", mispredicted = "BR_MIS_PRED", missed = "L2D_CACHE_REFILL", none = "0INST_COMMIT",
    ops = "UOP_SPEC", predicted = "BR_PRED", scalable = "FP_SCALE_OPS_SPEC", scatters = "SVE_ST_SCATTER_SPEC",
    simd = "SIMD_INST_RETIRED", sp_fixed = "FP_SP_FIXED_OPS_SPEC", sp_scalable = "FP_SP_SCALE_OPS_SPEC",
    speculated = "INST_SPEC", stores = "ST_SPEC", sve = "SVE_INST_RETIRED", sve_loads = "ASE_SVE_LD_SPEC",
  },
  groups = {
    FLOPS = {
      prose = "Floating-point operations. SVE instructions are counted as if a vector had 128 bits; A64FX has 512, " ..
        "hence the factor 4. A fused multiply-add counts twice. Its forerunner FX100 counted instructions by " ..
        "width, equation 8 of the PMlib paper.",
      "flop = fixed + 4 * scalable", "dp_flop = dp_fixed + 4 * dp_scalable", "sp_flop = sp_fixed + 4 * sp_scalable", "flop_rate",
      "flop_per_cycle", "ipc",
    },
    BANDWIDTH = {
      prose = "Lines of 256 bytes between the memory of a core memory group and that group, whichever of its cores " ..
        "asked, and lines that moved into this core.",
      "memory_read = line * memory_reads / time; of the whole core memory group",
      "memory_write [byte/s] = line * memory_writes / time; of the whole core memory group",
      "memory_bandwidth = memory_read + memory_write", "l2_to_l1", "l1_to_l2", "into_l2", "out_of_l2",
    },
    VECTOR = {
      prose = "Operations of SVE instructions among all floating-point operations, and SIMD and SVE instructions " ..
        "among all.",
      "sve_flop_share = 100 * 4 * scalable / (fixed + 4 * scalable)", "simd_share = 100 * simd / instructions",
      "sve_share = 100 * sve / instructions", "fma_share [%] = 100 * fma / fp",
    },
    CACHE = {
      prose = "Accesses to L1 and L2, and refills by demand or by prefetch.",
      "l1_miss_ratio", "l1_demand_ratio [%] = 100 * l1_demand / l1", "l2_miss_ratio", "l2_mpki = 1000 * l2_demand / instructions",
    },
    CYCLE = {
      prose = "Use of the cycles: cycles in which no instruction was committed because a load, a " ..
        "floating-point or an integer operation or a branch was waited for.",
      "ipc", "no_commit [%] = 100 * none / cycles; > 50: nothing is committed in most cycles",
      "memory_wait_share [%] = 100 * memory_wait / cycles",
      "l2_miss_wait [%] = 100 * l2_wait / cycles; > 30: waits for memory", "fp_wait_share [%] = 100 * fp_wait / cycles",
      "mispredict_ratio",
    },
    LOADSTORE = {
      prose = "Loads and stores, and the SVE ones that gather or scatter.",
      "loads_per_instruction", "stores_per_instruction", "loads_per_store", "simd_load_share [%] = 100 * sve_loads / loads",
      "gather_share [%] = 100 * gathers / loads; > 10: gathers take an access per element",
      "scatter_share [%] = 100 * scatters / stores; > 10: scatters take an access per element",
    },
    TOPDOWN = {
      prose = "Level 1 of top-down in cycles: those in which the frontend delivered nothing, those in which the backend took " ..
        "nothing, and the others, divided as instructions that retired are to those executed. The four add up to 100 %.",
      "frontend_bound", "backend_bound", "retiring", "bad_speculation",
    },
    HALF = {
      prose = "Floating-point operations in half precision, as FLOPS counts them in single and double.",
      "hp_flop = hp_fixed + 4 * hp_scalable", "hp_rate",
    },
    BRANCH = {
      prose = "Predicted and mispredicted branches, also on wrong paths.",
      "branch_rate = predicted / instructions", "mispredict_ratio = 100 * mispredicted / predicted", "branch_mpki",
    },
    TLB = {
      prose = "Misses of the first-level TLBs of data and code, and of the second-level TLBs.",
      "data_tlb_mpki", "code_tlb_mpki", "data_walk_mpki", "code_walk_mpki",
    },
    L2 = {
      prose = "Accesses to L2, lines refilled by demand or prefetch, lines refilled by demand, and lines written back.",
      "l2_miss_ratio = 100 * missed / asked", "l2_demand_mpki [miss/1000 instructions] = 1000 * demand / instructions",
      "l2_write_backs",
    },
    UOPS = {
      prose = "Executed micro-operations, including wrong paths, and their instructions.",
      "uops_per_instruction = ops / speculated", "executed_per_retired = speculated / instructions",
    },
    STALLS = {
      prose = "Cycles in which the frontend delivered nothing and cycles in which the backend took nothing.",
      "stalled_by_frontend", "stalled_by_backend",
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source, compared with the hardware's counts: the ratio " ..
        "and the difference of figures 1 to 3 and table IV of the PMlib paper.",
      inputs = { work = "the workload counted in the source (equation 1), in flop" },
      "flop = fixed + 4 * scalable", "user_rate", "system_rate", "ratio", "difference",
    },
  },
}
