-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of AMD Zen. Codes: unit mask * 256 + low byte of the event; "event": its full number, any unit mask.
return {
  names = { "amd64_fam17h_zen1", "amd64_fam17h_zen2", "amd64_fam19h_zen3", "amd64_fam19h_zen4" },
  title = "AMD Zen",
  source = "AMD Processor Programming References of families 17h and 19h (six counters per thread, none fixed; events " ..
    "of more than 15 a cycle merge two counters); Linux arch/x86/events/amd/core.c (such an event takes an even counter " ..
    "and the next one)",
  general = { smt = 6, single = 6 },
  fixed = {},
  lists = {
    { event = 0x003, pair = true, why = "it grows by more than 15 a cycle, so it takes an even counter and the next" },
  },
  shared = {},
  generic = { [0] = 0x0076, 0x00c0, 0xff60, 0x0964, 0x00c2, 0x00c3, false, 0x0287, 0x0187, false },
  watchdog = 0x0076,
}
