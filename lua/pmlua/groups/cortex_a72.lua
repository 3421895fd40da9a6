-- SPDX-License-Identifier: BSD-3-Clause
-- Event groups of Arm Cortex-A72, which has the same events as Cortex-A57.
return {
  like = "cortex_a57",
  pmus = { "arm_ac72" },
  source = "Event names and meanings: libpfm4 and Arm Cortex-A72 Technical Reference Manual, performance monitoring unit.",
  groups = {},
}
