-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD Zen 4.
return {
  like = "zen2",
  pmus = { "amd64_fam19h_zen4" },
  events = {
    scalar = "RETIRED_FP_OPS_BY_TYPE:SCALAR_MAC", vectors = "RETIRED_FP_OPS_BY_TYPE:VECTOR_MAC",
  },
  presets = { "PAPI_FMA_INS" },
}
