-- SPDX-License-Identifier: BSD-3-Clause
-- Errata of AMD's processors that make counters wrong. Models in braces are first and last; events as the
-- processor's manual numbers them.
return {
  source = "Revision Guides for AMD Family 17h Models 00h-0Fh (55449) and 30h-3Fh (56323), and Family 19h Models 00h-0Fh " ..
    "(56683) Processors; AMD's mail on the instruction cache's events to the Linux kernel's list, 2025",
  errata = {
    { vendor = "AuthenticAMD", family = 0x17, models = { { 0x00, 0x0f } },
      { number = "990", events = "retired instructions, branches and others", what = "may count too many" },
      { number = "1047", events = "0x41, misses in flight (MAB)", what = "may be inaccurate" },
      { number = "1067", events = "those of the L3 PMU", what = "may be inaccurate" },
      { number = "1023", events = "all, when sampled",
        what = "with two counters or more an overflow may raise no interrupt, so that samples are missing" } },
    { vendor = "AuthenticAMD", family = 0x17, models = { { 0x00, 0x2f } },
      { number = "1054", events = "msr/irperf/",
        what = "retired instructions of this register may be inaccurate; instructions is not concerned" } },
    { vendor = "AuthenticAMD", family = 0x17, models = { { 0x30, 0x3f } },
      { number = "1291", events = "retired instructions, branches and others", what = "may count too many" } },
    { vendor = "AuthenticAMD", family = 0x17, models = { { 0x00, 0xff } },
      { number = "", events = "0x80, 0x81, L1-icache-loads, L1-icache-load-misses",
        what = "count wrong; event 0x60 with unit mask 0x10 counts the misses" } },
    { vendor = "AuthenticAMD", family = 0x19, models = { { 0x00, 0x0f } },
      { number = "1292", events = "0xc0-0xc5, 0xc8-0xca, 0xcc, 0xd1, 0x1c7, 0x1d0: retired instructions, branches " ..
        "and others",
        what = "may count too many" } },
    { vendor = "AuthenticAMD", family = 0x19, models = { { 0x00, 0xff } },
      { number = "", events = "0x80, 0x81, L1-icache-loads, L1-icache-load-misses",
        what = "count wrong; event 0x60 with unit mask 0x10 counts the misses" } },
  },
}
