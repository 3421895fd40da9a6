-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of Intel Haswell. Codes: unit mask * 256 + event; "event" alone: any unit mask.
return {
  names = { "hsw", "hsw_ep" },
  title = "Intel Haswell, Haswell-EP",
  source = "Intel 64 Architectures Software Developer's Manual, volume 3, performance monitoring (counters per thread, " ..
    "fixed counters, MSRs shared by the threads of a core); Linux arch/x86/events/intel/core.c (event constraints and " ..
    "extra registers of Haswell)",
  general = { smt = 4, single = 8 },
  fixed = {
    { code = 0x00c0, counter = 0, general = true }, -- instructions
    { code = 0x003c, counter = 1, general = true }, -- cycles
    { code = 0x0300, counter = 2, general = false }, -- reference cycles: on this counter or nowhere
  },
  lists = {
    { code = 0x0148, counters = { 2 }, why = "L1D_PEND_MISS:PENDING counts on counter 2 only" },
    { code = 0x01c0, counters = { 1 }, why = "INST_RETIRED:PREC_DIST counts on counter 1 only" },
    { event = 0xcd, counters = { 3 }, why = "MEM_TRANS_RETIRED counts on counter 3 only" },
    { code = 0x08a3, counters = { 2 }, why = "CYCLE_ACTIVITY:CYCLES_L1D_PENDING counts on counter 2 only" },
    { code = 0x0ca3, counters = { 2 }, why = "CYCLE_ACTIVITY:STALLS_L1D_PENDING counts on counter 2 only" },
    { code = 0x04a3, lower = 4 }, { event = 0xd0, lower = 4 }, { event = 0xd1, lower = 4 }, { event = 0xd2, lower = 4 },
    { event = 0xd3, lower = 4 },
  },
  shared = {
    { name = "OFFCORE_RSP (MSRs 0x1a6, 0x1a7)", codes = { 0x01b7, 0x01bb }, registers = 2, siblings = true },
    { name = "LD_LAT (MSR 0x3f6)", codes = { 0x01cd }, registers = 1 },
  },
  generic = { [0] = 0x003c, 0x00c0, 0x4f2e, 0x412e, 0x00c4, 0x00c5, false, false, false, 0x0300 },
  watchdog = 0x003c,
}
