-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Broadwell-EP: as Broadwell, with what the home agents and the links of the socket count.
return {
  like = "bdw",
  pmus = { "bdw_ep" },
  groups = {
    NUMA = {
      prose = "Reads that the home agent, which owns memory of the socket, got from its own socket and from others, of all " ..
        "that runs there. A processor with one home agent has no agent1. Needs what counting a whole cpu needs.",
      events = {
        local_reads = "bdx_unc_ha0::UNC_H_REQUESTS:READS_LOCAL", remote_reads = "bdx_unc_ha0::UNC_H_REQUESTS:READS_REMOTE",
        local_reads1 = "bdx_unc_ha1::UNC_H_REQUESTS:READS_LOCAL", remote_reads1 = "bdx_unc_ha1::UNC_H_REQUESTS:READS_REMOTE",
      },
      metrics = {
        { name = "remote_share", unit = "%", formula = "100 * remote_reads / (local_reads + remote_reads)",
          thresholds = { { "> 20", "threads run far from their memory; place them, or touch memory where it is used" } } },
        { name = "agent1_remote_share", unit = "%", formula = "100 * remote_reads1 / (local_reads1 + remote_reads1)" },
      },
    },
    MEMORY = {
      prose = "Lines that the home agents had the memory controllers read and write, of all that runs on the socket. A " ..
        "processor with one home agent has no agent1. Needs what counting a whole cpu needs.",
      events = {
        read0 = "bdx_unc_ha0::UNC_H_IMC_READS:NORMAL", write0 = "bdx_unc_ha0::UNC_H_IMC_WRITES:ALL",
        read1 = "bdx_unc_ha1::UNC_H_IMC_READS:NORMAL", write1 = "bdx_unc_ha1::UNC_H_IMC_WRITES:ALL",
      },
      metrics = {
        { name = "agent0_bandwidth", unit = "byte/s", formula = "line * (read0 + write0) / time" },
        { name = "agent1_bandwidth", unit = "byte/s", formula = "line * (read1 + write1) / time" },
        { name = "write_share", unit = "%", formula = "100 * write0 / (read0 + write0)" },
      },
    },
    UPI = {
      prose = "Data that the socket sent over its links to other sockets, called QPI on this processor: a flit carries 8 bytes.",
      events = {
        sent0 = "bdx_unc_qpi0::UNC_Q_TXL_FLITS_G0:DATA", sent1 = "bdx_unc_qpi1::UNC_Q_TXL_FLITS_G0:DATA",
      },
      metrics = {
        { name = "link0_sent", unit = "byte/s", formula = "line * sent0 / 8 / time" },
        { name = "link1_sent", unit = "byte/s", formula = "line * sent1 / 8 / time" },
      },
    },
  },
}
