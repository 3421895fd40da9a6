-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of Arm Cortex-A53, and the numbers of its events: a libpfm4 built for x86 has no tables of Arm PMUs.
return {
  names = { "arm_ac53" },
  title = "Arm Cortex-A53",
  source = "Arm Cortex-A53 Technical Reference Manual, performance monitoring unit (six event counters and the cycle " ..
    "counter); Linux drivers/perf/arm_pmuv3.c (cycles prefer the cycle counter); event numbers as in libpfm4",
  general = { smt = 6, single = 6 },
  fixed = {
    { code = 0x0011, counter = 0, general = true }, -- cycles: the cycle counter
  },
  lists = {},
  shared = {},
  generic = { [0] = 0x0011, 0x0008, 0x0004, 0x0003, 0x000c, 0x0010, 0x001d, false, false, false },
  events = {
    SW_INCR = 0x0000, L1I_CACHE_REFILL = 0x0001, L1I_TLB_REFILL = 0x0002, L1D_CACHE_REFILL = 0x0003,
    L1D_CACHE_ACCESS = 0x0004, L1D_TLB_REFILL = 0x0005, LD_RETIRED = 0x0006, ST_RETIRED = 0x0007,
    INST_RETIRED = 0x0008, EXCEPTION_TAKEN = 0x0009, EXCEPTION_RETURN = 0x000a, CID_WRITE_RETIRED = 0x000b,
    PC_WRITE_RETIRED = 0x000c, BR_IMMED_RETIRED = 0x000d, UNALIGNED_LDST_RETIRED = 0x000f, BRANCH_MISPRED = 0x0010,
    CPU_CYCLES = 0x0011, BRANCH_PRED = 0x0012, DATA_MEM_ACCESS = 0x0013, L1I_CACHE_ACCESS = 0x0014,
    L1D_CACHE_WB = 0x0015, L2D_CACHE_ACCESS = 0x0016, L2D_CACHE_REFILL = 0x0017, L2D_CACHE_WB = 0x0018,
    BUS_ACCESS = 0x0019, LOCAL_MEMORY_ERROR = 0x001a, BUS_CYCLES = 0x001d, BUS_READ_ACCESS = 0x0060,
    BUS_WRITE_ACCESS = 0x0061, BRANCH_SPEC_EXEC_IND = 0x007a, EXCEPTION_IRQ = 0x0086, EXCEPTION_FIQ = 0x0087,
  },
}
