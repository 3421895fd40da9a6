-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/library_time/views.lua - run a command once: unobserved, or with interception, sampling or instrumentation.
--
-- Try:  pmlua scripts/library_time.lua --quick --no-plot gnuplot --version
--
-- Each view returns { seconds, processor_s, status, functions }: the command's elapsed time, its processor time, its exit
-- status, and the library, name and exclusive time of each function seen, with further results of the view. The time is
-- the command's alone, without the work of a tool before and after it.

local build = require "programs.build"
local core = require "pmlua.core"
local preload = require "pmlua.internal.preload"

local M = {}

M.samples_per_second = 1000
local ready_s = 10 -- until perf has opened its events
local end_s = 60 -- until it has written them

---@class library_time.Function
---@field library string "(program)" is the command itself, "(kernel)" the kernel
---@field name string
---@field exclusive_s number
---@field inclusive_s number?
---@field calls integer?
---@field min_ns number?
---@field median_ns number?
---@field max_ns number?
---@field histogram { low: number, high: number, count: integer }[]? calls by inclusive duration in ns

M.program, M.kernel = "(program)", "(kernel)"

local sentence = core.failure.sentence

-- The file is libz.so.1.2.13; programs ask for libz.so.1.
local function library_name(subject, file)
  if subject.names[file] then return M.program end
  if file:find "^%[kernel" or file:find "^%[guest.kernel" then return M.kernel end
  return file:match "^(.*%.so%.%d+)%.[%d.]+$" or file
end

-- The command with these variables, under a shell that discards its output.
local function words_of(words, variables)
  local out = { "sh", "-c", 'exec "$@" >/dev/null 2>&1 </dev/null', "sh", "env" }
  table.move(variables, 1, #variables, #out + 1, out)
  return table.move(words, 1, #words, #out + 1, out)
end

local function finish(command, limit)
  local ended, err = command:wait(limit)
  if not ended then return nil, sentence(err) end
  if ended.signal then return nil, ("the command was ended by signal %d"):format(ended.signal) end
  if ended.status == 126 or ended.status == 127 then return nil, "the command cannot be run" end
  return {
    seconds = ended.real_ns / 1e9, processor_s = (ended.user_ns + ended.system_ns) / 1e9, status = ended.status,
    functions = {},
  }
end

local function run(words, variables, options)
  local command <close>, err = core.command.spawn(words_of(words, variables))
  if not command then return nil, sentence(err) end
  local started, refused = command:start()
  if not started then return nil, sentence(refused) end
  return finish(command, options.limit)
end

--- Run it unobserved.
---@return { seconds: number, processor_s: number, status: integer, functions: library_time.Function[] }?, string? err
function M.plain(subject, options) return run(subject.words, {}, options) end

-- The calls of a recorded function by duration, shortest first.
local function histogram(f)
  local calls, order, out = require "pmlua.internal.record.functions", {}, {}
  for i in pairs(f.bucket or {}) do order[#order + 1] = i end
  table.sort(order)
  for k, i in ipairs(order) do
    out[k] = { low = calls.bucket_ns(i, f.tick_ns), high = calls.bucket_ns(i + 1, f.tick_ns), count = f.bucket[i] }
  end
  return out
end

local function from_record(subject, f)
  return {
    library = library_name(subject, f.library), name = f.name, calls = f.calls, exclusive_s = f.exclusive_ns / 1e9,
    inclusive_s = f.inclusive_ns / 1e9, min_ns = f.min_ns, median_ns = f.median_ns, max_ns = f.max_ns,
    histogram = f.tick_ns and histogram(f),
  }
end

-- Why nothing was recorded: a pattern that matches nothing, or no call of a library.
local function nothing_recorded(calls)
  local all = {}
  for _, p in ipairs(calls.processes) do table.move(p.unmatched_patterns, 1, #p.unmatched_patterns, #all + 1, all) end
  local u = all[1]
  if not u then return "no call was recorded: the command calls no selected function of a library" end
  local near = u.nearest ~= "" and "; similar: " .. u.nearest:gsub(",", ", ") or ""
  return ("no call was recorded: --%s '%s' matches nothing%s"):format(u.option, u.pattern, near)
end

--- Every call between libraries, as `pmlua record` sees it.
function M.interception(subject, options)
  local library, missing = preload.library "record"
  if not library then return nil, missing end
  local dir = subject.folder.path .. "/recorded"
  subject.folder:run("rm -rf recorded; mkdir recorded", 60)
  local variables = { "LD_PRELOAD=" .. preload.with(library), "PMLUA_RECORD_DIR=" .. dir, preload.clock() }
  for name, variable in pairs { lib = "LIB", sym = "SYM", ["not"] = "NOT" } do
    if options[name] then variables[#variables + 1] = ("PMLUA_RECORD_%s=%s"):format(variable, options[name]) end
  end
  local out, err = run(subject.words, variables, options)
  if not out then return nil, err end
  local calls, unread = require("pmlua.internal.record.functions").read(dir)
  if not calls then return nil, unread end
  if #calls.processes == 0 then return nil, "no process of the command left results" end
  for i, f in ipairs(calls.functions) do out.functions[i] = from_record(subject, f) end
  if #out.functions == 0 then out.remark = nothing_recorded(calls) end
  return out
end

-- perf acknowledges when it follows the command; from then on it misses nothing.
local function perf_is_ready(folder)
  local answer = folder:run("echo enable >perf.control && head -n 1 perf.answer", ready_s)
  return answer ~= nil and answer:find("ack", 1, true) ~= nil
end

local function last_line(path)
  return (require "pmlua.internal.file".text(path) or ""):match "([^\n]+)%s*$"
end

-- Lines of perf report: samples|file|[k] symbol, with an address where there is no symbol.
local function read_samples(subject, out)
  local text, err = subject.folder:run("perf report -i perf.data --stdio -q -F sample,dso,sym -t '|'", 120)
  if not text then return nil, err end
  local by, total = {}, 0
  for n, file, name in text:gmatch "(%d+)%s*|([^|\n]-)%s*|%[.%] ([^\n]-)%s*\n" do
    n = tonumber(n)
    local library = library_name(subject, file)
    name = name:find "^0x%x+$" and "(no symbol)" or name
    local f = by[library .. "\0" .. name]
    if not f then
      f = { library = library, name = name, samples = 0 }
      by[library .. "\0" .. name], out.functions[#out.functions + 1] = f, f
    end
    f.samples, total = f.samples + n, total + n
  end
  if total == 0 then return nil, "perf recorded no sample" end
  -- Every sample represents the same share of the processor time.
  out.samples = total
  for _, f in ipairs(out.functions) do f.exclusive_s = f.samples / M.samples_per_second end
  return out
end

--- Sample where the command is a thousand times per second of processor time, with perf on the kernel's cpu-clock.
function M.sampling(subject, options)
  if not build.is_here "perf" then return nil, "perf is not installed (Debian: apt-get install linux-perf)" end
  local path, log = subject.folder.path .. "/perf.data", subject.folder.path .. "/perf.log"
  subject.folder:run("rm -f perf.*; mkfifo perf.control perf.answer", 60)
  local command <close>, err = core.command.spawn(words_of(subject.words, {}))
  if not command then return nil, sentence(err) end
  local perf <close> = assert(core.command.spawn { "sh", "-c", 'exec "$@" >$0 2>&1 </dev/null', log, "perf", "record", "-q",
    "-B", "-N", "-e", "cpu-clock", "-F", tostring(M.samples_per_second), "-o", path, "-p", tostring(command:pid()),
    ("--control=fifo:%s/perf.control,%s/perf.answer"):format(subject.folder.path, subject.folder.path) })
  assert(perf:start())
  if not perf_is_ready(subject.folder) then return nil, "perf: " .. (last_line(log) or "it was not ready in time") end
  local started, refused = command:start()
  if not started then return nil, sentence(refused) end
  local out, why = finish(command, options.limit)
  local written = perf:wait(end_s)
  if not out then return nil, why end
  if not written then return nil, "perf did not end with the command" end
  return read_samples(subject, out)
end

-- Read what functions.c writes; C++ names are demangled where binutils are installed.
local function read_functions(subject, out)
  local text, err = subject.folder:run("c++filt <functions 2>/dev/null || cat functions", 60)
  if not text then return nil, err end
  local by = {}
  for calls, inclusive, exclusive, name in text:gmatch "(%d+)\t(%d+)\t(%d+)\t([^\n]*)\n" do
    local f = by[name]
    if not f then
      f = { library = M.program, name = name, calls = 0, inclusive_s = 0, exclusive_s = 0 }
      by[name], out.functions[#out.functions + 1] = f, f
    end
    f.calls, f.inclusive_s = f.calls + math.tointeger(calls), f.inclusive_s + inclusive / 1e9
    f.exclusive_s = f.exclusive_s + exclusive / 1e9
  end
  return out
end

--- Record every call of the program's own functions, by the compiler's -finstrument-functions.
function M.instrumentation(subject, options)
  if not subject.instrumented then return nil, subject.why end
  local path = subject.folder.path .. "/functions"
  os.remove(path)
  local out, err = run(subject.instrumented, { "FUNCTIONS_OUT=" .. path }, options)
  if not out then return nil, err end
  return read_functions(subject, out)
end

return M
