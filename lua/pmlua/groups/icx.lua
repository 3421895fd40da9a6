-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Ice Lake-X.
return {
  like = { "skx", "part/channels_intel" },
  pmus = { "icx" },
  events = {
    backend_slots = "TOPDOWN:BACKEND_BOUND_SLOTS", conditional = "BR_INST_RETIRED:COND",
    conditional_wrong = "BR_MISP_RETIRED:COND", cycles = "CPU_CLK_UNHALTED:THREAD_P", dram_reads = "OCR:READS_TO_CORE_DRAM",
    dropped = "INT_MISC:UOP_DROPPING", l2_out = "L2_LINES_OUT:NON_SILENT", l3_asked = "LONGEST_LAT_CACHE:REFERENCES",
    ref_cycles = "CPU_CLK_UNHALTED:REF_TSC", retired_slots = "UOPS_RETIRED:SLOTS", slots = "TOPDOWN:SLOTS_P",
    starved_slots = "r8200", wasted_slots = "r8100",
  },
  groups = {
    FLOPS = {
      prose = "Floating-point operations: instructions retired by width, times the elements of that width; a fused " ..
        "multiply-add is counted twice by the hardware. The sum is equation 7 of the PMlib paper. Its eight " ..
        "events fill the eight general counters of a thread.",
    },
    BANDWIDTH = {
      prose = "Lines moved between the levels of the cache, as one core sees them. Traffic of the memory controllers " ..
        "themselves is counted by uncore PMUs, for the whole socket.",
      "l2_to_l1", "into_l2", "out_of_l2", "l3_miss_rate",
      "memory_read = line * dram_reads / time; demand reads and prefetches of this core that DRAM answered",
    },
    TOPDOWN = {
      prose = "Where the slots of the thread went, level 1 of top-down, by slots that plain counters count: the four shares " ..
        "add up to 100 %. They are differences of counts over a difference of slots, so they hold for a section as for a run.",
      "retiring = 100 * retired_slots / slots",
      "bad_speculation = 100 * (slots - undelivered + dropped - backend_slots - retired_slots) / slots; > 15: much is done on " ..
        "wrong paths; see TOPDOWN2 and BRANCH",
      "frontend_bound = 100 * (undelivered - dropped) / slots; > 20: instructions do not arrive fast enough; see TOPDOWN2",
      "backend_bound = 100 * backend_slots / slots; > 50: units or memory hold issue up; see TOPDOWN2 and TOPDOWN3",
    },
    TOPDOWN2 = {
      prose = "Level 2 of top-down: frontend_bound as slots of cycles without any micro-operation (five a cycle) and " ..
        "others; bad speculation and backend_bound by the shares of their causes.",
      events = { cycles = "CPU_CLK_UNHALTED:THREAD_P" },
      "fetch_latency = 100 * 5 * starved / slots", "fetch_bandwidth = 100 * (undelivered - 5 * starved) / slots",
      "mispredict_share", "clear_share", "memory_share", "core_share",
    },
    TOPDOWN_METRICS = {
      prose = "Level 1 of top-down by the register PERF_METRICS, which takes no general counter: its four shares add up " ..
        "to 100 %. The register has fractions, in steps of 1/255; the kernel multiplies them by slots, and differences " ..
        "of these counts belong to a section or a run.",
      events = { backend_slots = "r8300", retired_slots = "r8000", slots = "r400" },
      "retiring = 100 * retired_slots / (retired_slots + wasted_slots + starved_slots + backend_slots)",
      "bad_speculation = 100 * wasted_slots / (retired_slots + wasted_slots + starved_slots + backend_slots); > 15: much is " ..
        "done on wrong paths; see TOPDOWN2 and BRANCH",
      "frontend_bound = 100 * starved_slots / (retired_slots + wasted_slots + starved_slots + backend_slots); > 20: " ..
        "instructions do not arrive fast enough; see TOPDOWN2",
      "backend_bound = 100 * backend_slots / (retired_slots + wasted_slots + starved_slots + backend_slots); > 50: units or " ..
        "memory hold issue up; see TOPDOWN2 and TOPDOWN3",
      { name = "counted", unit = "%",
        formula = "100 * (retired_slots + wasted_slots + starved_slots + backend_slots) / slots",
        about = "sum of the four shares: 100 %, apart from rounding",
        thresholds = {
          { "< 95", "the fractions did not see the whole run" }, { "> 105", "the fractions saw more than the run" },
        } },
    },
  },
}
