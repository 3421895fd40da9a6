-- SPDX-License-Identifier: BSD-3-Clause
-- Counters of Intel Skylake and its successors for desktops up to Comet Lake, by the rules of Skylake-X.
return {
  like = "skx",
  names = { "skl" },
  title = "Intel Skylake, Kaby Lake, Coffee Lake, Comet Lake",
}
