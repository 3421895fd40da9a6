-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/share.lua - how much of an operation is user code and how much is kernel code.
--
-- Try:  print(require("read_overhead.share").of(measure, { operation = "read", path = "group", events = 2 }, 10000))
--
-- instructions and cycles, once with :u and once with :k, around a loop of operations, less the same around the empty
-- loop. Two at a time, so that the PMU has room for the events of the set itself and nothing is scaled. Only a PMU can
-- tell user from kernel code.

local M = {}

local pairs_of_events = { { "instructions:u", "instructions:k" }, { "cycles:u", "cycles:k" } }

-- Counts around one run of the bare loop, per operation; nil when they had to be scaled.
local function around(measure, p, names, n)
  local counter <close>, err = measure.pml.eventset.open(names, { no_page = true })
  if not counter then return nil, err end
  counter:start()
  local samples <close> = measure:cell(p, n)
  if not samples then return nil, "the loop could not be run" end
  local readings = counter:readings()
  local out = {}
  for i, r in ipairs(readings) do
    if r.enabled_ns ~= r.running_ns then return nil, names[i] .. " was multiplexed" end
    out[i] = r.raw / n
  end
  return out
end

--- User and kernel instructions and cycles of one operation.
---@param measure table
---@param p table factors of a cell of the bare loop
---@param n integer
---@return {[1]: number, [2]: number, [3]: number, [4]: number}? instructions user, kernel, cycles user, kernel
---@return string? err
function M.of(measure, p, n)
  local out = {}
  for _, names in ipairs(pairs_of_events) do
    local floor, err = around(measure, { context = "loop", operation = "empty", path = "none", events = 0 }, names, n)
    local own
    if floor then own, err = around(measure, p, names, n) end
    if not own then return nil, err end
    for i = 1, 2 do out[#out + 1] = math.max(0, own[i] - floor[i]) end
  end
  return out
end

--- Rows for the read by each path: { path, events, user instr., kernel instr., user cycles, kernel cycles, user % }.
---@return any[][] rows
---@return string? why why there are none
function M.rows(measure, events, counts, n)
  if not events.pmu then return {}, "needs a PMU: " .. events.why end
  local rows, why = {}, nil
  for _, path in ipairs { "page", "read", "group" } do
    for _, k in ipairs(counts) do
      if k <= #events.names then
        local s, err = M.of(measure, { context = "loop", operation = "read", path = path, events = k }, n)
        why = why or err
        if s then
          local cycles = s[3] + s[4]
          rows[#rows + 1] = { path, k, s[1], s[2], s[3], s[4], cycles > 0 and 100 * s[3] / cycles or nil }
        end
      end
    end
  end
  return rows, #rows == 0 and why or nil
end

return M
