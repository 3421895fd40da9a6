-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/job_summary.lua - job summary for a report: each log is read once into a summary, and again when its
-- rows are requested.
--
-- Try:  print(#require("pmlua.internal.report.job_summary").read({ "out" }).processes)

local core = require "pmlua.core"
local lists = require "pmlua.internal.lists"
local sections = require "pmlua.sections"
local try = require "pmlua.internal.try"

-- --- the processes of a job summary ---

-- Each log takes some hundred bytes, from which fields are unpacked when they are read; processes share equal texts.

local INTEGERS <const> = { "pid", "rank", "size", "started_ns", "written_ns", "born", "missing", "uncounted" }
local TEXTS <const> = { "host", "command", "ended", "clock", "refused", "permission", "counted", "others" }
local REST <const> = "<dI4I4ddB" -- ticks_per_second; then of a log: threads, rows, times, flags
local FORMAT <const> = "<" .. ("i8"):rep(#INTEGERS) .. ("I4"):rep(#TEXTS) .. REST:sub(2)
local NONE <const> = math.mininteger

local empty = setmetatable({}, { __newindex = function() error("a process of a job summary has no separate data here", 2) end })

--- The number of a text; 0: none.
local function number_of(self, text)
  if text == nil then return 0 end
  local n = self.number[text]
  if not n then
    n = #self.text + 1
    self.text[n], self.number[text] = text, n
  end
  return n
end

local function pack(self, p)
  local v, b = {}, p.totals
  for i, name in ipairs(INTEGERS) do v[i] = p[name] or NONE end
  for i, name in ipairs(TEXTS) do v[#INTEGERS + i] = number_of(self, p[name]) end
  table.move({ p.ticks_per_second or 0.0, b.threads, b.rows, b.exclusive_ns, b.self_ns, (b.recorded and 1 or 0)
    + (b.sketch and 2 or 0) }, 1, 6, #v + 1, v)
  return FORMAT:pack(table.unpack(v))
end

--- How to read each field.
local field = {}

for i, name in ipairs(INTEGERS) do
  field[name] = function(self, kept)
    local v = string.unpack("<i8", self.packed[kept], 8 * i - 7)
    return v ~= NONE and v or nil
  end
end
for i, name in ipairs(TEXTS) do
  local at = 8 * #INTEGERS + 4 * i - 3
  field[name] = function(self, kept) return self.text[string.unpack("<I4", self.packed[kept], at)] end
end

local REST_AT <const> = 8 * #INTEGERS + 4 * #TEXTS + 1

function field.ticks_per_second(self, kept) return (string.unpack("<d", self.packed[kept], REST_AT)) end

function field.totals(self, kept)
  local _, threads, rows, exclusive, own, flags = string.unpack(REST, self.packed[kept], REST_AT)
  return { threads = threads, rows = rows, exclusive_ns = exclusive, self_ns = own, recorded = flags & 1 ~= 0,
    sketch = flags & 2 ~= 0 }
end

function field.log(self, kept) return self.log[kept] end
function field.name(self, kept) return self.name[kept] or self.log[kept] end
function field.counters(self, kept) return self.counters[kept] or empty end
function field.recorders(self, kept) return self.recorders[kept] or empty end
for _, name in ipairs { "sections", "timeline", "regions" } do field[name] = function() return empty end end

local view = {
  __index = function(process, name)
    local read = field[name]
    return read and read(process[1], process[2])
  end,
  __newindex = function() error("a process of a job summary cannot be changed", 2) end,
}

local function view_of(self, kept) return setmetatable({ self, kept }, view) end

---@class pmlua.report.Processes a list, read like an array
local Processes = {}

local function process_at(list, i)
  local self = rawget(list, Processes)
  local kept = self.order[i]
  if not kept then return nil end
  return view_of(self, kept)
end

local class = {
  __index = function(list, i)
    if math.type(i) == "integer" then return process_at(list, i) end
    return Processes[i]
  end,
  __len = function(list) return #rawget(list, Processes).order end,
}

--- An empty list.
---@return pmlua.report.Processes
local function new_processes()
  return setmetatable({ [Processes] = { packed = {}, log = {}, name = {}, counters = {}, recorders = {}, order = {}, rank = {},
    text = {}, number = {} } }, class)
end

--- Keep process @number, packed.
function Processes:keep(number, process)
  local list = rawget(self, Processes)
  list.rank[number] = process.rank or math.huge
  list.packed[number], list.log[number] = pack(list, process), process.log
  if process.name ~= process.log then list.name[number] = process.name end
  if #process.counters > 0 then list.counters[number] = process.counters end
  if #process.recorders > 0 then list.recorders[number] = process.recorders end
end

--- Put the processes in order: `before` decides where ranks are the same, or missing.
---@param before fun(a: table, b: table): boolean
---@return table<integer, integer> place of each by its number
function Processes:sort(before)
  local list = rawget(self, Processes)
  local place, rank = {}, list.rank
  for number in pairs(rank) do list.order[#list.order + 1] = number end
  table.sort(list.order, function(a, b)
    if rank[a] ~= rank[b] then return rank[a] < rank[b] end
    return a ~= b and before(view_of(list, a), view_of(list, b))
  end)
  for i, number in ipairs(list.order) do place[number] = i end
  return place
end

local refuse = core.failure.refuse

local M = {}

---@class pmlua.JobSummary
---@field processes pmlua.SectionProcess[] in order; of a log without sections and timeline
---@field summary userdata the sections of all of them, added up by name: core.summary
---@field left_out pmlua.Failure[] files in folders that could not be read
---@field index table<integer, integer> a process's place by its number
---@field asked? string the running program that sent it

--- A log into the job summary: its process, without sections and timeline.
local function add_file(job_summary, path, number)
  local process, err = job_summary.summary:log(path, number)
  if process then return process end
  return refuse(err)
end

--- Which section of a file contradicts those that were there before.
local function contradiction(job_summary, process, names, err)
  local known = {}
  for _, row in ipairs(job_summary.summary:sections()) do known[row.label .. "\0" .. row.detail] = row end
  for _, s in ipairs(process.sections) do
    local row = known[s.label .. "\0" .. (s.interface or "")]
    local other = row and (row.communication ~= (s.type == "communication") and "type"
      or row.inclusive == s.exclusive and "exclusiveness")
    if other then
      return refuse("EINVAL", ("%s: section %s has another %s than in %s"):format(process.name,
        sections.show(s.label):sub(1, 60), other, names[row.first]), "report different programs one by one")
    end
  end
  return nil, err
end

local function new_job_summary()
  return { processes = new_processes(), left_out = {}, summary = assert(core.summary.open()) }
end

--- In order, with each process's number leading to its place.
local function ordered(job_summary)
  job_summary.index = job_summary.processes:sort(sections.before)
  try(sections.check_ranks(job_summary.processes))
  return job_summary
end

--- The failure of the report because of a file; true: the report continues without the file.
local function left_out(job_summary, path, files, folders, err)
  if err.code == "EINVAL" then
    local process = sections.read(path)
    if process then return select(2, contradiction(job_summary, process, files, err)) end
  end
  if not folders or err.code ~= "EFORMAT" then return err end
  job_summary.left_out[#job_summary.left_out + 1] = err
  return true
end

--- Add files to the job summary. Damaged files in `folders` are left out, unless all are damaged.
local function add_files(job_summary, files, folders)
  local n = 0
  for i, path in ipairs(files) do
    local process, err = add_file(job_summary, path, i)
    local why = err and left_out(job_summary, path, files, folders, err)
    if why and why ~= true then return nil, why end
    if process then job_summary.processes:keep(i, process) end
    n = n + (why and 0 or 1)
  end
  if n == 0 then return nil, job_summary.left_out[1] end
  return ordered(job_summary)
end

local function in_folders(paths)
  return not lists.any(paths, function(path) return require "lfs".attributes(path, "mode") ~= "directory" end)
end

--- Read the processes of files and folders for a report. Each log is read once, and the memory for it does not grow with
--- its threads and sections.
---@return pmlua.JobSummary? job_summary, pmlua.Failure? failure one line
M.read = try.catching(function(paths)
  local files = try(sections.files(paths))
  return add_files(new_job_summary(), files, in_folders(paths))
end)

--- The same of the bytes of one log, which a running application sent.
---@param name string what the report calls it
---@param folder string where the log is kept while it is read
---@return pmlua.JobSummary? job_summary, pmlua.Failure? failure
M.of = try.catching(function(bytes, name, folder)
  local path = folder .. "/sections.pmlog"
  try(require "pmlua.internal.file".write(path, bytes))
  local job_summary = new_job_summary()
  local process = try(add_file(job_summary, path, 1))
  process.name = name
  job_summary.processes:keep(1, process)
  return ordered(job_summary)
end)

--- A number without a fraction is an integer.
local function exact(v) return math.tointeger(v) or v end

local nothing = setmetatable({}, { __newindex = function() error("a row without values is not to be changed", 2) end })

local own = { running = true, work = true, iterations = true, torn = true }

--- A row of a summary as numbers of Lua, and the names of its events.
---@param row table of core.summary
---@return table merged, string[] events
function M.merged(row)
  local calls = row.calls
  local all = { count = exact(calls.n), running = 0, total_ns = row.time.sum, self_ns = row.self.sum, min_ns = calls.min,
    max_ns = calls.max, mean_ns = calls.mean, stddev_ns = calls.deviation, work = 0, iterations = 0, values = nothing,
    misuse = nothing, threads = row.threads, torn = 0 }
  if #row.values == 0 then return all, nothing end -- as most: a table for each would be a third of a report's memory
  local events = {}
  all.values, all.misuse = {}, {}
  for _, v in ipairs(row.values) do
    local name = v.name:match "^ (.*)"
    if not name then
      events[#events + 1], all.values[v.name] = v.name, v.sum
    elseif own[name] then all[name] = exact(v.sum)
    else all.misuse[name:match "^misuse (.*)" or name] = v.sum end
  end
  return all, events
end

--- One section of a process of a job summary, read again.
---@param section { label: string, interface: string? }
---@param threads? boolean each of them, too
---@param cache? userdata the log's sections: core.summary.cache
---@return { all: table, threads: table[], quantiles: number[]? }? section nil: the process was not in it, or its log is gone
function M.one(process, section, threads, cache)
  local one = core.summary.one(cache or process.log, section.label, threads, section.interface)
  if one then one.all = M.merged(one.all) end
  return one
end

--- The rows of a process of a job summary, section by section.
---@return { label: string, communication: boolean, inclusive: boolean, threads: table[] }[]? sections
---@return pmlua.Failure? failure its log is gone
function M.rows(process)
  local list, err = core.summary.all(process.log)
  if list then return list end
  return refuse(err)
end

return M
