-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

---@class pml.balance
local balance = {}

--- The decision alone, for one region of one thread: no thread is slowed. For simulations.
---
---     local c = pml.balance.controller { reference = 3e9, min = 1e9 }
---     print(c:step(0.5, 1.0))
---@param rule pmlua.BalanceRule reference and min are needed
---@return pmlua.BalanceController controller
function balance.controller(rule) end

---@class pmlua.BalanceRule
---@field reference number Hz
---@field min number Hz
---@field delta? number Hz that a thread is faster than it had to be; a tenth of the reference
---@field last? number a thread that computes this share of the time is the last one; 0.95
---@field fits? number a thread that computes this share keeps its frequency; 0.85
---@field window? integer repetitions of which the highest target counts; 4

--- Create the handle that `pml.balance` wraps. It prints nothing.
---@param options pmlua.BalanceHandleOptions
---@return pmlua.Balancer? balancer, pmlua.Failure? failure, string? code
function balance.open(options) end

---@class pmlua.BalanceHandleOptions
---@field sync string[] names or patterns of the blocking regions, at most 64
---@field root? string
---@field cpus? "thread"|"current"
---@field dry_run? boolean
---@field reference? number Hz
---@field min? number Hz
---@field delta? number Hz
---@field last? number
---@field fits? number
---@field window? integer

---@class pmlua.BalanceController: pmlua.Handle
local BalanceController = {}

--- A repetition has ended: the frequency of the next.
---@param compute number time that it computed, in any unit
---@param total number time that it took, in the same
---@param used? number Hz at which it ran; nil: the decided frequency
---@return number hz
function BalanceController:step(compute, total, used) end

---@class pmlua.Balancer: pmlua.Handle
local Balancer = {}

--- Put all back and balance no more.
function Balancer:stop() end

--- Messages so far: settings that the kernel refused or changed.
---@return string[] lines
function Balancer:lines() end

--- Actions that a dry run would have carried out.
---@return pmlua.TuneEntry[] entries
function Balancer:log() end

--- Remove and return the stored repetitions. A thread stores at most 65536.
---@return pmlua.BalanceRecord[] repetitions
function Balancer:take() end

---@class pmlua.BalanceRecord
---@field thread integer
---@field region integer of that thread, from 1
---@field sync? string the blocking call that ended it
---@field ns integer when it began
---@field compute number seconds
---@field total number seconds
---@field hz number that was in force
---@field next number Hz that was decided

--- Counts and sums since the balancer was opened.
---@return pmlua.BalanceStats stats
function Balancer:stats() end

---@class pmlua.BalanceStats
---@field repetitions integer
---@field lost integer
---@field threads integer
---@field writes integer to files
---@field refused integer of them
---@field compute number seconds of all threads
---@field total number seconds of all threads

--- The rule in force, with the defaults of options that were not given.
---@return pmlua.BalanceRule rule
function Balancer:rule() end
