-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/sections.lua - the logs that processes leave of their sections, and their order in a report.
--
-- Try:  PMLUA_REPORT=out ./program; pmlua -e 'print(#pml.sections.read_all { "out" }[1].sections)'
--
-- Each process leaves a log (docs/log.md); pml.section.write() also writes one.

local refuse = require "pmlua.core".failure.refuse

---@class pml.sections
local M = {}

---@class pmlua.SectionProcess
---@field name string the log, or the queried application
---@field pid integer
---@field rank? integer
---@field size? integer
---@field host string
---@field command string
---@field started_ns integer
---@field written_ns integer
---@field sections pmlua.Section[]
---@field timeline { thread: integer, dropped: integer, events: table[] }[]
---@field counters pmlua.LeftCounter[]
---@field recorders pmlua.LeftRecorder[]
---@field unseen? integer threads that are not in the timeline
---@field counted? string where the compiler counts: source, final, mixed or none
---@field permission? string why events are called NAME:u
---@field uncounted? integer places of the code that it could not count
---@field others? string libraries that were compiled otherwise, separated by commas
---@field born integer the process's start, the same before and after exec
---@field ended? string exit or unknown; nil: what pml.section.write() wrote
---@field refused? string why the log did not grow
---@field missing? integer of a log that was cut short: extents that are not in it

---@class pmlua.Section
---@field label string any bytes but zero
---@field interface string? the annotation interface that named it, such as "Kokkos"; nil: pmlua's own
---@field type string calculation or communication
---@field exclusive boolean
---@field record string none, all or sketch
---@field events { name: string, real: boolean }[]
---@field quantiles? number[] 0, 25, 50, 75, 95, 99, 100 %, ns
---@field rows table[] a thread each

---@class pmlua.LeftCounter
---@field name string LIB::EVENT
---@field kind string created, variable, callback, group, set or compiler
---@field instant boolean it is a level
---@field value number
---@field as_of_ns? integer since started; nil: it is exact

---@class pmlua.LeftRecorder
---@field name string LIB::EVENT
---@field count integer
---@field dropped integer
---@field cut boolean others are not in the log
---@field nans integer
---@field quantiles? number[] 0, 25, 50, 75, 95, 99, 100 %

-- --- labels ---

local escaped = { ["\\"] = "\\", t = "\t", n = "\n" }

--- The bytes of an escaped field; nil: it is not one.
---@param text string
---@return string?
function M.unescape(text)
  local parts, at = {}, 1
  while true do
    local s = text:find("\\", at, true)
    if not s then break end
    parts[#parts + 1] = text:sub(at, s - 1)
    local c = text:sub(s + 1, s + 1)
    local hex = c == "x" and text:match("^%x%x", s + 2)
    if not hex and not escaped[c] then return nil end
    parts[#parts + 1] = hex and string.char(tonumber(hex, 16)) or escaped[c]
    at = s + (hex and 4 or 2)
  end
  parts[#parts + 1] = text:sub(at)
  return table.concat(parts)
end

local marks = { ["\\"] = "\\\\", ["\t"] = "\\t", ["\n"] = "\\n" }

--- A field that holds any bytes; unescape() gives them again.
---@param text string
---@return string
function M.escape(text)
  return (text:gsub("[%c\\]", function(c) return marks[c] or ("\\x%02x"):format(c:byte()) end))
end

--- A label for tables and JSON: UTF-8 without control characters; different labels stay different.
---@param label string
---@return string
function M.show(label)
  local function hex(c) return ("\\x%02x"):format(c:byte()) end
  local text = label:gsub("\\", "\\\\"):gsub("[%c\127]", hex)
  if not utf8.len(text) then return (text:gsub("[\128-\255]", hex)) end
  return (text:gsub("\xc2[\128-\159]", function(c) return hex(c) .. hex(c:sub(2)) end))
end

-- --- files ---

--- Read the log of a process.
---@param path string a log, or what pml.section.write() wrote
---@return pmlua.SectionProcess? process, pmlua.Failure? failure
function M.read(path)
  local process, err = require "pmlua.core".summary.whole(path)
  if process then return process end
  return refuse(err)
end

--- The failure for a folder without logs: a description of its contents, and the remedy.
local function no_log(folder)
  local lfs = require "lfs"
  local function has(name) return lfs.attributes(folder .. "/" .. name, "mode") == "file" end
  if not (has "meta.json" and has "data.dat") then
    return refuse("ENOENT", folder .. ": no *.pmlog file in this folder", ("run the program with PMLUA_REPORT=%s"):format(folder))
  end
  return refuse("ENOENT", folder .. ": the run of an experiment: its table is data.dat, every sample is in samples.csv.gz",
    has "traces.otf2" and "for its events name traces.otf2 in this folder" or "read these")
end

local function files_in(folder)
  local entries, err = require "pmlua.internal.file".names(folder)
  if err then return nil, err end
  local names = {}
  for _, entry in ipairs(entries) do
    if entry:find("%.pmlog$") then names[#names + 1] = folder .. "/" .. entry end
  end
  table.sort(names)
  if #names > 0 then return names end
  return no_log(folder)
end

--- A process that became another program has a log of each.
local function same_process(p, other)
  return p.born and p.born == other.born and p.pid == other.pid and p.host == other.host
end

--- Two files of one rank, or of jobs of different sizes, come from two runs, whose sum has no meaning. Counters and recorders are
--- not summed: a job's script may start a program with some beside the one with sections.
---@package
---@param processes pmlua.SectionProcess[]
---@return boolean? ok, pmlua.Failure? failure
function M.check_ranks(processes)
  local of, sized = {}, nil
  for i, p in ipairs(processes) do
    local counts = p.rank and (#p.sections > 0 or p.totals and p.totals.rows > 0)
    local other = counts and of[p.rank] and processes[of[p.rank]]
    sized = sized or counts and p.size and p or nil
    if counts and p.size and p.size ~= sized.size then
      return refuse("EINVAL", ("%s is of a job of %d ranks, %s of one of %d"):format(sized.name, sized.size, p.name, p.size),
        "name the files of one run")
    end
    if other and not same_process(p, other) then
      return refuse("EINVAL", ("rank %d is in two files, %s and %s (of two runs?)"):format(p.rank, other.name, p.name),
        "name the files of one run")
    end
    if counts then of[p.rank] = i end
  end
  return true
end

--- Does a stand before b in a report? Ranks come first.
---@package
---@param a pmlua.SectionProcess
---@param b pmlua.SectionProcess
---@return boolean
function M.before(a, b)
  if a.rank ~= b.rank then return (a.rank or math.huge) < (b.rank or math.huge) end
  if a.host ~= b.host then return a.host < b.host end
  if a.pid ~= b.pid then return a.pid < b.pid end
  if a.started_ns ~= b.started_ns then return a.started_ns < b.started_ns end
  return a.name < b.name
end

--- Put processes in order: ranks first. Nil where they are not of one run.
---@param processes pmlua.SectionProcess[]
---@return pmlua.SectionProcess[]? processes, pmlua.Failure? failure
function M.order(processes)
  table.sort(processes, M.before)
  local ok, err = M.check_ranks(processes)
  if not ok then return nil, err end
  return processes
end

--- The files that paths name, and those in folders, each once.
---@package
---@param paths string[]
---@return string[]? files, pmlua.Failure? failure
function M.files(paths)
  local lfs, files, seen = require "lfs", {}, {}
  for _, path in ipairs(paths) do
    local found, err = { path }, nil
    if lfs.attributes(path, "mode") == "directory" then found, err = files_in(path) end
    if not found then return nil, err end
    if #paths == 1 then return found end
    for _, file in ipairs(found) do
      if not seen[file] then files[#files + 1], seen[file] = file, true end
    end
  end
  return files
end

--- The processes of files, and of all logs in folders.
---@param paths string[]
---@return pmlua.SectionProcess[]? processes, pmlua.Failure? failure one line
function M.read_all(paths)
  local files, err = M.files(paths)
  if not files then return nil, err end
  local processes = {}
  for i, file in ipairs(files) do
    local process, why = M.read(file)
    if not process then return nil, why end
    processes[i] = process
  end
  return M.order(processes)
end

return M
