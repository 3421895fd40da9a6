-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD Zen 4.
return {
  like = "zen2",
  pmus = { "amd64_fam19h_zen4" },
  presets = {
    { name = "PAPI_FMA_INS", about = "micro-operations of fused multiply-adds",
      formula = "scalar + vectors",
      events = { scalar = "RETIRED_FP_OPS_BY_TYPE:SCALAR_MAC", vectors = "RETIRED_FP_OPS_BY_TYPE:VECTOR_MAC" } },
  },
}
