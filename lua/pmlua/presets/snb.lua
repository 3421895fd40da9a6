-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Sandy Bridge: as Haswell, with floating-point operations, which are counted when they are executed.
return {
  like = "hsw",
  pmus = { "snb", "snb_ep" },
  events = {
    cycles = "CPU_CLK_UNHALTED:THREAD_P", d1 = "FP_COMP_OPS_EXE:SSE_SCALAR_DOUBLE",
    d2 = "FP_COMP_OPS_EXE:SSE_FP_PACKED_DOUBLE", d4 = "SIMD_FP_256:PACKED_DOUBLE", divisions = "ARITH:FPU_DIV",
    forwarded = "OFFCORE_RESPONSE_0:ANY_REQUEST:LLC_HITMESF:SNP_FWD", l1_code_missed = "ICACHE:MISSES",
    l3_asked = "LAST_LEVEL_CACHE_REFERENCES", l3_missed = "LAST_LEVEL_CACHE_MISSES",
    modified = "OFFCORE_RESPONSE_0:ANY_REQUEST:LLC_HITMESF:HITM", owns = "L2_RQSTS:RFO_ANY", owns_hit = "L2_RQSTS:RFO_HITS",
    prefetches_missed = "L2_RQSTS:PF_MISS", reads_hit = "L2_RQSTS:ALL_DEMAND_RD_HIT",
    reads_missed = "OFFCORE_REQUESTS:DEMAND_DATA_RD", s1 = "FP_COMP_OPS_EXE:SSE_FP_SCALAR_SINGLE",
    s4 = "FP_COMP_OPS_EXE:SSE_PACKED_SINGLE", s8 = "SIMD_FP_256:PACKED_SINGLE",
    snooped = "OFFCORE_RESPONSE_0:ANY_REQUEST:LLC_HITMESF:SNP_ANY", starved = "ILD_STALL:IQ_FULL",
    stores_missed = "L2_STORE_LOCK_RQSTS:ALL", x87 = "FP_COMP_OPS_EXE:X87",
  },
  presets = {
    "PAPI_DP_OPS = d1 + 2 * d2 + 4 * d4", "PAPI_FDV_INS; divisions, each time the divider starts",
    "PAPI_FP_INS = s1 + d1 + x87; scalar floating-point instructions, each time one is executed",
    "PAPI_FP_OPS = s1 + d1 + x87; scalar floating-point operations; those of vectors are PAPI_SP_OPS and PAPI_DP_OPS",
    "PAPI_L1_TCM = replaced + l1_code_missed; lines that L1 took in, of data and code",
    "PAPI_L2_DCM = reads - reads_hit + owns_missed", "PAPI_L2_LDM = reads - reads_hit", "PAPI_L2_TCA = reads + owns + code",
    "PAPI_L2_TCH = reads_hit + owns_hit + code_hit", "PAPI_L2_TCM = reads - reads_hit + owns_missed + code_missed",
    "PAPI_L3_DCA = reads - reads_hit + owns_missed", "PAPI_SP_OPS = s1 + 4 * s4 + 8 * s8",
    "PAPI_STL_ICY; cycles in which decoding stopped, because the queue of instructions was full",
    "PAPI_VEC_DP = 2 * d2 + 4 * d4; operations of vector instructions, double precision",
    "PAPI_VEC_SP = 4 * s4 + 8 * s8; operations of vector instructions, single precision",
    { name = "PAPI_L3_LDM", events = false },
  },
}
