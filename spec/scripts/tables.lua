-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/tables.lua - helpers for the specs of the experiments: run an experiment by its command, read its tables.

local assert = require "luassert"
local lfs = require "lfs"

local shell = require "spec.shell"
local support = require "spec.core.support"
package.path = "scripts/?.lua;" .. package.path -- where modules of experiments are

local M = {}

M.pmlua = support.build .. "/pmlua"

--- The output of a command, both streams, and its exit status.
function M.shell(command)
  return shell.sh(command, 900)
end

M.folder = support.folder

local function decoded(word)
  return word == "-" and word or (word:gsub("%%(%x%x)", function(code) return string.char(tonumber(code, 16)) end))
end

--- A table of a folder: rows by column name, all values as text; and which columns are text by their unit.
function M.words(path)
  local names, text, rows, named = {}, {}, {}, false
  for line in io.lines(path) do
    local i, name, unit = line:match "^# column (%d+): (%S+) %[([^%]]*)%]"
    if i then
      names[tonumber(i)], text[name] = name, unit == "text"
    elseif not named and line == table.concat(names, " ") then named = true
    elseif line:sub(1, 1) ~= "#" and line:find "%S" then
      local row, k = {}, 0
      for word in line:gmatch "%S+" do
        k = k + 1
        row[names[k]] = text[names[k]] and decoded(word) or word
      end
      assert.equal(#names, k, path .. ": a row has as many values as there are columns")
      rows[#rows + 1] = row
    end
  end
  return rows, text
end

--- The same with numbers as numbers ("NaN" is nil).
function M.read(path)
  local rows, text = M.words(path)
  for _, row in ipairs(rows) do
    for name, word in pairs(row) do
      if word == "NaN" then row[name] = nil
      elseif not text[name] then row[name] = tonumber(word) or error(word) end
    end
  end
  return rows
end

--- Run scripts/NAME.lua --quick in a new folder: its output, its exit status, the folder with its results.
function M.run(name, arguments, environment)
  local out = support.folder()
  local text, status = M.shell(("env %s %s scripts/%s.lua --quick --seed 7 -o %s %s"):format(environment or "", M.pmlua, name,
    out, arguments or ""))
  return text, status, ("%s/%s/latest"):format(out, name)
end

--- Run an experiment that must succeed: its output, the folder, its table of cells.
function M.measure(name, arguments, environment)
  local text, status, dir = M.run(name, arguments, environment)
  assert.equal(0, status, text)
  return text, dir, M.read(dir .. "/data.dat")
end

--- Check that each argument is refused in one line that names it, and leaves no results; for misuse, a second line points to
--- the help.
function M.refuses(name, arguments)
  for argument, says in pairs(arguments) do
    local text, status, dir = M.run(name, "--no-plot " .. argument)
    assert.is_not.equal(0, status, argument)
    assert.is_nil(lfs.attributes(dir), argument)
    assert.truthy(text:find(says, 1, true), argument .. ": " .. text)
    assert.matches("^[^\n]*\n" .. (text:find "\nsee " and "see 'pmlua [^\n]+ %-%-help'\n" or "") .. "$", text)
  end
end

--- Whether the run has a picture; true without gnuplot.
function M.drawn(dir)
  return lfs.attributes(dir .. "/plot.svg", "mode") == "file" or not M.shell("command -v gnuplot"):find "gnuplot"
end

return M
