-- SPDX-License-Identifier: BSD-3-Clause
-- What the home agents and the links of a socket count, from Ivy Bridge-EP to Broadwell-EP; the file of each has the events.
return {
  groups = {
    NUMA = {
      prose = "Reads that the home agent, which owns memory of the socket, got from its own socket and from others, of all " ..
        "that runs there. A processor with one home agent has no agent1. Needs what counting a whole cpu needs.",
      metrics = {
        { name = "remote_share", formula = "100 * remote_reads / (local_reads + remote_reads)" },
        { name = "agent1_remote_share", unit = "%", formula = "100 * remote_reads1 / (local_reads1 + remote_reads1)" },
      },
    },
    MEMORY = {
      prose = "Lines that the home agents had the memory controllers read and write, of all that runs on the socket. A " ..
        "processor with one home agent has no agent1. Needs what counting a whole cpu needs.",
      metrics = {
        { name = "agent0_bandwidth", unit = "byte/s", formula = "line * (read0 + write0) / time" },
        { name = "agent1_bandwidth", unit = "byte/s", formula = "line * (read1 + write1) / time" },
        { name = "write_share", unit = "%", formula = "100 * write0 / (read0 + write0)" },
      },
    },
    UPI = {
      prose = "Data that the socket sent over its links to other sockets, called QPI on this processor: a flit carries 8 bytes.",
      metrics = {
        { name = "link0_sent", formula = "line * sent0 / 8 / time" },
        { name = "link1_sent", formula = "line * sent1 / 8 / time" },
      },
    },
  },
}
