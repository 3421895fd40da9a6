-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua sample -- CMD`: in which functions, lines or data pages an event happens.
--
--     pmlua sample -- sort /etc/services
--     pmlua sample --by page -- ./program

local arguments = require "pmlua.internal.sample.arguments"
local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local verify = require "pmlua.internal.verify"
local try = require "pmlua.internal.try"

local FREQUENCY <const> = 1000

local M = {
  summary = "run a program and report in which functions, call paths, lines or data an event happens",
  about = [[
Runs CMD unchanged. The kernel records where CMD and its children are at regular numbers of events. The table goes to standard
error; the exit status is CMD's. With --pid, --cgroup or --all, pmlua samples other processes while CMD runs; without CMD, until
Ctrl-C.

The table shows the share of all events with its 95 % interval. A function's share excludes the functions that it calls. Function
names come from the symbols of the files, lines from the debug information (gcc -g).]],
  options = {
    common.with("event", { many = false, key = "event", value = "EVENT", shown = "cycles, task-clock without a PMU; by page "
      .. "page-faults", help = "sample this event of the kernel; EVENT:p, :pp and :ppp request precise addresses" }),
    { name = "by", kind = "choice", choices = { "function", "path", "line", "object", "page", "data", "thread", "cpu" },
      default = "function", help = "count samples by this; path is a function with its callers, object the program or "
        .. "library, page the page of the accessed data, data the variable" },
    { name = "frequency", short = "F", kind = "integer", min = 1, max = 1000000, value = "HZ", shown = tostring(FREQUENCY),
      help = "number of samples per second of each running thread" },
    { name = "period", short = "c", kind = "integer", min = 1, value = "N", help = "take a sample at every N-th event" },
    { name = "pid", short = "p", kind = "integer", min = 1, value = "PID", help = "sample this process with its threads and the "
      .. "children that it starts meanwhile" },
    { name = "cgroup", short = "G", kind = "text", value = "CGROUP", help = "sample the processes of this cgroup, a folder "
      .. "below /sys/fs/cgroup; needs the same rights as --all" },
    { name = "all", short = "a", help = "sample all processes on all cpus; needs root, CAP_PERFMON or "
      .. "kernel.perf_event_paranoid 0" },
    { name = "argument", kind = "integer", min = 1, max = 12, value = "N", help = "count the values of a USDT probe's N-th "
      .. "argument (EVENT is usdt:PATH:PROVIDER:NAME), if it is a constant or in a register" },
    { name = "top", kind = "integer", min = 0, default = 20, help = "number of rows to print; 0: all" },
    common.with("json", { help = "print all rows as JSON on standard output" }),
    common.with("csv", { help = "print all rows as CSV on standard output" }),
    common.with("out", { help = "write the table, JSON or CSV into FILE instead" }),
    common.with("quiet", { help = "print no notes about missing data" }),
  },
  exclusive = { { "json", "csv" }, { "pid", "all", "cgroup" }, { "frequency", "period" } },
  usage = { "[OPTIONS] [--] CMD [ARGS]", "[OPTIONS] --pid PID | --cgroup CGROUP | --all [[--] CMD [ARGS]]" },
  command = { optional = true },
  notes = [[
With --by page or data, and without an event, each page fault of CMD is a sample. Other events have data addresses only if the
processor records them (mem-loads, with :pp). With --by path, pmlua finds callers by frame pointers: compile with
-fno-omit-frame-pointer. If a function has no frame, its caller is missing.]],
  examples = {
    "pmlua sample -- sort /etc/services",
    "pmlua sample --by line -F 5000 -- sort /etc/services",
    "pmlua sample --by path -- sort /etc/services",
    "pmlua sample --by page -- sort /etc/services",
    "pmlua sample -p $$ -- sleep 0.1",
  },
}

local complain = require "pmlua.internal.cli.complain" "sample"
function M.complain(err, status) return complain(core.failure.sentence(err), status) end

function M.check(o)
  o.command = o.command or {}
  if #o.command == 0 and not o.pid and not o.all and not o.cgroup then return "no command given" end
  if o.argument and not arguments.probe(o.event or "") then return "--argument needs --event usdt:PATH:PROVIDER:NAME" end
  if (o.command[1] or ""):find("=", 1, true) then return "a command with '=' in its name cannot be sampled" end
end

--- Choose the event and the address mode if the user did not.
local function settle(o)
  local data = o.by == "page" or o.by == "data"
  local how = { pid = o.pid, all = o.all, cgroup = o.cgroup, event = o.event, period = o.period, frequency = o.frequency,
    address = data, calls = o.by == "path", registers = o.argument ~= nil }
  if o.argument and not how.frequency then how.period = how.period or 1 end
  if not how.event then how.event = data and "page-faults" or core.event.has_pmu() and "cycles" or "task-clock" end
  if not how.period and not how.frequency then
    if data and not o.event then how.period = 1 else how.frequency = FREQUENCY end
  end
  return how
end

-- The columns that a histogram has beside its shares: name, and what stands there for a bar.
local function hex(n) return n and ("0x%x"):format(n) end
local columns = {
  ["function"] = { { "function", function(b) return b.func or "-" end }, { "object", function(b) return b.object end } },
  line = { { "line", function(b) return b.file and ("%s:%d"):format(b.file, b.line) or "-" end },
    { "function", function(b) return b.func or "-" end }, { "object", function(b) return b.object end } },
  object = { { "object", function(b) return b.object end } },
  page = { { "page", function(b) return hex(b.page) end }, { "pid", function(b) return b.pid end },
    { "object", function(b) return b.object end } },
  path = { { "path", function(b) return table.concat(b.path, ";") end } },
  data = { { "variable", function(b) return b.variable or "-" end }, { "object", function(b) return b.object end } },
  thread = { { "pid", function(b) return b.pid end }, { "thread", function(b) return b.tid end } },
  cpu = { { "cpu", function(b) return b.cpu end } },
  value = { { "value", function(b) return b.value end } },
}

local function rows_of(bars, by, top)
  local names, rows = { "share %", "from", "to", "samples" }, {}
  for i, column in ipairs(columns[by]) do names[4 + i] = column[1] end
  for i = 1, math.min(#bars, top) do
    local b = bars[i]
    rows[i] = { ("%.1f"):format(100 * b.share), ("%.1f"):format(100 * b.low), ("%.1f"):format(100 * b.high), b.samples }
    for k, column in ipairs(columns[by]) do rows[i][4 + k] = column[2](b) end
  end
  return names, rows
end

local function write(o, out, sampler, bars)
  local json = require "pmlua.json"
  if o.json then
    return out:write(json.encode { command = json.array(o.command), event = sampler:name(), by = o.by, counts = sampler:counts(),
      rows = json.array(bars) })
  end
  local names, rows = rows_of(bars, o.by, (o.csv or o.top == 0) and math.huge or o.top)
  if o.csv then return out:write(require("pmlua.internal.cli.csv").table(names, rows)) end
  out:write("\n", require "pmlua.tabulate"(names, rows, out == io.stderr and 2 or nil), "\n")
  local more = #bars - #rows
  out:write(("%d samples of %s%s\n"):format(sampler:counts().samples, sampler:name(),
    more > 0 and ("; %d more rows with --top 0"):format(more) or ""))
end

--- Clocks and most counters note where the code is and not which data it used.
---@param pages table[] the histogram by page
local function tell_addresses(pages, how)
  local none, all = 0, 0
  for _, b in ipairs(pages) do none, all = none + (b.page == 0 and b.samples or 0), all + b.samples end
  if none == 0 then return end
  local text = none == all and ("no sample of %s has an address of data"):format(how.event)
    or ("%d of %d samples of %s have no address of data"):format(none, all, how.event)
  complain(text .. "; page-faults have, and mem-loads:pp and its like where the processor notes them")
end

--- Print a warning for each kind of missing data.
local function warn(sampler, how, pages)
  local c = sampler:counts()
  for _, text in ipairs(verify.remarks { sampler:name() }) do complain(text) end
  if pages then tell_addresses(pages, how) end
  local function say(n, text) if n > 0 then complain(text:format(n)) end end
  say(c.lost, "%d records were lost, because the kernel's buffer was full; sample less often (--period, --frequency)")
  say(c.dropped, "%d samples were dropped, because there was no memory for them; sample less often")
  say(c.throttled, "the kernel paused the event %d times, because its samples took too long; sample less often")
  say(c.odd, "%d records of the kernel were not understood")
  if c.samples == 0 then complain(("no sample of %s was taken; sample more often, or a longer run"):format(how.event)) end
end

---@return integer status
function M.run(o)
  local out = o.out and try(require("pmlua.internal.file").output(o.out)) or (o.json or o.csv) and io.stdout or io.stderr
  local how = settle(o)
  local operands = o.argument and try(arguments.operands(o.event, o.argument)) or nil
  if operands then o.by = "value" end
  local result = try(require("pmlua.internal.sample.run").run(o.command, how))
  local sampler <close> = result.sampler
  local bars = try(require("pmlua.sampler").histogram(sampler, o.by, operands))
  write(o, out, sampler, bars)
  if not o.quiet then
    local pages = o.by == "page" and bars or o.by == "data" and require("pmlua.sampler").histogram(sampler, "page")
    warn(sampler, how, pages)
  end
  try(not o.out or out:close(), o.out and o.out .. ": could not be written completely; is the disk full?")
  return require("pmlua.internal.child").status(result.ended)
end

return M
