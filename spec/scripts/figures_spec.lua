-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/figures_spec.lua - each experiment's figure, by the command of its page: no text lies on another or leaves it.
--
-- Slow: every experiment runs once.

local support = require "spec.core.support"
local svg_texts = require "spec.lua.svg_texts"
local lfs = require "lfs"

local LONGEST_S = 300
local SEEDS = 3 -- labels of memory_latency once overlapped with the first

local function read(path)
  local f <close> = io.open(path)
  return f and f:read "a"
end

--- The commands of each page, as a reader would type them.
local function experiments()
  local out = {}
  for file in lfs.dir "docs/experiments" do
    local name, text, all = file:match "^([%w_]+)%.md$", read("docs/experiments/" .. file), {}
    if name then
      for arguments in text:gmatch("\n    pmlua scripts/" .. name .. "%.lua([^\n]*)") do all[#all + 1] = arguments end
    end
    if #all > 0 then out[#out + 1] = { name = name, arguments = all } end
  end
  table.sort(out, function(a, b) return a.name < b.name end)
  return out
end

--- Run the first command that can be carried out here, with few repeats: the folder of the run, or why there is none.
local function run(experiment)
  local folder, first = support.folder(), nil
  for _, arguments in ipairs(experiment.arguments) do
    local status, _, err = support.shell(("timeout %d %s/pmlua scripts/%s.lua --quick --quiet --out %s%s"):format(LONGEST_S,
      support.build, experiment.name, folder, arguments))
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

  it("every experiment is looked at", function() assert.is_true(#experiments() >= 20) end)

  for _, experiment in ipairs(experiments()) do
    support.with "gnuplot" (experiment.name .. " can be read, also when it is drawn larger or its numbers differ", function()
      local dir, err = run(experiment)
      if not dir then
        assert.truthy(lacks(err), err)
        return pending(err)
      end
      assert.same({}, svg_texts.faults(read(dir .. "/plot.svg")))
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
