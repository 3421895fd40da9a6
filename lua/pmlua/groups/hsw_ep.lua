-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Haswell-EP: as Haswell, with what the home agents and the links of the socket count.
return {
  like = { "hsw", "part/home_agents" },
  pmus = { "hsw_ep" },
  events = {
    local_reads = "hswep_unc_ha0::UNC_H_REQUESTS:READS_LOCAL", local_reads1 = "hswep_unc_ha1::UNC_H_REQUESTS:READS_LOCAL",
    read0 = "hswep_unc_ha0::UNC_H_IMC_READS:NORMAL", read1 = "hswep_unc_ha1::UNC_H_IMC_READS:NORMAL",
    remote_reads = "hswep_unc_ha0::UNC_H_REQUESTS:READS_REMOTE", remote_reads1 = "hswep_unc_ha1::UNC_H_REQUESTS:READS_REMOTE",
    sent0 = "hswep_unc_qpi0::UNC_Q_TXL_FLITS_G0:DATA", sent1 = "hswep_unc_qpi1::UNC_Q_TXL_FLITS_G0:DATA",
    write0 = "hswep_unc_ha0::UNC_H_IMC_WRITES:ALL", write1 = "hswep_unc_ha1::UNC_H_IMC_WRITES:ALL",
  },
}
