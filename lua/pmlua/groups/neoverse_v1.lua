-- SPDX-License-Identifier: BSD-3-Clause
-- Arm Neoverse V1.
return {
  like = "neoverse_n1",
  pmus = { "arm_v1" },
  -- slots of a cycle, and those that are counted too many of the frontend; 128-bit parts of an SVE vector
  constants = { width = { 8, "" }, surplus = { 0, "" }, lanes = { 2, "" } },
  events = {
    backend_slots = "STALL_SLOT_BACKEND", fixed = "FP_FIXED_OPS_SPEC", frontend_slots = "STALL_SLOT_FRONTEND",
    memory_stalls = "STALL_BACKEND_MEM", ops = "OP_RETIRED", scalable = "FP_SCALE_OPS_SPEC", simd = "ASE_INST_SPEC",
    speculated = "OP_SPEC", sve = "SVE_INST_SPEC",
  },
  groups = {
    TOPDOWN = {
      prose = "Level 1 of top-down in slots, a fixed number a cycle: without an operation because of the frontend or of the " ..
        "backend, and the others, divided as operations that retired are to those executed. The four add up to 100 %.",
      "frontend_bound = 100 * (frontend_slots - surplus * cycles) / (width * cycles)",
      "backend_bound = 100 * backend_slots / (width * cycles)",
      "retiring = 100 * ((width + surplus) * cycles - frontend_slots - backend_slots) / (width * cycles) * ops / speculated",
      "bad_speculation = 100 * ((width + surplus) * cycles - frontend_slots - backend_slots) / (width * cycles) * (speculated " ..
        "- ops) / speculated",
    },
    UOPS = {
      prose = "Operations that retired and those that were executed, on wrong paths too.",
      "uops_per_instruction", "executed_per_retired = speculated / ops",
    },
    TOPDOWN2 = {
      prose = "Causes of backend stalls: memory, or the units of the core.",
      { name = "memory_bound", formula = "100 * memory_stalls / cycles", thresholds = {} },
      "core_bound = 100 * (backend_stalls - memory_stalls) / cycles",
    },
    FLOPS = {
      prose = "Floating-point operations, including speculative ones. SVE instructions are counted as if a vector " ..
        "had 128 bits; Neoverse V1 has 256, hence the factor 2. A fused multiply-add counts twice.",
      "flop = fixed + lanes * scalable", "flop_rate", "flop_per_cycle", "ipc",
    },
    VECTOR = {
      prose = "Operations of SVE instructions among all floating-point operations, and Advanced SIMD and SVE among " ..
        "all instructions. Advanced SIMD floating point is among the fixed operations, with the scalar ones.",
      events = { speculated = "INST_SPEC" },
      "sve_flop_share = 100 * lanes * scalable / (fixed + lanes * scalable)", "sve_share = 100 * sve / speculated", "simd_share",
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source, compared with the hardware's counts: the ratio " ..
        "and the difference of figures 1 to 3 and table IV of the PMlib paper.",
      inputs = { work = "the workload counted in the source (equation 1), in flop" },
      "flop = fixed + lanes * scalable", "user_rate", "system_rate", "ratio", "difference",
    },
  },
}
