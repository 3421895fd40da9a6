-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Ice Lake, and Rocket and Tiger Lake, which libpfm4 calls Ice Lake.
return {
  like = { "icx", "part/channels_client" },
  pmus = { "icl" },
  events = { demand = "OCR:DEMAND_DATA_RD_DRAM", prefetch = "OCR:HWPF_L2_DATA_RD_DRAM" },
  groups = {
    NUMA = false,
    UPI = false,
    BANDWIDTH = {
      prose = "Lines moved between the levels of the cache, as one core sees them. Traffic of the memory controller " ..
        "itself is counted by an uncore PMU, for the whole socket.",
      "l2_to_l1", "into_l2", "out_of_l2", "l3_miss_rate",
      "memory_read = line * (demand + prefetch) / time; data that DRAM gave to loads of this core and to the prefetcher of " ..
        "its L2",
    },
  },
}
