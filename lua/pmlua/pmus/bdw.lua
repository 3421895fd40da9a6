-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of Intel Broadwell. Codes: unit mask * 256 + event; "event" alone: any unit mask.
return {
  like = "hsw",
  names = { "bdw", "bdw_ep" },
  title = "Intel Broadwell, Broadwell-EP",
  source = "Intel 64 Architectures Software Developer's Manual, volume 3, performance monitoring (counters per thread, " ..
    "fixed counters, MSRs shared by the threads of a core); Linux arch/x86/events/intel/core.c (event constraints of " ..
    "Broadwell and extra registers of Haswell)",
  lists = {
    { code = 0x0148, counters = { 2 }, why = "L1D_PEND_MISS:PENDING counts on counter 2 only" },
    { code = 0x08a3, counters = { 2 }, why = "CYCLE_ACTIVITY:CYCLES_L1D_PENDING counts on counter 2 only" },
    { code = 0x0ca3, counters = { 2 }, why = "CYCLE_ACTIVITY:STALLS_L1D_PENDING counts on counter 2 only" },
    { event = 0xcd, lower = 4 }, { event = 0xd0, lower = 4 }, { event = 0xd1, lower = 4 }, { event = 0xd2, lower = 4 },
  },
}
