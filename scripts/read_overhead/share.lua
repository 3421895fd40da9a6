-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/share.lua - split an operation's instructions and cycles into user and kernel code.
--
-- Try:  print(require("read_overhead.share").of(measure, { operation = "read", path = "group", events = 2 }, 10000))
--
-- Counts instructions and cycles, once with :u and once with :k, around two loops, one twice as long as the other: their
-- difference does not contain the cost of opening and closing. The difference of the empty loop is subtracted. Two events
-- are counted at a time, so that the PMU has room for the set's own events and nothing is scaled. Needs a PMU.

local stats = require "pmlua.stats"

local M = {}

M.events = { { "instructions:u", "instructions:k" }, { "cycles:u", "cycles:k" } }

local empty = { context = "loop", operation = "empty", path = "none", events = 0 }

-- Counts around one run of the bare loop.
local function around(measure, p, names, n)
  local counter <close>, err = measure.pml.eventset.open(names, { no_page = true })
  if not counter then return nil, err end
  counter:start()
  local samples, why = measure:cell(p, n)
  if not samples then return nil, why end
  local out = {}
  for i, r in ipairs(counter:readings()) do
    if r.enabled_ns ~= r.running_ns then return nil, names[i] .. " shared its counter with other events" end
    out[i] = r.raw
  end
  samples:close()
  return out
end

-- Counts per iteration: the median of five differences, since a page fault or an interrupt may fall into one.
local function each(measure, p, names, n)
  local differences, out = {}, {}
  for i = 1, #names do differences[i] = {} end
  for k = 1, 5 do
    local once, err = around(measure, p, names, n)
    if not once then return nil, err end
    local twice, why = around(measure, p, names, 2 * n)
    if not twice then return nil, why end
    for i = 1, #names do differences[i][k] = (twice[i] - once[i]) / n end
  end
  for i = 1, #names do out[i] = stats.median(differences[i]) end
  return out
end

--- User and kernel instructions and cycles of one operation.
---@param p table factors of a cell of the bare loop
---@return number[]? counts in the order of the events
---@return string? err
function M.of(measure, p, n)
  local out = {}
  for _, names in ipairs(M.events) do
    local floor, err = each(measure, empty, names, n)
    if not floor then return nil, err end
    local own, why = each(measure, p, names, n)
    if not own then return nil, why end
    for i = 1, #names do out[#out + 1] = math.max(0, own[i] - floor[i]) end
  end
  return out
end

--- Rows for the read by each path: { path, events, user instr., kernel instr., user cycles, kernel cycles, user % }.
---@return any[][] rows, string? why the reason otherwise
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
