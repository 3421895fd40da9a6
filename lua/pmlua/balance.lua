-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/balance.lua - balancing: threads, or ranks, that would wait for others are slowed to arrive just in time.
--
-- The algorithm is from section 4.5 of R. Schöne et al., Extending the functionality of Score-P through plugins;
-- core/control/balance/pml_balance.h describes it. Each thread decides for itself, by the share of the time between two
-- blocking calls in which it computed, so the ranks of an MPI job each run the same script. The blocking calls are regions:
-- sections, or calls that pml.intercept or a wrapper sees.
--
-- Frequencies are set by the kernel's cpufreq files. Permission, root, dry_run and restoring work as in pml.tune.
--
-- Try:  local b <close> = assert(pml.balance { sync = { "barrier" }, dry_run = true, reference = 3e9, min = 1e9 })
--       for _ = 1, 3 do pml.section.start "barrier"; pml.section.stop "barrier" end
--       for _, r in ipairs(b:take()) do print(r.compute / r.total, r.next) end

local core = require "pmlua.core"
local tune = require "pmlua.tune"

---@class pml.balance
---@overload fun(options: pmlua.balance.options): pmlua.balancer?, string?, string?
local M = {}
for name, f in pairs(core.balance) do M[name] = f end

---@class pmlua.balance.options
---@field sync string[] names or patterns of the blocking regions
---@field reference? number Hz; by default the highest of the machine
---@field min? number Hz; by default its lowest
---@field delta? number Hz that a thread is faster than it had to be; a tenth of the reference
---@field last? number a thread that computes this share of the time is the last one: 0.95
---@field fits? number a thread that computes this share keeps its frequency: 0.85
---@field window? integer repetitions of which the highest target counts: 4
---@field root? string
---@field cpus? "thread"|"current"
---@field dry_run? boolean

---@class pmlua.balancer : pmlua.tuner
local balance = tune.class "balance"

--- Remove and return the stored repetitions: thread, region (number within the thread, from 1), sync (the blocking call that
--- ended it), ns (its start), compute and total in s, hz (the frequency in force), and next (the decided frequency).
---@return table[]
function balance:take() return (self.handle or error("balance: closed", 2)):take() end

--- The rule in force, with the defaults of options that were not given.
---@return table
function balance:rule() return (self.handle or error("balance: closed", 2)):rule() end

--- Start balancing.
---@param options pmlua.balance.options
---@return pmlua.balancer? balancer with lines, log, stats, stop and close as pml.tune's, take and rule
---@return string? err, string? code
function M.new(options)
  local good, handle, err, code = pcall(core.balance.open, options)
  if not good then error("balance: " .. handle:gsub("^bad argument #%d+ to '[^']*' %((.*)%)$", "%1"), 2) end
  if not handle then return nil, err, code end
  return setmetatable({ handle = handle }, balance)
end

return setmetatable(M, { __call = function(_, options) return M.new(options) end })
