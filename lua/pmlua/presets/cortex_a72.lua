-- SPDX-License-Identifier: BSD-3-Clause
-- PAPI presets of Arm Cortex-A72: those of Cortex-A57.
return {
  like = "cortex_a57",
  pmus = { "arm_ac72" },
}
