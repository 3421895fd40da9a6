-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/plot.lua - the figure of a run: SVG and PNG by gnuplot, from nothing but the files of its folder.
--
-- Try:  pmlua plot results/read_overhead/latest
--
-- The folder gets plot.gp and theme.gp, and run.gp with what the figure says about the run, so that gnuplot alone draws it
-- again, years later, edited or not. A folder may come from anybody: pmlua draws it with its own scripts, from copies of the
-- tables, in a gnuplot that can start nothing. The folder's own plot.gp runs only where the caller trusts it.

local core = require "pmlua.core"
local fields = require "pmlua.internal.fields"
local dat = require "pmlua.internal.dat"
local disk = require "pmlua.internal.file"
local figure = require "pmlua.internal.experiment.figure"
local lfs = require "lfs"
local lists = require "pmlua.internal.lists"
local picture = require "pmlua.internal.picture"
local quote = require "pmlua.internal.quote"
local selection = require "pmlua.internal.experiment.selection"
local results = require "pmlua.results"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

---@class pml.plot
local M = {}

local formats = { "svg", "png" }
local FORMAT_OF <const> = { svg = "svg", png = "png", pdf = "pdf", eps = "eps" }
local TIME_LIMIT_S = 120

-- plots/ of the checkout or the installation, known from where this module lies.
local function plots_folder()
  local ok, pml = pcall(require, "pmlua")
  if ok and pml.paths and pml.paths.plots then return pml.paths.plots end
  local here = debug.getinfo(1, "S").source:match("^@(.*)lua/pmlua/plot%.lua$")
  return (here and here ~= "" and here or "./") .. "plots"
end

--- The gnuplot script of a name: beside the experiment's script, in ../plots of it, or among pmlua's own.
---@param stem any
---@param script string? path of the experiment's script; it must be one that was run, not one that a file names
---@return string? path, pmlua.Failure? failure
function M.find(stem, script)
  if type(stem) ~= "string" or not stem:find "^[%w_-]+$" then
    return refuse("EINVAL", ("%s is not the name of a plot"):format(quote.plain(stem)), "use letters, digits, _ and -")
  end
  local places = { plots_folder() }
  local folder = script and (script:match("^(.*)/[^/]*$") or ".")
  if folder then
    table.insert(places, 1, folder .. "/../plots")
    table.insert(places, 1, folder)
  end
  for _, place in ipairs(places) do
    local path = ("%s/%s.gp"):format(place, stem)
    if lfs.attributes(path, "mode") == "file" then return path end
  end
  return refuse("ENOENT", ("no plot %s.gp in %s"):format(stem, table.concat(places, ", ")), "write it, or omit plot")
end

local function subtitle(meta)
  local m, v = meta.machine or {}, meta.versions or {}
  local parts = {}
  parts[#parts + 1] = m.cpu
  if type(meta.simulation) == "table" then parts[#parts + 1] = "simulated by callgrind" end
  if m.virtual then parts[#parts + 1] = "virtual machine" end
  if m.pmu == false then parts[#parts + 1] = "no PMU" end
  if v.kernel then parts[#parts + 1] = "Linux " .. v.kernel end
  if type(meta.started) == "string" then parts[#parts + 1] = meta.started end
  if v.pmlua then parts[#parts + 1] = "pmlua " .. v.pmlua end
  local n, rounds = tonumber(meta.samples), tonumber(meta.rounds_done)
  if n and rounds and rounds > 0 then
    parts[#parts + 1] = ("n = %.0f in %.0f round%s"):format(n, rounds, rounds == 1 and "" or "s")
  end
  return table.concat(parts, " · ")
end

--- Names of the tables in the folder: a run that was killed lacks those that are written at its end.
---@return string[]? names, pmlua.Failure? failure
local function tables_of(path)
  local names, entries, err = {}, disk.names(path)
  if err then return nil, err end
  for _, name in ipairs(entries) do
    if name:find "^[%w_%-]+%.dat$" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function factor_names(meta)
  return lists.map(meta.factors or {}, function(f) return tostring(type(f) == "table" and f.name or f) end)
end

local function command_of(meta)
  local words = lists.map(type(meta.command) == "table" and meta.command or {}, tostring)
  return table.concat(words, " ")
end

--- Names of the metrics, the columns that they have in a table, and their units, as words.
local function metrics_of(run, t)
  local names, places, units = {}, {}, {}
  for _, m in ipairs(type(run.meta.metrics) == "table" and run.meta.metrics or {}) do
    local name = dat.word(type(m) == "table" and m.name or m)
    local place = t.position[name]
    if place then names[#names + 1], places[#places + 1], units[#units + 1] = name, place, dat.word(t.columns[place].unit) end
  end
  return table.concat(names, " "), table.concat(places, " "), table.concat(units, " ")
end

local function kinds_of(run, factors)
  local kinds = {}
  for i, name in ipairs(factors) do
    local place = run.data.position[name]
    kinds[i] = place and run.data.columns[place].unit ~= "text" and "number" or "text"
  end
  return table.concat(kinds, " ")
end

local function units_of(run, factors)
  local units = {}
  for i, name in ipairs(factors) do
    local place = run.data.position[name]
    units[i] = dat.word(place and run.data.columns[place].unit or "")
  end
  return table.concat(units, " ")
end

local function run_gp(run, tables, variables, options, commented)
  local meta, out = run.meta, {}
  local function set(name, value) out[#out + 1] = ("%s = %s"):format(name, value) end
  out[1] = "# written by pmlua from meta.json and data.dat; plot.gp reads it through theme.gp"
  if not commented then out[2] = "set datafile columnheaders" end
  set("run_name", quote.gnuplot(options.title or meta.name))
  set("run_description", quote.gnuplot(options.title and "" or tostring(meta.description or ""):match "^[^\n]*")) -- one line
  if options.width then
    set("plot_width", options.width)
    set("plot_height", options.height)
  end
  set("run_unit", quote.gnuplot(meta.unit or ""))
  set("run_command", quote.gnuplot(command_of(meta)))
  set("run_status", quote.gnuplot(run.status))
  set("run_complete", run.complete and 1 or 0)
  set("run_subtitle", quote.gnuplot(subtitle(meta)))
  set("run_cells", #run.data.rows)
  local factors = factor_names(meta)
  set("run_factors", #factors)
  set("run_factor_names", quote.gnuplot(table.concat(factors, ", ")))
  set("run_factor_kinds", quote.gnuplot(kinds_of(run, factors)))
  set("run_factor_units", quote.gnuplot(units_of(run, factors)))
  for i, c in ipairs(run.data.columns) do set("c_" .. c.name:gsub("[^A-Za-z0-9_]", "_"), i) end
  local metrics, columns, units = metrics_of(run, run.data)
  set("run_metrics", quote.gnuplot(metrics))
  set("run_metric_columns", quote.gnuplot(columns))
  set("run_metric_units", quote.gnuplot(units))
  set("run_metric_rounds", quote.gnuplot(run.rounds and select(2, metrics_of(run, run.rounds)) or ""))
  for _, variable in ipairs(variables or {}) do
    local value = variable[2]
    set(variable[1], type(value) == "number" and ("%.17g"):format(value) or quote.gnuplot(value))
  end
  set("run_files", quote.gnuplot((" %s "):format(table.concat(tables, " "))))
  return table.concat(out, "\n") .. "\n"
end

--- The script of a figure that a table describes: NAME.gp beside the experiment's script, or lines.gp.
---@return string? path, string? err, table? variables that lines.gp needs
---@return string? distribution text of distribution.dat
local function described(run, options)
  local own = options.script and M.find(run.meta.name, options.script)
  if own and core.sys.realpath(own:match "^(.*)/") ~= core.sys.realpath(plots_folder()) then return own end
  local variables, err, distribution = figure.variables(run)
  if not variables then return nil, err end
  return M.find "lines", nil, variables, distribution
end

local function script_of(run, options)
  if options.stem or type(run.meta.plot) ~= "table" then
    return M.find(options.stem or run.meta.plot or "generic", options.script)
  end
  return described(run, options)
end

--- plot.gp and theme.gp that pmlua or the experiment's script has for this run, and run.gp.
---@return table<string, string>? texts by the names of their files
---@return string? note or the failure
---@return boolean? own the script's, which came with the experiment that was run
local function scripts_for(run, tables, options)
  local note
  local path, err, variables, distribution = script_of(run, options)
  if not path then note, path = err, M.find "generic" end
  if not path then return nil, note end
  local plot, no_plot = disk.read(path)
  local theme, no_theme = disk.read(plots_folder() .. "/theme.gp")
  if not (plot and theme) then return nil, no_plot or no_theme end
  local own = core.sys.realpath(path:match "^(.*)/") ~= core.sys.realpath(plots_folder())
  return { ["plot.gp"] = plot, ["theme.gp"] = theme, ["run.gp"] = run_gp(run, tables, variables, options,
    run.data.commented), ["distribution.dat"] = distribution }, note, own
end

--- Write the scripts to the folder unless it has its own; return a remark if its own plot.gp or theme.gp is not run.
local function furnish(run, scripts, options, own)
  local own_plot, others = disk.read(run.path .. "/plot.gp"), {}
  for _, name in ipairs { "plot.gp", "theme.gp" } do
    local text = disk.read(run.path .. "/" .. name)
    if text and text ~= scripts[name] then others[#others + 1] = name end
  end
  if not own_plot or options.refresh then
    for name, text in pairs(scripts) do try(run:write(name, text)) end
    return true
  end
  if #others == 0 or options.trust or own and own_plot == scripts["plot.gp"] then return true end
  local it, was, them = " is", " was", "it"
  if #others > 1 then it, was, them = " are", " were", "them" end
  return true, ("%s/%s%s not pmlua's and%s not run; --trust runs %s, --refresh replaces %s"):format(run.path,
    table.concat(others, " and "), it, was, them, them)
end

-- gnuplot says '"plot.gp" line 12: text' after the line itself and a caret; people want one line.
local function one_line(output, dir)
  for line in output:gmatch("[^\n]+") do
    local file, number, text = line:match('^%s*"([^"]+)",? line (%d+): (.*)$')
    if file and not text:find("^warning") then return ("%s/%s:%s: %s"):format(dir, file, number, text) end
  end
  local said = output:match "(%S[^\n]*)%s*$"
  return ("%s/plot.gp: %s"):format(dir, said or "gnuplot wrote no picture: does plot.gp set terminal and output?")
end

--- Draw in a folder; the picture, which is made in `scratch`, for the other may hold links.
local function gnuplot(run, format, where)
  local made = ("%s/picture.%s"):format(where.scratch, format)
  local words = picture.gnuplot_words("plot.gp", format, made, where.program)
  local output, err, said = picture.run(words,
    { folder = where.folder, seconds = TIME_LIMIT_S, confined = where.confined })
  if not output and err:is "ETIMEDOUT" then
    return refuse("ETIMEDOUT", ("%s/plot.gp: gnuplot took longer than %d s"):format(run.path, TIME_LIMIT_S))
  elseif not output and not err:is "ECANCELED" then return nil, err, err.code end
  local bytes = output and disk.read(made)
  if not bytes or #bytes == 0 then return refuse("EFORMAT", one_line(output or said, run.path)) end
  return bytes
end

local function gnuplot_all(run, where)
  local files = {}
  for i, format in ipairs(formats) do
    local bytes, err, code = gnuplot(run, format, where)
    if code == "ENOENT" then
      return refuse(code, ("%s: the data are written, the plot is not: %s"):format(run.path, err.text),
        ("%s, then pmlua plot %s"):format(err.remedy, run.path))
    elseif not bytes then return nil, err end
    try(run:write(("plot.%s"):format(format), bytes))
    files[i] = ("%s/plot.%s"):format(run.path, format)
  end
  return files
end

--- The folder's tables, and nothing else of it, beside scripts of ours.
local function copy_to(scratch, run, tables, scripts)
  local files = {}
  for name, text in pairs(scripts) do files[name] = text end
  for _, name in ipairs(tables) do files[name] = disk.read(run.path .. "/" .. name) end
  for name, text in pairs(files) do try(disk.write(scratch .. "/" .. name, text)) end
end

--- A script that is trusted runs in the folder, as the user would run it; any other in a folder of ours, confined.
local function draw_all(run, tables, scripts, trusted, program)
  return picture.in_folder(function(scratch)
    if not trusted then copy_to(scratch, run, tables, scripts) end
    return gnuplot_all(run, { scratch = scratch, folder = trusted and run.path or scratch, confined = not trusted,
      program = program })
  end)
end

--- The scripts and tables of a figure of chosen cells.
local function chosen_files(runs, options)
  local run = try(selection.of(runs, options))
  local variables, wrong, distribution = figure.variables(run)
  if not variables then return refuse("EINVAL", wrong) end
  local scripts = try(picture.scripts "lines")
  return { ["plot.gp"] = scripts["lines.gp"], ["theme.gp"] = scripts["theme.gp"],
    ["run.gp"] = run_gp(run, { "data.dat" }, variables, options), ["data.dat"] = dat.format(selection.table(run)),
    ["distribution.dat"] = distribution }, {}
end

--- The scripts and tables of the run's own figure, read from its folder.
local function run_files(run, options)
  local tables = try(tables_of(run.path))
  return try(scripts_for(run, tables, options)), tables
end

--- A figure into a file of any format.
local function draw_file(runs, options)
  local format = FORMAT_OF[options.out:match "%.(%w+)$"]
  if not format then return refuse("EINVAL", options.out .. ": the name of a figure ends in .svg, .png, .pdf or .eps") end
  local files, tables
  if selection.chosen(runs, options) then
    files, tables = try(chosen_files(runs, options))
  else
    files, tables = run_files(runs[1], options)
  end
  return picture.in_folder(function(scratch)
    copy_to(scratch, runs[1], tables, files)
    local where = { scratch = scratch, folder = scratch, confined = true, program = options.gnuplot }
    try(disk.write(options.out, try(gnuplot(runs[1], format, where))))
    return { options.out }
  end)
end

local function anything_measured(data) return lists.any(data.rows, function(row) return (row.samples or 0) > 0 end) end

---@class pmlua.PlotOptions
---@field stem? string name of the plot; otherwise what meta.json says, or generic
---@field script? string the experiment's script that was run, to look beside it
---@field refresh? boolean replace the folder's own plot.gp and theme.gp
---@field trust? boolean run the folder's own plot.gp, which has all of the user's permissions
---@field gnuplot? string the program
---@field out? string a file instead of plot.svg and plot.png in the folder: .svg, .png, .pdf or .eps
---@field width? integer pixels of 1/96 inch, with out
---@field height? integer
---@field title? string
---@field where? { name: string, value: string }[] only cells with these levels of factors
---@field x? string the factor along the x axis; x and the fields below override the experiment's `plot`
---@field y? string a column of data.dat
---@field low? string the column with the lower ends of y's intervals
---@field high? string
---@field lines? string
---@field facet? string
---@field rows? string
---@field kind? "lines"|"violin"|"cumulative"
---@field logx? boolean
---@field logy? boolean
---@field xrange? { low?: number, high?: number }
---@field yrange? { low?: number, high?: number }
---@field free? "x"|"y"|"xy" axes whose range each panel chooses
---@field order? table<string, any[]> the first values of a factor, in the order of the figure
---@field rename? table<string, string> texts for values, factors and columns

local known_options = {}
for name in ("stem script refresh trust gnuplot out width height title where"):gmatch "%S+" do known_options[name] = true end
for _, f in ipairs(figure.FIELDS) do known_options[f.name] = true end

local function open_measured(dir)
  local run = try(results.open(dir))
  if anything_measured(run.data) then return run end
  return try(refuse("ENODATA", run.path .. ": nothing to plot: no cell was measured"))
end

local function draw(dir, options)
  if options.out then
    local runs = lists.map(type(dir) == "table" and dir or { dir }, open_measured)
    return try(draw_file(runs, options)), nil, runs[1]
  end
  local run = open_measured(dir)
  local tables = try(tables_of(run.path))
  local scripts, note, own = try(scripts_for(run, tables, options))
  local _, remark = try(furnish(run, scripts, options, own))
  for _, name in ipairs { "run.gp", "distribution.dat" } do
    if scripts[name] then try(run:write(name, scripts[name])) end
  end
  local files, err = draw_all(run, tables, scripts, options.trust or own, options.gnuplot)
  return files, err or note or remark, run
end

--- Draw the figure of a run, or with option out one of several runs, which become a factor.
---@param dir string|string[]
---@param options? pmlua.PlotOptions
---@return string[]? files, pmlua.Failure? failure beside files: a remark
function M.draw(dir, options)
  fields.options(options, known_options, "plot.draw")
  local files, remark, run = try.catch(draw, dir, options or {})
  return files, remark, files and run
end

--- One page of a run, which needs no other file: page.html in its folder. Without gnuplot it lacks the figure.
---@param dir string
---@param options? pmlua.PlotOptions
---@return string[]? files, string? err beside files: a remark
function M.page(dir, options)
  local run, err = results.open(dir)
  if not run then return nil, err end
  local files, remark = M.draw(dir, options)
  local page = require "pmlua.internal.experiment.page".of(run, files and disk.read(files[1]))
  local ok, refused = run:write("page.html", require "pmlua.internal.page".text(page))
  if not ok then return nil, refused end
  files = files or {}
  files[#files + 1] = run.path .. "/page.html"
  return files, remark, run
end

return M
