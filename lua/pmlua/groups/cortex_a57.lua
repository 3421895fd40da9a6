-- SPDX-License-Identifier: BSD-3-Clause
-- Arm Cortex-A57: as Cortex-A53, with operations by kind, including speculative ones.
return {
  like = "cortex_a53",
  pmus = { "arm_ac57" },
  source = "Event names and meanings: libpfm4 and Arm Cortex-A57 Technical Reference Manual, performance monitoring unit.",
  events = {
    loads = "INST_SPEC_EXEC_LOAD", reads = "DATA_MEM_READ_ACCESS", scalar_fp = "INST_SPEC_EXEC_VFP",
    simd = "INST_SPEC_EXEC_SIMD", speculated = "INST_SPEC_EXEC", stores = "INST_SPEC_EXEC_STORE",
    unaligned = "UNALIGNED_ACCESS", writes = "DATA_MEM_WRITE_ACCESS",
  },
  groups = {
    FLOPS = {
      prose = "Floating-point and vector instructions, including speculative ones: this PMU does not count " ..
        "the operations of an instruction.",
      "scalar_fp_rate", "simd_rate", "fp_simd_share", "ipc",
    },
    VECTOR = {
      prose = "Advanced SIMD and scalar floating-point instructions.",
      "vector", "simd_share",
    },
    LOADSTORE = {
      prose = "Loads and stores, including speculative ones, and accesses whose address is not aligned.",
      "loads_per_instruction", "stores_per_instruction", "loads_per_store", "unaligned_ratio",
    },
  },
}
