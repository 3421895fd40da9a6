-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/serve_spec.lua - tests of pmlua serve, query --openmetrics and live --export with real programs and clients.

local support = require "spec.core.support"
local json = require "pmlua.json"
local quote = support.quote

local command, dir, runtime, started = support.build .. "/pmlua", nil, nil, nil
local socket = require "socket"

--- A program whose values are known: 7 steps, a level of -2.5, values 1 to 101 in a recorder, and 3 calls of a section.
local KNOWN <const> = [[
local pml = require "pmlua"
local lib = pml.sde.library(os.getenv "LIBRARY" or "DEMO")
lib:counter("steps"):add(7)
lib:counter("x y", { instant = true }):add(1)
lib:counter("x.y", { instant = true }):add(2)
lib:counter("seen_total"):add(4)
local values = lib:recorder("values", { type = "double" })
for i = 1, 101 do values:push(i) end
pml.section.define { label = 'say "x"\\', record = "all" }
for _ = 1, 3 do pml.section.start 'say "x"\\'; pml.section.stop 'say "x"\\' end
assert(pml.live.start { name = os.getenv "NAME" or "APP" })
pml.sys.sleep(300)]]

local function environment() return ("cd %s && XDG_RUNTIME_DIR=%s "):format(quote(dir), quote(runtime)) end

local function pmlua(arguments) return support.shell(environment() .. command .. " " .. arguments) end

--- Start a command in the background; its pid, and the file of its output.
local function start(line)
  local out = ("%s/out%d"):format(dir, #started + 1)
  local pipe = io.popen(("%s exec timeout 300 %s >%s 2>&1 & echo $!"):format(environment(), line, out))
  local pid = pipe:read "n"
  pipe:close()
  started[#started + 1] = pid
  return pid, out
end

local function program(name, library)
  support.spit(dir .. "/app.lua", KNOWN)
  start(("env NAME=%s LIBRARY=%s %s app.lua"):format(name, library or "DEMO", command))
  local pid
  support.eventually(function()
    local _, text = pmlua "query --json"
    for _, info in ipairs(json.decode(text) or {}) do
      if info.name == name then pid = math.tointeger(info.pid) end
    end
    return pid ~= nil
  end)
  return assert(pid)
end

--- Start pmlua serve on a free port; the port.
local function serve(arguments)
  local _, out = start(command .. " serve --export 127.0.0.1:0 " .. (arguments or ""))
  support.eventually(function() return support.exists(out) and support.slurp(out):find "\n" end)
  return assert(tonumber(support.slurp(out):match ":(%d+)/metrics\n"), support.slurp(out))
end

--- Send bytes and return all that comes until the server closes.
local function exchange(port, bytes)
  local client = assert(socket.connect("127.0.0.1", port))
  client:settimeout(60)
  client:send(bytes)
  local text, _, part = client:receive "*a"
  client:close()
  return text or part
end

local function get(port, path, headers)
  local text = exchange(port, ("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n"):format(path, headers or ""))
  return tonumber(text:match "^HTTP/1.1 (%d+)"), text:match "\r\n\r\n(.*)$"
end

--- The samples of an exposition, by name and labels.
local function samples(text)
  local out = {}
  for line in text:gmatch "[^\n]+" do
    local series, value = line:match "^([^#].*) (%S+)$"
    if series then out[series] = value end
  end
  return out
end

local it = support.it

before_each(function()
  dir, started = support.folder(), {}
  runtime = dir .. "/run"
  assert(os.execute("mkdir -m 700 " .. runtime))
end)
after_each(function()
  for _, pid in ipairs(started) do os.execute("kill " .. pid .. " 2>/dev/null") end
end)

describe("pmlua query --openmetrics", function()
  it("prints counters, gauges, recorders and sections with the values that the program gave", function()
    local pid = program "APP"
    local text = support.done(pmlua "query APP --openmetrics")
    local got, own = samples(text), ('program="APP",pid="%d",'):format(pid)
    assert.equal("7", got[('sde_DEMO_steps_total{%sevent="DEMO::steps"}'):format(own)])
    assert.equal("4", got[('sde_DEMO_seen_total{%sevent="DEMO::seen_total"}'):format(own)])
    assert.equal("1", got[('sde_DEMO_x_y{%sevent="DEMO::x y"}'):format(own)])
    assert.equal("2", got[('sde_DEMO_x_y{%sevent="DEMO::x.y"}'):format(own)])
    local values = own .. 'event="DEMO::values"'
    for q, value in pairs { ["0"] = "1", ["0.25"] = "26", ["0.5"] = "51", ["0.75"] = "76", ["1"] = "101" } do
      assert.equal(value, got[('sde_DEMO_values{%s,quantile="%s"}'):format(values, q)])
    end
    assert.equal("101", got[("sde_DEMO_values_count{%s}"):format(values)])
    assert.equal("3", got[('pmlua_section_seconds_count{%ssection="say \\"x\\"\\\\\\\\"}'):format(own)])
    assert.equal("1", got[('pmlua_program_up{%s}'):format(own:sub(1, -2))])
    assert.matches("# TYPE sde_DEMO_steps counter\n", text, 1, true)
    assert.matches("# TYPE sde_DEMO_seen counter\n", text, 1, true)
    assert.matches("# UNIT pmlua_section_seconds seconds\n", text, 1, true)
    assert.matches("\n# EOF\n$", text)
  end)

  it("is the same at two times where nothing changed, except for what pmlua measured", function()
    program "APP"
    local function reading() return (support.done(pmlua "query --openmetrics"):gsub("\npmlua_program_uptime_seconds{[^\n]*", "")
      :gsub("\npmlua_scrape_seconds [^\n]*", ""):gsub("\npmlua_host_[^\n]*", ""):gsub("\npmlua_process_[^\n]*", "")) end
    local first = reading()
    support.core.sys.sleep(1.1)
    assert.equal(first, reading())
  end)

  it("has the metrics of plugins that the program itself runs", function()
    support.spit(dir .. "/plugin.lua", [[
local pml = require "pmlua"
local events = { { name = "tasks", mode = "accumulated_start", type = "integer", description = "tasks done" },
  { name = "power", unit = "W", exponent = -3, type = "integer" }, "level" }
assert(pml.plugin.define { name = "demo", scope = "process", events = events, read = function(name)
  return name == "tasks" and 7 or name == "power" and 2500 or 0.25
end })
local set = assert(pml.eventset { "plugin::demo::tasks" })
set:start()
assert(pml.live.start { name = "PLUGIN" })
pml.sys.sleep(300)]])
    start(command .. " plugin.lua")
    local got
    support.eventually(function()
      local text = select(2, pmlua "query PLUGIN --openmetrics")
      got = samples(text)
      return text:find "event="
    end)
    local found = {}
    for series, value in pairs(got) do
      local name, event = series:match '^(sde_[%w_]+){.*event="([^"]*)"'
      if name and not name:find "_created$" then found[name] = event .. "=" .. value end
    end
    assert.same({ sde_plugin_demo_tasks_total = "plugin::demo::tasks=7", sde_plugin_demo_power = "plugin::demo::power=2.5",
      sde_plugin_demo_level = "plugin::demo::level=0.25" }, found)
    local text = support.done(pmlua "query PLUGIN plugin::demo::power plugin::demo::tasks")
    assert.matches("plugin::demo::power +2%.5 +callback +%[W%]\n", text)
    assert.matches("plugin::demo::tasks +7 +callback +tasks done\n", text)
  end)

  it("has the memory, load and threads of the host and the process, as the kernel counts them", function()
    local pid = program "APP"
    local text = support.done(pmlua "query APP --openmetrics")
    local got, own = samples(text), ('{program="APP",pid="%d"}'):format(pid)
    local total = 1024 * tonumber(support.slurp("/proc/meminfo"):match "MemTotal:%s+(%d+)")
    local resident = tonumber(got["pmlua_process_resident_bytes" .. own])
    assert.is_true(tonumber(got["pmlua_process_threads" .. own]) >= 2) -- the program's and the service's
    assert.is_true(resident > 100000 and resident < total)
    assert.is_true(tonumber(got.pmlua_host_memory_available_bytes) <= total)
    local name = "pmlua_host_network_received_bytes"
    assert.matches(("# TYPE %s counter\n# UNIT %s bytes\n"):format(name, name), text, 1, true)
    assert.matches("# TYPE pmlua_host_load_1 gauge\n", text, 1, true)
    local port = serve "--metric host::load_15 --metric 'process::*faults'"
    local _, served = get(port, "/metrics")
    assert.is_nil(served:find("pmlua_host_load_1{", 1, true))
    assert.matches("\npmlua_host_load_15 [%d.]+\n", served)
    assert.matches("# TYPE pmlua_process_major_faults_total counter\n", served, 1, true)
    assert.matches("did you mean 'load_1'", select(3, pmlua "serve --metric host::load1"), 1, true)
    assert.matches("only metrics of host and process", select(3, pmlua "serve --metric uncore::x"), 1, true)
  end)

  support.with "promtool" ("is accepted by Prometheus's own checker", function()
    program "APP"
    local status, out, err = support.shell(environment() .. command .. " query --openmetrics=text | promtool check metrics")
    assert.same({ 0, "", "" }, { status, out, err })
    support.done(pmlua "serve --alerts alerts.yml --dashboard board.json")
    assert.matches("1 rules found", support.done(support.shell_in(dir, "promtool check rules alerts.yml")), 1, true)
  end)

  it("follows events that appear, leave and become negative", function()
    support.spit(dir .. "/steps.lua", [[
local pml = require "pmlua"
local lib = pml.sde.library "STEP"
local balance = lib:counter "balance"
balance:add(5)
lib:counter("early"):add(1)
assert(pml.live.start { name = "STEPS" })
while not io.open "go" do pml.sys.sleep(0.01) end
lib:unregister "early"
lib:counter("late"):add(3)
balance:add(-7)
io.open("gone", "w"):close()
pml.sys.sleep(300)]])
    start(command .. " steps.lua")
    assert.is_true(support.eventually(function() return pmlua "query STEPS --openmetrics" == 0 end))
    local scrape = [[
local scrape = require "pmlua.internal.serve.scrape".new { which = { "STEPS" }, patience = 60 }
local function values()
  local families, out = assert(scrape:read()), {}
  for line in families:text "openmetrics":gmatch "[^\n]+" do
    local name, value = line:match "^sde_STEP_([%w_]+){.*} (%S+)$"
    if name and not name:find "_created" then out[#out + 1] = name .. "=" .. value end
    name = line:match "^# TYPE sde_STEP_(%w+ %w+)"
    if name then out[#out + 1] = name end
  end
  for _, family in ipairs(families.list) do
    for _, s in ipairs(family.name:find "STEP" and family.samples or {}) do out[#out + 1] = tostring(s.value) end
  end
  print(table.concat(out, " "))
end
values()
io.open("go", "w"):close()
while not io.open "gone" do require "pmlua.core".sys.sleep(0.01) end
values()]]
    support.spit(dir .. "/scrape.lua", scrape)    assert.equal("balance counter balance_total=5 early counter early_total=1 5 1\n"
      .. "balance gauge balance=-2 late counter late_total=3 -2 3\n",
      support.done(pmlua "scrape.lua"))
  end)

  it("refuses a program of another version with a line", function()
    support.spit(dir .. "/other.py", [[
import os, socket, threading
s = socket.socket(socket.AF_UNIX)
s.bind("run/pmlua/%d.OTHER" % os.getpid())
s.listen()
info = b'{"pid": 1, "command": "other", "events": 0, "functions": [], "rules": []}'
def answer(c):
    questions = c.makefile("rb")
    while True:
        question = questions.readline().split()
        if not question: break
        questions.read(int(question[2]))
        c.sendall(b"ok %d\n%s" % (len(info), info) if question[1] == b"info" else b"error 7\nunknown")
while True:
    threading.Thread(target=answer, args=(s.accept()[0],)).start()]])
    program "APP"
    start "python3 other.py"
    support.eventually(function() return support.done(pmlua "query"):find("OTHER", 1, true) end)
    local status, out, err = pmlua "query --openmetrics"
    assert.equal(0, status)
    assert.matches('pmlua_program_up{program="OTHER",pid="%d+"} 0\n', out)
    assert.matches('pmlua_program_up{program="APP",pid="%d+"} 1\n', out)
    assert.matches("OTHER %(%d+%): .*unknown; start the program with this version of pmlua\n$", err)
  end)

  it("names a program that does not answer, and reads the others", function()
    local silent, other = program "ONE", program "TWO"
    os.execute("kill -STOP " .. silent)
    local got = samples(support.done(pmlua "query --openmetrics --patience 3s"))
    support.spit(dir .. "/mute.py", [[
import os, socket, time
s = socket.socket(socket.AF_UNIX)
s.bind("run/pmlua/%d.MUTE" % os.getpid())
s.listen()
time.sleep(300)]])
    start "python3 mute.py"
    support.eventually(function() return support.done(pmlua "query --patience 1ms"):find("MUTE", 1, true) end)
    support.spit(dir .. "/again.lua", [[
local scrape = require "pmlua.internal.serve.scrape".new { which = { "ONE", "MUTE" }, patience = 0.3 }
scrape:read()
for _, program in ipairs(scrape:list()) do
  print(program.app.name, program.stopped, program.again_s > require "pmlua.core".clock.ns() / 1e9 + 3)
end]])
    local later = support.done(pmlua "again.lua")
    os.execute("kill -CONT " .. silent)
    -- no reading waits for the one, and the next readings do not wait for the other
    assert.matches("ONE\ttrue\tfalse\n", later, 1, true)
    assert.matches("MUTE\tfalse\ttrue\n", later, 1, true)
    assert.equal("0", got[('pmlua_program_up{program="ONE",pid="%d"}'):format(silent)])
    assert.equal("1", got[('pmlua_program_up{program="TWO",pid="%d"}'):format(other)])
    assert.equal("7", got[('sde_DEMO_steps_total{program="TWO",pid="%d",event="DEMO::steps"}'):format(other)])
  end)

  it("prints text that a program sends as text only, never as a line or a value", function()
    local families = require "pmlua.internal.serve.openmetrics".new()
    families:event({ "program", 'x"}' }, { name = "sde:::A::b\n# EOF", kind = "registered", instant = true,
      value = "1\nevil 2", description = "d\n# EOF" })
    families:event({}, { name = "sde:::A::c", kind = "registered", instant = true, value = "9223372036854775807" })
    local text = families:text "openmetrics"
    assert.same({ ['sde_A_b_x0a_EOF{program="x\\"}",event="A::b\\\\x0a# EOF"}'] = "NaN",
      ['sde_A_c{event="A::c"}'] = "9223372036854775807" }, samples(text))
    assert.equal(1, select(2, text:gsub("\n# EOF", "")))
  end)

  it("refuses what it cannot combine", function()
    assert.matches("name no pattern", select(3, pmlua "query APP x --openmetrics"), 1, true)
    assert.matches("openmetrics or text", select(3, pmlua "query --openmetrics=xml"), 1, true)
  end)
end)

--- Four ranks with the values 10, 20, 30 and 70, as a launcher starts them.
local function ranks()
  support.spit(dir .. "/rank.lua", [[
local pml = require "pmlua"
local rank = pml.sys.launched()
pml.sde.library "DEMO":counter("n", { instant = true }):add(({ [0] = 10, 30, 20, 70 })[rank])
if rank > 1 then pml.sde.library "DEMO":counter("some", { instant = true }):add(1) end
assert(pml.live.start { name = "JOB" })
pml.sys.sleep(300)]])
  for rank = 0, 3 do start(("env OMPI_COMM_WORLD_RANK=%d OMPI_COMM_WORLD_SIZE=4 %s rank.lua"):format(rank, command)) end
  local job
  support.eventually(function()
    job = json.decode((support.done(pmlua "query --job 'J*B' '*' --json")))
    return #job.ranks == 4 and #job.rows == 2 and #job.rows[1].ranks == 4 and #job.rows[2].ranks == 2
  end)
  return job
end

describe("pmlua query --job", function()
  it("sums events over ranks, and names the ranks of the extremes", function()
    local job = ranks()
    local text = support.done(pmlua "query --job JOB 'DEMO::*' --patience 20s")
    assert.matches("\nsde:::DEMO::n +4 +130 +10 +0 +17%.5 +25 +40 +70 +3\n", text)
    assert.matches("\nsde:::DEMO::some +2 +2 +1 +2 +1 +1 +1 +1 +2\n", text)
    local silent
    for _, rank in ipairs(job.ranks) do
      if rank.rank == 3 then silent = math.tointeger(rank.pid) end
    end
    os.execute("kill -STOP " .. silent)
    local status, out, err = pmlua "query --job JOB 'DEMO::n' --patience 3s"
    os.execute("kill -CONT " .. silent)
    assert.equal(0, status)
    assert.matches("\nsde:::DEMO::n +3 +60 +10 +0 +15 +20 +25 +30 +1\n", out)
    assert.matches(("%%(JOB, pid %d on [^)]*%%) is silent"):format(silent), err)
  end)

  it("draws the statistics over ranks over time, the sum apart from the others", function()
    ranks()
    if not os.execute "gnuplot --version >/dev/null 2>&1" then return pending "gnuplot is not installed" end
    support.done(pmlua "query --job JOB 'DEMO::n' --watch 20ms --count 3 --plot job.svg -q")
    local picture = support.slurp(dir .. "/job.svg")
    for _, text in ipairs { "n, sum", "n, by rank", "DEMO::n sum", "DEMO::n least", "DEMO::n q1", "DEMO::n median", "DEMO::n q3",
      "DEMO::n most" } do
      assert.matches(text, picture, 1, true)
    end
  end)

  it("reads ranks on hosts by ssh, and refuses words that are not hosts", function()
    local daemon = "/usr/sbin/sshd"
    if not support.exists(daemon) then return pending "sshd is not installed" end
    ranks()
    support.spit(dir .. "/sshd", ([[
Port %d
ListenAddress 127.0.0.1
HostKey %s/host
AuthorizedKeysFile %s/key.pub
StrictModes no
UsePAM no
PidFile none
SetEnv XDG_RUNTIME_DIR=%s PATH=%s:/usr/bin:/bin
]]):format(20000 + support.core.sys.pid() % 20000, dir, dir, runtime, support.build))
    support.spit(dir .. "/config", ("Host here there\nHostName 127.0.0.1\nPort %d\nIdentityFile %s/key\nLogLevel ERROR\n"
      .. "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"):format(20000 + support.core.sys.pid() % 20000, dir))
    support.spit(dir .. "/ssh", ("#!/bin/sh\nexec /usr/bin/ssh -F %s/config \"$@\"\n"):format(dir))
    support.done(support.shell_in(dir, "ssh-keygen -qt ed25519 -N '' -f key && ssh-keygen -qt ed25519 -N '' -f host && "
      .. "chmod 700 ssh && mkdir -p /run/sshd 2>/dev/null; true"))
    start(daemon .. " -D -e -f sshd")
    local text
    support.eventually(function()
      local status, out = support.shell(environment() .. "PATH=" .. dir .. ":$PATH " .. command
        .. " query --job JOB 'DEMO::n' --hosts here,there")
      text = out
      return status == 0
    end)
    assert.matches("\nsde:::DEMO::n +8 +260 +10 +0 +17%.5 +25 +40 +70 +3\n", text)
    local _, _, err = pmlua "query --job JOB --hosts=-oProxyCommand=x"
    assert.matches("'-oProxyCommand=x' is not the name of a host", err, 1, true)
  end)
end)

describe("Rules over a job", function()
  local mpi = require "spec.lua.mpi_job"
  local output

  --- Start four ranks of the solver; the file of their output.
  local function job(name)
    local options = ("-Icore -L%s -Wl,-rpath,%s"):format(support.build, support.build)
    local solver = mpi.compile(name, "residual", dir, options, "-lpmlua -lm")
    output = select(2, start(("%s -n 4 %s live --name JOB -- %s"):format(mpi.RUN[name], command, solver)))
    assert.is_true(support.eventually(function()
      local _, text = pmlua "query --job JOB SOLVER::residual --json"
      local read = json.decode(text)
      return read and #read.ranks == 4 and #read.rows == 1
    end))
  end

  mpi.it_once("stop all ranks when one has no number for a while, each with a line of its own", function(name)
    job(name)
    support.spit(dir .. "/nan.lua", [[
local pml = require "pmlua"
local since
pml.job.watch("SOLVER::residual", "50ms", function(values, job)
  local bad
  for rank, v in pairs(values) do bad = v ~= v and rank or bad end
  since = bad and (since or job.time_s)
  if since and job.time_s - since >= 0.3 then job:stop("residual of rank " .. bad .. " is NaN") end
end, { name = "nan" })]])
    local status, _, err = pmlua "query --job JOB --rules nan.lua --patience 60s"
    assert.same({ 0, "pmlua query: rule nan: stopped the run (residual of rank 2 is NaN) in 4 ranks\n" }, { status, err })
    assert.is_true(support.eventually(function() return support.slurp(output):find("\nstopped\n", 1, true) ~= nil end))
    assert.equal(4, select(2, support.slurp(output):gsub("pmlua: the run is stopped: residual of rank 2 is NaN\n", "")))
  end)

  mpi.it_once("are refused, reported and cancelled with their file and line, and cannot open files", function(name)
    job(name)
    support.spit(dir .. "/wrong.lua", [[
pml.job.watch("SOLVER::residual", "10ms", function(values) return values[0] .. {} end)
pml.job.watch("SOLVER::nothing", "10ms", function() end, { name = "waits" })
pml.job.watch("SOLVER::residual", "10ms", function(values) assert(io == nil and os.execute == nil); return false end)]])
    local status, _, err = pmlua "query --job JOB --rules wrong.lua --patience 20s & sleep 3; kill -INT $!; wait $!"
    assert.equal(0, status)
    assert.matches("rule wrong.lua:1: wrong.lua:1: attempt to concatenate a table value\n", err, 1, true)
    assert.matches("rule wrong.lua:1: cancelled: it failed 10 times in a row\n", err, 1, true)
    assert.matches("rule waits never ran: no rank has the event SOLVER::nothing\n", err, 1, true)
    assert.is_nil(err:find("wrong.lua:3", 1, true))
    support.spit(dir .. "/none.lua", "local x = 1")
    assert.matches("none.lua has no rule", select(3, pmlua "query --job JOB --rules none.lua"), 1, true)
    support.spit(dir .. "/bad.lua", "pml.job.watch('SOLVER::n', 'often', print)")
    assert.matches("every is \"often\"", select(3, pmlua "query --job JOB --rules bad.lua"), 1, true)
    assert.matches("no rank replies", select(3, pmlua "query --job NOBODY --rules wrong.lua"), 1, true)
  end)
end)

describe("pmlua report --openmetrics", function()
  it("prints what a program left, for node_exporter", function()
    support.spit(dir .. "/app.lua", (KNOWN:gsub("assert%(pml.live.*", ""):gsub("(stop )('.-')", "%1(%2, { operations = 0.25 })")))
    support.done(support.shell(environment() .. "PMLUA_REPORT=left " .. command .. " app.lua"))
    local text = support.done(pmlua "report left --openmetrics=text")
    local got, times = {}, {}
    for series, value in pairs(samples(text)) do
      local name, quantile = series:match "^([%w_]+){", series:match 'quantile="(.-)"'
      if name:find "^pmlua_section_seconds" then times[quantile or name:match "_([cs][ou][a-z]+)$"] = tonumber(value)
      else got[name .. (quantile or "")] = value end
    end
    assert.same({ sde_DEMO_steps_total = "7", sde_DEMO_seen_total = "4", sde_DEMO_x_y = got.sde_DEMO_x_y,
      pmlua_section_work_total = "0.75", pmlua_recorder_dropped_total = "0", sde_DEMO_values_count = "101",
      sde_DEMO_values0 = "1", ["sde_DEMO_values0.25"] = "26", ["sde_DEMO_values0.5"] = "51", ["sde_DEMO_values0.75"] = "76",
      sde_DEMO_values1 = "101" }, got)
    assert.is_true(times["1"] <= times.sum and times["0"] + times["0.5"] + times["1"] >= times.sum * 0.999)
    assert.equal(3, times.count)
    assert.matches("# TYPE sde_DEMO_steps_total counter\n", text, 1, true)
    assert.not_matches("# UNIT", text, 1, true)
    assert.not_matches("# EOF", text, 1, true)
    assert.not_matches("_created", text, 1, true)
  end)
end)

describe("pmlua serve", function()
  it("answers clients in their format, and refuses what a web page could send", function()
    program "APP"
    local port = serve()
    local function answer(headers)
      return exchange(port, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" .. headers .. "\r\n")
    end
    local old, modern = answer "", answer "Accept: application/openmetrics-text;version=1.0.0\r\n"
    assert.matches("^HTTP/1.1 200 .*\nContent%-Type: text/plain; version=0%.0%.4; charset=utf%-8\r\n", old)
    assert.matches("# TYPE sde_DEMO_steps_total counter\n", old, 1, true)
    assert.matches("^HTTP/1.1 200 .*\nContent%-Type: application/openmetrics%-text; version=1%.0%.0; charset=utf%-8\r\n", modern)
    assert.matches("# EOF\n$", modern)
    assert.equal(404, (get(port, "/other")))
    assert.matches("^HTTP/1.1 403 ", exchange(port, "GET /metrics HTTP/1.1\r\nHost: example.org\r\n\r\n"))
    local origin = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nOrigin: http://%s\r\n\r\n"
    assert.matches("^HTTP/1.1 403 ", exchange(port, origin:format "example.org"))
    assert.matches("^HTTP/1.1 200 ", exchange(port, origin:format "localhost"))
    assert.matches("^HTTP/1.1 405 ", exchange(port, "POST /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    assert.matches("^HTTP/1.1 400 ", exchange(port, "nonsense\r\n\r\n"))
    assert.matches("^HTTP/1.1 400 ", exchange(port, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nabcde"))
    assert.matches("^HTTP/1.1 431 ", exchange(port, ("x"):rep(20000)))
  end)

  it("answers several requests on one connection, and others while a client is slow", function()
    program "APP"
    local port = serve()
    local slow = assert(socket.connect("127.0.0.1", port))
    slow:send "GET /metrics HTTP/1.1\r\nHo"
    local request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
    local text = exchange(port, request .. "\r\n" .. request .. "\r\n" .. request .. "Connection: close\r\n\r\n")
    assert.equal(3, select(2, text:gsub("HTTP/1.1 200 OK\r\n", "")))
    slow:close()
  end)

  it("demands the token of a file that is private, and one for addresses of other machines", function()
    support.spit(dir .. "/token", "0123456789abcdef\n")
    os.execute("chmod 644 " .. quote(dir .. "/token"))
    assert.matches("others may read it; use chmod 600", select(3, pmlua "serve --token token"), 1, true)
    assert.matches("can be reached from other machines", select(3, pmlua "serve --export 0.0.0.0:0"), 1, true)
    assert.matches("is not ADDR:PORT or unix:PATH", select(3, pmlua "serve --export nowhere"), 1, true)
    os.execute("chmod 600 " .. quote(dir .. "/token"))
    local port = serve "--token token"
    assert.equal(401, (get(port, "/metrics")))
    assert.equal(401, (get(port, "/metrics", "Authorization: Bearer 0123456789abcdeg\r\n")))
    assert.equal(200, (get(port, "/metrics", "Authorization: Bearer 0123456789abcdef\r\n")))
  end)

  it("writes a dashboard with a panel for each family", function()
    local pid = program "APP"
    support.done(pmlua(("serve %d --dashboard board.json"):format(pid)))
    local board, expressions = json.decode(support.slurp(dir .. "/board.json")), {}
    for _, panel in ipairs(board.panels) do expressions[panel.title] = panel.targets[1].expr end
    assert.equal("rate(sde_DEMO_steps_total[$__rate_interval])", expressions.sde_DEMO_steps)
    assert.equal("sde_DEMO_x_y", expressions.sde_DEMO_x_y)
    assert.matches("quantile", expressions.pmlua_section_seconds, 1, true)
  end)
end)

describe("The values of the last hour", function()
  it("are all of the last 600 readings, and one a second before these", function()
    local recent = require "pmlua.internal.serve.recent".new()
    for i = 1, 1000 do
      recent:add(i / 8, { { key = "a", value = i }, i % 2 == 0 and { key = "b", value = -i } or nil })
    end
    local times, a, b = table.unpack(recent:history({ 1, 2 }, 0))
    assert.equal(600 + 50, #times) -- one a second in the first 50 s
    assert.equal(650, #a)
    for k, time in ipairs(times) do
      assert.equal(time * 8, a[k])
      if a[k] % 2 == 0 then assert.equal(-a[k], b[k]) else assert.is_true(b[k] ~= b[k]) end
    end
    assert.same({ 124.875, 125.0 }, recent:history({ 1 }, 124.8)[1])
  end)
end)

describe("pmlua live --export", function()
  it("serves a program through a socket that others cannot open, from no child of its own, until it ends", function()
    local path = dir .. "/socket"
    local pid, out = start(("%s live --name APP --export unix:%s -- sleep 300"):format(command, path))
    local function is_there() return require "lfs".attributes(path, "mode") == "socket" end
    assert.is_true(support.eventually(is_there))
    assert.is_true(support.eventually(function() return support.slurp(out):find("metrics at unix:", 1, true) ~= nil end))
    assert.equal("rw-------", require "lfs".attributes(path, "permissions"))
    local unix = require "socket.unix"()
    assert(unix:connect(path))
    unix:settimeout(60)
    unix:send "GET /metrics HTTP/1.0\r\n\r\n"
    assert.matches("^HTTP/1.1 200 OK\r\n", (unix:receive "*a"))
    unix:close()
    os.execute(("pkill -P %d 2>/dev/null"):format(pid))
    assert.is_true(support.eventually(function() return not is_there() end))
  end)

  it("does not start the program where it cannot listen, or with a period for nothing", function()
    assert.matches("--every needs --export or --page", select(3, pmlua "live --every 1s -- touch began"), 1, true)
    local busy = assert(socket.bind("127.0.0.1", 0))
    local _, port = busy:getsockname()
    local status, _, err = pmlua(("live --export 127.0.0.1:%s -- touch began"):format(port))
    assert.equal(1, status)
    assert.matches("already in use; choose another port", err, 1, true)
    assert.is_false(support.exists(dir .. "/began"))
    busy:close()
  end)
end)
