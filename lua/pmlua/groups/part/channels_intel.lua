-- SPDX-License-Identifier: BSD-3-Clause
-- Memory and links of Intel's servers from Ice Lake-X on, by the kernel's PMUs: libpfm4 has no tables of these.
-- Codes: Linux arch/x86/events/intel/uncore_snbep.c (cas_count_read and cas_count_write), Intel's event lists.
return {
  like = "channels",
  events = {
    flits = "uncore_upi_*/event=0x02,umask=0x0f/", lines_read = "uncore_imc_*/event=0x04,umask=0x0f/",
    lines_written = "uncore_imc_*/event=0x04,umask=0x30/",
  },
  groups = {
    MEMORY = {
      prose = "Lines that the memory controllers of all sockets read and wrote, for all programs there, by the kernel's PMUs " ..
        "uncore_imc_0, uncore_imc_1 and so on, one for each channel. Needs the rights for counting a whole cpu; most " ..
        "virtual machines have none.",
    },
    UPI = {
      prose = "Data that all sockets sent over their links to other sockets. A line takes nine flits of data and header, so a " ..
        "flit stands for 64/9 bytes. A machine of one socket has no such PMUs, or they count nothing.",
      "links_sent [byte/s] = line * flits / 9 / time",
    },
  },
}
