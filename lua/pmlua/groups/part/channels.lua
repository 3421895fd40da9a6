-- SPDX-License-Identifier: BSD-3-Clause
-- What the channels of memory count by the kernel's PMUs, one for each; the file of each processor has the events.
return {
  constants = { line = { 64, "byte" } },
  groups = {
    MEMORY = {
      metrics = {
        { name = "memory_reads", formula = "line * lines_read / time" },
        { name = "memory_writes", formula = "line * lines_written / time" },
        "memory_bandwidth",
        { name = "memory_write_share", unit = "%", formula = "100 * lines_written / (lines_read + lines_written)" },
      },
    },
  },
}
