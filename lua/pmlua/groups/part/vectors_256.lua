-- SPDX-License-Identifier: BSD-3-Clause
-- Floating-point work of Intel's processors whose vectors have up to 256 bits.
return {
  events = {
    cycles = "CPU_CLK_THREAD_UNHALTED:THREAD_P", fpdp1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE",
    fpdp2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", fpdp4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE",
    fpsp1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", fpsp4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
    fpsp8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", instructions = "INST_RETIRED:ANY_P",
  },
  groups = {
    FLOPS = {
      prose = "Floating-point operations: instructions retired by width, times the elements of that width; a fused " ..
        "multiply-add is counted twice by the hardware.",
      "sp_flop", "dp_flop", "flop", "sp_rate", "dp_rate", "flop_rate", "dp_per_cycle", "ipc",
    },
    VECTOR = {
      prose = "How much of the floating-point work is done by vector instructions, and of which width, as shares of " ..
        "operations; per precision, so that each share is from one run.",
      "sp_vector = 100 * (4 * fpsp4 + 8 * fpsp8) / (fpsp1 + 4 * fpsp4 + 8 * fpsp8)",
      "dp_vector = 100 * (2 * fpdp2 + 4 * fpdp4) / (fpdp1 + 2 * fpdp2 + 4 * fpdp4)",
      "dp_256bit = 100 * 4 * fpdp4 / (fpdp1 + 2 * fpdp2 + 4 * fpdp4)",
      "dp_128bit = 100 * 2 * fpdp2 / (fpdp1 + 2 * fpdp2 + 4 * fpdp4)",
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source, compared with the hardware's counts.",
      inputs = { work = "the workload counted in the source, in flop" },
      "sp_flop", "dp_flop", "flop", "user_rate", "system_rate", "ratio", "difference",
    },
  },
}
