-- SPDX-License-Identifier: BSD-3-Clause
-- Errata of Arm's cores, and of cores by others, that make counters or samples wrong. Implementer and part as in MIDR_EL1;
-- before: the first variant and revision (rVpR) without it. Events as the architecture numbers them.
return {
  source = "Arm's Software Developers Errata Notices of Cortex-A53 (855827, as Intel publishes it for its SoC FPGAs), " ..
    "Neoverse N1 (1694299, as Linaro Forge's known issues of SPE have it) and Neoverse N2 (with Linux " ..
    "tools/perf/pmu-events/arch/arm64/arm/neoverse-n2-v2, whose formulas correct it before r0p3); NVIDIA's mail on " ..
    "PMCCNTR_EL0 of Olympus to the Linux kernel's list, April 2026",
  errata = {
    { implementer = 0x41, part = 0xd03,
      { number = "855827", events = "0x08, instructions",
        what = "may count too many: also some immediate branches that are not executed" },
      { number = "855827", events = "0x07, 0x0f: stores, unaligned accesses",
        what = "also count store-exclusives that fail, and LDRD and STRD that are aligned" },
      { number = "855827", events = "0x09, 0x0a: exceptions taken, and returns",
        what = "are filtered by the level they go to, not by that they come from" } },
    { implementer = 0x41, part = 0xd0c, before = { 4, 1 },
      { number = "1694299", events = "samples of SPE (arm_spe_0//)",
        what = "too many are at targets of branches, too few at instructions closely after these" } },
    { implementer = 0x41, part = 0xd49, before = { 0, 3 },
      { number = "", events = "0x3e, 0x3f: STALL_SLOT_FRONTEND, STALL_SLOT",
        what = "count one slot too many in each cycle; subtract the cycles" } },
    { implementer = 0x4e, part = 0x010,
      { number = "", events = "0x11, cycles on the cycle counter",
        what = "may also count while the core waits in WFI or WFE" } },
  },
}
