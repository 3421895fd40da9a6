-- SPDX-License-Identifier: BSD-3-Clause
-- Memory of AMD's processors from Zen 4 on, by the kernel's PMUs: libpfm4 has no tables of these.
-- Codes: Linux arch/x86/events/amd/uncore.c, events of the UMC in AMD's Processor Programming References.
return {
  like = "channels",
  events = { lines_read = "amd_umc_*/event=0x0a,rdwrmask=0x1/", lines_written = "amd_umc_*/event=0x0a,rdwrmask=0x2/" },
  groups = {
    MEMORY = {
      prose = "Lines that the memory controllers of all sockets read and wrote, for all programs there, by the kernel's PMUs " ..
        "amd_umc_0, amd_umc_1 and so on, one for each channel (Linux 6.7). Needs the rights for counting a whole cpu; most " ..
        "virtual machines have none.",
    },
  },
}
