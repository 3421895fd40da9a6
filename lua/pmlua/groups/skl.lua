-- SPDX-License-Identifier: BSD-3-Clause
-- Intel Skylake and its successors for desktops: as Skylake-X, without 512-bit vectors and a second socket.
return {
  like = { "skx", "part/vectors_256", "part/channels_client" },
  pmus = { "skl" },
  groups = {
    NUMA = false,
    UPI = false,
  },
}
