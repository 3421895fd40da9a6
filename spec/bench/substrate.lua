-- SPDX-License-Identifier: BSD-3-Clause
-- spec/bench/substrate.lua - how fast functions of Lua take what happened: a substrate's drain().
--
-- Run by `make bench`. A thread's buffer is filled with enters and leaves, and drained into two functions that add; the
-- median of some rounds.

local pml = require "pmlua"

local EVENTS, ROUNDS, LIMIT_NS = 1000000, 7, 200 -- five million a second

local enters, leaves = 0, 0
local substrate <close> = assert(pml.substrate { records = EVENTS,
  enter = function() enters = enters + 1 end, leave = function() leaves = leaves + 1 end })
local section = pml.section.define { label = "substrate" }

local function drained()
  for _ = 1, EVENTS // 2 do section:start() section:stop() end
  local start = pml.clock.ns()
  local n = substrate:drain()
  local ns = pml.clock.ns() - start
  assert(n == EVENTS, "events were lost")
  return ns / n
end

local ns = {}
for i = 1, ROUNDS do ns[i] = drained() end
assert(enters == leaves and enters == ROUNDS * EVENTS // 2)
table.sort(ns)
local median = ns[ROUNDS // 2 + 1]
print(("\n%-36s %12s %12s %6s %6s"):format("figure", "ns", "limit ns", "ratio", "limit"))
print(("%-36s %12.1f %12.1f %6.2f %6.2f %s"):format("event drained into Lua", median, LIMIT_NS, median / LIMIT_NS, 1,
  median <= LIMIT_NS and "ok" or "OVER"))
