-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua query`: the software-defined events of a running application, once or followed, as a table, a plot or JSON.
--
--     pmlua query SOLVER 'sde:::*residual*' --watch 1s

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local directory = require "pmlua.internal.live.directory"
local json = require "pmlua.json"
local reading = require "pmlua.internal.live.reading"
local series = require "pmlua.internal.live.series"
local view = require "pmlua.internal.live.view"
local try = require "pmlua.internal.try"

local M = {
  summary = "read the software-defined events of a running application",
  arguments = { { name = "PID|NAME", key = "which", kind = "application", optional = true },
    { name = "PATTERN", key = "patterns", many = true, optional = true } },
  about = [[
Without arguments, pmlua query lists the applications with a live service: those started by pmlua live -- COMMAND,
and those that call pmlua_live_start() (C) or pml.live.start() (Lua).

PATTERN is the name of an event or a glob (* and ?), with or without sde:::; the default is all events. A pattern without ::
matches events of all libraries. A recorder is printed with its count and quantiles; LIB::RECORDER:MED selects one quantile.

With --job, NAME is a glob, and pmlua reads all programs with such names together, as the ranks of an MPI job: a row per event
has the sum, the extremes and the quartiles over ranks, and the ranks of the extremes. With --rules, FILE adds rules
by pml.job.watch(event, every, function(values, job) ... end): values has the event's values by rank, job:stop(reason) stops all
ranks, and job:call(name, numbers...) calls a function of the application in all of them.]],
  options = {
    { name = "watch", kind = "duration", value = "EVERY", min = 0.001, help = "read repeatedly, such as every 1s or 250ms, and "
      .. "show what changed; a terminal shows the newest table, other output gets one after the other. Ends with the "
      .. "application, or by Ctrl-C" },
    { name = "count", kind = "integer", min = 1, help = "end after N readings" },
    common.with("plot", { optional = true, help = "draw in the terminal: the values of recorders, other events over the time "
      .. "watched; or write the plot to FILE (.svg or .png) at the end" }),
    common.with("json", { help = "print each reading as one line of JSON: {name, pid, rows, time_s}" }),
    common.with("csv", { help = "print each event of each reading as a row of CSV, below a row of names" }),
    { name = "job", help = "read all programs whose names match NAME as one job; a rank is silent after 0.9 s, "
      .. "or --patience" },
    { name = "hosts", kind = "text", value = "HOST,...", needs = "job", help = "read the ranks on these hosts instead, by running"
      .. " pmlua there with ssh, which must need no password" },
    { name = "rules", kind = "file", needs = "job", help = "evaluate rules in Lua over the job's ranks on this host "
      .. "(pml.job.watch), until one of them stops the job, or all ranks have ended" },
    common.with "openmetrics", common.with "out",
    common.with("patience", { default = false, shown = "5s" }),
    common.with("quiet", { help = "with --plot FILE, do not print the number of readings" }),
  },
  exclusive = { { "json", "csv", "plot", "openmetrics" }, { "watch", "openmetrics" }, { "count", "openmetrics" },
    { "job", "csv" }, { "job", "openmetrics" }, { "rules", "hosts" }, { "rules", "watch" },
    { "rules", "json" } },
  output = true,
  examples = {
    "pmlua query", "pmlua query --job 'SOLVER*' '*::residual'", "pmlua query SOLVER 'sde:::*residual*' --watch 1s --count 3",
    { "pmlua query SOLVER '*::residual' --count 3 --plot residual.svg", needs = { "gnuplot" } },
  },
}

function M.check(o)
  if o.job and not o.which then return "--job needs a NAME, such as '*'" end
  if o.job and #o.patterns == 0 then o.patterns[1] = "*" end
  if not o.which and (o.watch or o.plot or o.count) then return "name the application, by its PID or NAME" end
  if type(o.plot) == "string" then o.file = o.plot end
  if o.count and o.count > 1 and not o.watch then o.watch = 1 end
end

local DRAWN = 10000 -- events

local CLEAR = "\27[H\27[J"

local complain = require "pmlua.internal.cli.complain" "query"

-- --- applications ---

local function age(seconds)
  if not seconds then return "-" end
  local s = math.floor(seconds)
  if s < 60 then return ("%ds"):format(s) end
  if s < 3600 then return ("%dm%02ds"):format(s // 60, s % 60) end
  if s < 86400 then return ("%dh%02dm"):format(s // 3600, s % 3600 // 60) end
  return ("%dd%02dh"):format(s // 86400, s % 86400 // 3600)
end

local function list(o)
  local applications = try(directory.list())
  local rows, infos = { { "PID", "NAME", "UP", "EVENTS", "COMMAND" } }, json.array()
  directory.ask_all(applications, o.patience or 1, function(app, info, why, code)
    if info then
      json.array(info.rules)
      json.array(info.functions)
      infos[#infos + 1] = info
      local command = info.command
      rows[#rows + 1] = { ("%d"):format(app.pid), app.name, age(info.up_s), ("%d"):format(info.events), command }
    elseif code ~= "ECONNREFUSED" and code ~= "ENOENT" then -- else it ended just now
      rows[#rows + 1] = { ("%d"):format(app.pid), app.name, "-", "-", "(" .. tostring(why) .. ")" }
    end
  end)
  if o.json then io.write(json.encode(infos))
  elseif o.csv then
    io.write(require "pmlua.internal.cli.csv".table({ "pid", "name", "up", "events", "command" }, { table.unpack(rows, 2) }))
  elseif #rows > 1 then io.write(view.plain(rows, { true, false, true, true }))
  else io.write("no application can be asked; start one with pmlua live -- COMMAND, or let it call pmlua_live_start()\n") end
  return 0
end

-- --- asking one ---

local function terminal_size()
  local columns, lines = tonumber(os.getenv("COLUMNS")), tonumber(os.getenv("LINES"))
  if columns and lines then return columns, lines end
  local pipe = io.popen("stty size 2>/dev/null </dev/tty")
  local l, c = pipe:read("a"):match("(%d+) (%d+)")
  pipe:close()
  c, l = tonumber(c) or 80, tonumber(l) or 24
  return math.max(c, 40), math.max(l, 12)
end

--- No event matched: suggest the application's nearest names.
local function nothing(o, app, link)
  local all = reading.new():ask(app, link, o.patience)
  local names, full = {}, {}
  local asked = o.patterns[1]:gsub("^sde:::", "")
  for i, row in ipairs(all and all.rows or {}) do
    names[i] = asked:find("::", 1, true) and row.name:sub(7) or row.name:match("([^:]*)$")
    full[names[i]] = row.name
  end
  if #names == 0 then return complain(("%s (%d) has no events yet"):format(app.name, app.pid)) end
  local near = require "pmlua.internal.nearest"(asked, names)
  return complain(("no event of %s (%d) matches '%s'; %s"):format(app.name, app.pid, table.concat(o.patterns, "', '"),
    near and ("did you mean '%s'?"):format(full[near]) or ("pmlua query %d lists them"):format(app.pid)))
end

local Watch = {}
Watch.__index = Watch

function Watch:title()
  return ("%s (%d)"):format(require "pmlua.internal.printable"(self.app.name), self.app.pid)
end

--- Draw the collected values, in characters.
local function draw(set, title)
  if not series.drawable(set) then return "nothing to draw yet\n" end
  local columns, lines = terminal_size()
  local text, err = series.text(set, title, columns, lines - 2)
  return text or err .. "\n"
end

function Watch:show(answer)
  local o = self.options
  if o.json then return io.write(view.json(answer, self.app), "\n") end
  if o.csv then return io.write(view.csv(answer, self.app, self.readings == 0)) end
  if o.file then return io.write(("\r%d readings"):format(self.readings + 1):rep(o.tty and not o.quiet and 1 or 0)) end
  local when = os.date("%H:%M:%S", math.floor(answer.time_s))
  if o.watch and o.tty then io.write(CLEAR, self:title(), ", ", when, "; Ctrl-C ends\n")
  elseif o.watch then io.write("# ", self:title(), ", ", os.date("%Y-%m-%d ", math.floor(answer.time_s)), when, "\n") end
  io.write(o.plot and draw(self.series, self:title()) or view.table(answer, self.before, o.watch ~= nil))
  if o.watch and not o.tty then io.write "\n" end
end

--- Read once: true; or nil, the error, and its code.
function Watch:read()
  local o = self.options
  local answer, err, code = self.reading:ask(self.app, self.link, o.patience)
  if not answer then return nil, err, code end
  self.rows = #answer.rows
  if o.plot then
    if self.rows > DRAWN then return nil, ("%d events can be plotted, more match; narrow the pattern"):format(DRAWN) end
    local ok, why, how = series.add(self.series, answer, function(row, first)
      return reading.series(self.app, self.link, row, first, o.patience)
    end)
    if not ok then return nil, why, how end
  end
  if self.rows > 0 or o.watch then self:show(answer) end
  io.flush()
  self.before, self.readings = {}, self.readings + 1
  for _, row in ipairs(o.watch and answer.rows or {}) do self.before[row.name] = row end
  return true
end

--- Until the next reading is due; false if the user ended it.
function Watch:wait()
  local left = self.began + self.readings * self.options.watch - core.clock.ns() / 1e9
  if left > 0 then core.sys.sleep(left) end
  return not core.sys.interrupted()
end

--- Whether anything that is drawn must be watched for it.
local function needs_time(set)
  for _, s in ipairs(set.list) do
    if not s.recorder then return true end
  end
  return false
end

--- Read as often as was asked. Returns a status and, if the application ended meanwhile, true.
function Watch:run()
  local o = self.options
  self.began = core.clock.ns() / 1e9
  while true do
    local ok, err, code = self:read()
    if core.sys.interrupted() then return 0 end
    if not ok then
      if code ~= "ECONNRESET" or self.readings == 0 then return complain(err) end
      complain(("%s has ended, after %d reading%s"):format(self:title(), self.readings, self.readings == 1 and "" or "s"))
      return 0
    end
    if self.rows == 0 and not o.watch then return nothing(o, self.app, self.link) end
    if o.plot and not o.watch and needs_time(self.series) then o.watch = 1 end
    if not o.watch or self.readings == o.count or not self:wait() then return 0 end
  end
end

local function write_picture(o, set, title)
  if o.tty and o.watch and not o.quiet then io.write("\n") end
  if not series.drawable(set) then return complain("nothing to plot: no value was read") end
  try(series.picture(set, title, o.file))
  print(o.file)
  return 0
end

--- Print the events, sections and rules of a program, or of all, for Prometheus.
local function expose(o)
  if #o.patterns > 0 then return complain "--openmetrics prints all events of a program; name no pattern" end
  if o.which then try(directory.find(o.which)) end
  local scrape = require "pmlua.internal.serve.scrape".new { which = { o.which }, patience = o.patience or 5,
    complain = complain }
  local families, why = scrape:read()
  scrape:close()
  if not families then return complain(why) end
  io.write(families:text(o.openmetrics == true and "openmetrics" or o.openmetrics))
  return 0
end

local function hosts_of(text)
  local hosts = {}
  for host in text:gmatch "[^,]+" do hosts[#hosts + 1] = host end
  return hosts
end

local function scrape_of(o)
  return require "pmlua.internal.serve.scrape".new { which = { o.which }, patience = o.patience or 0.9, patterns = o.patterns,
    complain = complain }
end

--- Read the job once; nil: it could not be read.
local function read_job(o, scrape)
  local jobs, patience = require "pmlua.internal.live.job", o.patience or 0.9
  local job, err
  if o.hosts then job, err = jobs.on(hosts_of(o.hosts), o.which, o.patterns, patience)
  else job, err = jobs.here(scrape) end
  if not job then return nil, complain(err) end
  if #job.ranks == 0 and not o.json then return nil, complain(("no application has a name like '%s'"):format(o.which)) end
  return job
end

local function show_job(o, job, set, n)
  local jobs = require "pmlua.internal.live.job"
  if o.plot then series.add(set, jobs.answer(job)) end
  if o.json then return io.write(jobs.json(job), "\n") end
  local text, silent = jobs.text(job)
  if o.file then io.write(("\r%d readings"):format(n):rep(o.tty and not o.quiet and 1 or 0))
  else
    if o.watch then io.write(o.tty and CLEAR or "", "# ", o.which, ", ", os.date "%Y-%m-%d %H:%M:%S", "\n") end
    io.write(o.plot and draw(set, o.which) or text, o.watch and not o.tty and "\n" or "")
  end
  io.stdout:flush()
  for _, line in ipairs(silent) do complain(line) end
end

--- Read a job as often as the options say.
local function run_job(o)
  core.sys.on_interrupt()
  if o.plot and not o.watch then o.watch = 1 end
  local scrape <close>, n, set, status = scrape_of(o), 0, series.new(), 0
  repeat
    local began_s, job, failed = core.clock.ns() / 1e9, read_job(o, scrape)
    if not job then
      status = n > 0 and 0 or failed
      break
    end
    n = n + 1
    show_job(o, job, set, n)
    local is_last = not o.watch or n == o.count
    if not is_last then core.sys.sleep(math.max(0, began_s + o.watch - core.clock.ns() / 1e9)) end
  until is_last or core.sys.interrupted()
  return o.file and n > 0 and write_picture(o, set, o.which) or status
end

--- Evaluate rules over the job, until one stops it, or all ranks have ended.
local function run_rules(o)
  local scrape <close> = scrape_of(o)
  local rules = try(require "pmlua.internal.live.job_rules".load(o.rules, scrape, complain))
  core.sys.on_interrupt()
  local wait_s, why
  repeat
    wait_s, why = rules:tick()
    if wait_s then core.sys.sleep(wait_s) end
  until not wait_s or core.sys.interrupted()
  for _, line in ipairs(rules:unused()) do complain(line) end
  return (not why or why == "stopped" or why == "the job has ended") and 0 or complain(why)
end

---@param o table
---@return integer status
function M.run(o)
  if o.rules then return run_rules(o) end
  o.tty = core.sys.isatty(1) and not o.out
  if o.job then return run_job(o) end
  if o.openmetrics then return expose(o) end
  if not o.which then return list(o) end
  o.patience = o.patience or 5
  if #o.patterns == 0 then o.patterns[1] = "*" end
  local app = try(directory.find(o.which))
  core.sys.on_interrupt()
  local link <close> = try(directory.connect(app))
  local watch = setmetatable({ options = o, app = app, link = link, series = series.new(), readings = 0,
    reading = reading.new(o.patterns) }, Watch)
  local status = watch:run()
  if o.file and watch.readings > 0 and (status == 0 or series.drawable(watch.series)) then
    status = math.max(status, write_picture(o, watch.series, watch:title()))
  end
  return status
end

return M
