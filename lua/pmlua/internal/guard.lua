-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/guard.lua - counts of a program's sections and functions, saved in a file and compared with later runs.
--
-- Try:  pmlua guard --save counts.guard -- ./program && pmlua guard counts.guard -- ./program
--
-- Only the program and libraries outside the system's folders are guarded, because the C library's work depends on the cpu, and
-- the loader's work on file names. The counts of a section include its callees in all libraries.
--
-- The file contains a line with its version; lines "KEY<tab>VALUE" with the conditions that counts depend on; then rows "all",
-- "section" and "function" with object (for functions; the command's file is "program"), name, calls, count and the
-- difference between the runs that were made to save it. Names are escaped as in section files.

local lists = require "pmlua.internal.lists"
local sections = require "pmlua.sections"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local VERSION = "pmlua-guard 1"
local SYSTEM = { "^/lib[%w]*/", "^/usr/lib[%w]*/", "^/usr/libexec/" }
local kinds = { all = true, section = true, ["function"] = true }

--- Conditions that must be equal for a comparison, in the order of the file.
M.conditions = { "architecture", "compiler", "event", "objects", "functions" }
local others = { "caches", "tool", "command" }

---@class pmlua.GuardRow
---@field kind "all"|"section"|"function"
---@field object string? of a function: its file's name, or "program"
---@field name string
---@field calls integer
---@field count integer
---@field spread integer by how much runs of the same program differ

---@class pmlua.Guard
---@field about table<string, string> conditions and others
---@field rows pmlua.GuardRow[]

-- --- selection of functions ---

local function glob(pattern)
  return "^" .. pattern:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".") .. "$"
end

local function is_own(object, program)
  if object == program then return true end
  if object:sub(1, 1) ~= "/" or object:match("[^/]*$"):find("^libpmlua[%w-]*%.so") then return false end
  return not lists.any(SYSTEM, function(folder) return object:find(folder) end)
end

local function any(globs)
  local patterns = lists.map(globs, glob)
  return function(name)
    return lists.any(patterns, function(pattern) return name:find(pattern) end)
  end
end

--- Whether a function is guarded.
local function chooser(objects, functions, program)
  local of_them = objects and any(objects)
  local one_of = functions and any(functions)
  return function(f)
    local there
    if of_them then there = of_them(f.object) or of_them(f.object:match("[^/]*$")) else there = is_own(f.object, program) end
    return there and (not one_of or one_of(f.name))
  end
end

local function key_of(row) return table.concat({ row.kind, row.object or "", row.name }, "\0") end

local function add(byname, rows, row)
  local known = byname[key_of(row)]
  if not known then
    byname[key_of(row)], rows[#rows + 1] = row, row
    return
  end
  known.calls, known.count = known.calls + row.calls, known.count + row.count
end

--- A function without a name has an address, which another build has not.
local function name_of(f) return f.name:find("^0x%x+$") and "(no name)" or f.name end

local function by_count(a, b)
  if a.kind ~= b.kind then return a.kind == "all" or (a.kind == "section" and b.kind == "function") end
  if a.count ~= b.count then return a.count > b.count end
  return key_of(a) < key_of(b)
end

--- The rows of a run.
---@param run table as simulation.count() gives it
---@param place integer of the event
---@param program string the command's full path
---@param objects string[]? globs; nil: the program's own
---@param functions string[]? globs; nil: all
---@return pmlua.GuardRow[]
function M.rows(run, place, program, objects, functions)
  local chosen, byname, rows = chooser(objects, functions, program), {}, {}
  local all = { kind = "all", name = "functions", calls = 0, count = 0, spread = 0 }
  rows[1] = all
  for _, p in ipairs(run.processes) do
    for _, r in ipairs(p.regions) do
      add(byname, rows, { kind = "section", name = r.name, calls = r.calls, count = r.exclusive[place], spread = 0 })
    end
    for _, f in ipairs(p.inherited and {} or p.functions) do
      if chosen(f) and f.cost[place] > 0 then
        local object = f.object == program and "program" or f.object:match("[^/]*$")
        add(byname, rows, { kind = "function", object = object, name = name_of(f), calls = f.calls, count = f.cost[place],
          spread = 0 })
        all.count = all.count + f.cost[place]
      end
    end
  end
  table.sort(rows, by_count)
  return rows
end

--- The rows of several runs of the same program: the largest count of each, and by how much it differs.
---@param runs pmlua.GuardRow[][]
---@return pmlua.GuardRow[]
function M.spread(runs)
  local byname, rows = {}, {}
  for _, run in ipairs(runs) do
    for _, row in ipairs(run) do
      local known = byname[key_of(row)]
      if not known then
        known = { kind = row.kind, object = row.object, name = row.name, calls = row.calls, count = row.count }
        known.least, known.seen = row.count, 0
        byname[key_of(row)], rows[#rows + 1] = known, known
      end
      known.count, known.least = math.max(known.count, row.count), math.min(known.least, row.count)
      known.seen = known.seen + 1
    end
  end
  for _, row in ipairs(rows) do
    row.spread = row.count - (row.seen == #runs and row.least or 0)
    row.least, row.seen = nil, nil
  end
  table.sort(rows, by_count)
  return rows
end

-- --- the file ---

function M.text(guard)
  local lines = { VERSION }
  for _, keys in ipairs { M.conditions, others } do
    for _, key in ipairs(keys) do lines[#lines + 1] = key .. "\t" .. sections.escape(guard.about[key] or "") end
  end
  for _, r in ipairs(guard.rows) do
    lines[#lines + 1] = ("%s\t%s\t%s\t%d\t%d\t%d"):format(r.kind, sections.escape(r.object or ""),
      sections.escape(r.name), r.calls, r.count, r.spread)
  end
  return table.concat(lines, "\n") .. "\nend\n"
end

local function row_of(fields)
  local object, name = sections.unescape(fields[2]), sections.unescape(fields[3])
  local numbers = {}
  for i = 4, 6 do
    numbers[i] = fields[i]:find("^%d+$") and #fields[i] <= 18 and math.tointeger(tonumber(fields[i]))
    if not numbers[i] then return nil end
  end
  if not object or not name or (object == "") == (fields[1] == "function") then return nil end
  return { kind = fields[1], object = object ~= "" and object or nil, name = name, calls = numbers[4], count = numbers[5],
    spread = numbers[6] }
end

local function take_line(guard, line)
  local fields = {}
  for field in (line .. "\t"):gmatch("([^\t]*)\t") do fields[#fields + 1] = field end
  if #fields == 6 and kinds[fields[1]] then
    local row = row_of(fields)
    guard.rows[#guard.rows + 1] = row
    return row ~= nil
  end
  local value = #fields == 2 and #guard.rows == 0 and sections.unescape(fields[2])
  if not value then return false end
  guard.about[fields[1]] = value
  return true
end

---@return pmlua.Guard?, pmlua.Failure? failure
function M.parse(text)
  local guard, number, ended = { about = {}, rows = {} }, 0, false
  local lines = text:sub(-1) == "\n" and text or text .. "\n" -- without a last one, gmatch is quadratic
  for line in lines:gmatch "([^\n]*)\n" do
    number = number + 1
    if number == 1 then
      if line ~= VERSION then return nil, "not a file of pmlua guard, or one of another version" end
    elseif ended then return nil, ("line %d: more text after the end"):format(number)
    elseif line == "end" then ended = true
    elseif not take_line(guard, line) then return nil, ("line %d: neither a row nor a condition"):format(number) end
  end
  if not ended then return nil, "the file is cut short: its last line is not 'end'" end
  for _, keys in ipairs { M.conditions, others } do
    for _, key in ipairs(keys) do
      if not guard.about[key] then return nil, ("the line '%s' is missing"):format(key) end
    end
  end
  return guard
end

--- Write it whole or not at all.
---@return boolean? ok, pmlua.Failure? failure
function M.save(path, guard)
  local ok, err = require("pmlua.internal.file").write(path, M.text(guard))
  return ok, err
end

---@return pmlua.Guard?, pmlua.Failure? failure
function M.load(path)
  local text, unreadable = require("pmlua.internal.file").read(path)
  if not text then
    if unreadable.code == "ENOENT" then unreadable.remedy = "pmlua guard --save FILE writes it" end
    return nil, unreadable
  end
  local guard, err = M.parse(text)
  if not guard then return refuse("EFORMAT", ("%s: %s"):format(path, err)) end
  return guard
end

-- --- what grew ---

---@class pmlua.GuardVerdict
---@field grown { row: pmlua.GuardRow, now: pmlua.GuardRow }[]
---@field fallen { row: pmlua.GuardRow, now: pmlua.GuardRow }[]
---@field new pmlua.GuardRow[]
---@field gone pmlua.GuardRow[]
---@field compared integer

local function judge(verdict, row, is, o)
  local scale = 1
  if o.per_call then
    if row.calls == 0 or is.calls == 0 then return end
    scale = is.calls / row.calls
  end
  verdict.compared = verdict.compared + 1
  local pair = { row = row, now = is }
  local most, least = scale * row.count + row.spread, scale * (row.count - row.spread)
  if is.count > most + math.max(o.bound * scale * row.count, o.least) then
    verdict.grown[#verdict.grown + 1] = pair
  elseif is.count < least - math.max(o.bound * scale * row.count, o.least) then
    verdict.fallen[#verdict.fallen + 1] = pair
  end
end

--- Compare the counts of a run with the saved ones.
---@param rows pmlua.GuardRow[]
---@param o { bound: number, least: integer, per_call: boolean? } bound 0.01: 1 %; growth up to least is ignored
---; per_call: compare counts per call, without rows that have no calls
---@return pmlua.GuardVerdict
function M.compare(guard, rows, o)
  local verdict, now = { grown = {}, fallen = {}, new = {}, gone = {}, compared = 0 }, {}
  for _, row in ipairs(rows) do now[key_of(row)] = row end
  for _, row in ipairs(guard.rows) do
    local key = key_of(row)
    local is = now[key]
    now[key] = nil
    if not is then verdict.gone[#verdict.gone + 1] = row
    else
      judge(verdict, row, is, o)
    end
  end
  for _, row in ipairs(rows) do
    if now[key_of(row)] then verdict.new[#verdict.new + 1] = row end
  end
  return verdict
end

return M
