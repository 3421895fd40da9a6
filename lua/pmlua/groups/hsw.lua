-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Haswell: as Broadwell, but its counters see no floating-point operations, and of the divider micro-operations only.
return {
  like = "bdw",
  pmus = { "hsw" },
  events = { divisions = "ARITH:DIVIDER_UOPS" },
  groups = {
    FLOPS = false,
    VECTOR = false,
    USER = false,
    DIVIDE = {
      prose = "Micro-operations that the divider executed: divisions and square roots, of integers or floating-point numbers. " ..
        "How many cycles they took is not counted.",
      "divider_uops_per_instruction [] = divisions / instructions; > 0.02: multiply by a reciprocal where the accuracy allows it",
    },
    UOPS = {
      prose = "Micro-operations from the decoders, from the cache of decoded ones and from microcode; issued and retired.",
      "uops_per_instruction = retired_slots / instructions", "dsb_share", "microcode_share", "issued_per_retired",
    },
  },
}
