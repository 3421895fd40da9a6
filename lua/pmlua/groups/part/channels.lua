-- SPDX-License-Identifier: BSD-3-Clause
-- What the channels of memory count by the kernel's PMUs, one for each; the file of each processor has the events.
return {
  constants = { line = { 64, "byte" } },
  groups = {
    MEMORY = {
      metrics = {
        { name = "memory_reads", unit = "byte/s", formula = "line * lines_read / time" },
        { name = "memory_writes", unit = "byte/s", formula = "line * lines_written / time" },
        { name = "memory_bandwidth", unit = "byte/s", formula = "memory_reads + memory_writes" },
        { name = "memory_write_share", unit = "%", formula = "100 * lines_written / (lines_read + lines_written)" },
      },
    },
  },
}
