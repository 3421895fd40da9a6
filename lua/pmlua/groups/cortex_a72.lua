-- SPDX-License-Identifier: BSD-3-Clause
-- Arm Cortex-A72, whose PMU counts what that of Cortex-A57 counts.
return {
  like = "cortex_a57",
  pmus = { "arm_ac72" },
  source = "Event names and meanings: libpfm4 and Arm Cortex-A72 Technical Reference Manual, performance monitoring unit.",
  groups = {},
}
