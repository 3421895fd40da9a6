-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Sapphire Rapids.
return {
  like = "icx",
  pmus = { "spr" },
  groups = { CYCLE = { events = { memory_stalls = "MEMORY_ACTIVITY:STALLS_L1D_MISS" } } },
}
