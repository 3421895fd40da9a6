-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/budget.lua - budgets in tests of a script: the library calls and events that one call of a section may cost.
--
-- Try:  local budget <close> = assert(pml.budget { section = "read", malloc = 0, locks = 0 })
--       do local s <close> = assert(pml.section.define { label = "read" }):enter(); io.open("/etc/passwd"):read "a" end
--       print(budget:check())
--
-- Calls between the libraries of this process are counted exactly, on all threads, as pml.intercept counts them: a process
-- has one interception at a time, so that a test gives all of its budgets at once.

local budgets = require "pmlua.internal.budgets"
local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local fields = require "pmlua.internal.fields"
local offers = require "pmlua.internal.offers"
local refuse = core.failure.refuse

---@class pml.budget
---@overload fun(...: table): pmlua.Budget?, pmlua.Failure?, string?
local M = {}

---@class pmlua.Budget
---@field package list pmlua.SectionBudget[]
---@field package calls pmlua.Interception
local Budget = {}
Budget.__index = Budget
Budget.__name = "pmlua.Budget"

local function paths_of(profile)
  local nodes, err = profile:nodes()
  for i, node in ipairs(nodes or {}) do
    nodes[i] = { depth = node.depth, name = core.region.demangle(node.name), calls = node.count + node.running }
  end
  return nodes, err
end

--- The first name that no library of this process has as a function, with a suggestion; nil if all are known.
local function unknown(names, paths)
  local missing, known = {}, {}
  for _, path in ipairs(paths) do known[path.name] = true end
  for _, name in ipairs(names) do missing[#missing + 1] = not known[name] and name or nil end
  if #missing == 0 then return nil end
  for path in (disk.text "/proc/self/maps" or ""):gmatch "r%-xp [^\n]-(/[^\n]+)" do
    for name in pairs(offers.symbols(disk.read(path) or "") or {}) do known[name] = true end
  end
  for _, name in ipairs(missing) do
    if not known[name] then return ("no library has a function '%s'%s"):format(name, fields.near(name, known)) end
  end
end

local function rows_of_sections()
  local rows = {}
  for _, row in ipairs(core.section.report()) do
    rows[row.label] = { calls = row.count, events = row.events or {} }
  end
  return rows
end

--- Whether every section kept its budget since the budgets were opened. The failure names the exceeded items with
--- their call paths, and sections that were never called.
---@return boolean? kept, pmlua.Failure? failure, string? code
function Budget:check()
  local paths, err = paths_of(self.calls.profile)
  if not paths then return refuse(err) end
  local misspelt = unknown(budgets.names(self.list, true), paths)
  if misspelt then return refuse("ENOENT", misspelt) end
  local said = budgets.judge(self.list, paths)
  for _, line in ipairs(budgets.judge_events(self.list, rows_of_sections())) do said[#said + 1] = line end
  if #said == 0 then return true end
  return refuse("EBUDGET", table.concat(said, "\n"))
end

--- Stop counting.
function Budget:close() self.calls:close() end
Budget.__close = Budget.close

--- Budgets: tables with the name of a section and the number of calls or events that each call of the section may cost:
--- `{ section = "lookup", malloc = 0, write = 1, ["page-faults"] = 0 }`. `allocations` and `locks` are all functions that
--- allocate, or lock.
---@param ... table
---@return pmlua.Budget? budget, pmlua.Failure? failure, string? code
function M.open(...)
  local list = {}
  for i, given in ipairs { ... } do
    local budget, why = budgets.of(given)
    if not budget then error("budget: " .. why, 2) end
    list[i] = budget
    local events = require "pmlua.internal.keys"(budget.events)
    local section, err = core.section.define { label = budget.section, events = #events > 0 and events or nil }
    if not section then return refuse(err) end
    section:close()
  end
  if #list == 0 then error("budget: no budget given", 2) end
  local calls, err = require "pmlua.intercept" { lib = { "*", "libc*" }, keep = "profile" }
  if not calls then return refuse(err) end
  return setmetatable({ list = list, calls = calls }, Budget)
end

return setmetatable(M, { __call = function(_, ...) return M.open(...) end })
