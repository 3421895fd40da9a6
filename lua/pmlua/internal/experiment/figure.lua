-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/figure.lua - a figure described by a table: the columns for x, y, lines and panels.
--
-- Try:  plot = { x = "bytes", lines = "allocator", y = "median", facet = "threads", logx = true }   in an experiment
--
-- The experiment checks the table when it is defined. The run's meta.json stores it; when the figure is drawn it is checked
-- again, against the run's data, because a folder may come from anybody. plots/lines.gp draws by the values of variables().

local dat = require "pmlua.internal.dat"
local fields = require "pmlua.internal.fields"

local M = {}

local kinds = { x = "string", y = "string", lines = "string", facet = "string", logx = "boolean", logy = "boolean" }
local roles = { "x", "lines", "facet" }
local MOST_TICS = 12 -- beside each other; gnuplot chooses where there are more

local function check_fields(plot)
  local wrong = fields.unknown(plot, kinds)
  if wrong then return wrong end
  for name, kind in pairs(kinds) do
    if plot[name] ~= nil and type(plot[name]) ~= kind then
      return ("%s must be a %s, not a %s"):format(name, kind, type(plot[name]))
    end
  end
  if not plot.x then return "x is missing: the factor along the x axis" end
end

local function check_roles(plot, factors)
  local role_of, known = {}, {}
  for _, f in ipairs(factors) do known[f.name] = true end
  for _, role in ipairs(roles) do
    local name = plot[role]
    if name and not known[name] then return ("%s: %s"):format(role, fields.sentence(name, known, "factor")) end
    if name and role_of[name] then return ("%s and %s are both %s"):format(role_of[name], role, name) end
    if name then role_of[name] = role end
  end
  for _, f in ipairs(factors) do
    if not role_of[f.name] and #f.levels > 1 then
      return ("factor %s is neither x, lines nor facet, so its values would fall on each other"):format(f.name)
    end
  end
end

local function check_logarithm(plot, factors)
  for _, f in ipairs(factors) do
    if plot.logx and f.name == plot.x then
      if f.text then return ("logx: the values of %s are texts"):format(f.name) end
      for _, v in ipairs(f.levels) do
        if v <= 0 then return ("logx: %s has the value %s"):format(f.name, v) end
      end
    end
  end
end

--- Check the description of a figure; return the error.
---@param plot table
---@param factors { name: string, levels: any[], text: boolean }[]
---@param columns string[] what y may be
---@return string? err
function M.wrong(plot, factors, columns)
  local err = check_fields(plot) or check_roles(plot, factors) or check_logarithm(plot, factors)
  if err then return err end
  for _, name in ipairs(columns) do
    if name == (plot.y or "median") then return nil end
  end
  return "y: " .. fields.sentence(plot.y or "median", columns, "column")
end

--- The factors of a run, with the values that occur in its table.
local function factors_of(run)
  local out = {}
  for _, f in ipairs(type(run.meta.factors) == "table" and run.meta.factors or {}) do
    local column = type(f) == "table" and run.data.position[f.name]
    if column then
      local factor = { name = f.name, column = column, text = run.data.columns[column].unit == "text", levels = {} }
      local seen = {}
      for _, row in ipairs(run.data.rows) do
        local v = row[f.name]
        if v ~= nil and not seen[v] then
          seen[v] = true
          factor.levels[#factor.levels + 1] = v
        end
      end
      factor.unit = run.data.columns[column].unit
      out[#out + 1] = factor
    end
  end
  return out
end

local function number_columns(run)
  local out = {}
  for _, c in ipairs(run.data.columns) do
    if c.unit ~= "text" then out[#out + 1] = c.name end
  end
  return out
end

local function with_unit(name, unit)
  return unit ~= "" and unit ~= "text" and ("%s [%s]"):format(name, unit) or name
end

--- "64", "4KiB": a value of a factor as a reader writes it, in one word.
local function short(v, unit)
  if type(v) == "string" then return v end
  if unit == "B" or unit == "byte" or unit == "bytes" then
    for i, suffix in ipairs { "KiB", "MiB", "GiB" } do
      local scaled = v / 1024 ^ i
      if scaled >= 1 and scaled < 1024 and scaled % 1 == 0 then return ("%d%s"):format(scaled, suffix) end
    end
  end
  return ("%.6g"):format(v)
end

local function joined(levels, of)
  local out = {}
  for i, v in ipairs(levels) do out[i] = dat.word(of and of(v) or type(v) == "string" and v or dat.number(v)) end
  return table.concat(out, " ")
end

--- The smallest and the largest plotted value, intervals included; nil without values.
local function extent(rows, names)
  local low, high
  for _, row in ipairs(rows) do
    for _, name in ipairs(names) do
      local v = row[name]
      if v then low, high = math.min(low or v, v), math.max(high or v, v) end
    end
  end
  return low, high
end

local times = { -- the largest unit of which the highest value is one at least
  { 1, "ns" }, { 1e3, "µs" }, { 1e6, "ms" }, { 1e9, "s" }, ns = 1, us = 1e3, ["µs"] = 1e3, ms = 1e6, s = 1e9,
}
local sizes = {
  { 1, "bytes" }, { 2 ^ 10, "KiB" }, { 2 ^ 20, "MiB" }, { 2 ^ 30, "GiB" }, { 2 ^ 40, "TiB" }, B = 1, byte = 1, bytes = 1,
}

--- By what y is multiplied, and its unit then.
local function scale_of(unit, high)
  for _, units in ipairs { times, sizes } do
    local base = units[unit]
    if base then
      local found = units[1]
      for _, u in ipairs(units) do found = high * base >= u[1] and u or found end
      return base / found[1], found[1] == base and unit or found[2]
    end
  end
  return 1, unit
end

local function set_factor(set, role, f)
  set(role, f and f.column or 0)
  set(role .. "_text", f and f.text and 1 or 0)
  set(role .. "_label", f and with_unit(f.name, f.unit) or "")
  set(role .. "_name", f and f.name or "")
  set(role .. "_levels", f and joined(f.levels) or "-")
  set(role .. "_words", f and joined(f.levels, function(v) return short(v, f.unit) end) or "-")
end

local function set_x(set, plot, x)
  if not x.text then table.sort(x.levels) end
  set_factor(set, "x", x)
  set("logx", plot.logx and 1 or 0)
  set("x_tics", (x.text or plot.logx and #x.levels <= MOST_TICS) and 1 or 0)
  set("x_min", x.text and 0.5 or x.levels[1])
  set("x_max", x.text and #x.levels + 0.5 or x.levels[#x.levels])
end

local function set_y(set, plot, run)
  local y = plot.y or "median"
  local place = run.data.position
  local low, high = y .. "_lo", y .. "_hi"
  local names = place[low] and place[high] and { y, low, high } or { y }
  local least, most = extent(run.data.rows, names)
  if not least then return ("no cell has a value of %s"):format(y) end
  if plot.logy and least <= 0 then return ("logy: %s has the value %.6g"):format(y, least) end
  local column = run.data.columns[place[y]]
  local scale, unit = scale_of(column.unit, math.max(math.abs(least), math.abs(most)))
  set("y", place[y])
  set("y_low", #names > 1 and place[low] or 0)
  set("y_high", #names > 1 and place[high] or 0)
  set("y_scale", scale)
  set("y_label", with_unit(times[column.unit] and y .. " time" or y, unit))
  set("y_min", least * scale)
  set("y_max", most * scale)
  set("logy", plot.logy and 1 or 0)
end

--- The variables with which plots/lines.gp draws the figure of a run: names and values, numbers or texts.
---@param run table from pmlua.results
---@return { [1]: string, [2]: number|string }[]?
---@return string? err
function M.variables(run)
  local plot, factors = run.meta.plot, factors_of(run)
  local err = M.wrong(plot, factors, number_columns(run))
  if err then return nil, "plot: " .. err end
  local by_name, out = {}, {}
  for _, f in ipairs(factors) do by_name[f.name] = f end
  local function set(name, value) out[#out + 1] = { "figure_" .. name, value } end
  set_x(set, plot, by_name[plot.x])
  set_factor(set, "lines", by_name[plot.lines])
  set_factor(set, "facet", by_name[plot.facet])
  err = set_y(set, plot, run)
  if err then return nil, "plot: " .. err end
  return out
end

return M
