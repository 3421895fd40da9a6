-- SPDX-License-Identifier: BSD-3-Clause
--- What the kernel says of every command when it has ended: times and memory of it and the children it waited for.
--
--     pmlua stat -- sleep 0.1

local M = { name = "getrusage" }

local rows = {
  { "elapsed time", "real_ns", "ns" }, { "user time", "user_ns", "ns" }, { "system time", "system_ns", "ns" },
  { "largest resident set", "maxrss_bytes", "bytes" },
}

local function tell(self, ended)
  local out = {}
  for i = 1, ended and self.n or 0 do
    local r = rows[i]
    out[i] = { event = r[1], value = ended[r[2]], unit = r[3] }
  end
  if out[4] and M.at_floor(ended) then
    return out, { ("largest resident set: at most %d bytes, which its start takes"):format(ended.maxrss_bytes) }
  end
  return out
end

local SLACK <const> = 192 * 1024 -- bytes that becoming the program touches

--- Whether the largest resident set may be pmlua-starter's, from which the kernel starts the program.
---@param ended { maxrss_bytes: integer, maxrss_floor_bytes: integer }
function M.at_floor(ended) return ended.maxrss_bytes <= ended.maxrss_floor_bytes + SLACK end

--- For a process that is not a child, or for cpus, only the time is known.
---@param options { pid: integer?, all: boolean?, cgroups: string[]? }
---@return table handle
function M.open(options)
  return { rows = tell, n = (options.pid or options.all or options.cgroups) and 1 or #rows }
end

return M
