-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/page.lua - the page of a run: its figures, table, samples, machine, script, and how to repeat it.
--
-- Try:  pmlua plot --html results/read_overhead/latest

local archive = require "pmlua.internal.experiment.archive"
local disk = require "pmlua.internal.file"
local lfs = require "lfs"
local page = require "pmlua.internal.page"
local stats = require "pmlua.stats"
local tabulate = require "pmlua.tabulate"

local M = {}

local MOST_CELLS = 200      -- drawn
local MOST_POINTS = 4000    -- rounds drawn, and samples
local MOST_SAMPLES = 20000  -- shown
local MOST_READ = 10000000
local MOST_SCRIPT = 1 << 18 -- bytes of a script that is shown

local word_of = page.word

local function factors_of(run)
  local names = {}
  for i, f in ipairs(type(run.meta.factors) == "table" and run.meta.factors or {}) do
    names[i] = type(f) == "table" and tostring(f.name) or tostring(f)
  end
  return names
end

local function label_of(names, row)
  local parts = {}
  for i, name in ipairs(names) do parts[i] = ("%s=%s"):format(name, tostring(row[name])) end
  return #parts > 0 and table.concat(parts, " "):gsub("_", " ") or "all"
end

local function is_number(v) return type(v) == "number" end

local function is_measured(row) return is_number(row.median) and is_number(row.q1) and is_number(row.q3) end

local function measure(v, unit) return tabulate.number(v) .. (unit ~= "" and " " .. unit or "") end

--- Return the values, or `most` quantiles of them if there are more values.
local function thinned(values, most)
  if #values <= most then return values end
  local all, out = stats.tally(values), {}
  for i = 1, most do out[i] = all:quantile((i - 0.5) / most) end
  return out
end

--- The samples of each cell in the unit of the tables; empty where the folder has none.
local function samples_of(run)
  local of, scale = {}, tonumber(run.meta.scale) or 1
  for _, visit in ipairs(archive.visits(run.path .. "/samples.csv.gz", MOST_READ)) do
    local values = of[visit.cell] or {}
    of[visit.cell] = values
    for _, v in ipairs(visit.values) do values[#values + 1] = v * scale end
  end
  return of
end

local function marks_of(row, label, unit, samples, most)
  local function line(text, style, from, to)
    text = ("%s: %s %s to %s"):format(label, text, measure(from, unit), measure(to, unit))
    return { text = text, style = style, from = from, to = to }
  end
  local marks = {
    line("whiskers", "whiskers", row.whisker_lo or row.q1, row.whisker_hi or row.q3),
    line("quartiles", "quartiles", row.q1, row.q3),
  }
  if is_number(row.median_lo) and is_number(row.median_hi) then
    marks[3] = line("95 % interval of the median", "interval", row.median_lo, row.median_hi)
  end
  marks[#marks + 1] = { style = "median", at = row.median,
    text = ("%s: median %s, %s samples"):format(label, measure(row.median, unit), word_of(row.samples)) }
  if samples then
    local values = thinned(samples, most)
    marks[#marks + 1] = { style = "samples", values = values, text = #values < #samples
      and ("%s: %d quantiles of %d samples"):format(label, #values, #samples) or ("%s: %d samples"):format(label, #samples) }
  end
  return marks
end

--- The medians of the rounds in their order, of so many rounds at most.
local function course_of(rounds, label, unit, most)
  local course, step = {}, math.max((#rounds + most - 1) // most, 1)
  for i = 1, #rounds, step do
    course[#course + 1] = { value = rounds[i].median,
      text = ("%s: round %s, median %s"):format(label, word_of(rounds[i].round), measure(rounds[i].median, unit)) }
  end
  return course
end

local function rounds_of(run)
  local of = {}
  for _, r in ipairs(run.rounds and run.rounds.rows or {}) do
    if r.cell and type(r.median) == "number" then
      of[r.cell] = of[r.cell] or {}
      table.insert(of[r.cell], r)
    end
  end
  return of
end

local ABOUT <const> = "Left, on a %s axis: whiskers within 1.5 IQR, quartiles, median with its 95 %% interval, and below them "
  .. "the samples, those beyond the axis at its end. Right: the medians of the rounds in their order, each cell to its own "
  .. "scale. Rest the mouse on a mark to read it."

local function figure_of(run, samples)
  local names, rounds, unit = factors_of(run), rounds_of(run), tostring(run.meta.unit or "")
  local rows, count = {}, math.min(#run.data.rows, MOST_CELLS)
  local most = MOST_POINTS // math.max(count, 1)
  for i = 1, count do
    local row = run.data.rows[i]
    local label = label_of(names, row)
    rows[i] = { label = label }
    if is_measured(row) then
      rows[i].marks = marks_of(row, label, unit, samples[row.cell], most)
      rows[i].course = course_of(rounds[row.cell] or {}, label, unit, most)
    end
  end
  local more = #run.data.rows > count and (" The first %d of %d cells."):format(count, #run.data.rows) or ""
  return { rows = rows, zero = true, unit = unit, about = ABOUT .. more }
end

local function table_of(run)
  local names, about, rows = {}, {}, {}
  for i, c in ipairs(run.data.columns) do
    names[i] = c.name .. (c.unit and c.unit ~= "" and c.unit ~= "text" and " [" .. c.unit .. "]" or "")
    about[i] = c.description or ""
  end
  for r, row in ipairs(run.data.rows) do
    rows[r] = {}
    for i, c in ipairs(run.data.columns) do
      local v = row[c.name]
      rows[r][i] = c.unit == "text" and v and tostring(v) or v
    end
  end
  return { heading = "Table", names = names, about = about, rows = rows }
end

--- The samples of each cell, or quantiles where there are too many.
local function values_of(run, samples)
  local names, list, cells = factors_of(run), {}, 0
  for _ in pairs(samples) do cells = cells + 1 end
  for _, row in ipairs(run.data.rows) do
    local values = samples[row.cell]
    if values then
      local shown = thinned(values, math.max(MOST_SAMPLES // cells, 1))
      list[#list + 1] = { values = shown, label = ("%s: %s"):format(label_of(names, row), #shown < #values
        and ("%d quantiles of %d samples"):format(#shown, #values) or ("%d samples in their order"):format(#values)) }
    end
    if #list * 100 >= MOST_SAMPLES then break end
  end
  return #list > 0 and { heading = "Samples", values = list, note = ("In %s; samples.csv.gz has all as measured."):format(
    tostring(run.meta.unit or "the unit of the table")) } or {}
end

local function command_of(meta)
  if type(meta.command) ~= "table" or #meta.command == 0 then return nil end
  local line, seed = page.command(meta.command), type(meta.seed) == "number" and math.tointeger(meta.seed)
  return seed and not line:find "%-%-seed" and ("%s --seed %d"):format(line, seed) or line
end

--- The script of the run, if its file is unchanged. The folder names the path, so the file must have the hash in the folder:
--- a page shows no file whose contents the folder's creator did not know.
local function script_of(meta)
  local path, hash = meta.script, meta.script_sha256
  if type(path) ~= "string" or type(hash) ~= "string" then return nil, "the run has no script" end
  local attributes = lfs.attributes(path)
  if not attributes or attributes.mode ~= "file" or attributes.size > MOST_SCRIPT then
    return nil, ("%s is not here; its SHA-256 was %s"):format(path, hash)
  end
  if require "pmlua.internal.experiment.provenance".sha256(path) ~= hash then
    return nil, ("%s has changed since; its SHA-256 was %s"):format(path, hash)
  end
  return disk.read(path)
end

local function script_part(meta)
  local script, why = script_of(meta)
  return { code = script, note = script and ("%s, SHA-256 %s:"):format(meta.script, meta.script_sha256) or why }
end

--- The ratios of a comparison, each with its interval.
---@param cells table[] of compare.compare() or compare.by()
---@return pmlua.page.Part
function M.ratios(heading, cells)
  local rows = {}
  for _, c in ipairs(cells) do
    local row = { label = c.level_b and ("%s / %s"):format(c.level_b, c.level_a) .. (c.label ~= "all" and ", " .. c.label or "")
      or c.label }
    if c.ratio and c.low and #rows < MOST_CELLS then
      local text = ("%s: B/A %.4f, 95 %% interval %.4f to %.4f: %s"):format(row.label, c.ratio, c.low, c.high, c.verdict)
      row.marks = { { style = "interval", from = c.low, to = c.high, text = text },
        { style = "median", at = c.ratio, text = text } }
      rows[#rows + 1] = row
    end
  end
  return #rows > 0 and { heading = heading, figure = { rows = rows, reference = 1,
    about = "B/A with its 95 %% interval, on a %s axis; the line is at 1. Rest the mouse on a mark to read it." } } or {}
end

--- The page of a run; more parts may be inserted before it becomes text.
---@param run pmlua.Folder
---@param svg string? the figure that gnuplot drew
---@return pmlua.page.Page
function M.of(run, svg)
  local meta, samples = run.meta, samples_of(run)
  return {
    title = tostring(meta.name or "run"), about = meta.description, bad = not run.complete,
    state = ("%s, %s rounds, %s samples, started %s"):format(run.status, word_of(meta.rounds_done or "?"),
      word_of(meta.samples or "?"), meta.started or "?"),
    warnings = type(meta.warnings) == "table" and meta.warnings or nil,
    parts = {
      svg and { heading = "Figure", picture = svg } or {}, { heading = "Cells", figure = figure_of(run, samples) }, table_of(run),
      values_of(run, samples), { heading = "Machine", facts = type(meta.machine) == "table" and meta.machine or {} },
      { heading = "Versions", facts = type(meta.versions) == "table" and meta.versions or {} },
      { heading = "How to repeat it", code = command_of(meta) }, script_part(meta),
    },
  }
end

return M
