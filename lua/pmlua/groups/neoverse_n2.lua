-- SPDX-License-Identifier: BSD-3-Clause
-- Arm Neoverse N2: as V1, with five slots a cycle and SVE vectors of 128 bits.
return {
  like = "neoverse_v1",
  pmus = { "arm_n2" },
  constants = { width = { 5, "" }, lanes = { 1, "" } },
  revisions = { { implementer = 0x41, part = 0xd49, before = { 0, 3 }, constants = { surplus = { 1, "" } } } },
  events = { reads = "MEM_READ_ACCESS", unaligned = "UNALIGNED_LDST_ACCESS", writes = "MEM_WRITE_ACCESS" },
  groups = {
    FLOPS = {
      prose = "Floating-point operations, including speculative ones. SVE vectors have 128 bits, which is the size that the " ..
        "event assumes. A fused multiply-add counts twice.",
    },
    TOPDOWN = {
      prose = "Level 1 of top-down in slots, five a cycle, as on V1; the four add up to 100 %. Before r0p3 the core counts " ..
        "one slot of the frontend too many in each cycle (pmlua doctor --verify prints the erratum), which is subtracted there.",
    },
  },
}
