-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/multiplex.lua - how wrong a scaled count is, by the number of events and the length of the program's phases.
--
-- Try:  pmlua scripts/multiplex.lua --quick --model 4
--
-- More events than counters take turns, and each count is scaled by the share of the time that it was counted. A program
-- whose phases are about as long as the turns is then counted wrong. The truth is the same work with one event.

local pml = require "pmlua"
local laboratory = require "multiplex.lab"
local model = require "multiplex.model"

local lab

local function prepare(options)
  lab = options.model and model.new { counters = options.model, turn_us = options.turn }
    or assert(laboratory.new { event = options.event })
  lab.seconds = options.milliseconds / 1000
  return { { "events", { 1, 2, 4, 6, 8, 12, 16, 24 } }, { "phase", { 300, 1300, 4700, 17000, 70000 } } }
end

return pml.experiment {
  name = "multiplex",
  description = [[
Error of scaled counts by the number of events that take turns on the counters, and by the length of the phases in which the
program counts much and little. A sample is a scaled count over the true one, less 1. With --model the turns, the phases and
the counts are a simulation, computed by arithmetic, not measured.]],
  factors = prepare,
  help = { events = "open at the same time, each by itself", phase = "of much and of little" },
  units = { phase = "us" },
  unit = "%",
  repeats = 60,
  rounds = 5,
  warmup = 0,
  quick = { repeats = 10, rounds = 1, milliseconds = 50 },
  options = {
    { name = "event", metavar = "NAME", default = "branches:u", help = "the event that is opened several times" },
    { name = "milliseconds", type = "integer", metavar = "MS", min = 1, default = 200, help = "that a sample takes" },
    { name = "model", type = "integer", metavar = "COUNTERS", min = 1,
      help = "simulate a processor with so many counters instead of measuring this one" },
    { name = "turn", type = "integer", metavar = "US", min = 1, default = 4000,
      help = "of the model: after which counters change" },
  },
  examples = { "pmlua scripts/multiplex.lua --quick", "pmlua scripts/multiplex.lua --model 4 --turn 1000" },
  measure = function(_, p, n) return lab:measure(p, n) end,
  metrics = {
    { name = "worst", unit = "%", description = "largest error of a round, either way" },
    { name = "running", unit = "%", description = "share of the time that an event was counted" },
  },
  analyse = function(run)
    if lab.simulated then run:warn(lab.simulated) end
  end,
  plot = "multiplex",
}
