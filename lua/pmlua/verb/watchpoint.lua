-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua watchpoint -- CMD`: which threads access a variable, call a function, and what they write, without changing CMD.
--
--     pmlua watchpoint -e mem:counter:w -v state.level -- ./solver

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local try = require "pmlua.internal.try"

local VALUES = 4000000
local RANGE = 1 << 32

local function add_point(o, point)
  o.points = o.points or {} -- in the order of the command line, over all options
  table.insert(o.points, point)
end

local function add_variable(o, text) add_point(o, { name = text, content = true }) end

local function add_accesses(o, text)
  local point, err = require("pmlua.watchpoint").accesses(text)
  if not point then return err end
  add_point(o, point)
end

local M = {
  summary = "run a program and report which threads access a variable or call a function, and what they write",
  about = [[
Runs CMD unchanged, with hardware breakpoints on all its threads, and on those of its children that have the symbols. Then
it prints a table of accesses by thread on standard error and returns CMD's exit status. Each access costs the program some
microseconds. No PMU is needed.]],
  options = {
    common.with("event", { value = "mem:SYMBOL[+OFF][:rwx]", take = add_accesses, help = "count accesses (r, w, rw) or calls "
      .. "(x); the default is rw, for functions x. SYMBOL is a variable or a function, which may be static, a member or an "
      .. "element (v.x[3]), or in a scope (space::v, file.c::v); mem: may be omitted" }),
    { name = "variable", short = "v", kind = "name", value = "VARIABLE", many = true, take = add_variable,
      help = "record each value written; the type comes from the debug information (gcc -g): integers, floating point (long "
        .. "double as double), and .real or .imag of complex numbers" },
    { name = "in", kind = "file", key = "object",
      help = "the program or library with the symbols, if neither CMD (a script, sh -c ...) nor a library it loads has them" },
    { name = "values", kind = "integer", min = 0, max = RANGE, default = VALUES,
      help = "number of accesses per process to keep with their times; 0: only count" },
    { name = "trace", help = "also write an OTF2 trace of each symbol" },
    common.with("json", { help = "print the accesses of each thread with times and values as JSON on standard output" }),
    common.with("csv", { help = "print the table as CSV on standard output" }),
    common.with("folder", { shown = "pmlua-watchpoint-PID",
      help = "folder for the results; it is created, and must not contain results" }),
    common.with("quiet", { help = "print no notes about missed accesses and the folder" }),
  },
  exclusive = { { "json", "csv" } },
  command = {},
  notes = [[
At most four of --event and --variable together: the CPU has no more debug registers. A value is read right after the write,
by the thread that wrote it; if two threads write at once without a lock, it may be the value of the other. The kernel's own
writes are not recorded, nor are accesses of static programs and of libraries loaded later.]],
  examples = {
    { "pmlua watchpoint -e mem:work:x -- ./app", needs = { "watchpoints" } },
    { "pmlua watchpoint -v 'grid.level[2]' --trace -o levels -- ./app input", needs = { "watchpoints" } },
  },
}

function M.check(o)
  if not o.points then return "name what to watch, with -e or -v" end
  if (o.command[1] or ""):find("=", 1, true) then return "a command with '=' in its name cannot be watched" end
end

local complain = require "pmlua.internal.cli.complain" "watchpoint"

--- The folder, made, by its full path; nil and why.
local function folder(name)
  local disk = require "pmlua.internal.file"
  try(disk.results(name))
  if not disk.kind(name .. "/plan") then return core.sys.realpath(name) end
  return nil, name .. " already has results of pmlua watchpoint; remove them, or name another folder with -o"
end

local function range(lane)
  local least, most
  for _, v in ipairs(lane.value) do least, most = math.min(least or v, v), math.max(most or v, v) end
  return least, most
end

local names = { "pid", "symbol", "access", "type", "thread", "accesses", "first", "last", "least", "most" }

local function rows_of(processes)
  local rows = {}
  for _, process in ipairs(processes) do
    for _, lane in ipairs(process.lanes) do
      local p, least, most, first, last = process.points[lane.point], nil, nil, nil, nil
      if p.content ~= "none" then
        least, most = range(lane)
        first, last = lane.value[1], lane.value[#lane.value]
      end
      rows[#rows + 1] = { process.pid, p.name, p.access, p.type ~= "" and p.type or "-", lane.thread, lane.accesses, first, last,
                          least, most }
    end
  end
  return rows
end

local function print_table(processes)
  local rows = rows_of(processes)
  if #rows > 0 then io.stderr:write("\n", require "pmlua.tabulate"(names, rows, 2), "\n") end
end

--- Print a warning for each kind of access that is missing from the table.
local function warn(process)
  local late, dropped, touched = 0, 0, {}
  for _, lane in ipairs(process.lanes) do
    late, dropped, touched[lane.point] = late + lane.late, dropped + lane.dropped, true
  end
  local function say(n, text) if n > 0 then complain(("process %d: " .. text):format(process.pid, n)) end end
  for i, p in ipairs(process.points) do
    if not touched[i] then complain(("process %d: no thread accessed %s"):format(process.pid, p.name)) end
  end
  say(dropped, "%d accesses are counted without time and value; keep more with --values")
  say(late, "%d accesses were seen late, because a thread blocks SIGTRAP: their values may be later values")
  say(process.lost, "%d accesses were made by more threads than can be distinguished")
  say(process.missed or 0, "%d accesses could not be attributed to a thread: the program handles SIGTRAP itself, or was ending")
  say(process.unexplained, "%d debug exceptions came without their breakpoint, so that accesses are missing: the hypervisor " ..
    "lost the CPU's debug registers; run it again, or on a machine with less load")
  if process.closed then
    complain(("process %d closed the watchpoints' descriptors; its later accesses are missing"):format(process.pid))
  elseif not process.missed then
    complain(("process %d was killed or is still running; its last accesses may be missing"):format(process.pid))
  end
end

local function print_json(processes)
  local json = require "pmlua.json"
  for _, process in ipairs(json.array(processes)) do
    json.array(process.points)
    for _, lane in ipairs(json.array(process.lanes)) do
      json.array(lane.ns)
      lane.value = process.points[lane.point].content ~= "none" and json.array(lane.value) or nil
      lane.ticks = nil
    end
  end
  print(json.encode(processes))
end

local function trace(processes, dir)
  local watchpoint = require "pmlua.watchpoint"
  for _, process in ipairs(processes) do
    for i, p in ipairs(process.points) do
      local name = ("%s/trace-%d-%s"):format(dir, process.pid, p.name:gsub("[^%w_]", "_"))
      try(watchpoint.write_trace(process, i, name))
    end
  end
end

local function report(o, dir)
  local processes = try(require("pmlua.watchpoint").read(dir))
  try(#processes > 0, "nothing was watched: no process had the symbols loaded when it started")
  for _, process in ipairs(o.quiet and {} or processes) do warn(process) end
  if o.trace then
    local _, refused = try.catch(trace, processes, dir)
    if refused then complain(refused) end
  end
  if o.json then print_json(processes)
  elseif o.csv then io.write(require "pmlua.internal.cli.csv".table(names, rows_of(processes)))
  else print_table(processes) end
end

---@return integer status
function M.run(o)
  local dir = try(folder(o.out or ("pmlua-watchpoint-%d"):format(core.sys.pid())))
  local options = { dir = dir, values = o.values, object = o.object }
  local ended, err, status = require("pmlua.watchpoint").run(o.command, o.points, options)
  if not ended then
    complain(err)
    if not o.out then require("lfs").rmdir(dir) end
    return status
  end
  local _, failure = try.catch(report, o, dir)
  if failure then complain(failure)
  elseif not (o.json or o.csv or o.quiet) then io.stderr:write("results in ", dir, "\n") end
  return ended.signal and 128 + ended.signal or ended.status
end

return M
