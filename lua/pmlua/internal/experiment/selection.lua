-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/selection.lua - cells of one or several runs, and what a figure shows of them.
--
-- Try:  pmlua plot -o both.pdf --where path=read --x events results/read_overhead/A results/read_overhead/B

local fields = require "pmlua.internal.fields"
local figure = require "pmlua.internal.experiment.figure"
local lists = require "pmlua.internal.lists"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local ROLES <const> = figure.ROLES

local function factors_of(run)
  local out = {}
  for _, f in ipairs(type(run.meta.factors) == "table" and run.meta.factors or {}) do
    if type(f) == "table" and run.data.position[f.name] then out[#out + 1] = f end
  end
  return out
end

local function levels_of(rows, name)
  local levels, seen = {}, {}
  for _, row in ipairs(rows) do
    local v = row[name]
    if v ~= nil and not seen[v] then levels[#levels + 1], seen[v] = v, true end
  end
  return levels
end

--- The cells with the given levels.
local function where(run, wanted)
  local rows, known = run.data.rows, {}
  for _, f in ipairs(factors_of(run)) do known[f.name] = true end
  for _, w in ipairs(wanted or {}) do
    if not known[w.name] then return refuse("EINVAL", "where: " .. fields.sentence(w.name, known, "factor")) end
    local kept = lists.filter(rows, function(row) return figure.is_level(row[w.name], w.value) end)
    if #kept == 0 then
      local levels = levels_of(rows, w.name)
      for i, v in ipairs(levels) do levels[i] = tostring(v) end
      return refuse("EINVAL", ("where: no cell has %s=%s"):format(w.name, w.value),
        "choose one of " .. table.concat(levels, ", "))
    end
    rows = kept
  end
  return rows
end

--- A name for each run: its folder's, which is a time, and a number where two are alike.
local function names_of(runs)
  local names, taken = {}, {}
  for i, run in ipairs(runs) do
    local name, n = run.path:match "([^/]+)/*$", 1
    while taken[name] do
      n = n + 1
      name = ("%s (%d)"):format(run.path:match "([^/]+)/*$", n)
    end
    names[i], taken[name] = name, true
  end
  return names
end

--- Several runs as one, with a factor "run": the columns that all of them have.
local function merged(runs)
  local first, names = runs[1], names_of(runs)
  local columns, position, rows = { { name = "run", unit = "text", description = "the run's folder" } }, { run = 1 }, {}
  for _, c in ipairs(first.data.columns) do
    local everywhere = c.name ~= "run"
    for _, run in ipairs(runs) do
      local at = run.data.position[c.name]
      everywhere = everywhere and at and run.data.columns[at].unit == c.unit
    end
    if everywhere then
      columns[#columns + 1] = c
      position[c.name] = #columns
    end
  end
  local meta, samples, sources = {}, 0, {}
  for k, v in pairs(first.meta) do meta[k] = v end
  meta.factors = table.move(factors_of(first), 1, #factors_of(first), 2, { { name = "run" } })
  for i, run in ipairs(runs) do
    samples = samples + (tonumber(run.meta.samples) or 0)
    for _, row in ipairs(run.data.rows) do
      local copy = {}
      for _, c in ipairs(columns) do copy[c.name] = row[c.name] end
      copy.run = names[i]
      sources[copy] = { run = run, cell = row.cell }
      rows[#rows + 1] = copy
    end
  end
  meta.samples = samples
  return { path = first.path, meta = meta, status = first.status, complete = first.complete,
    data = { title = first.data.title, columns = columns, position = position, rows = rows,
      sources = sources } }
end

--- The description of the figure: the given one, then the experiment's, then the factors in their order.
local function description(run, given)
  local plot, used = {}, {}
  for k, v in pairs(type(run.meta.plot) == "table" and run.meta.plot or {}) do plot[k] = v end
  local function take(role, name)
    for _, other in ipairs(ROLES) do
      if other ~= role and plot[other] == name then plot[other] = nil end
    end
    plot[role] = name
  end
  for _, role in ipairs(ROLES) do
    if given[role] then take(role, given[role]) end
  end
  local kind = given.kind or (given.y or given.low or given.high) and "lines" or plot.kind or "lines"
  plot.kind = kind
  if kind ~= "lines" then plot.y, plot.low, plot.high, plot.logx = nil, nil, nil, nil end
  if given.order and given.order[given.x or plot.x] then plot.logx = nil end
  if kind == "cumulative" then plot.x, plot.logy = nil, nil end
  for _, f in ipairs(figure.FIELDS) do
    if not f.role and given[f.name] ~= nil then plot[f.name] = given[f.name] end
  end
  local varied = {}
  for _, f in ipairs(factors_of(run)) do
    if #levels_of(run.data.rows, f.name) > 1 then varied[#varied + 1] = f.name end
  end
  for _, role in ipairs(ROLES) do used[plot[role] or ""] = true end
  for _, name in ipairs(varied) do
    for _, role in ipairs(used[name] and {} or ROLES) do
      if not plot[role] and not (role == "x" and (name == "run" or kind == "cumulative")) then
        plot[role], used[name] = name, true
        break
      end
    end
  end
  if not plot.x and kind ~= "cumulative" then plot.x = (factors_of(run)[1] or {}).name end
  return plot
end

--- Whether the options choose other than what the run's own figure shows.
function M.chosen(runs, o)
  local chosen = #runs > 1 or o.where ~= nil
  for _, f in ipairs(figure.FIELDS) do chosen = chosen or o[f.name] ~= nil end
  return chosen
end

--- One run that has the cells wanted, of one or several, and the description of their figure.
---@param runs table[] from pmlua.results
---@param o pmlua.PlotOptions
---@return table? run, pmlua.Failure? failure
function M.of(runs, o)
  local run = #runs > 1 and merged(runs) or runs[1]
  local rows, err = where(run, o.where)
  if not rows then return nil, err end
  local meta = {}
  for k, v in pairs(run.meta) do meta[k] = v end
  local data = { title = run.data.title, columns = run.data.columns, position = run.data.position, rows = rows,
    sources = run.data.sources }
  local out = { path = run.path, meta = meta, status = run.status, complete = run.complete, data = data }
  meta.plot = description(out, o)
  return out
end

--- The cells as a table of pmlua.internal.dat.
---@return pmlua.Table
function M.table(run)
  local rows = {}
  for i, row in ipairs(run.data.rows) do
    rows[i] = {}
    for k, c in ipairs(run.data.columns) do rows[i][k] = row[c.name] end
  end
  return { title = run.data.title or "selection", columns = run.data.columns, rows = rows }
end

return M
