-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/fields_spec.lua - the error for a misspelt name in a script has its line and the nearest name.

local support = require "spec.core.support"

local function complaint(lines)
  local dir = support.folder()
  support.spit(dir .. "/s.lua", table.concat(lines, "\n") .. "\n")
  local code, _, err = support.shell(("cd %s && %s/pmlua s.lua --quick --no-plot --quiet"):format(dir, support.build))
  assert.equal(1, code, err)
  return err
end

describe("a misspelt name", function()
  local calls = {
    ["pml.eventsett { 'task-clock' }"] = "s.lua:3: pml has no 'eventsett'; did you mean eventset?",
    ["pml.clock.nss()"] = "s.lua:3: pml.clock has no 'nss'; nearest: ns",
    ["pml.stats.medain { 1 }"] = "s.lua:3: pml.stats has no 'medain'; did you mean median?",
    ["pml.eventset { 'clock::ns' } : raed()"] = "s.lua:3: eventset has no 'raed'; nearest: read",
    ["pml.samples.new(3):psuh(1)"] = "s.lua:3: samples has no 'psuh'; nearest: push",
    ["pml.workload.load(pml.paths.workloads .. '/loop.so'):rnu {}"] = "s.lua:3: workload has no 'rnu'; nearest: run",
    ["pml.eventset({ 'clock::ns' }, { inhreit = true })"] = "unknown option 'inhreit'; nearest: inherit",
    ["pml.plot.draw('x', { turst = true })"] = "s.lua:3: plot.draw: unknown option 'turst'; did you mean trust?",
    ["pml.compare.by('x', 'k', { treshold = 1 })"] = "s.lua:3: compare.by: unknown option 'treshold'; did you mean threshold?",
    ["pml.chooser.open { pmu = 'skx', watchdgo = true }"] =
      "s.lua:3: chooser.open: unknown option 'watchdgo'; did you mean watchdog?",
    ["pml.bench(print, { second = 1 })"] = "s.lua:3: bench: unknown option second; did you mean seconds?",
    ["pml.intercept.open { symb = 'x' }"] = "unknown option 'symb'; did you mean sym?",
    ["pml.substrate { entre = print }"] = "substrate: unknown option 'entre'; did you mean enter?",
    ["pml.flow.start { metric = {} }"] = "flow.start: unknown option metric; did you mean metrics?",
    ["pml.tune { rule = {} }"] = "tune: unknown option 'rule'; did you mean rules?",
    ["pml.plugin.define { events = { 'x' }, read = print, evry = 3 }"] = "unknown option 'evry'; did you mean every?",
    ["pml.sde.watch('X::y', '10ms', print, { kep = 3 })"] = "unknown option 'kep'; did you mean keep?",
    ["pml.nothing.at_all()"] = "s.lua:3: pml has no 'nothing'; pmlua help api lists its fields",
  }
  for call, expected in pairs(calls) do
    it("of a function, a method or an option is named: " .. call, function()
      assert.matches(expected, complaint { "local pml = require 'pmlua'", "-- a comment", call }, 1, true)
    end)
  end

  local experiments = {
    ["mesure = function() return 1 end"] = "s.lua:4: experiment: unknown field mesure; did you mean measure?",
    ["repaets = 3, measure = print"] = "s.lua:4: experiment: unknown field repaets; did you mean repeats?",
    ["measure = print, options = { { name = 'x', defualt = 3 } }"] =
      "s.lua:4: experiment: options[1]: unknown field defualt; did you mean default?",
    ["measure = print, metrics = { { name = 'x', untis = 's' } }"] = "metrics[1]: unknown field untis; did you mean unit?",
    ["measure = print, columns = { { name = 'x', vaule = print } }"] = "columns[1]: unknown field vaule; did you mean value?",
    ["measure = print, budget = { secnods = 3 }"] = "budget: unknown field secnods; did you mean seconds?",
    ["measure = print, quick = { repaets = 3 }"] = "quick: unknown field repaets; did you mean repeats?",
    ["measure = print, plot = { x = 'k', liens = 'k' }"] =
      "s.lua:4: experiment: plot: unknown field liens; did you mean lines?",
  }
  for field, expected in pairs(experiments) do
    it("of a field of an experiment is named: " .. field, function()
      local err = complaint { "local pml = require 'pmlua'", "return pml.experiment {",
        "  name = 'demo', factors = { k = { 1, 2 } },", "  " .. field, "}" }
      assert.matches(expected, err, 1, true)
    end)
  end

  it("of the options of an experiment's run is named", function()
    local err = complaint { "local pml = require 'pmlua'", "local e = pml.experiment { name = 'demo', measure = print }",
      "e:run { quik = true }" }
    assert.matches("s.lua:3: experiment: run: unknown field quik; did you mean quick?", err, 1, true)
  end)
end)
