-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Ice Lake.
return {
  like = "icx",
  pmus = { "icl" },
  presets = { { name = "PAPI_CA_ITV", events = false } },
}
