-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/figures_spec.lua - figures of experiments, by the commands of their pages, and of verbs can be read.
--
-- Slow: every experiment runs once.

local gallery = require "docs.gallery"
local support = require "spec.core.support"
local recording = require "spec.lua.recording"
local svg_series = require "spec.lua.svg_series"
local svg_texts = require "spec.lua.svg_texts"

local LONGEST_S = 300
local SEEDS = 3 -- labels of memory_latency once overlapped with the first

local function read(path)
  local f <close> = io.open(path)
  return f and f:read "a"
end

--- Run the first command that this machine supports, with few repeats: the folder of the run, or the error.
local function run(experiment)
  local folder, first = support.folder(), nil
  for _, command in ipairs(gallery.commands(experiment, folder, "--quick")) do
    local status, _, err = support.shell(("timeout %d %s"):format(LONGEST_S, command))
    if status == 0 then return ("%s/%s/latest"):format(folder, experiment.name) end
    first = first or ("status %d: %s"):format(status, err)
  end
  return nil, first
end

-- Heights in pixels of the figures in one column of a page, 8.4 cm.
local COLUMN = { balance = 1300, cause = 420, choose_events = 1100, core_to_core = 560, counted = 1300, event_flow = 640,
  host_metrics = 1000, instruction = 560, intercept_overhead = 640, kernel_sweep = 1300, library_time = 900,
  memory_bandwidth = 360, memory_latency = 640, multiplex = 500, noise = 900, plugin_overhead = 1400, read_overhead = 1400,
  recorder_overhead = 1200, residuals = 1000, ring = 1000, roofline = 900, scaling = 1400, slow_calls = 420, task_lengths = 700,
  timers = 1200, until_certain = 420, watchpoint = 900 }

-- Where an experiment cannot run, it says what this machine lacks.
local LACKS = { "this machine has no", "not installed", "needs " }

local function lacks(err)
  for _, text in ipairs(LACKS) do
    if err:find(text, 1, true) then return true end
  end
end

--- No text lies on another or on data, or leaves the picture, and series differ without colours.
local function legible(svg, message)
  local faults = svg_texts.faults(svg)
  for _, more in ipairs { svg_series.faults(svg), svg_series.covered(svg) } do table.move(more, 1, #more, #faults + 1, faults) end
  assert.same({}, faults, message)
end

-- Ratios from 1 down to 1e-16 have no prefixes.
local POWERS = { residuals = true }

--- Numbers have the prefixes of SI units instead of exponents or many digits.
local function short_numbers(svg, powers)
  if not powers then assert.is_nil(svg:match ">10</tspan><tspan[^>]* dy=") end
  for _, one in ipairs((svg_texts.of(svg))) do
    assert.is_nil(one.text:match "^%-?[%d.]+e[-+]?%d+$" or one.text:match "^%-?%d%d%d%d%d+$")
  end
end

describe("The figure of", function()

  it("every experiment is looked at", function() assert.is_true(#gallery.experiments() >= 20) end)

  for _, experiment in ipairs(gallery.experiments()) do
    support.with "gnuplot" (experiment.name .. " can be read in grey, larger, with other numbers, and has all formats", function()
      local dir, err = run(experiment)
      if not dir then
        assert.truthy(lacks(err), err)
        return pending(err)
      end
      legible(read(dir .. "/plot.svg"))
      short_numbers(read(dir .. "/plot.svg"), POWERS[experiment.name])
      legible(svg_texts.draw(dir, 1.25))
      for seed = 1, SEEDS do
        local other = support.folder()
        svg_texts.disturb(dir, other, seed)
        legible(svg_texts.draw(other, 1), "seed " .. seed)
      end
      for format, begin in pairs { png = "\137PNG", pdf = "%PDF", eps = "%!PS" } do
        local file = ("%s/larger.%s"):format(support.folder(), format)
        support.done(support.pmlua(("plot -o %s --size 1400,1100 %s"):format(file, dir)))
        assert.equal(begin, read(file):sub(1, #begin))
      end
      local file = support.folder() .. "/column.svg"
      support.done(support.pmlua(("plot -o %s --size 318,%d %s"):format(file, COLUMN[experiment.name], dir)))
      legible(read(file), "in one column")
      assert.is_true(svg_texts.smallest(read(file)) >= 7 * 96 / 72)
      local graph = read(dir .. "/event_flow.svg") -- by Graphviz
      if graph then assert.same({}, svg_texts.faults(graph)) end
    end)
  end
end)

describe("The figures of", function()
  support.with "gnuplot" ("bench, record and trace can be read", function()
    local at = recording.place()
    local function done(command) support.done(at.shell((command:gsub("pmlua", recording.command, 1)))) end
    done "pmlua bench -q --runs 8 -n short -n long -o . 'sleep 0.001' 'sleep 0.002'"
    done "pmlua record --plot record.svg --trace -o recorded -- ./calls crc32:40 adler32:20 thread:5"
    for _, kind in ipairs { "timeline", "profile" } do
      done(("pmlua trace --plot %s=%s.svg recorded/traces.otf2"):format(kind, kind))
    end
    for _, name in ipairs { "bench/latest/plot", "record", "profile", "timeline" } do
      local svg = read(("%s/%s.svg"):format(at.dir, name))
      if name == "timeline" then -- it has a hue for each region
        assert.same({}, svg_texts.faults(svg))
      else
        legible(svg, name)
      end
      short_numbers(svg)
    end
  end)
end)
