-- SPDX-License-Identifier: BSD-3-Clause
--- What the kernel says of every command when it has ended: times and memory of it and the children it waited for.
--
--     pmlua stat -- sleep 0.1

local M = { name = "getrusage" }

local rows = {
  { "elapsed time", "real_ns", "ns" }, { "user time", "user_ns", "ns" }, { "system time", "system_ns", "ns" },
  { "largest resident set", "maxrss_bytes", "bytes" },
}

local function tell(_, ended)
  local out = {}
  for i, r in ipairs(rows) do out[i] = { event = r[1], value = ended[r[2]], unit = r[3] } end
  return out
end

---@return table handle
function M.open()
  return { rows = tell }
end

return M
