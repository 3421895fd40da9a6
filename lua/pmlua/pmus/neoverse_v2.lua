-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of Arm Neoverse V2, and the numbers of its events: a libpfm4 built for x86 has no tables of Arm PMUs.
return {
  like = "neoverse_v1",
  names = { "arm_v2" },
  title = "Arm Neoverse V2",
  source = "Arm Neoverse V2 Technical Reference Manual, performance monitoring unit (six event counters and the cycle " ..
    "counter); Linux drivers/perf/arm_pmuv3.c (cycles prefer the cycle counter); event numbers as in libpfm4",
  events = {
    -- not of Neoverse V2
    BR_RET_SPEC = false, L2D_CACHE_ACCESS = false, L2D_TLB_REQ = false, MEM_READ_ACCESS = false,
    MEM_WRITE_ACCESS = false, UNALIGNED_LDST_ACCESS = false,

    L2D_CACHE = 0x0016, L3D_CACHE_ALLOCATE = 0x0029, L3D_CACHE_REFILL = 0x002a, L3D_CACHE = 0x002b,
    L2_TLB_REQ = 0x002f, TRB_WRAP = 0x400c, FP_DP_SPEC = 0x801c, TRCEXTOUT0 = 0x4010, TRCEXTOUT1 = 0x4011,
    TRCEXTOUT2 = 0x4012, TRCEXTOUT3 = 0x4013, CTI_TRIGOUT4 = 0x4018, CTI_TRIGOUT5 = 0x4019, CTI_TRIGOUT6 = 0x401a,
    CTI_TRIGOUT7 = 0x401b, LDST_ALIGN_LAT = 0x4020, LD_ALIGN_LAT = 0x4021, ST_ALIGN_LAT = 0x4022,
    MEM_ACCESS_CHECKED = 0x4024, MEM_ACCESS_RD_CHECKED = 0x4025, MEM_ACCESS_WR_CHECKED = 0x4026, FP_HP_SPEC = 0x8014,
    FP_SP_SPEC = 0x8018, SVE_PRED_NOT_FULL_SPEC = 0x8079, ASE_SVE_INT8_SPEC = 0x80e3, ASE_SVE_INT16_SPEC = 0x80e7,
    ASE_SVE_INT32_SPEC = 0x80eb, ASE_SVE_INT64_SPEC = 0x80ef,
  },
}
