-- SPDX-License-Identifier: BSD-3-Clause
-- What the channels of memory count by the kernel's PMUs, one for each; the file of each processor has the events.
return {
  constants = { line = { 64, "byte" } },
  groups = {
    MEMORY = {
      "memory_reads = line * lines_read / time", "memory_writes = line * lines_written / time", "memory_bandwidth",
      "memory_write_share [%] = 100 * lines_written / (lines_read + lines_written)",
    },
  },
}
