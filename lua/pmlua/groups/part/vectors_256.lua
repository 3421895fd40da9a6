-- SPDX-License-Identifier: BSD-3-Clause
-- Floating-point work of Intel's processors whose vectors have up to 256 bits.
return {
  groups = {
    FLOPS = {
      prose = "Floating-point operations: instructions retired by width, times the elements of that width; a fused " ..
        "multiply-add is counted twice by the hardware.",
      events = {
        fpsp1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", fpsp4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
        fpsp8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", fpdp1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE",
        fpdp2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", fpdp4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE",
        cycles = "CPU_CLK_THREAD_UNHALTED:THREAD_P", instructions = "INST_RETIRED:ANY_P",
      },
      metrics = {
        { name = "sp_flop", unit = "flop", formula = "fpsp1 + 4 * fpsp4 + 8 * fpsp8" },
        { name = "dp_flop", unit = "flop", formula = "fpdp1 + 2 * fpdp2 + 4 * fpdp4" },
        { name = "flop", unit = "flop", formula = "sp_flop + dp_flop" },
        { name = "sp_rate", unit = "flop/s", formula = "sp_flop / time" },
        { name = "dp_rate", unit = "flop/s", formula = "dp_flop / time" },
        { name = "flop_rate", unit = "flop/s", formula = "flop / time" },
        { name = "dp_per_cycle", unit = "flop/cycle", formula = "dp_flop / cycles",
          thresholds = { { "< 1", "no more than a scalar operation a cycle" } } },
        { name = "ipc", unit = "instruction/cycle", formula = "instructions / cycles",
          thresholds = { { "< 1", "most issue slots are empty" } } },
      },
    },
    VECTOR = {
      prose = "How much of the floating-point work is done by vector instructions, and of which width, as shares of " ..
        "operations; per precision, so that each share is from one run.",
      events = {
        fpsp1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", fpsp4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
        fpsp8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", fpdp1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE",
        fpdp2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", fpdp4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE",
      },
      metrics = {
        { name = "sp_vector", unit = "%", formula = "100 * (4 * fpsp4 + 8 * fpsp8) / (fpsp1 + 4 * fpsp4 + 8 * fpsp8)",
          thresholds = { { "< 50", "most single precision work is scalar" } } },
        { name = "dp_vector", unit = "%", formula = "100 * (2 * fpdp2 + 4 * fpdp4) / (fpdp1 + 2 * fpdp2 + 4 * fpdp4)",
          thresholds = { { "< 50", "most double precision work is scalar" } } },
        { name = "dp_256bit", unit = "%", formula = "100 * 4 * fpdp4 / (fpdp1 + 2 * fpdp2 + 4 * fpdp4)" },
        { name = "dp_128bit", unit = "%", formula = "100 * 2 * fpdp2 / (fpdp1 + 2 * fpdp2 + 4 * fpdp4)" },
      },
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source, beside what the hardware did.",
      inputs = { work = "the workload counted in the source, in flop" },
      events = {
        fpsp1 = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE", fpsp4 = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE",
        fpsp8 = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", fpdp1 = "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE",
        fpdp2 = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", fpdp4 = "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE",
      },
      metrics = {
        { name = "sp_flop", unit = "flop", formula = "fpsp1 + 4 * fpsp4 + 8 * fpsp8" },
        { name = "dp_flop", unit = "flop", formula = "fpdp1 + 2 * fpdp2 + 4 * fpdp4" },
        { name = "flop", unit = "flop", formula = "sp_flop + dp_flop" },
        { name = "user_rate", unit = "flop/s", formula = "work / time" },
        { name = "system_rate", unit = "flop/s", formula = "flop / time" },
        { name = "ratio", unit = "", formula = "flop / work" },
        { name = "difference", unit = "flop", formula = "flop - work" },
      },
    },
  },
}
