-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/waits.lua - how long each rank of a job waited for others, as the maker of its trace found.
--
-- Try:  mpirun -n 4 pmlua record --trace -o out -- ./solver; pmlua report out
--
-- Two kinds of waits: for a late sender, from entering a receive to entering its send; and in collective operations that no
-- rank leaves before the last one has come, from entering one to the last rank's enter.

local disk = require "pmlua.internal.file"
local json = require "pmlua.json"
local units = require "pmlua.internal.report.units"
local view = require "pmlua.internal.live.view"

local M = {}

local FILE <const>, RANKS <const> = "waits.json", 20

---@class pmlua.Wait
---@field late_sender_ns number
---@field collective_ns number

--- Write the waits of ranks beside their trace.
---@param waits pmlua.Wait[] by rank, from 1 on
---@return boolean? done, string? err
function M.write(dir, waits)
  if #waits == 0 then return true end
  return disk.write(dir .. "/" .. FILE, json.encode { ranks = json.array(waits) })
end

local function are_waits(data)
  for _, w in ipairs(type(data.ranks) == "table" and data.ranks or {}) do
    if type(w) ~= "table" or type(w.late_sender_ns) ~= "number" or type(w.collective_ns) ~= "number" then return false end
  end
  return type(data.ranks) == "table"
end

--- The waits of each rank, by the trace of a job; nil: no trace, or, with a reason, a damaged file.
---@return pmlua.Wait[]? waits, string? err
function M.read(dir)
  local data, err = disk.read_json(dir .. "/" .. FILE, are_waits)
  return data and data.ranks, err
end

local function sum(w) return w.late_sender_ns + w.collective_ns end

--- A table of the ranks that waited most; "" if no rank waited.
---@param waits pmlua.Wait[]
function M.text(waits)
  local order, rows = {}, { { "RANK", "LATE SENDERS", "COLLECTIVES" } }
  for i, w in ipairs(waits) do
    if sum(w) > 0 then order[#order + 1] = i end
  end
  table.sort(order, function(a, b)
    if sum(waits[a]) ~= sum(waits[b]) then return sum(waits[a]) > sum(waits[b]) end
    return a < b
  end)
  for k = 1, math.min(#order, RANKS) do
    local w = waits[order[k]]
    rows[k + 1] = { ("%d"):format(order[k] - 1), units.time(w.late_sender_ns), units.time(w.collective_ns) }
  end
  if #order == 0 then return "" end
  return "\nWaiting for others, by rank\n" .. view.plain(rows, { true, true, true })
    .. (#order > RANKS and ("and %d more ranks; --json lists all\n"):format(#order - RANKS) or "")
end

return M
