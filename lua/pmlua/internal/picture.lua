-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/picture.lua - plot data in memory with gnuplot: a script of plots/, its data, an output file.
--
-- Try:  pmlua report DIR --plot sections.svg
--
-- Experiments store their data and are plotted by plot.lua; here all files except the picture are temporary. gnuplot and dot run
-- in a separate folder, without a shell, and confined: they cannot start programs, regardless of the text in the data.

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local quote = require "pmlua.internal.quote"
local temporary = require "pmlua.internal.temporary"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

local M = {}

local TIME_LIMIT_S = 60

--- Write a file, whole or not at all, through no link.
M.write = disk.write

--- Call f with a folder that is gone afterwards; its two results.
function M.in_folder(f) return temporary.with("plot", f) end

local package_of = { gnuplot = "gnuplot-nox", dot = "graphviz" }

local function failed(code, text, remedy, said)
  local _, failure = refuse(code, text, remedy)
  return nil, failure, said or ""
end

--- Run gnuplot or Graphviz's dot; return its output, or the failure and the output.
---@param options { folder: string, confined?: boolean, seconds?: integer } confined unless that is false
---@return string? output, pmlua.Failure? failure ENOENT: not installed
---@return string? said
function M.run(words, options)
  local seconds = options.seconds or TIME_LIMIT_S
  local status, output, code = core.tool.run(words,
    { folder = options.folder, seconds = seconds, confined = options.confined ~= false })
  local program = words[1]
  if status == 0 then return output end
  if status then return failed("ECANCELED", program .. " failed", nil, output) end
  if code == "ETIMEDOUT" then return failed(code, ("%s took longer than %d s"):format(program, seconds)) end
  if code == "ENOENT" then
    local package = package_of[program:match "gnuplot" or program] or program
    return failed(code, program .. " is not installed", "apt-get install " .. package)
  end
  return failed(code, ("cannot run %s: %s"):format(program, output))
end

--- An array of texts for gnuplot's scripts.
function M.array(name, texts)
  local words = {}
  for i, text in ipairs(texts) do words[i] = quote.gnuplot(text) end
  return ("array %s[%d] = [%s]"):format(name, #texts, table.concat(words, ", "))
end

--- The words that run gnuplot on a script, without the user's settings.
function M.gnuplot_words(script, format, file, program)
  local setting = ("format=%s; output_file=%s"):format(quote.gnuplot(format), quote.gnuplot(file))
  return { program or "gnuplot", "-d", "-e", setting, script }
end

--- Run a script in its folder; return its output.
function M.gnuplot(folder, script, format)
  local output, err, said = M.run(M.gnuplot_words(script, format or "", "picture"), { folder = folder })
  if output then return output end
  local line = said:match("line %d+: ([^\n]*)")
  if line then return refuse("EFORMAT", line) end
  return nil, err
end

--- The picture that was drawn in the folder, under the name that it shall have.
M.keep = try.catching(function(folder, path)
  return M.write(path, try(disk.read(folder .. "/picture")))
end)

--- The variables that theme.gp reads, and further lines.
function M.run_gp(title, lines)
  local subtitle = ("pmlua %s, %s"):format(core.version, os.date("!%Y-%m-%d %H:%M:%S UTC"))
  return table.concat({ "run_name = " .. quote.gnuplot(title), "run_subtitle = " .. quote.gnuplot(subtitle), "run_complete = 1",
    'run_status = ""', table.concat(lines, "\n") }, "\n") .. "\n"
end

--- theme.gp and STEM.gp of pmlua's own, by name.
---@return table<string, string>? texts, pmlua.Failure? failure
M.scripts = try.catching(function(stem)
  local plots = require "pmlua".paths.plots
  if not plots then return refuse("ENOENT", "cannot find pmlua's folder of plots") end
  local texts = {}
  for _, name in ipairs { "theme.gp", stem .. ".gp" } do
    texts[name] = try(disk.read(plots .. "/" .. name))
  end
  return texts
end)

local function write_all(folder, files)
  for name, text in pairs(files) do try(M.write(folder .. "/" .. name, text)) end
end

--- Draw plots/STEM.gp.
---@param files table<string, string> text by name: run.gp and data
---@param path string .svg or .png
---@return boolean? ok, pmlua.Failure? failure one line
M.draw = try.catching(function(stem, files, path)
  local scripts = try(M.scripts(stem))
  return M.in_folder(function(folder)
    write_all(folder, scripts)
    write_all(folder, files)
    try(M.gnuplot(folder, stem .. ".gp", path:match("%.(%a+)$")))
    return M.keep(folder, path)
  end)
end)

return M
