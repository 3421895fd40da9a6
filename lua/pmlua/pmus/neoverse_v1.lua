-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of Arm Neoverse V1, and the numbers of its events: a libpfm4 built for x86 has no tables of Arm PMUs.
return {
  like = "neoverse_n1",
  names = { "arm_v1" },
  title = "Arm Neoverse V1",
  source = "Arm Neoverse V1 Technical Reference Manual, performance monitoring unit (six event counters and the " ..
    "cycle counter); Linux drivers/perf/arm_pmuv3.c (cycles prefer the cycle counter); event numbers as " ..
    "in libpfm4",
  events = {
    -- not of Neoverse V1
    L3D_CACHE_ALLOCATE = false, L3D_CACHE_REFILL = false, L3D_CACHE = false, L3_CACHE_RD = false, LDST_SPEC = false,
    BUS_CYCLES = false,

    BUS_MASTER_CYCLE = 0x001d, COUNTER_OVERFLOW = 0x001e, L2D_TLB_REQ = 0x002f, L1D_CACHE_LMISS_RD = 0x0039,
    OP_RETIRED = 0x003a, OP_SPEC = 0x003b, STALL = 0x003c, STALL_SLOT_BACKEND = 0x003d, STALL_SLOT_FRONTEND = 0x003e,
    STALL_SLOT = 0x003f, CNT_CYCLES = 0x4004, STALL_BACKEND_MEM = 0x4005, L1I_CACHE_LMISS = 0x4006,
    L2D_CACHE_LMISS_RD = 0x4009, ASE_INST_SPEC = 0x8005, SVE_INST_SPEC = 0x8006, SVE_PRED_SPEC = 0x8074,
    SVE_PRED_EMPTY_SPEC = 0x8075, SVE_PRED_FULL_SPEC = 0x8076, SVE_PRED_PARTIAL_SPEC = 0x8077, SVE_LDFF_SPEC = 0x80bc,
    SVE_LDFF_FAULT_SPEC = 0x80bd, FP_SCALE_OPS_SPEC = 0x80c0, FP_FIXED_OPS_SPEC = 0x80c1,
  },
}
