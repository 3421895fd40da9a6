-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/instruction/worker.lua - a process that calls the assembled functions, so that their faults do not end the experiment.
--
-- Try:  pmlua scripts/instruction/worker.lua ./sequence.so 9 chain cycles:u
--
-- A line of output is a sample: the times of one_ref, two_ref, one_WAY and two_WAY, in ticks or by the counter. Each is the
-- minimum of TRIES, taken alternately: an interruption only adds to a time, and within a sample the frequency hardly changes.

local pml = require "pmlua"

local path, n, way, event = arg[1], math.tointeger(arg[2]), arg[3], arg[4]

local TRIES = 4

local calls = {}
for i, name in ipairs { "one_ref", "two_ref", "one_" .. way, "two_" .. way } do
  calls[i] = assert(package.loadlib(path, name))
end

local read = pml.clock.ticks_ordered
local set
if event then
  set = assert(pml.eventset { event })
  set:start()
  read = function() return (set:read()) end
end

pml.sys.pin(pml.sys.cpu()) -- counts and clocks of one processor; where it may not, the samples spread
local out = {}
for i = 0, n do
  local took = {}
  for _ = 1, TRIES do
    for k, call in ipairs(calls) do
      local from = read()
      call()
      local spent = read() - from
      took[k] = math.min(took[k] or spent, spent)
    end
  end
  if i > 0 then out[i] = table.concat(took, " ") end -- the first one warms up
end
print(table.concat(out, "\n"))
