-- SPDX-License-Identifier: BSD-3-Clause
-- AMD Zen 5: as Zen 4, with eight dispatch slots a cycle and the events that it renumbered.
return {
  like = "zen4",
  pmus = { "amd64_fam1ah_zen5" },
  constants = { slots = { 8, "" } },
  events = {
    code_walks = "L1_ITLB_MISS_L2_ITLB_MISS:ANY", data_walks = "L1_DTLB_MISS:ALL_L2_MISS",
    dispatched = "OPS_SOURCE_DISPATCHED_FROM_DECODER:ANY",
    fp_stalls = "DISPATCH_RESOURCE_STALL_CYCLES_1:FP_SCHEDULER_RSRC_STALL", l2_tlb_hits = "L1_DTLB_MISS:ALL_L2_HIT",
    starved = "DISPATCH_STALLS_1:FE_NO_OPS:C=8",
  },
  groups = {
    VECTOR = { prose = "Floating-point micro-operations that retired, by width of the instruction." },
  },
}
