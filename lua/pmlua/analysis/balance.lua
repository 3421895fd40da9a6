-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/analysis/balance.lua - the time of regions in a trace, and how it is spread over processes.
--
-- Try:  local t = assert(pml.trace.open "out/traces.otf2"); print(#assert(require("pmlua.analysis.balance").of(t)))

local M = {}

---@class pmlua.analysis.Balance
---@field region string
---@field number integer of the trace's regions
---@field paradigm string?
---@field calls integer
---@field unreturned integer
---@field inclusive_s number of all processes
---@field exclusive_s number
---@field least_s number? shortest call
---@field most_s number? longest call
---@field imbalance number? exclusive time of the process that had most, over the average of all processes
---@field most_process integer? that process
---@field most_rank integer? its rank

local longer = require "pmlua.internal.order".by("-exclusive_s", "number")

local function add(sum, row)
  sum.calls, sum.unreturned = sum.calls + row.calls, sum.unreturned + row.unreturned
  sum.inclusive_s, sum.exclusive_s = sum.inclusive_s + row.inclusive_s, sum.exclusive_s + row.exclusive_s
  if row.least_s then
    sum.least_s = math.min(sum.least_s or row.least_s, row.least_s)
    sum.most_s = math.max(sum.most_s or row.most_s, row.most_s)
  end
  if row.exclusive_s > sum.top then sum.top, sum.most_process, sum.most_rank = row.exclusive_s, row.process, row.rank end
end

---@class pmlua.analysis.Ranks
---@field window_s number how long what was asked for lasts
---@field average_s number outside of MPI, of ranks
---@field most_s number
---@field most_rank integer
---@field least_s number
---@field least_rank integer
---@field balance number average over most: the load balance efficiency of POP (https://pop-coe.eu/node/69)
---@field communication number most over the window: its communication efficiency
---@field mpi number the share of all ranks' time that is in MPI

--- The time of ranks outside MPI: everything that is not an MPI call on the rank's thread counts as work.
local function ranks_of(rows, regions, processes, window_s)
  local inside, ranks = {}, {}
  for _, row in ipairs(rows) do
    if regions[row.number].paradigm == "MPI" then inside[row.process] = (inside[row.process] or 0) + row.exclusive_s end
  end
  for i, p in ipairs(processes) do
    if p.rank then ranks[#ranks + 1] = { rank = p.rank, s = math.max(0, window_s - (inside[i] or 0)) } end
  end
  if #ranks < 2 or window_s <= 0 then return nil end
  local most, least, sum = ranks[1], ranks[1], 0
  for _, r in ipairs(ranks) do
    sum = sum + r.s
    if r.s > most.s then most = r end
    if r.s < least.s then least = r end
  end
  local average = sum / #ranks
  return { window_s = window_s, average_s = average, most_s = most.s, most_rank = most.rank, least_s = least.s,
    least_rank = least.rank, balance = most.s > 0 and average / most.s or 1, communication = most.s / window_s,
    mpi = 1 - average / window_s }
end

local function window_of(about, where)
  local window = where and where.window or {}
  return math.min(window[2] or math.huge, about.length_s) - math.max(window[1] or 0, 0)
end

--- The regions of a trace, those with most exclusive time first. A process without a region counts as one without time in it.
---@param where pmlua.TraceWhere?
---@return pmlua.analysis.Balance[]? regions nil: refused
---@return pmlua.TraceOddities|pmlua.Failure? oddities
---@return pmlua.analysis.Ranks? ranks of a job of MPI, if all of its regions and ranks were asked for
function M.of(reader, where)
  local rows, odd = reader:group { by = { "region", "process" }, where = where }
  if not rows then return nil, odd end
  local regions, processes, by, list = reader:regions(), reader:about().processes, {}, {}
  for _, row in ipairs(rows) do
    local sum = by[row.number]
    if not sum then
      sum = { region = row.region, number = row.number, paradigm = regions[row.number].paradigm, calls = 0, unreturned = 0,
        inclusive_s = 0, exclusive_s = 0, top = 0 }
      by[row.number], list[#list + 1] = sum, sum
    end
    add(sum, row)
  end
  if where and where.process then processes = 1 end
  for _, sum in ipairs(list) do
    if sum.exclusive_s > 0 then sum.imbalance = sum.top / (sum.exclusive_s / processes) end
    sum.top = nil
  end
  table.sort(list, longer)
  local whole = not where or not (where.region or where.kind or where.process or where.rank or where.location)
  return list, odd, whole and ranks_of(rows, regions, reader:processes(), window_of(reader:about(), where)) or nil
end

return M
