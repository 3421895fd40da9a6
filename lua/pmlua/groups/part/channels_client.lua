-- SPDX-License-Identifier: BSD-3-Clause
-- Memory of Intel's processors for desktops from Sandy Bridge to Ice Lake, by the kernel's PMU: libpfm4 has no table of it.
-- Codes: Linux arch/x86/events/intel/uncore_snb.c (data_reads and data_writes, in lines).
return {
  like = "channels",
  events = { lines_read = "uncore_imc/event=0x01/", lines_written = "uncore_imc/event=0x02/" },
  groups = {
    MEMORY = {
      prose = "Lines that the memory controller read and wrote, for all programs on the processor and its graphics, by the " ..
        "kernel's PMU uncore_imc. Needs the rights for counting a whole cpu; most virtual machines have none.",
    },
  },
}
