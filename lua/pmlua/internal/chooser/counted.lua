-- SPDX-License-Identifier: BSD-3-Clause
--- The same groups of metrics without a PMU: from what a command counted itself, as the compiler made it to, or from a
--- simulation of it.
--
--     pmlua choose --pmu generic FLOPS BANDWIDTH --run -- ./program      # compiled by pmlua cc --count
--     pmlua choose --pmu generic CACHE --sim --run -- ./program

local countfile = require "pmlua.countfile"
local compiler = require "pmlua.internal.stat.compiler"
local groups = require "pmlua.groups"
local preload = require "pmlua.internal.preload"

local M = {}

--- Whether the program counts itself, that is, is linked to the counting runtime. Its child programs are not checked.
function M.is_counting(argv)
  local path = preload.locate(argv[1])
  local text = path and require("pmlua.internal.file").read(path)
  return text ~= nil and text:find("pml_count_module_begin", 1, true) ~= nil
end

--- A command that leaves its counts; release() takes away what it left.
---@return table? handle with argv
---@return string? err
function M.prepare(argv)
  local handle, err = compiler.open {}
  if not handle then return nil, err end
  local words = { "env", table.unpack(handle.set) }
  table.move(argv, 1, #argv, #words + 1, words)
  -- Run the original words if the program is not found, for the kernel's error, or if its counts go to the user's PMLUA_COUNT.
  if not preload.locate(argv[1]) or #handle.set == 0 then words = argv end
  return { argv = words, path = handle.path, release = function()
    if handle.close then handle:close() end
  end }
end

--- The requested groups, whole or some of their metrics. Groups without PMUs have different metrics, so a metric that they
--- lack selects its whole group.
local function asked(plan)
  local names, seen = {}, {}
  for _, item in ipairs(plan.items) do
    local name = item.group and item.group.name
    if name and not seen[name] then names[#names + 1], seen[name] = name, true end
  end
  return names
end

local function row_of(group, metric, counts, source)
  local row = { name = group.name .. "/" .. metric.name, unit = metric.unit, about = metric.about, source = source }
  local value, why = groups.value(group, metric, counts)
  if why then row.problem = why else
    row.value, row.says = value, groups.judge(metric, value)
  end
  return row
end

--- A row for each metric of the groups that were asked for, as far as this way of counting has them.
local function rows_of(way, plan, event, inputs, seconds, source)
  local rows, of = {}, groups.counted(way)
  for _, name in ipairs(asked(plan)) do
    local group = of[name]
    for _, metric in ipairs(group and group.metrics or {}) do
      local counts = setmetatable({ time = seconds }, { __index = inputs })
      for key, full in pairs(group.events) do counts[key] = event(full) end
      rows[#rows + 1] = row_of(group, metric, counts, source)
    end
  end
  return rows
end

--- Rows of what a prepared command counted; none if it counts nothing.
---@param plan pmlua.Choice
---@param inputs table<string, number>
---@param seconds number that it took
---@return table[] rows, string[] notes
function M.compiled(handle, plan, inputs, seconds)
  local counts = handle.path and countfile.read_all(handle.path)
  if not counts or #counts.processes == 0 then return {}, {} end
  local function event(full)
    local short = full:match("([^:]+)$")
    return counts.events[short] or counts.operations[short] or 0
  end
  return rows_of("compiler", plan, event, inputs, seconds, countfile.label(counts.at)), counts.notes
end

--- Rows of a simulation of the command.
---@param plan pmlua.Choice
---@param inputs table<string, number>
---@return table[]? rows, table|string ended how the command ended, or why it was not run
function M.simulated(plan, argv, inputs)
  local simulation = require "pmlua.internal.simulation.run"
  local all, err = simulation.count(argv)
  if not all then return nil, err or "the simulation failed" end
  local at = {}
  for i, name in ipairs(simulation.events) do at["sim::" .. name] = i end
  local rows = rows_of("simulation", plan, function(full) return all.totals[at[full]] end, inputs, nil, "simulation")
  return rows, all.ended
end

return M
