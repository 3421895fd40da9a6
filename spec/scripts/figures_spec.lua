-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/figures_spec.lua - each experiment's figure, by the command of its page: no text lies on another or leaves it.
--
-- Slow: every experiment runs once.

local gallery = require "docs.gallery"
local support = require "spec.core.support"
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

-- Where an experiment cannot run, it says what this machine lacks.
local LACKS = { "this machine has no", "not installed", "needs " }

local function lacks(err)
  for _, text in ipairs(LACKS) do
    if err:find(text, 1, true) then return true end
  end
end

describe("The figure of", function()

  it("every experiment is looked at", function() assert.is_true(#gallery.experiments() >= 20) end)

  for _, experiment in ipairs(gallery.experiments()) do
    support.with "gnuplot" (experiment.name .. " can be read, also when it is drawn larger or its numbers differ", function()
      local dir, err = run(experiment)
      if not dir then
        assert.truthy(lacks(err), err)
        return pending(err)
      end
      local svg = read(dir .. "/plot.svg")
      assert.same({}, svg_texts.faults(svg))
      assert.same({}, svg_series.faults(svg))
      assert.same({}, svg_texts.faults(svg_texts.draw(dir, 1.25)))
      for seed = 1, SEEDS do
        local other = support.folder()
        svg_texts.disturb(dir, other, seed)
        assert.same({}, svg_texts.faults(svg_texts.draw(other, 1)), "seed " .. seed)
      end
      local graph = read(dir .. "/event_flow.svg") -- by Graphviz
      if graph then assert.same({}, svg_texts.faults(graph)) end
    end)
  end
end)
