-- SPDX-License-Identifier: BSD-3-Clause
--- Counts of programs that `pmlua cc --count` compiled, added up over the processes of a run.
--
-- With PMLUA_COUNT=FILE every process writes its counts: the first to FILE, others (children, and programs after an exec)
-- to FILE.PID. They are complete however a process ended, unless one of its threads was in a loop that counts in registers:
-- such counts are lower bounds and marked as such.
--
--     PMLUA_COUNT=counts ./solver; pmlua -e 'print(pml.countfile.read_all "counts".events.flop_count_I)'

local core = require "pmlua.core"
local lfs = require "lfs"
local plural = require "pmlua.internal.report.units".plural
local refuse = core.failure.refuse

---@class pml.countfile
local M = {}

---@class pmlua.Counts
---@field processes table[] as core.count.read() gives them, without those in which nothing counted
---@field at string source, final, mixed, or none
---@field events table<string, integer> Byfl's nine sums, over all processes
---@field operations table<string, integer> by kind, without kinds that did not occur
---@field at_least boolean a thread was in a loop when its process ended, or runs: the newest turns are missing
---@field notes string[] omissions of the counts, one sentence each

local function escaped(text) return (text:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0")) end

--- FILE, and FILE.PID of other processes.
local function files_of(path)
  local folder, name = path:match("^(.*/)([^/]+)$")
  folder, name = folder or "./", name or path
  local pattern, list = "^" .. escaped(name) .. "%.%d+$", {}
  local again = "^" .. escaped(name) .. "%.%d+%.%d+$"
  if lfs.attributes(path, "mode") == "file" then list[1] = path end
  local listed, iterator, state = pcall(lfs.dir, folder)
  if not listed then return list end
  local others = {}
  for entry in iterator, state do
    if entry:find(pattern) or entry:find(again) then others[#others + 1] = folder .. entry end
  end
  table.sort(others)
  return table.move(others, 1, #others, #list + 1, list)
end

local function add(sums, more)
  for name, n in pairs(more) do sums[name] = (sums[name] or 0) + n end
end

--- Names of programs and libraries, each once.
local function others_of(processes)
  local list, known = {}, {}
  for _, p in ipairs(processes) do
    for name in ((p.others or "") .. ", "):gmatch "(.-), " do
      if name ~= "" and not known[name] then known[name], list[#list + 1] = true, name end
    end
  end
  return table.concat(list, ", ")
end

--- Code that no count covers, from processes that report the number of uncounted places and the uncounted libraries.
---@param processes { uncounted: integer?, others: string? }[]
---@return string[] texts
function M.left_out(processes)
  local list, places, others = {}, 0, others_of(processes)
  for _, p in ipairs(processes) do places = places + (p.uncounted or 0) end
  if places > 0 then
    list[1] = plural(places, "place", "places") .. " of the code, such as inline assembly"
  end
  if others ~= "" then list[#list + 1] = ("the work of %s, which was not compiled with counts"):format(others) end
  return list
end

--- How much may be missing.
local function underway_note(threads, processes)
  return ("at least: %s of %s inside a loop that counts in registers; missing are iterations since it last added them up: "
    .. "up to 65536 and one turn of the outermost loop; of a loop without inner loops, all of this run"):format(
    plural(threads, "thread", "threads"), plural(processes, "process was", "processes were"))
end

local function notes_of(processes)
  local notes, refused, sharing, underway, unfinished, running, away = {}, 0, 0, 0, 0, 0, 0
  local here = core.sys.uname().nodename
  for k, text in ipairs(M.left_out(processes)) do notes[k] = "not counted: " .. text end
  for _, p in ipairs(processes) do
    refused, sharing = refused + p.refused, sharing + p.sharing
    underway, unfinished = underway + p.underway, unfinished + (p.underway > 0 and 1 or 0)
    if not p.ended and p.host ~= here then away = away + 1
    elseif not p.ended and lfs.attributes(("/proc/%d"):format(p.pid), "mode") then running = running + 1 end
  end
  if refused > 0 then
    notes[#notes + 1] = "wrong: " .. plural(refused, "module is", "modules are") .. " compiled by another pmlua; compile again"
  end
  if underway > 0 then notes[#notes + 1] = underway_note(underway, unfinished) end
  if sharing > 0 then
    notes[#notes + 1] = "perhaps low: " .. plural(sharing, "thread", "threads") .. " got no memory of their own"
  end
  if running > 0 then notes[#notes + 1] = plural(running, "process", "processes") .. " still ran when this was counted" end
  if away > 0 then
    notes[#notes + 1] = plural(away, "process", "processes")
      .. " of another host did not exit, or still ran when this was counted"
  end
  return notes
end

--- The counts of a run.
---@param path string what PMLUA_COUNT was
---@param these? string[] these files and no others
---@return pmlua.Counts? counts, pmlua.Failure? failure one line
function M.read_all(path, these)
  local all = { processes = {}, at = "none", events = {}, operations = {}, at_least = false }
  local files = these or files_of(path)
  if #files == 0 then
    return refuse("ENODATA", path .. ": no file of counts",
      ("compile the program with pmlua cc --count and run it with PMLUA_COUNT=%s"):format(path))
  end
  for _, file in ipairs(files) do
    local p, err = core.count.read(file)
    if not p then return refuse(err) end
    if p.modules + p.refused > 0 then
      p.file = file
      all.processes[#all.processes + 1] = p
      all.at = all.at == "none" and p.at or all.at == p.at and p.at or "mixed"
    end
    all.at_least = all.at_least or p.underway > 0
    add(all.events, p.events)
    add(all.operations, p.operations)
  end
  all.notes = notes_of(all.processes)
  return all
end

--- How a table or a plot names the source of such counts.
---@param at? string
---@return string
function M.label(at)
  if at == "source" or at == "final" then return "compiler, at " .. at end
  return at == "mixed" and "compiler, some at source, some at final" or "compiler"
end

return M
