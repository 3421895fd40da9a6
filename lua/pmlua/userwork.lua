-- SPDX-License-Identifier: BSD-3-Clause
--- The user workload: arithmetic counted in the source, by type, and what it says beside the system workload.
--
-- Equations 1 to 6 of K. Mikami, K. Ono, J. Nonaka, "Performance evaluation and visualization of scientific applications
-- using PMlib": the arithmetic workload is the sum of the operations of each type (1); performance is workload per time
-- (2); the application workload weighs each type by what it costs (6). Linpack is the paper's example (3, 4, 5).
--
--     pmlua -e 'print(pml.userwork.new { add = 512, mult = 512 }:arithmetic())'

---@class pml.userwork
local M = {}

--- Types the paper names. Any other may be counted as well: its name is a word.
M.TYPES = { "add", "sub", "mult", "div", "max", "min", "sqrt" }

---@class pmlua.UserWork
---@field counts table<string, number> operations by type
local Work = {}
Work.__index = Work

local function check(name, v, what)
  if type(name) ~= "string" or not name:find("^[%a_][%w_]*$") then
    error(("the type of an operation must be a word, not %s"):format(tostring(name)), 3)
  end
  if type(v) ~= "number" or not (v >= 0 and v < math.huge) then
    error(("%s of %s must be a number of at least 0, not %s"):format(what, name, tostring(v)), 3)
  end
end

--- Operations by type, such as { add = n, mult = n }.
---@param counts table<string, number>
---@return pmlua.UserWork
function M.new(counts)
  local work = setmetatable({ counts = {} }, Work)
  for name, v in pairs(counts or {}) do
    check(name, v, "the count")
    work.counts[name] = v
  end
  return work
end

--- Add operations of more types, or of the same, for every pass of a section.
---@param counts table<string, number>
---@return pmlua.UserWork self
function Work:add(counts)
  for name, v in pairs(counts) do check(name, v, "the count") end
  for name, v in pairs(counts) do self.counts[name] = (self.counts[name] or 0) + v end
  return self
end

--- The arithmetic workload, equation 1: the sum over types.
---@return number flop
function Work:arithmetic()
  local names, sum = {}, 0
  for name in pairs(self.counts) do names[#names + 1] = name end
  table.sort(names) -- sums of floats depend on their order
  for _, name in ipairs(names) do sum = sum + self.counts[name] end
  return sum
end

--- The application workload, equation 6: each type weighed by c(i). A type without a weight counts once; a weight for a type
-- that was not counted is an error, because it would go unnoticed.
---@param weights table<string, number>
---@return number
function Work:application(weights)
  for name, c in pairs(weights) do
    check(name, c, "the weight")
    if not self.counts[name] then error(("%s has a weight, but no count"):format(name), 2) end
  end
  local names, sum = {}, 0
  for name in pairs(self.counts) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do sum = sum + (weights[name] or 1) * self.counts[name] end
  return sum
end

--- Performance, equation 2: workload per second; NaN and the reason where no time passed.
---@param workload number
---@param seconds number
---@return number rate, string? reason
function M.performance(workload, seconds)
  if seconds ~= seconds or seconds <= 0 then return 0 / 0, "no time passed" end
  return workload / seconds
end

--- The workload of Linpack on a matrix of @n rows, equation 4; equation 3 is its arithmetic(), equation 5 is that in
-- Gflop per second.
---@param n number
---@return pmlua.UserWork
function M.linpack(n)
  local each = n ^ 3 / 3 + 3 * n ^ 2 / 4
  return M.new { add = each, mult = each }
end

---@class pmlua.Comparison
---@field user number
---@field system number
---@field ratio number system / user, as in figure 3 and table IV; NaN without a user workload
---@field difference number system - user
---@field reason? string why the ratio is NaN

--- The two perspectives side by side, figures 1 to 3 and table IV: workloads, or their rates over the same time.
---@param user number
---@param system number
---@return pmlua.Comparison
function M.compare(user, system)
  local known = user ~= 0
  return { user = user, system = system, ratio = known and system / user or 0 / 0, difference = system - user,
    reason = not known and "the user workload is 0" or nil }
end

return M
