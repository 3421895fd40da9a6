-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of Intel Skylake-X and Cascade Lake-X. Codes: unit mask * 256 + event; "event" alone: any unit mask.
return {
  like = "part/intel",
  names = { "skx", "clx" },
  title = "Intel Skylake-X, Cascade Lake-X",
  source = "Intel 64 Architectures Software Developer's Manual, volume 3, performance monitoring (counters per thread, " ..
    "fixed counters, MSRs shared by the threads of a core); Linux arch/x86/events/intel/core.c (event constraints and " ..
    "extra registers of Skylake); Intel's event lists of Skylake-X (counters with SMT off: 0xa3, 0xb7, 0xbb, 0xd3, 0xd4)",
  lists = {
    { code = 0x01c0, counters = { 1 }, why = "INST_RETIRED:PREC_DIST counts on counter 1 only" },
    { event = 0xd0, lower = 4 }, { event = 0xd1, lower = 4 }, { event = 0xd2, lower = 4 }, { event = 0xcd, lower = 4 },
    { event = 0xc6, lower = 4 }, { event = 0xd3, lower = 4 }, { event = 0xd4, lower = 4 }, { event = 0xb7, lower = 4 },
    { event = 0xbb, lower = 4 }, { event = 0xa3, lower = 4 },
  },
  shared = {
    { name = "OFFCORE_RSP (MSRs 0x1a6, 0x1a7)", codes = { 0x01b7, 0x01bb }, registers = 2, siblings = true },
    { name = "LD_LAT (MSR 0x3f6)", codes = { 0x01cd }, registers = 1 },
    { name = "FRONTEND (MSR 0x3f7)", codes = { 0x01c6 }, registers = 1 },
  },
}
