-- SPDX-License-Identifier: BSD-3-Clause
-- What the home agents and the links of a socket count, from Ivy Bridge-EP to Broadwell-EP; the file of each has the events.
return {
  groups = {
    NUMA = {
      prose = "Reads that the home agent, which owns memory of the socket, got from its own socket and from others, for all " ..
        "programs there. A processor with one home agent has no agent1. Needs the rights for counting a whole cpu.",
      "remote_share = 100 * remote_reads / (local_reads + remote_reads)",
      "agent1_remote_share [%] = 100 * remote_reads1 / (local_reads1 + remote_reads1)",
    },
    MEMORY = {
      prose = "Lines that the home agents had the memory controllers read and write, for all programs on the socket. A " ..
        "processor with one home agent has no agent1. Needs the rights for counting a whole cpu.",
      "agent0_bandwidth [byte/s] = line * (read0 + write0) / time", "agent1_bandwidth [byte/s] = line * (read1 + write1) / time",
      "write_share [%] = 100 * write0 / (read0 + write0)",
    },
    UPI = {
      prose = "Data that the socket sent over its links to other sockets, called QPI on this processor: a flit carries 8 bytes.",
      "link0_sent = line * sent0 / 8 / time", "link1_sent = line * sent1 / 8 / time",
    },
  },
}
