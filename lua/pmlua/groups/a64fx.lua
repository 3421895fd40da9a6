-- SPDX-License-Identifier: BSD-3-Clause
-- Fujitsu A64FX.
return {
  pmus = { "arm_a64fx" },
  source = "Event names and meanings: libpfm4 and the A64FX PMU events specification that Fujitsu publishes; groups " ..
    "and equation 8: K. Mikami, K. Ono, J. Nonaka, Performance evaluation and visualization of scientific " ..
    "applications using PMlib.",
  constants = { line = { 256, "byte" } },
  groups = {
    FLOPS = {
      prose = "Floating-point operations. SVE instructions are counted as if a vector had 128 bits; A64FX has 512, " ..
        "hence the factor 4. A fused multiply-add counts twice. Its forerunner FX100 counted instructions by " ..
        "width, equation 8 of the PMlib paper.",
      events = {
        fixed = "FP_FIXED_OPS_SPEC", scalable = "FP_SCALE_OPS_SPEC", dp_fixed = "FP_DP_FIXED_OPS_SPEC",
        dp_scalable = "FP_DP_SCALE_OPS_SPEC", sp_fixed = "FP_SP_FIXED_OPS_SPEC",
        sp_scalable = "FP_SP_SCALE_OPS_SPEC", cycles = "CPU_CYCLES", instructions = "INST_RETIRED",
      },
      metrics = {
        { name = "flop", unit = "flop", formula = "fixed + 4 * scalable" },
        { name = "dp_flop", unit = "flop", formula = "dp_fixed + 4 * dp_scalable" },
        { name = "sp_flop", unit = "flop", formula = "sp_fixed + 4 * sp_scalable" },
        { name = "flop_rate", unit = "flop/s", formula = "flop / time" },
        { name = "flop_per_cycle", unit = "flop/cycle", formula = "flop / cycles",
          thresholds = { { "< 1", "no more than a scalar operation a cycle" } } },
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
      },
    },
    BANDWIDTH = {
      prose = "Lines of 256 bytes between the memory of a core memory group and that group, whichever of its cores " ..
        "asked, and lines that moved into this core.",
      events = {
        memory_reads = "BUS_READ_TOTAL_MEM", memory_writes = "BUS_WRITE_TOTAL_MEM", l2_in = "L2D_CACHE_REFILL",
        l2_out = "L2D_CACHE_WB", l1_in = "L1D_CACHE_REFILL", l1_out = "L1D_CACHE_WB",
      },
      metrics = {
        { name = "memory_read", unit = "byte/s", formula = "line * memory_reads / time",
          about = "of the whole core memory group" },
        { name = "memory_write", unit = "byte/s", formula = "line * memory_writes / time",
          about = "of the whole core memory group" },
        { name = "memory_bandwidth", unit = "byte/s", formula = "memory_read + memory_write" },
        { name = "l2_to_l1", unit = "byte/s", formula = "line * l1_in / time" },
        { name = "l1_to_l2", unit = "byte/s", formula = "line * l1_out / time" },
        { name = "into_l2", unit = "byte/s", formula = "line * l2_in / time" },
        { name = "out_of_l2", unit = "byte/s", formula = "line * l2_out / time" },
      },
    },
    VECTOR = {
      prose = "Operations of SVE instructions among all floating-point operations, and SIMD and SVE instructions " ..
        "among all.",
      events = {
        fixed = "FP_FIXED_OPS_SPEC", scalable = "FP_SCALE_OPS_SPEC", simd = "SIMD_INST_RETIRED",
        sve = "SVE_INST_RETIRED", fma = "FP_FMA_SPEC", fp = "FP_SPEC", instructions = "INST_RETIRED",
      },
      metrics = {
        { name = "sve_flop_share", unit = "%", formula = "100 * 4 * scalable / (fixed + 4 * scalable)",
          thresholds = { { "< 50", "most operations are scalar or Advanced SIMD" } } },
        { name = "simd_share", unit = "%", formula = "100 * simd / instructions" },
        { name = "sve_share", unit = "%", formula = "100 * sve / instructions" },
        { name = "fma_share", unit = "%", formula = "100 * fma / fp" },
      },
    },
    CACHE = {
      prose = "Accesses to L1 and L2, and refills by demand or by prefetch.",
      events = {
        l1 = "L1D_CACHE", l1_refill = "L1D_CACHE_REFILL", l1_demand = "L1D_CACHE_REFILL_DM", l2 = "L2D_CACHE",
        l2_refill = "L2D_CACHE_REFILL", l2_demand = "L2D_CACHE_REFILL_DM", instructions = "INST_RETIRED",
      },
      metrics = {
        { name = "l1_miss_ratio", unit = "%", formula = "100 * l1_refill / l1",
          thresholds = { { "> 10", "the working set does not stay in L1" } } },
        { name = "l1_demand_ratio", unit = "%", formula = "100 * l1_demand / l1" },
        { name = "l2_miss_ratio", unit = "%", formula = "100 * l2_refill / l2",
          thresholds = { { "> 50", "L2 does not hold what L1 misses" } } },
        { name = "l2_mpki", unit = "miss/1000 instructions", formula = "1000 * l2_demand / instructions",
          thresholds = { { "> 10", "memory latency is likely to show" } } },
      },
    },
    CYCLE = {
      prose = "What the cycles were spent on: cycles in which no instruction was committed because a load, a " ..
        "floating-point or an integer operation or a branch was waited for.",
      events = {
        cycles = "CPU_CYCLES", instructions = "INST_RETIRED", none = "0INST_COMMIT", memory_wait = "LD_COMP_WAIT",
        l2_wait = "LD_COMP_WAIT_L2_MISS", fp_wait = "FL_COMP_WAIT", branches = "BR_PRED",
        mispredicted = "BR_MIS_PRED",
      },
      metrics = {
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
        { name = "no_commit", unit = "%", formula = "100 * none / cycles",
          thresholds = { { "> 50", "nothing is committed in most cycles" } } },
        { name = "memory_wait_share", unit = "%", formula = "100 * memory_wait / cycles" },
        { name = "l2_miss_wait", unit = "%", formula = "100 * l2_wait / cycles",
          thresholds = { { "> 30", "memory is waited for" } } },
        { name = "fp_wait_share", unit = "%", formula = "100 * fp_wait / cycles" },
        { name = "mispredict_ratio", unit = "%", formula = "100 * mispredicted / branches",
          thresholds = { { "> 5", "branches are hard to predict" } } },
      },
    },
    LOADSTORE = {
      prose = "Loads and stores, and the SVE ones that gather or scatter.",
      events = {
        loads = "LD_SPEC", stores = "ST_SPEC", sve_loads = "ASE_SVE_LD_SPEC", gathers = "SVE_LD_GATHER_SPEC",
        scatters = "SVE_ST_SCATTER_SPEC", instructions = "INST_RETIRED",
      },
      metrics = {
        { name = "loads_per_instruction", unit = "", formula = "loads / instructions" },
        { name = "stores_per_instruction", unit = "", formula = "stores / instructions" },
        { name = "loads_per_store", unit = "", formula = "loads / stores" },
        { name = "simd_load_share", unit = "%", formula = "100 * sve_loads / loads" },
        { name = "gather_share", unit = "%", formula = "100 * gathers / loads",
          thresholds = { { "> 10", "gathers take an access per element" } } },
        { name = "scatter_share", unit = "%", formula = "100 * scatters / stores",
          thresholds = { { "> 10", "scatters take an access per element" } } },
      },
    },
    TOPDOWN = {
      prose = "Level 1 of top-down in cycles: those in which the frontend delivered nothing, those in which the backend took " ..
        "nothing, and the others, divided as instructions that retired are to those executed. The four add up to 100 %.",
      events = {
        cycles = "CPU_CYCLES", frontend_stalls = "STALL_FRONTEND", backend_stalls = "STALL_BACKEND",
        instructions = "INST_RETIRED", speculated = "INST_SPEC",
      },
      metrics = {
        { name = "frontend_bound", unit = "%", formula = "100 * frontend_stalls / cycles",
          thresholds = { { "> 20", "instructions do not arrive fast enough" } } },
        { name = "backend_bound", unit = "%", formula = "100 * backend_stalls / cycles",
          thresholds = { { "> 50", "units or memory hold execution up" } } },
        { name = "retiring", unit = "%",
          formula = "100 * (cycles - frontend_stalls - backend_stalls) / cycles * instructions / speculated" },
        { name = "bad_speculation", unit = "%",
          formula = "100 * (cycles - frontend_stalls - backend_stalls) / cycles * (speculated - instructions) / speculated" },
      },
    },
    HALF = {
      prose = "Floating-point operations in half precision, as FLOPS counts them in single and double.",
      events = { hp_fixed = "FP_HP_FIXED_OPS_SPEC", hp_scalable = "FP_HP_SCALE_OPS_SPEC" },
      metrics = {
        { name = "hp_flop", unit = "flop", formula = "hp_fixed + 4 * hp_scalable" },
        { name = "hp_rate", unit = "flop/s", formula = "hp_flop / time" },
      },
    },
    BRANCH = {
      prose = "Branches that could be guessed and those that were guessed wrong, on wrong paths too.",
      events = { mispredicted = "BR_MIS_PRED", predicted = "BR_PRED", instructions = "INST_RETIRED" },
      metrics = {
        { name = "branch_rate", unit = "", formula = "predicted / instructions", about = "branches for an instruction" },
        { name = "mispredict_ratio", unit = "%", formula = "100 * mispredicted / predicted",
          thresholds = { { "> 5", "branches are hard to predict" } } },
        { name = "branch_mpki", unit = "miss/1000 instructions", formula = "1000 * mispredicted / instructions" },
      },
    },
    TLB = {
      prose = "Addresses that the first TLBs of data and of code did not have, and those that the second ones did not have.",
      events = {
        data_misses = "L1D_TLB_REFILL", code_misses = "L1I_TLB_REFILL", data_walks = "L2D_TLB_REFILL",
        code_walks = "L2I_TLB_REFILL", instructions = "INST_RETIRED",
      },
      metrics = {
        { name = "data_tlb_mpki", unit = "miss/1000 instructions", formula = "1000 * data_misses / instructions" },
        { name = "code_tlb_mpki", unit = "miss/1000 instructions", formula = "1000 * code_misses / instructions" },
        { name = "data_walk_mpki", unit = "miss/1000 instructions", formula = "1000 * data_walks / instructions",
          thresholds = { { "> 1", "pages are visited too sparsely; larger pages may help" } } },
        { name = "code_walk_mpki", unit = "miss/1000 instructions", formula = "1000 * code_walks / instructions" },
      },
    },
    L2 = {
      prose = "Accesses to L2, what was refilled by demand or by prefetch, what by demand, and what was written back.",
      events = {
        asked = "L2D_CACHE", missed = "L2D_CACHE_REFILL", demand = "L2D_CACHE_REFILL_DM", l2_out = "L2D_CACHE_WB",
        instructions = "INST_RETIRED",
      },
      metrics = {
        { name = "l2_miss_ratio", unit = "%", formula = "100 * missed / asked",
          thresholds = { { "> 50", "L2 does not hold what L1 misses" } } },
        { name = "l2_demand_mpki", unit = "miss/1000 instructions", formula = "1000 * demand / instructions" },
        { name = "l2_write_backs", unit = "byte/s", formula = "line * l2_out / time" },
      },
    },
    UOPS = {
      prose = "Micro-operations that were executed, on wrong paths too, beside the instructions that they were made from.",
      events = { ops = "UOP_SPEC", speculated = "INST_SPEC", instructions = "INST_RETIRED" },
      metrics = {
        { name = "uops_per_instruction", unit = "", formula = "ops / speculated" },
        { name = "executed_per_retired", unit = "", formula = "speculated / instructions",
          about = "above 1: work on wrong paths" },
      },
    },
    STALLS = {
      prose = "Cycles in which the frontend delivered nothing and cycles in which the backend took nothing.",
      events = { cycles = "CPU_CYCLES", frontend_stalls = "STALL_FRONTEND", backend_stalls = "STALL_BACKEND" },
      metrics = {
        { name = "stalled_by_frontend", unit = "%", formula = "100 * frontend_stalls / cycles" },
        { name = "stalled_by_backend", unit = "%", formula = "100 * backend_stalls / cycles",
          thresholds = { { "> 50", "units or memory are waited for in more than half of the cycles" } } },
      },
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source, beside what the hardware did: the ratio " ..
        "and the difference of figures 1 to 3 and table IV of the PMlib paper.",
      inputs = { work = "the workload counted in the source (equation 1), in flop" },
      events = {
        fixed = "FP_FIXED_OPS_SPEC", scalable = "FP_SCALE_OPS_SPEC",
      },
      metrics = {
        { name = "flop", unit = "flop", formula = "fixed + 4 * scalable" },
        { name = "user_rate", unit = "flop/s", formula = "work / time", about = "equation 2, user perspective" },
        { name = "system_rate", unit = "flop/s", formula = "flop / time", about = "equation 2, system perspective" },
        { name = "ratio", unit = "", formula = "flop / work", about = "figure 3 and table IV",
          thresholds = {
            { "> 2", "the compiler replaced operations by longer sequences (division, roots), or the source was undercounted" },
            { "< 0.9", "the source was overcounted, or the compiler removed work" },
          } },
        { name = "difference", unit = "flop", formula = "flop - work" },
      },
    },
  },
}
