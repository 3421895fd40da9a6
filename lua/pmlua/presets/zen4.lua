-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD Zen 4.
return {
  like = "zen2",
  pmus = { "amd64_fam19h_zen4" },
}
