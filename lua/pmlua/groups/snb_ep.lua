-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Sandy Bridge-EP: as Sandy Bridge, with what the memory controllers and the links of the socket count.
return {
  like = { "snb", "part/home_agents" },
  pmus = { "snb_ep" },
  events = {
    local_memory = "MEM_LOAD_UOPS_LLC_MISS_RETIRED:LOCAL_DRAM", read0 = "snbep_unc_imc0::UNC_M_CAS_COUNT:RD",
    read1 = "snbep_unc_imc1::UNC_M_CAS_COUNT:RD", read2 = "snbep_unc_imc2::UNC_M_CAS_COUNT:RD",
    read3 = "snbep_unc_imc3::UNC_M_CAS_COUNT:RD", remote_memory = "MEM_LOAD_UOPS_LLC_MISS_RETIRED:REMOTE_DRAM",
    sent0 = "snbep_unc_qpi0::UNC_Q_TXL_FLITS_G0:DATA", sent1 = "snbep_unc_qpi1::UNC_Q_TXL_FLITS_G0:DATA",
    write0 = "snbep_unc_imc0::UNC_M_CAS_COUNT:WR", write1 = "snbep_unc_imc1::UNC_M_CAS_COUNT:WR",
    write2 = "snbep_unc_imc2::UNC_M_CAS_COUNT:WR", write3 = "snbep_unc_imc3::UNC_M_CAS_COUNT:WR",
  },
  groups = {
    NUMA = {
      prose = "Loads that L3 missed, by whose memory had the line. The home agent of this processor counts reads, not whose.",
      "remote_share",
    },
    MEMORY = {
      prose = "Lines that the memory controllers of the whole socket read and wrote, for all programs there, over four " ..
        "channels. Needs the rights for counting a whole cpu.",
      "memory_reads = line * (read0 + read1 + read2 + read3) / time",
      "memory_writes = line * (write0 + write1 + write2 + write3) / time", "memory_bandwidth",
    },
  },
}
