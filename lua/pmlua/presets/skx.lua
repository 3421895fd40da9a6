-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Skylake-X, Cascade Lake-X and Skylake: as Haswell, with floating-point operations.
return {
  like = "hsw",
  pmus = { "skx", "clx", "skl" },
  events = {
    both = "MEM_INST_RETIRED:ANY", d1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE",
    d2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", d4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE",
    d8 = "FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE", forwarded = "OFFCORE_RESPONSE_0:ANY_REQUEST:L3_HIT:SNP_HIT_WITH_FWD",
    loads = "MEM_INST_RETIRED:ALL_LOADS", loads_missed = "MEM_LOAD_RETIRED:L3_MISS", prefetches_missed = "L2_RQSTS:PF_MISS",
    s1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", s16 = "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE",
    s4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE", s8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE",
    starved = "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE", stores = "MEM_INST_RETIRED:ALL_STORES",
  },
  presets = {
    "PAPI_DP_OPS", "PAPI_L3_LDM", "PAPI_LD_INS", "PAPI_SP_OPS", "PAPI_SR_INS", "PAPI_VEC_DP", "PAPI_VEC_SP",
    "PAPI_FP_INS = s1 + d1 + s4 + s8 + s16 + d2 + d4 + d8; floating-point instructions; a fused multiply-add counts twice",
    "PAPI_FP_OPS = s1 + d1 + 4 * s4 + 8 * s8 + 16 * s16 + 2 * d2 + 4 * d4 + 8 * d8", "PAPI_LST_INS = both",
    "PAPI_VEC_INS = s4 + s8 + s16 + d2 + d4 + d8; vector instructions; a fused multiply-add counts twice",
  },
}
