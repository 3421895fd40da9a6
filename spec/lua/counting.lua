-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/counting.lua - helpers for the specs of pmlua cc --count: compile programs with counting, and read their counts.

local support = require "spec.core.support"

local M = {}

--- Why this machine cannot compile programs with counts, or nil.
function M.missing()
  if not io.open(support.build .. "/lua/pmlua/instrument-14.so") then return "pmlua was built without LLVM 14" end
  if support.shell "command -v clang-14" ~= 0 then return "clang-14 is not installed" end
end

--- Whether this build has the plugin; builds with sanitizers do not.
function M.plugin(version)
  local f <close> = io.open(("%s/preload/libpmlua-instrument-%d.so"):format(support.build, version))
  return f ~= nil
end

--- it(), or pending if programs cannot be compiled with counts.
function M.it(name, f)
  local busted = require "busted"
  local missing = M.missing()
  if missing then return busted.pending(name .. ": " .. missing) end
  return busted.it(name, f)
end

--- The words before the compiler's name: options, and what to count besides operations.
function M.cc(options, count)
  return ("%s cc --count%s %s --"):format(support.quote(support.build .. "/pmlua"), count and "=" .. count or "", options or "")
end

--- Compile C (or C++, by the name of the file) with counts in a new folder.
---@param files table<string, string> texts by name
---@param o { at: string?, flags: string?, count: string? }
---@return string program
---@return string folder
function M.build(files, o)
  o = o or {}
  local dir, sources = support.folder(), {}
  for name, text in pairs(files) do
    support.spit(dir .. "/" .. name, text)
    if not name:find("%.h$") then sources[#sources + 1] = name end
  end
  table.sort(sources)
  local cpp = sources[1] and sources[1]:find("%.cpp$")
  local cc = M.cc("--at=" .. (o.at or "source"), o.count) .. (cpp and " clang++-14 " or " clang-14 ") .. (o.flags or "-O2")
  local command = ("cd %s && %s %s -o program -lm -lpthread"):format(support.quote(dir), cc, table.concat(sources, " "))
  local status, out, err = support.shell(command)
  if status ~= 0 then error(out .. err, 2) end
  return dir .. "/program", dir, err
end

--- The counts that a program reported, by name of event and cell, for each process in the order in which they ended.
local function counts_of(text)
  local list = {}
  for line in text:gmatch("[^\n]+") do
    if line:find("^pmlua count: ") then list[#list + 1] = setmetatable({}, { __index = function() return 0 end }) end
    local n, name = line:match("^%s+(%d+)%s+([%w_]+)")
    if n and list[1] then list[#list][name] = math.tointeger(n) end
  end
  return list
end

--- Run a program; returns its counts. A program with several processes has several tables of counts.
---@return table counts
---@return string out
---@return integer status
---@return table[] all
function M.run(program, arguments)
  local status, out, err = support.shell("PMLUA_COUNT=- " .. support.quote(program) .. " " .. (arguments or ""))
  local all = counts_of(err)
  return all[1] or error(("it counted nothing: status %s, %s%s"):format(status, out, err), 2), out, status, all
end

--- Build and run one file.
function M.count(text, o, arguments)
  local program = M.build({ [o and o.name or "program.c"] = text }, o)
  return M.run(program, arguments)
end

return M
