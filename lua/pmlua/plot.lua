-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/plot.lua - the figure of a run: SVG and PNG by gnuplot, from nothing but the files of its folder.
--
-- Try:  pmlua plot results/read_overhead/latest
--
-- The folder gets its own plot.gp and theme.gp, and run.gp with what the figure says about the run, so that gnuplot alone
-- draws it again, years later, edited or not.

local lfs = require "lfs"
local results = require "pmlua.results"

local M = {}

local formats = { "svg", "png" }
local time_limit_s = 120

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- A gnuplot string in double quotes takes escapes and, in labels, no line feeds.
local function gnuplot_string(text)
  return '"' .. tostring(text):gsub("%c+", " "):gsub('[\\"]', "\\%0") .. '"'
end

local function slurp(path)
  local f, err = io.open(path, "rb")
  if not f then return nil, err end
  local text = f:read("a")
  f:close()
  return text
end

-- plots/ of the checkout or the installation, known from where this module lies.
local function plots_folder()
  local ok, pml = pcall(require, "pmlua")
  if ok and pml.paths and pml.paths.plots then return pml.paths.plots end
  local here = debug.getinfo(1, "S").source:match("^@(.*)lua/pmlua/plot%.lua$")
  return (here and here ~= "" and here or "./") .. "plots"
end

--- The gnuplot script of a name: beside the experiment's script, in ../plots of it, or among pmlua's own.
---@param stem string
---@param script string? path of the experiment's script
---@return string? path
---@return string? err
function M.find(stem, script)
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
  return nil, ("there is no plot %s.gp in %s"):format(stem, table.concat(places, ", "))
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
  return table.concat(parts, " · ")
end

--- The tables that are there, each between blanks: a run that was killed lacks those that are written at its end.
local function data_files(path)
  local names = {}
  for name in lfs.dir(path) do
    if name:find "^[%w_%-]+%.dat$" then names[#names + 1] = name end
  end
  table.sort(names)
  return (" %s "):format(table.concat(names, " "))
end

local function run_gp(run)
  local meta, out = run.meta, {}
  local function set(name, value) out[#out + 1] = ("%s = %s"):format(name, value) end
  out[1] = "# written by pmlua from meta.json and data.dat; plot.gp reads it through theme.gp"
  set("run_name", gnuplot_string(meta.name))
  set("run_description", gnuplot_string(meta.description or ""))
  set("run_unit", gnuplot_string(meta.unit or ""))
  set("run_command", gnuplot_string(table.concat(type(meta.command) == "table" and meta.command or {}, " ")))
  set("run_status", gnuplot_string(run.status))
  set("run_complete", run.complete and 1 or 0)
  set("run_subtitle", gnuplot_string(subtitle(meta)))
  set("run_cells", #run.data.rows)
  local factors = {}
  for i, f in ipairs(meta.factors or {}) do factors[i] = tostring(f.name) end
  set("run_factors", #factors)
  set("run_factor_names", gnuplot_string(table.concat(factors, ", ")))
  for i, c in ipairs(run.data.columns) do set("c_" .. c.name:gsub("[^%w_]", "_"), i) end
  set("run_files", gnuplot_string(data_files(run.path)))
  return table.concat(out, "\n") .. "\n"
end

local function copy_scripts(run, options)
  if lfs.attributes(run.path .. "/plot.gp", "mode") and not options.refresh then return true end
  local note
  local path, err = M.find(options.stem or run.meta.plot or "generic", options.script or run.meta.script)
  if not path then
    note, path = err, M.find("generic")
  end
  if not path then return nil, note end
  for name, from in pairs { ["plot.gp"] = path, ["theme.gp"] = M.find("theme", path) or "theme.gp" } do
    local text, why = slurp(from)
    if not text then return nil, why end
    local ok, no_write = run:write(name, text)
    if not ok then return nil, no_write end
  end
  return true, note
end

-- gnuplot says '"plot.gp" line 12: text' after the line itself and a caret; people want one line.
local function one_line(output, dir)
  for line in output:gmatch("[^\n]+") do
    local file, number, text = line:match('^%s*"([^"]+)",? line (%d+): (.*)$')
    if file and not text:find("^warning") then return ("%s/%s:%s: %s"):format(dir, file, number, text) end
  end
  return ("%s/plot.gp: %s"):format(dir, output:match("(%S[^\n]*)%s*$") or "gnuplot failed and said nothing")
end

local function gnuplot(run, format, program)
  local temporary = (".plot.%s.tmp"):format(format)
  local command = ("cd %s && timeout %d %s -e %s plot.gp 2>&1 </dev/null"):format(quote(run.path), time_limit_s, program,
    quote(("format='%s'; output_file='%s'"):format(format, temporary)))
  local pipe, err = io.popen(command, "r")
  if not pipe then return nil, err end
  local output = pipe:read("a") or ""
  local ok, _, code = pipe:close()
  local path = ("%s/plot.%s"):format(run.path, format)
  if ok and (lfs.attributes(run.path .. "/" .. temporary, "size") or 0) > 0 then
    local renamed, why = os.rename(run.path .. "/" .. temporary, path)
    if not renamed then return nil, why end
    return path
  end
  os.remove(run.path .. "/" .. temporary)
  if code == 124 then return nil, ("%s/plot.gp: gnuplot took longer than %d s"):format(run.path, time_limit_s) end
  return nil, one_line(output, run.path)
end

local function is_here(program)
  return (os.execute("command -v " .. program .. " >/dev/null 2>&1"))
end

local function anything_measured(data)
  for _, row in ipairs(data.rows) do
    if (row.samples or 0) > 0 then return true end
  end
  return false
end

---@class pmlua.PlotOptions
---@field stem? string name of the plot; otherwise what meta.json says, or generic
---@field script? string the experiment's script, to look beside it
---@field refresh? boolean replace the folder's own plot.gp and theme.gp
---@field gnuplot? string the program

--- Draw the figure of a run.
---@param dir string
---@param options? pmlua.PlotOptions
---@return string[]? files
---@return string? err beside files: a remark
function M.draw(dir, options)
  options = options or {}
  local run, err = results.open(dir)
  if not run then return nil, err end
  if not anything_measured(run.data) then return nil, run.path .. ": nothing to plot, no cell was measured" end
  local ok, note = copy_scripts(run, options)
  if not ok then return nil, note end
  ok, err = run:write("run.gp", run_gp(run))
  if not ok then return nil, err end
  local program = options.gnuplot or "gnuplot"
  if not is_here(program) then
    return nil, ("%s: the data are there, the plot is not: gnuplot is not installed (apt-get install gnuplot-nox), "
      .. "then pmlua plot %s"):format(run.path, run.path)
  end
  local files = {}
  for i, format in ipairs(formats) do
    files[i], err = gnuplot(run, format, program)
    if not files[i] then return nil, err end
  end
  return files, note, run
end

return M
