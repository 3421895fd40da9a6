-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/analysis/balance.lua - the time of regions in a trace, and how it is spread over processes.
--
-- Try:  local t = assert(pml.trace.read "out/traces.otf2"); print(#assert(require("pmlua.analysis.balance").of(t)))

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

local function longer(a, b)
  if a.exclusive_s ~= b.exclusive_s then return a.exclusive_s > b.exclusive_s end
  return a.number < b.number
end

local function add(sum, row)
  sum.calls, sum.unreturned = sum.calls + row.calls, sum.unreturned + row.unreturned
  sum.inclusive_s, sum.exclusive_s = sum.inclusive_s + row.inclusive_s, sum.exclusive_s + row.exclusive_s
  if row.least_s then
    sum.least_s = math.min(sum.least_s or row.least_s, row.least_s)
    sum.most_s = math.max(sum.most_s or row.most_s, row.most_s)
  end
  if row.exclusive_s > sum.top then sum.top, sum.most_process, sum.most_rank = row.exclusive_s, row.process, row.rank end
end

--- The regions of a trace, those with most exclusive time first. A process without a region counts as one without time in it.
---@param reader pmlua.TraceReader
---@param where pmlua.TraceWhere?
---@return pmlua.analysis.Balance[]? regions nil: refused
---@return pmlua.TraceOddities|pmlua.Failure? oddities
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
  return list, odd
end

return M
