-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Cortex-A72, which equal Cortex-A57's.
return {
  like = "cortex_a57",
  pmus = { "arm_ac72" },
}
