-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of Arm Cortex-A72, which equal Cortex-A57's. Older versions of libpfm4 have no table of it.
return {
  like = "cortex_a57",
  names = { "arm_ac72" },
  title = "Arm Cortex-A72",
  source = "Arm Cortex-A72 Technical Reference Manual, performance monitoring unit (six event counters and the cycle " ..
    "counter); Linux drivers/perf/arm_pmuv3.c (cycles prefer the cycle counter); event numbers as in libpfm4",
  cpu = { implementer = 0x41, part = 0xd08 },
  raw = true, -- opened by number, whether libpfm4 has names or not
}
