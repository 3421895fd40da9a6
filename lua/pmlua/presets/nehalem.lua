-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Intel Nehalem.
return {
  like = "architectural",
  pmus = { "nhm", "nhm_ex" },
  presets = { { name = "PAPI_BR_MSP", events = false } },
}
