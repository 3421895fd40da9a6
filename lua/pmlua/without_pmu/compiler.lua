-- SPDX-License-Identifier: BSD-3-Clause
-- What a program counts that was compiled by `pmlua cc --count`: no PMU is needed.
return {
  pmus = { "compiler" },
  source = "Events: those that Byfl registers with PAPI (S. Pakin, P. McCormick; A. Danalis et al., Software-defined events " ..
    "through PAPI, table 5), counted by pmlua's own instrumenter. A fused multiply-add is 2 flop.",
  constants = { each = { 1, "byte" } },
  events = {
    bits = "sde:::BYFL::fp_bits_count_I", flops = "sde:::BYFL::flop_count_I", loaded = "sde:::BYFL::load_count_I",
    loads = "sde:::BYFL::load_ins_count_I", operations = "sde:::BYFL::op_count_I", stored = "sde:::BYFL::store_count_I",
    stores = "sde:::BYFL::store_ins_count_I",
  },
  groups = {
    FLOPS = {
      prose = "Floating-point operations that the program asked for (at source) or executed (at final), exactly.",
      "flop = flops", "flop_rate = flops / time",
      "flop_per_op [flop/operation] = flops / operations; of all operations, loads and branches among them; where " ..
        "multiplications and additions are fused, up to 2",
    },
    BANDWIDTH = {
      prose = "Bytes of all loads and stores, at any level of the cache; the memory's traffic is smaller.",
      "load_rate [byte/s] = each * loaded / time", "store_rate [byte/s] = each * stored / time",
      "bandwidth [byte/s] = each * (loaded + stored) / time",
      "intensity [flop/byte] = flops / (each * (loaded + stored)); arithmetic intensity: its position in a roofline",
    },
    VECTOR = {
      prose = "How wide floating-point operations are, by the bits of their operands and results.",
      "bits_per_flop [bit/flop] = bits / flops; 192 is a double, 96 a float, and less where multiplications and additions are " ..
        "fused",
    },
    LOADSTORE = {
      prose = "Loads and stores as instructions of the program, not of the processor.",
      "loads_per_store", "bytes_per_load [byte] = each * loaded / loads", "bytes_per_store [byte] = each * stored / stores",
    },
    USER = {
      prose = "The arithmetic workload that was counted by hand, and what the compiler counted of it: at source the user's, " ..
        "at final the system's perspective.",
      inputs = { work = "the workload counted in the source (equation 1), in flop" },
      "user_rate",
      { name = "ratio", formula = "flops / work", about = "compiler's count / count by hand", thresholds = {} },
    },
  },
}
