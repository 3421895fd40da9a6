-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/sections.lua - what processes leave of their sections: read strictly, merged over threads and ranks.
--
-- Try:  PMLUA_REPORT=out ./program; pmlua -e 'print(#pml.sections.read_all { "out" }[1].sections)'
--
-- A process leaves a log (docs/log.md), of which the core makes the text that is described in
-- core/adapter/section/pml_section_file.h; pml.section.write() makes the same.

local statistics = require("pmlua.core").statistics
local refuse = require "pmlua.core".failure.refuse

---@class pml.sections
local M = {}

local WHOLE_MAX = 1 << 53 -- up to here doubles are exact
local SIGNIFICANT = "^[-+]?[%d.]+[eE]?[-+]?%d*$"

---@class pmlua.SectionProcess
---@field name string the file, or the application that was asked
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
---@field born? integer of a log: the process's start, the same before and after exec
---@field ended? string of a log: exit, or unknown
---@field refused? string of a log: why it did not grow
---@field missing? integer of a log that was cut short: parts that are not in it

---@class pmlua.Section
---@field label string any bytes but zero
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

M.QUANTILES = { 0, 25, 50, 75, 95, 99, 100 }

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

-- --- fields ---

local function damaged(what) error({ what = what }, 0) end

--- What stands in a field, in one line.
local function quoted(text) return '"' .. M.show(text:sub(1, 40)) .. '"' end

local function whole(text, what)
  local v = text:match("^%d+$") and math.tointeger(tonumber(text))
  if not v then damaged(("%s is %s, not a number of at least 0"):format(what, quoted(text))) end
  return v
end

local function counted(text, what)
  local v = whole(text, what)
  if v > WHOLE_MAX then damaged(("%s is too large: %s"):format(what, text)) end
  return v
end

--- Of operations and iterations users say what they like.
local function amount(text, what)
  local v = text == "inf" and math.huge or text:match(SIGNIFICANT) and tonumber(text)
  if not v or v < 0 then damaged(("%s is %s, not a number of at least 0"):format(what, quoted(text))) end
  local exact = math.tointeger(v)
  return exact and exact <= WHOLE_MAX and exact or v + 0.0
end

local function duration(text, what)
  local v = text:match(SIGNIFICANT) and tonumber(text)
  if not v or not (v >= 0 and v < math.huge) then
    damaged(("%s is %s, not a time"):format(what, quoted(text)))
  end
  return v + 0.0
end

local odd = { inf = math.huge, ["-inf"] = -math.huge, nan = 0 / 0, ["-nan"] = 0 / 0 }

local function value(text)
  local v = odd[text] or text:match(SIGNIFICANT) and tonumber(text)
  if not v then damaged(("a value is %s, not a number"):format(quoted(text))) end
  return v
end

local function one_of(text, ...)
  for _, word in ipairs { ... } do
    if text == word then return word end
  end
  damaged(("%s where %s is needed"):format(quoted(text), table.concat({ ... }, " or ")))
end

-- --- lines: each takes its fields and knows where it may stand ---

local function inside(self)
  return self.section or damaged "no section above this line"
end

local function last_row(self)
  local rows = inside(self).rows
  return rows[#rows] or damaged "no row above this line"
end

local takes = { counted = 1, uncounted = 2, permission = 1, pid = 1, rank = 2, host = 1, command = 1, started = 1,
  written = 1, clock = 2, counter = 6, recorder = 5 + #M.QUANTILES,
  born = 1, ended = 1, refused = 1, missing = 1, section = 4, torn = 0,
  event = 2, row = 11, misuse = 3, region = 2, timeline = 3, unseen = 1, ["+"] = 2, ["-"] = 2,
  quantiles = #M.QUANTILES }

local line = {}

function line.pid(self, f) self.process.pid = whole(f[1], "the pid") end

function line.rank(self, f)
  self.process.rank = counted(f[1], "the rank")
  if f[2] ~= "-1" then self.process.size = counted(f[2], "the number of ranks") end
end

function line.host(self, f) self.process.host = f[1] end
function line.command(self, f) self.process.command = f[1] end
function line.started(self, f) self.process.started_ns = whole(f[1], "the start") end
function line.written(self, f) self.process.written_ns = whole(f[1], "the end") end

function line.clock(self, f)
  self.process.clock, self.process.ticks_per_second = f[1], duration(f[2], "the rate of the clock")
end

function line.counted(self, f)
  self.process.counted = one_of(f[1], "source", "final", "mixed", "none")
end

function line.uncounted(self, f)
  self.process.uncounted, self.process.others = counted(f[1], "the number of places"), f[2]
end

function line.permission(self, f) self.process.permission = f[1] end

function line.born(self, f) self.process.born = whole(f[1], "the birth") end
function line.ended(self, f) self.process.ended = one_of(f[1], "exit", "unknown") end
function line.refused(self, f) self.process.refused = f[1] end
function line.missing(self, f) self.process.missing = counted(f[1], "the number of missing parts") end

function line.section(self, f)
  if f[1] == "" then damaged "a section without a label" end
  if self.labels[f[1]] then damaged(("section %s appears twice"):format(M.show(f[1]):sub(1, 60))) end
  self.section = { label = f[1], type = one_of(f[2], "calculation", "communication"),
    exclusive = one_of(f[3], "exclusive", "inclusive") == "exclusive", record = one_of(f[4], "none", "all", "sketch"),
    events = {}, rows = {} }
  self.labels[f[1]] = true
  table.insert(self.process.sections, self.section)
end

function line.event(self, f)
  local events = inside(self).events
  if f[1] == "" or #inside(self).rows > 0 then damaged "an event without a name, or below the rows" end
  events[#events + 1] = { name = f[1], real = one_of(f[2], "integer", "real") == "real" }
end

function line.quantiles(self, f)
  local q = {}
  for i, text in ipairs(f) do q[i] = duration(text, "a quantile") end
  inside(self).quantiles = q
end

function line.row(self, f)
  local row = { thread = whole(f[1], "the thread"), running = counted(f[2], "the calls under way"),
    count = counted(f[3], "the number of calls"), work = amount(f[10], "the work"),
    iterations = amount(f[11], "the number of iterations"), misuse = {}, values = {} }
  for i, name in ipairs { "total_ns", "self_ns", "min_ns", "max_ns", "mean_ns", "stddev_ns" } do
    row[name] = duration(f[3 + i], name)
  end
  table.insert(inside(self).rows, row)
end

function line.values(self, f)
  local row, events = last_row(self), inside(self).events
  if #f ~= #events then damaged(("%d values of %d events"):format(#f, #events)) end
  for i, e in ipairs(events) do row.values[e.name] = value(f[i]) end
end

function line.torn(self) last_row(self).torn = true end

function line.misuse(self, f)
  local row = last_row(self)
  if not f[1]:find("^%l+$") then damaged "a misuse without a name" end
  row.misuse[f[1]] = counted(f[2], "the number of misuses")
  self.process.misuse[f[1]] = f[3]
end

function line.counter(self, f)
  local v = value(f[5])
  table.insert(self.process.counters, { name = f[1], kind = f[2], instant = one_of(f[3], "delta", "instant") == "instant",
    value = one_of(f[4], "integer", "real") == "real" and v + 0.0 or v,
    as_of_ns = f[6] ~= "-1" and counted(f[6], "the moment of a sample") or nil })
end

function line.recorder(self, f)
  local r = { name = f[1], count = counted(f[2], "the number of elements"), dropped = counted(f[3], "the number of dropped ones"),
    cut = one_of(f[4], "whole", "cut") == "cut", nans = counted(f[5], "the number of NaN") }
  if f[6] ~= "-" then
    r.quantiles = {}
    for i in ipairs(M.QUANTILES) do r.quantiles[i] = value(f[5 + i]) end
  end
  table.insert(self.process.recorders, r)
end

function line.region(self, f) self.process.regions[whole(f[1], "the region")] = f[2] end

function line.timeline(self, f)
  self.lane = { thread = whole(f[1], "the thread"), promised = counted(f[2], "the number of events"),
    dropped = counted(f[3], "the number of dropped events"), events = {} }
  table.insert(self.process.timeline, self.lane)
end

function line.unseen(self, f) self.process.unseen = counted(f[1], "the number of threads") end

local function moment(self, f, leave)
  local lane, region = self.lane, whole(f[2], "the region")
  if not lane then damaged "an event without a timeline above" end
  if not self.process.regions[region] then damaged(("region %d has no name above"):format(region)) end
  lane.events[#lane.events + 1] = { ns = counted(f[1], "the moment"), region = region, leave = leave }
end

line["+"] = function(self, f) moment(self, f, false) end
line["-"] = function(self, f) moment(self, f, true) end

-- --- a file ---

local function take(self, text)
  local f, key = {}, nil
  for field in (text .. "\t"):gmatch("([^\t]*)\t") do
    if key == nil then key = field
    else f[#f + 1] = M.unescape(field) or damaged "a backslash that escapes nothing" end
    if #f > 0 and f[#f]:find("\0", 1, true) then damaged "a zero byte, which no name has" end
  end
  local f_line = line[key]
  if not f_line then damaged(("no such line: %s"):format(M.show(key):sub(1, 40))) end
  if takes[key] and #f ~= takes[key] then damaged(("%s has %d fields, not %d"):format(key, #f, takes[key])) end
  f_line(self, f)
end

local function check_whole(self)
  for _, name in ipairs { "pid", "host", "command", "started_ns", "written_ns" } do
    if not self.process[name] then damaged(("the line '%s' is missing"):format((name:gsub("_ns", "")))) end
  end
  for _, lane in ipairs(self.process.timeline) do
    if #lane.events ~= lane.promised then
      damaged(("the timeline of thread %d has %d events, not %d"):format(lane.thread, #lane.events, lane.promised))
    end
  end
end

--- Lines one by one; the number of the line that fails is left in self.at.
local function read_lines(self, text)
  local ended
  if text:sub(-1) ~= "\n" then
    if text:find "^pmlua%-sections\t" or text == "" then damaged "the file is cut short: the last line has no newline" end
    damaged "neither a log nor a file of sections: the first line is not \"pmlua-sections\""
  end
  for content in text:gmatch("(.-)\n") do
    self.at = self.at + 1
    if ended then damaged "a line below the end" end
    if self.at == 1 then
      local version = content:match("^pmlua%-sections\t(%d+)$")
      if not version then damaged "neither a log nor a file of sections: the first line is not \"pmlua-sections\"" end
      if version ~= "1" then damaged(("version %s; this pmlua reads version 1"):format(version)) end
    elseif content:find("^end\t") then
      ended = content == ("end\t%d"):format(self.at - 1) or damaged "lines are missing above"
    else take(self, content) end
  end
  if not ended then damaged "the file is cut short: the end is missing" end
  check_whole(self)
end

--- Read what pml_section_text() made.
---@param text string
---@param name string for errors
---@return pmlua.SectionProcess? process
---@return pmlua.Failure? failure "name:line: what"
function M.parse(text, name)
  local process = { name = name, sections = {}, counters = {}, recorders = {}, timeline = {}, regions = {}, misuse = {} }
  local self = { process = process, labels = {}, at = 0 }
  local done, err = pcall(read_lines, self, text)
  if done then return process end
  if type(err) ~= "table" then error(err, 0) end
  return refuse("EFORMAT", ("%s:%d: %s"):format(name, math.max(self.at, 1), err.what))
end

--- Is the file a log, in either byte order, or named like one?
---@package
---@param path string
---@return boolean? log
---@return pmlua.Failure? failure
function M.is_log(path)
  local f <close>, err = require "pmlua.internal.file".open(path)
  if not f then return nil, err end
  local magic = f:read(8)
  return magic == "PMLUALOG" or magic == "GOLAULMP" or path:find "%.pmlog$" ~= nil
end

--- The text of a file: what is in a log, the core says.
local function text_of(path)
  local log, err = M.is_log(path)
  if log == nil then return nil, err end
  if not log then return require "pmlua.internal.file".read(path) end
  local core = require "pmlua.core"
  local text, why = core.section.log_text(path)
  if text then return text end
  return refuse(why)
end

--- Read the file that a process left.
---@param path string a log, or what pml.section.write() wrote
---@return pmlua.SectionProcess? process
---@return pmlua.Failure? failure
function M.read(path)
  local text, err = text_of(path)
  if not text then return nil, err end
  return M.parse(text, path)
end

--- A folder without logs: what else it is, and what to do then.
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
    if entry:find("%.pmlog$") or entry:find("^sections%..*%.txt$") then names[#names + 1] = folder .. "/" .. entry end
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
---@return boolean? ok
---@return pmlua.Failure? failure
function M.check_ranks(processes)
  local of, sized = {}, nil
  for i, p in ipairs(processes) do
    local counts = p.rank and (#p.sections > 0 or p.brief and p.brief.rows > 0)
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
---@return pmlua.SectionProcess[]? processes
---@return pmlua.Failure? failure
function M.order(processes)
  table.sort(processes, M.before)
  local ok, err = M.check_ranks(processes)
  if not ok then return nil, err end
  return processes
end

--- The files that paths name, and those in folders, each once.
---@package
---@param paths string[]
---@return string[]? files
---@return pmlua.Failure? failure
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

--- The processes of files, and of all logs and section files in folders.
---@param paths string[]
---@return pmlua.SectionProcess[]? processes
---@return pmlua.Failure? failure one line
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

-- --- merging ---

--- Rows as one: sums, extremes, and mean and standard deviation of all calls, of whatever row.
---@param rows table[]
---@return table row
function M.merge(rows)
  local m = { count = 0, running = 0, total_ns = 0.0, self_ns = 0.0, min_ns = 0.0, max_ns = 0.0, mean_ns = 0.0,
    stddev_ns = 0.0, work = 0, iterations = 0, values = {}, misuse = {}, threads = #rows, torn = 0 }
  for _, r in ipairs(rows) do
    for _, name in ipairs { "count", "running", "work", "iterations" } do m[name] = statistics.plus(m[name], r[name]) end
    m.total_ns, m.self_ns = m.total_ns + r.total_ns, m.self_ns + r.self_ns
    statistics.add(m.values, r.values)
    statistics.add(m.misuse, r.misuse)
    m.torn = m.torn + (r.torn and 1 or 0)
  end
  m.mean_ns, m.stddev_ns, m.min_ns, m.max_ns = statistics.merge(rows)
  return m
end

return M
