-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of Intel Ice Lake-X, and of Ice Lake by the same rules: Linux has one table for both.
-- Codes: unit mask * 256 + event; "event" alone: any unit mask.
return {
  like = { "part/intel", "part/slots" },
  names = { "icx", "icl" },
  title = "Intel Ice Lake-X; Ice Lake (icl) by its rules",
  source = "Intel 64 Architectures Software Developer's Manual, volume 3, performance monitoring (eight counters per " ..
    "thread with SMT or without, fixed counters, shared MSRs); Linux arch/x86/events/intel/core.c (event constraints " ..
    "and extra registers of Ice Lake, which are Ice Lake-X's, too; events 0x55 and 0x56 since Linux 5.19)",
  fixed = {
    { code = 0x00c0, counter = 0, general = true }, -- instructions
    { code = 0x01c0, counter = 0, general = true }, -- the old name of PREC_DIST
    { code = 0x0100, counter = 0, general = false }, -- instructions, by the number of the fixed counter
    { code = 0x003c, counter = 1, general = true }, -- cycles
    { code = 0x0300, counter = 2, general = false }, -- reference cycles
    { code = 0x0400, counter = 3, general = false }, -- slots
  },
  lists = {
    { first = 0x03, last = 0x0a, lower = 4 }, { first = 0x1f, last = 0x28, lower = 4 }, { event = 0x32, lower = 4 },
    { first = 0x48, last = 0x56, lower = 4 }, { first = 0x60, last = 0x8b, lower = 4 },
    { code = 0x04a3, lower = 8 }, { code = 0x10a3, lower = 8 }, { code = 0x14a3, lower = 8 }, { event = 0xa3, lower = 4 },
    { first = 0xa8, last = 0xb0, lower = 4 }, { first = 0xb7, last = 0xbd, lower = 4 },
    { first = 0xd0, last = 0xe6, lower = 4 }, { event = 0xef, lower = 4 }, { first = 0xf0, last = 0xf4, lower = 4 },
  },
  shared = {
    { name = "OFFCORE_RSP (MSRs 0x1a6, 0x1a7)", codes = { 0x01b7, 0x01bb }, registers = 2, siblings = true },
    { name = "LD_LAT (MSR 0x3f6)", codes = { 0x01cd }, registers = 1 },
    { name = "FRONTEND (MSR 0x3f7)", codes = { 0x01c6 }, registers = 1 },
  },
}
