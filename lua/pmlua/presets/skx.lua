-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Skylake-X, Cascade Lake-X and Skylake: as Haswell, with floating-point operations.
return {
  like = "hsw",
  pmus = { "skx", "clx", "skl" },
  presets = {
    { name = "PAPI_LD_INS", about = "loads",
      formula = "loads", events = { loads = "MEM_INST_RETIRED:ALL_LOADS" } },
    { name = "PAPI_SR_INS", about = "stores",
      formula = "stores", events = { stores = "MEM_INST_RETIRED:ALL_STORES" } },
    { name = "PAPI_LST_INS", about = "loads and stores",
      formula = "both", events = { both = "MEM_INST_RETIRED:ANY" } },
    { name = "PAPI_SP_OPS", about = "floating-point operations, single precision",
      formula = "s1 + 4 * s4 + 8 * s8 + 16 * s16",
      events = {
        s1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", s4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
        s8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", s16 = "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE",
      } },
    { name = "PAPI_DP_OPS", about = "floating-point operations, double precision",
      formula = "d1 + 2 * d2 + 4 * d4 + 8 * d8",
      events = {
        d1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", d2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE",
        d4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE", d8 = "FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE",
      } },
    { name = "PAPI_VEC_SP", about = "vector instructions, single precision",
      formula = "s4 + s8 + s16",
      events = {
        s4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE", s8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE",
        s16 = "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE",
      } },
    { name = "PAPI_VEC_DP", about = "vector instructions, double precision",
      formula = "d2 + d4 + d8",
      events = {
        d2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", d4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE",
        d8 = "FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE",
      } },
    { name = "PAPI_FP_OPS", about = "floating-point operations",
      formula = "s1 + d1 + 4 * s4 + 8 * s8 + 16 * s16 + 2 * d2 + 4 * d4 + 8 * d8",
      events = {
        s1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", s4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
        s8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", s16 = "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE",
        d1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", d2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE",
        d4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE", d8 = "FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE",
      } },
    { name = "PAPI_L3_LDM", about = "loads that L3 missed",
      formula = "loads_missed", events = { loads_missed = "MEM_LOAD_RETIRED:L3_MISS" } },
    { name = "PAPI_PRF_DM", events = { missed = "L2_RQSTS:PF_MISS" } },
    { name = "PAPI_STL_ICY", events = { idle = "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE" } },
    { name = "PAPI_CA_ITV", events = { forwarded = "OFFCORE_RESPONSE_0:ANY_REQUEST:L3_HIT:SNP_HIT_WITH_FWD" } },
  },
}
