-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/picture.lua - one picture by gnuplot from data at hand: a script of plots/, its data, a file.
--
-- Try:  pmlua report DIR --plot sections.svg
--
-- Experiments keep their data and draw by plot.lua; here all but the picture is gone afterwards.

local core = require "pmlua.core"

local M = {}

local TIME_LIMIT_S = 60

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- A gnuplot string: in double quotes it takes escapes, and in labels no line feeds.
function M.string(text)
  return '"' .. tostring(text):gsub("%c+", " "):gsub('[\\"]', "\\%0") .. '"'
end

function M.write(path, text)
  local f <close>, err = io.open(path, "w")
  if not f then return nil, err end
  local written, refused = f:write(text)
  return written and true, refused
end

--- Call f with a folder that is gone afterwards; its two results.
function M.in_folder(f)
  local folder, refused = require("pmlua.temporary").folder "plot"
  if not folder then return nil, refused end
  local result, err = f(folder)
  os.execute("rm -rf " .. quote(folder))
  return result, err
end

local package_of = { gnuplot = "gnuplot-nox", dot = "graphviz" }

--- Run gnuplot or Graphviz's dot in the folder; what it printed, or why not, and that.
---@return string? output
---@return string? err
---@return string? said
function M.run(folder, program, arguments)
  local pipe = io.popen(("cd %s && timeout %d %s %s 2>&1 </dev/null"):format(quote(folder), TIME_LIMIT_S, program, arguments))
  local output = pipe:read("a")
  local ok, _, code = pipe:close()
  if ok then return output end
  if not os.execute(("command -v %s >/dev/null 2>&1"):format(program)) then
    return nil, ("%s is not installed (apt-get install %s)"):format(program, package_of[program]), ""
  end
  if code == 124 then return nil, ("%s took longer than %d s"):format(program, TIME_LIMIT_S), "" end
  return nil, program .. " failed", output
end

--- Run a script in its folder; what it printed.
function M.gnuplot(folder, script)
  local output, err, said = M.run(folder, "gnuplot", script)
  if output then return output end
  return nil, said:match("line %d+: ([^\n]*)") or err
end

--- The picture that was drawn in the folder, under the name that it shall have.
function M.keep(folder, path)
  local moved = os.execute(("cp %s/picture %s 2>/dev/null"):format(quote(folder), quote(path)))
  if not moved then return nil, path .. ": cannot be written" end
  return true
end

--- What theme.gp reads, and further lines.
---@param title string
---@param lines string[]
---@return string
function M.run_gp(title, lines)
  local subtitle = ("pmlua %s, %s"):format(core.version, os.date("!%Y-%m-%d %H:%M:%S UTC"))
  return table.concat({ "run_name = " .. M.string(title), "run_subtitle = " .. M.string(subtitle), "run_complete = 1",
    'run_status = ""', table.concat(lines, "\n") }, "\n") .. "\n"
end

--- Draw plots/STEM.gp.
---@param stem string
---@param files table<string, string> text by name: run.gp and data
---@param path string .svg or .png
---@return boolean? ok
---@return string? err one line
function M.draw(stem, files, path)
  local plots = require "pmlua".paths.plots
  if not plots then return nil, "pmlua's folder of plots is not found" end
  return M.in_folder(function(folder)
    for name, text in pairs(files) do
      local ok, err = M.write(folder .. "/" .. name, text)
      if not ok then return nil, err end
    end
    local copied = os.execute(("cp %s/theme.gp %s/%s.gp %s"):format(quote(plots), quote(plots), stem, quote(folder)))
    if not copied then return nil, ("%s: theme.gp or %s.gp cannot be read"):format(plots, stem) end
    local options = quote(("format='%s'; output_file='picture'"):format(path:match("%.(%a+)$")))
    local done, why = M.gnuplot(folder, ("-e %s %s.gp"):format(options, stem))
    if not done then return nil, why end
    return M.keep(folder, path)
  end)
end

return M
