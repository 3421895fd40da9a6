-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of Intel's cores from Sandy Bridge to Skylake-X, and what perf's generic events are there and later.
return {
  general = { smt = 4, single = 8 },
  fixed = {
    { code = 0x00c0, counter = 0, general = true }, -- instructions
    { code = 0x003c, counter = 1, general = true }, -- cycles
    { code = 0x0300, counter = 2, general = false }, -- reference cycles: on this counter or nowhere
  },
  shared = {
    { name = "OFFCORE_RSP (MSRs 0x1a6, 0x1a7)", codes = { 0x01b7, 0x01bb }, registers = 2, siblings = true },
    { name = "LD_LAT (MSR 0x3f6)", codes = { 0x01cd }, registers = 1 },
  },
  generic = { [0] = 0x003c, 0x00c0, 0x4f2e, 0x412e, 0x00c4, 0x00c5, false, false, false, 0x0300 },
  watchdog = 0x003c,
}
