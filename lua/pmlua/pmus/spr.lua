-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of Intel Sapphire Rapids. Codes: unit mask * 256 + event; "event" alone: any unit mask.
return {
  like = { "part/intel", "part/slots" },
  names = { "spr" },
  title = "Intel Sapphire Rapids",
  source = "Intel 64 Architectures Software Developer's Manual, volume 3, performance monitoring (eight counters per " ..
    "thread with SMT or without, fixed counters, shared MSRs); Linux arch/x86/events/intel/core.c (event constraints " ..
    "and extra registers of Golden Cove)",
  fixed = {
    { code = 0x00c0, counter = 0, general = true }, -- instructions
    { code = 0x0100, counter = 0, general = false }, -- instructions, by the number of the fixed counter
    { code = 0x003c, counter = 1, general = true }, -- cycles
    { code = 0x0300, counter = 2, general = false }, -- reference cycles, by the number of the fixed counter
    { code = 0x013c, counter = 2, general = true }, -- reference cycles
    { code = 0x0400, counter = 3, general = false }, -- slots
  },
  -- The first that matches holds. Codes below 0x90 count on the lower four, but for 0x2e and 0x3c.
  lists = {
    { event = 0x2e, lower = 8 }, { event = 0x3c, lower = 8 }, { first = 0x01, last = 0x8f, lower = 4 },
    { code = 0x01a3, lower = 4 }, { code = 0x02a3, lower = 4 }, { code = 0x08a3, lower = 4 },
    { code = 0x04a4, lower = 1 }, { code = 0x08a4, lower = 1 }, { code = 0x10a4, lower = 1 }, { code = 0x02cd, lower = 1 },
    { event = 0xce, lower = 1 }, { first = 0xd0, last = 0xdf, lower = 4 },
  },
  shared = {
    { name = "OFFCORE_RSP (MSRs 0x1a6, 0x1a7)", codes = { 0x012a, 0x012b }, registers = 2, siblings = true },
    { name = "LD_LAT (MSR 0x3f6)", codes = { 0x01cd }, registers = 1 },
    { name = "FRONTEND (MSR 0x3f7)", codes = { 0x01c6, 0x40ad, 0x04c2 }, registers = 1 },
  },
  -- Fractions of slots, of which the kernel makes counts: in the group of slots they take no counter.
  metrics = { 0x8000, 0x8100, 0x8200, 0x8300, 0x8400, 0x8500, 0x8600, 0x8700 },
}
