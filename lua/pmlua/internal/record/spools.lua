-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/spools.lua - from what recorded processes wrote while they ran to results: NAME.calls,
-- trace-NAME, a flow,
-- plugins-NAME.dat.
--
-- A process leaves NAME.spool, NAME being its number, with "-2" and so on for the programs it became later. It is read,
-- turned into results, and removed, unless its process still writes to it.
--
-- Try:  for _, p in ipairs(require("pmlua.internal.record.spools").gather("pmlua-record-4711")) do print(p.name, p.ended) end

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local flowgraph = require "pmlua.internal.flow.graph"

local M = {}

local ROUNDS = 3
local SHORTLY = 0.05 -- seconds

---@class pmlua.spools.process
---@field name string
---@field ended string how: exit, _exit, exec, cut (short), running, failed
---@field series? integer of plugins
---@field err? string why it has no results, or not all
---@field flow? pmlua.Flow if it was asked for

local sentence = core.failure.sentence

local function pid_of(name)
  return math.tointeger(tonumber(name:match("^%d+"))), math.tointeger(tonumber(name:match("%-(%d+)$"))) or 1
end

--- Whether the process is there and has the file mapped: its number may be another's by now.
local function is_running(dir, name)
  local f <close> = io.open(("/proc/%d/maps"):format((pid_of(name))), "r")
  local maps = f and f:read("a")
  return maps ~= nil and maps:find(("%s/%s.spool"):format(dir, name), 1, true) ~= nil
end

--- How the process ended, as far as it can be told: who is killed cannot say so.
local function ending(name, story, running, known)
  if story.ended ~= "running" then return story.ended end
  if running then return "running" end
  local pid, program = pid_of(name)
  return known[("%d-%d"):format(pid, program + 1)] and "exec" or "cut"
end

--- Names are fields of lines.
local function field(name) return (core.region.demangle(name):gsub("%c", " ")) end

local function call_line(n)
  return ("call\t%d\t%d\t%d\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%s\t%s\n"):format(n.depth, n.count + n.running, n.running, n.threads,
    n.inclusive_ns, n.exclusive_ns, n.min_ns, n.max_ns, n.file, field(n.name))
end

--- Calls by duration: bucket:calls, for those that have any.
local function function_line(f)
  local buckets, n = {}, 0
  for i in pairs(f.bucket) do
    n = n + 1
    buckets[n] = i
  end
  table.sort(buckets)
  for k, i in ipairs(buckets) do buckets[k] = ("%d:%d"):format(i, f.bucket[i]) end
  return ("function\t%d\t%.0f\t%.0f\t%.0f\t%s\t%s\t%s\n"):format(f.count, f.min_ns, f.median_ns, f.max_ns, f.file,
    field(f.name), table.concat(buckets, " "))
end

local function number(v) return math.type(v) == "integer" and ("%d"):format(v) or ("%.17g"):format(v) end

--- What a function's own calls added to each event, in the order of the lines "event".
local function sums_line(of)
  local values = {}
  for i, v in ipairs(of) do values[i] = number(v) end
  return ("sums\t%s\t%s\t%s\n"):format(of.file, field(of.name), table.concat(values, "\t"))
end

--- What a function's calls were given, or gave: a value's name, count, sum and extremes.
local function values_line(of)
  return ("values\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n"):format(of.file, field(of.name), (of.value:gsub("%c", " ")), of.count,
    number(of.sum), number(of.min), number(of.max))
end

local counted = { "lost_children", "deep", "brief", "often" }

local function head_lines(story, ended)
  local lines = { story.text, ("pid\t%d\nparent\t%d\nended\t%s\n"):format(story.pid, story.parent, ended) }
  for _, what in ipairs(counted) do lines[#lines + 1] = ("left_%s\t%d\n"):format(what, story[what]) end
  if story.counted ~= "none" then lines[#lines + 1] = ("counted\t%s\n"):format(story.counted) end
  for _, why in ipairs { "refused", "uncounted" } do
    if story[why] ~= "" then lines[#lines + 1] = ("%s\t%s\n"):format(why, story[why]) end
  end
  lines[#lines + 1] = ("untraced\t%d\ntick_ns\t%.17g\n"):format(story.dropped, core.profile.bucket_ns(1))
  return table.concat(lines)
end

--- It gets its name when it is whole.
local function write_calls(path, story, ended, profile, sums, values)
  local f, err = disk.create(path)
  if not f then return nil, err end
  f:write(head_lines(story, ended))
  for _, node in ipairs(profile:nodes()) do f:write(call_line(node)) end
  for _, of in ipairs(profile:functions()) do f:write(function_line(of)) end
  for _, of in pairs(sums) do f:write(sums_line(of)) end
  for _, of in ipairs(values) do f:write(values_line(of)) end
  f:write("end\n")
  local ok, why = f:close()
  return ok, why and ("%s: %s"):format(path, why)
end

--- The file that has what plugins measured in their own time; nil: there is none.
local function series_of(dir, name)
  local path = ("%s/%s.series"):format(dir, name)
  return core.sys.realpath(path) and path
end

--- A table of it, plugins-NAME.dat, drawn where gnuplot is.
local function write_series(path, dir, name)
  local written, err = require("pmlua.plugin").tabulate(path, ("%s/plugins-%s"):format(dir, name))
  if written then os.remove(path) end
  return written, err
end

local function write_trace(spool, dir, name, story, o)
  local lfs = require "lfs"
  local folder = ("%s/trace-%s"):format(dir, name)
  local made, err = lfs.mkdir(folder)
  if not made then return nil, folder .. ": " .. err end
  local program = story.text:match("program\t[^\n]*/([^\n/]+)") or "?"
  local open, refused = spool:beside(o.beside and o.beside(story.pid) or {})
  local tell = o.progress and function(done, all) o.progress(name, done, all) end
  if open then open, refused = spool:trace(folder, ("%s (%d)"):format(program, story.pid), series_of(dir, name), tell) end
  if not open then return nil, sentence(refused) end
  return open
end

--- What its events were kept for, beside the profile.
local function make_more(p, spool, dir, name, story, o)
  local wanted = story.text:match "\nflow\t(%a+)"
  if wanted then
    local flow <close>, refused = spool:flow(o.progress and function(...) return o.progress(name, ...) end)
    if flow then p.flow = flowgraph.of(flow) else p.err = sentence(refused) end
  end
  if wanted ~= "only" then p.open, p.err = write_trace(spool, dir, name, story, o) end
end

--- A process that has just begun has made the file, but may have nothing in it yet.
local function open(path)
  local spool, err, code = core.spool.open(path)
  if spool or code ~= "EFORMAT" then return spool, err end
  core.sys.sleep(SHORTLY)
  return core.spool.open(path)
end

local function results(dir, name, known, o)
  local path = ("%s/%s.spool"):format(dir, name)
  local running = is_running(dir, name) -- before it is read: what is said at the end must be in it
  local spool <close>, err = open(path)
  if not spool then return { name = name, ended = "cut", err = sentence(err) } end
  local story = spool:story()
  local p = { name = name, pid = story.pid, ended = ending(name, story, running, known) }
  local profile <close>, lost = spool:profile()
  if not profile then p.err = sentence(lost) return p end
  local sums, values, written
  sums, lost = spool:sums()
  if sums then values, lost = spool:values() end
  if not values then p.err = sentence(lost) return p end
  written, p.err = write_calls(("%s/%s.calls"):format(dir, name), story, p.ended, profile, sums, values)
  if not written or p.ended == "running" then return p end
  if story.traced then make_more(p, spool, dir, name, story, o) end
  local series = series_of(dir, name)
  if series and not p.err then p.series, p.err = write_series(series, dir, name) end
  if not p.err then os.remove(path) end
  return p
end

--- Names of spools that are not among the known ones, which they become.
local function new_names(dir, known)
  local lfs = require "lfs"
  local names = {}
  for entry in lfs.dir(dir) do
    local name = entry:match("^(%d+[-%d]*)%.spool$")
    if name and not known[name] then names[#names + 1] = name end
  end
  for _, name in ipairs(names) do known[name] = true end
  table.sort(names)
  return names
end

--- Whether any of these still writes to its spool.
---@param processes pmlua.spools.process[]
function M.running(processes)
  for _, p in ipairs(processes) do
    if p.ended == "running" then return true end
  end
  return false
end

--- All spools of a folder become results. What is still written to keeps its spool, and so does what could not be read.
---@param dir string
---@param o? { progress?: fun(name: string, done: integer, all: integer), beside?: fun(pid: integer): pmlua.Plugin[] }
-- called while a trace is written; plugins whose series go into the trace of a process
---@return pmlua.spools.process[]
function M.gather(dir, o)
  local real = core.sys.realpath(dir) or dir
  local known, processes = {}, {}
  local names = new_names(real, known)
  for _ = 1, ROUNDS do -- children that began meanwhile
    for _, name in ipairs(names) do
      processes[#processes + 1] = results(real, name, known, o or {})
    end
    names = new_names(real, known)
    if #names == 0 then break end
  end
  return processes
end

return M
