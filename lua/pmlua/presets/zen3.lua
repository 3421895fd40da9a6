-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of AMD Zen 3.
return {
  like = "zen2",
  pmus = { "amd64_fam19h_zen3" },
}
