-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/figure.lua - a figure described by a table: the columns for x, y, lines and panels.
--
-- Try:  plot = { x = "bytes", lines = "allocator", y = "median", facet = "threads", logx = true }   in an experiment
--
-- The experiment checks the table when it is defined. The run's meta.json stores it; when the figure is drawn it is checked
-- again, against the run's data, because a folder may come from anybody. plots/lines.gp draws by the values of variables().

local dat = require "pmlua.internal.dat"
local fields = require "pmlua.internal.fields"
local sorted = require "pmlua.internal.sorted"

local M = {}

local MOST_TICS = 12 -- beside each other; gnuplot chooses where there are more

--- The fields of the table: type, operand of the option of `pmlua plot`, and help. A field with a role names a factor.
---@type { name: string, type: string, value?: string, help: string, role?: boolean, choices?: string[] }[]
M.FIELDS = {
  { name = "x", type = "string", value = "FACTOR", role = true, help = "the factor along the x axis" },
  { name = "y", type = "string", value = "COLUMN", help = "the column of data.dat along the y axis" },
  { name = "low", type = "string", value = "COLUMN", help = "the column with the lower ends of y's intervals" },
  { name = "high", type = "string", value = "COLUMN", help = "the column with their upper ends" },
  { name = "lines", type = "string", value = "FACTOR", role = true, help = "the factor whose values are lines" },
  { name = "facet", type = "string", value = "FACTOR", role = true, help = "the factor whose values are panels" },
  { name = "rows", type = "string", value = "FACTOR", role = true, help = "the factor whose values are rows of panels" },
  { name = "kind", type = "string", choices = { "lines", "violin", "cumulative" },
    help = "draw a column's lines, or the distribution of all samples as violins or as cumulative shares" },
  { name = "logx", type = "boolean", help = "logarithmic x axis" },
  { name = "logy", type = "boolean", help = "logarithmic y axis" },
  { name = "xrange", type = "table", value = "LOW,HIGH", help = "range of the x axis; an end may be empty" },
  { name = "yrange", type = "table", value = "LOW,HIGH", help = "range of the y axis; an end may be empty" },
  { name = "free", type = "string", choices = { "x", "y", "xy" }, help = "axes whose range each panel chooses" },
  { name = "order", type = "table", value = "FACTOR=VALUE,...", help = "draw these values first, in this order" },
  { name = "rename", type = "table", value = "WORD=TEXT", help = "the text for a value, factor or column" },
}

local kinds, roles = {}, {}
for _, f in ipairs(M.FIELDS) do
  kinds[f.name] = f.type
  roles[#roles + 1] = f.role and f.name
end
M.ROLES = roles

local function is_range(v)
  for end_name, at in pairs(v) do
    if end_name ~= "low" and end_name ~= "high" or math.type(at) == nil then return false end
  end
  return not (v.low and v.high) or v.low < v.high
end

local function check_fields(plot)
  local wrong = fields.unknown(plot, kinds)
  if wrong then return wrong end
  for _, f in ipairs(M.FIELDS) do
    local v = plot[f.name]
    if v ~= nil and type(v) ~= f.type then return ("%s must be a %s, not a %s"):format(f.name, f.type, type(v)) end
    local found = not (v and f.choices)
    for _, choice in ipairs(found and {} or f.choices) do found = found or v == choice end
    if not found then return ("%s: %s"):format(f.name, fields.sentence(v, f.choices, "value")) end
  end
  for _, name in ipairs { "xrange", "yrange" } do
    if plot[name] and not is_range(plot[name]) then return name .. " must be { low = NUMBER, high = NUMBER }, low below high" end
  end
  for word, text in sorted(plot.rename or {}) do
    if type(text) ~= "string" then return ("rename: the text for %s is a %s"):format(tostring(word), type(text)) end
  end
  if plot.kind == "cumulative" and (plot.x or plot.yrange) then
    return "kind: cumulative shares have neither x nor yrange: their axes are the value and the share"
  end
  if not plot.x and plot.kind ~= "cumulative" then return "x is missing: the factor along the x axis" end
end

--- Whether a text, such as a word of the command line, is a level of a factor.
function M.is_level(level, text)
  return level == text or tostring(level) == tostring(text) or tonumber(text) ~= nil and level == tonumber(text)
end

--- The levels of a factor in the order of the figure: the listed ones first.
local function ordered(factor, list)
  local out, taken = {}, {}
  for _, wanted in ipairs(list) do
    local before = #out
    for _, level in ipairs(factor.levels) do
      if not taken[level] and M.is_level(level, wanted) then out[#out + 1], taken[level] = level, true end
    end
    if #out == before then return nil, ("order: %s has no value %s"):format(factor.name, tostring(wanted)) end
  end
  for _, level in ipairs(factor.levels) do
    if not taken[level] then out[#out + 1] = level end
  end
  return out
end

local function check_order(plot, factors)
  local known = {}
  for _, f in ipairs(factors) do known[f.name] = f end
  for name, list in sorted(plot.order or {}) do
    if not known[name] then return "order: " .. fields.sentence(name, known, "factor") end
    if type(list) ~= "table" then return ("order: %s must be a list of values"):format(name) end
    local _, err = ordered(known[name], list)
    if err then return err end
  end
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
      return ("factor %s has no role, so its values would overlap; name it by x, lines, facet or rows"):format(f.name)
    end
  end
end

local function check_x(plot, factors)
  for _, f in ipairs(factors) do
    local places = f.text or plot.kind == "violin" or (plot.order or {})[f.name] -- texts have places, not values
    for _, name in ipairs { "logx", "xrange" } do
      if f.name == plot.x and plot[name] and places then return ("%s: the values of %s are texts"):format(name, f.name) end
    end
    if plot.logx and f.name == plot.x then
      for _, v in ipairs(f.levels) do
        if v <= 0 then return ("logx: %s has the value %s"):format(f.name, v) end
      end
    end
  end
end

--- Check the description of a figure; return the error.
---@param factors { name: string, levels: any[], text: boolean }[]
---@param columns string[] what y, low and high may be
---@return string? err
function M.wrong(plot, factors, columns)
  local err = check_fields(plot) or check_roles(plot, factors) or check_order(plot, factors) or check_x(plot, factors)
  if err then return err end
  local known = {}
  for _, name in ipairs(columns) do known[name] = true end
  for _, field in ipairs { "y", "low", "high" } do
    local name = plot[field] or field == "y" and "median"
    if name and not known[name] then return ("%s: %s"):format(field, fields.sentence(name, columns, "column")) end
    if plot[field] and (plot.kind or "lines") ~= "lines" then return field .. ": a distribution is one of all samples" end
  end
end

--- The factors of a run, with the values that occur in its table.
local function factors_of(run, order)
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
      factor.levels = ordered(factor, (order or {})[f.name] or {}) or factor.levels
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

local times = { -- the largest unit of which the highest value is one at least
  { 1, "ns" }, { 1e3, "µs" }, { 1e6, "ms" }, { 1e9, "s" }, ns = 1, us = 1e3, ["µs"] = 1e3, ms = 1e6, s = 1e9,
}
local sizes = {
  { 1, "bytes" }, { 2 ^ 10, "KiB" }, { 2 ^ 20, "MiB" }, { 2 ^ 30, "GiB" }, { 2 ^ 40, "TiB" }, B = 1, byte = 1, bytes = 1,
}

--- By what the values of an axis are multiplied, and their unit then.
local function scale_of(unit, range, log)
  local high = log and (range[1] * range[2]) ^ 0.5 or math.max(math.abs(range[1]), math.abs(range[2]))
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

--- The text for a value, factor or column in the figure.
local function renamed(plot, word, otherwise)
  return plot.rename and plot.rename[tostring(word)] or otherwise or word
end

local function set_factor(set, role, f, plot)
  set(role, f and f.column or 0)
  set(role .. "_text", f and f.text and 1 or 0)
  set(role .. "_label", f and with_unit(renamed(plot, f.name), f.unit) or "")
  set(role .. "_name", f and renamed(plot, f.name) or "")
  set(role .. "_levels", f and joined(f.levels) or "-")
  set(role .. "_words", f and joined(f.levels, function(v) return renamed(plot, v, short(v, f.unit)) end) or "-")
end

--- The ends of an axis for values from least to most.
local function ends(least, most, how)
  local low, high
  if how.log then
    local margin = how.share and (least == most and 2 or (most / least) ^ how.share) or 1.3
    low, high = least / margin, most * margin
  elseif how.share then
    local margin = least == most and 1 or how.share * (most - least)
    low, high = least - margin, most + margin
  else
    low, high = least >= 0 and 0 or least * 1.08, most > 0 and most * 1.08 or 0
    if low == high then low, high = -1, 1 end
  end
  return how.given.low or low, how.given.high or high
end

--- Set the ends of an axis for each panel. With a free scale they depend on the panel's values only.
local function set_ends(set, axis, all, panels, how)
  local from, to = {}, {}
  for i, panel in ipairs(panels) do
    local v = how.free and panel[1] and panel or all
    local low, high = ends(v[1], v[2], how)
    if how.log and low <= 0 then return ("log%s: the axis begins at %.6g"):format(axis, low) end
    if low >= high then return ("%srange: no value lies in it"):format(axis) end
    from[i], to[i] = ("%.17g"):format(low), ("%.17g"):format(high)
  end
  set(axis .. "_from", table.concat(from, " "))
  set(axis .. "_to", table.concat(to, " "))
end

local function widen(range, v)
  if v then range[1], range[2] = math.min(range[1] or v, v), math.max(range[2] or v, v) end
end

--- The smallest and the largest value of all points and of each panel, row by row. A point has values, and levels by role.
local function extents(points, facet, rows)
  local all, panels, at = {}, {}, {}
  for _, r in ipairs(rows and rows.levels or { "" }) do
    at[r] = {}
    for _, f in ipairs(facet and facet.levels or { "" }) do
      panels[#panels + 1] = {}
      at[r][f] = panels[#panels]
    end
  end
  for _, p in ipairs(points) do
    local panel = (at[p.rows or ""] or {})[p.facet or ""] or {}
    for _, v in ipairs(p) do
      widen(all, v)
      widen(panel, v)
    end
  end
  return all, panels
end

local function points_of(run, by_role, values_of)
  local out = {}
  for i, row in ipairs(run.data.rows) do
    out[i] = values_of(row)
    for _, role in ipairs { "facet", "rows" } do out[i][role] = by_role[role] and row[by_role[role].name] end
  end
  return out
end

local function set_x(set, plot, by_role, run)
  local x = by_role.x
  local all, panels = extents(points_of(run, by_role, function(row) return { not x.text and row[x.name] or nil } end),
    by_role.facet, by_role.rows)
  if x.text then all, panels = { 0.5, #x.levels + 0.5 }, panels else table.sort(x.levels) end
  local chosen = false
  for _, v in ipairs(x.levels) do chosen = chosen or renamed(plot, v) ~= v end
  set("logx", plot.logx and 1 or 0)
  set("x_tics", (x.text or (plot.logx or chosen) and #x.levels <= MOST_TICS) and 1 or 0)
  return set_ends(set, "x", all, panels, { log = plot.logx, given = plot.xrange or {}, share = x.text and 0 or 0.03,
    free = not x.text and (plot.free or ""):find "x" })
end

local function set_y(set, plot, by_role, run)
  local y = plot.y or "median"
  local place = run.data.position
  local low, high = plot.low or plot.high and y or y .. "_lo", plot.high or plot.low and y or y .. "_hi"
  local both = place[low] and place[high]
  local all, panels = extents(points_of(run, by_role, function(row)
    local out = {}
    for _, name in ipairs(both and { y, low, high } or { y }) do out[#out + 1] = row[name] end
    return out
  end), by_role.facet, by_role.rows)
  if not all[1] then return ("no cell has a value of %s"):format(y) end
  if plot.logy and all[1] <= 0 then return ("logy: %s has the value %.6g"):format(y, all[1]) end
  local column = run.data.columns[place[y]]
  local scale, unit = scale_of(column.unit, all, plot.logy)
  for _, range in ipairs(table.move(panels, 1, #panels, 2, { all })) do
    if range[1] then range[1], range[2] = range[1] * scale, range[2] * scale end
  end
  set("y", place[y])
  set("y_low", both and place[low] or 0)
  set("y_high", both and place[high] or 0)
  set("y_scale", scale)
  set("y_label", with_unit(renamed(plot, y, times[column.unit] and y .. " time"), unit))
  set("logy", plot.logy and 1 or 0)
  return set_ends(set, "y", all, panels, { log = plot.logy, given = plot.yrange or {}, free = (plot.free or ""):find "y" })
end

--- Violins lie along x, cumulative shares along y; both are drawn of distribution.dat.
local function set_distribution(set, plot, by_role, run)
  local curves, err = require "pmlua.internal.experiment.distribution".of(run, by_role, plot)
  if not curves then return err end
  local all, panels = extents(curves.points, by_role.facet, by_role.rows)
  local unit = tostring(run.meta.unit or "")
  local axis, log = "y", plot.logy
  if plot.kind == "cumulative" then axis, log = "x", plot.logx end
  if log and all[1] <= 0 then return ("log%s: a sample has the value %.6g"):format(axis, all[1]) end
  local scale, scaled = scale_of(unit, all, log)
  for _, range in ipairs(table.move(panels, 1, #panels, 2, { all })) do
    if range[1] then range[1], range[2] = range[1] * scale, range[2] * scale end
  end
  set("y_scale", scale)
  set("logy", plot.logy and 1 or 0)
  local label = with_unit(renamed(plot, "sample", times[unit] and "time"), scaled)
  local values = { log = log, given = plot[axis .. "range"] or {}, share = log and 0.03 or nil,
    free = (plot.free or ""):find(axis) }
  if plot.kind == "cumulative" then
    set("logx", log and 1 or 0)
    set("x_tics", 0)
    set("x_label", label)
    set("y_label", "share of the samples")
    err = set_ends(set, "y", { 0, 1 }, panels, { given = { low = 0, high = 1.04 } })
  else
    set("y_label", label)
    err = set_x(set, plot, by_role, run)
  end
  return err or set_ends(set, axis, all, panels, values), dat.format(curves.table)
end

--- The variables with which plots/lines.gp draws the figure of a run: names and values, numbers or texts.
---@param run table from pmlua.results
---@return { [1]: string, [2]: number|string }[]?, string? err
---@return string? distribution text of distribution.dat, for violins and cumulative shares
function M.variables(run)
  local plot, factors = run.meta.plot, factors_of(run)
  local err = M.wrong(plot, factors, number_columns(run))
  if err then return nil, "plot: " .. err end
  local by_role, out, distribution = {}, {}, nil
  for _, f in ipairs(factors_of(run, plot.order)) do
    for i, role in ipairs(roles) do
      if plot[role] == f.name then
        by_role[role] = f
        f.text = f.text or role == "x" and (plot.kind == "violin" or (plot.order or {})[f.name] ~= nil)
        if (plot.kind or "lines") ~= "lines" then f.column = i end -- see distribution.lua
      end
    end
  end
  local function set(name, value) out[#out + 1] = { "figure_" .. name, value } end
  set("kind", plot.kind or "lines")
  for _, role in ipairs(roles) do set_factor(set, role, by_role[role], plot) end
  if (plot.kind or "lines") ~= "lines" then
    err, distribution = set_distribution(set, plot, by_role, run)
  else
    err = set_x(set, plot, by_role, run) or set_y(set, plot, by_role, run)
  end
  if err then return nil, "plot: " .. err end
  return out, nil, distribution
end

return M
