-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_plugins_spec.lua - tests of pmlua record with metrics over time, with metric plugins, whose values come at each
-- call or asynchronously, and with substrate plugins, which run in the program and get its calls.

local support = require "spec.core.support"
local core = require "pmlua.core"
local dat = require "pmlua.internal.dat"
local json = require "pmlua.json"
local lfs = require "lfs"
local recording = require "spec.lua.recording"

local command, plugins = recording.command, support.build .. "/spec/plugins"
local at = recording.place("export LD_LIBRARY_PATH=" .. support.quote(plugins) .. "; ")
local dir, shell = at.dir, at.shell

--- Record a command that succeeds: functions by their names, the whole recording, standard error.
local function recorded(arguments, environment)
  local by_name, all, status, err = at.recorded("--lib libz " .. arguments, environment)
  assert.equal(0, status, err)
  return by_name, all, err
end

local function files(folder, pattern)
  local found = {}
  for name in lfs.dir(dir .. "/" .. folder) do
    if name:find(pattern) then found[#found + 1] = ("%s/%s/%s"):format(dir, folder, name) end
  end
  return found
end

describe("pmlua record --plugin", function()
  it("sums a strictly synchronous metric over each function's own calls", function()
    -- read at each enter and leave: a call adds one by itself, and one for each call that it makes
    local by_name = recorded "--plugin steps:steps,debts -o sync -- ./calls crc32:1000 sleep:20"
    local calls = by_name.crc32.calls
    assert.equal(1000, calls)
    local inner = by_name.crc32_z and by_name.crc32_z.calls or 0
    assert.equal(calls + inner, by_name.crc32.events["plugin::steps::steps"])
    assert.equal(-(calls + inner), by_name.crc32.events["plugin::steps::debts"])
  end)

  it("prints values with their unit and scale", function()
    local _, err = support.done(shell(command .. " record --lib libz --plugin steps:debts -o told -- ./calls crc32:10 sleep:20"))
    assert.truthy(err:find("steps::debts [B]", 1, true), err)
    assert.truthy(err:find("%-%d+"), err)
  end)

  it("honours SCOREP_METRIC_PLUGINS, and adds to it", function()
    local by_name = recorded("--plugin steps:steps -o both -- ./calls crc32:10 sleep:20",
      "SCOREP_METRIC_PLUGINS=zero SCOREP_METRIC_ZERO=a")
    assert.equal(0, by_name.crc32.events["plugin::zero::a"])
    assert.is_true(by_name.crc32.events["plugin::steps::steps"] >= 10)
  end)

  it("leaves a table and a picture of asynchronous values, at the times of the wall clock", function()
    local before = os.time() * 1e9
    recorded "--plugin series_async:ticks,wave -o async -- ./calls crc32:10 sleep:20"
    for _, series in ipairs(assert(core.plugin.read(files("async", "%.pmlog$")[1]))) do
      local last = before
      for _, ns in ipairs(series.ns) do
        assert.is_true(ns > last and ns < (os.time() + 1) * 1e9, ("%d after %d"):format(ns, last))
        last = ns
      end
    end
    local tables = files("async", "^plugins%-%d+%.dat$")
    assert.equal(1, #tables)
    local t = assert(dat.read(tables[1]))
    local n = {}
    for _, row in ipairs(t.rows) do
      n[row.event] = (n[row.event] or 0) + 1
      if row.event == "plugin::series_async::ticks" then assert.equal(n[row.event], row.value) end
    end
    assert.is_true(n["plugin::series_async::ticks"] > 0 and n["plugin::series_async::wave"] > 0)
    if (support.shell "command -v gnuplot") == 0 then assert.equal(1, #files("async", "^plugins%-%d+%.svg$")) end
  end)

  support.with "otf2-print" ("has both in the trace, as what they are", function()
    recorded "--trace --plugin steps:debts,halves,steps,ones --plugin series_async:ticks -o traced -- ./calls crc32:10 sleep:20"
    local trace = files("traced", "^traces%.otf2$")[1]
    local _, definitions = support.shell("otf2-print -G " .. trace)
    assert.truthy(definitions:find('"plugin::steps::debts".-Mode: ABSOLUTE_POINT, Value Type: INT64, Base: BINARY, Exponent: 10, '
      .. 'Unit: "B"'), definitions)
    assert.truthy(definitions:find('"plugin::steps::halves".-Value Type: DOUBLE'), definitions)
    assert.truthy(definitions:find('"plugin::steps::steps" <%d+>, [^\n]*ACCUMULATED_START, Value Type: UINT64'), definitions)
    -- relative values are summed from read to read
    assert.truthy(definitions:find('"plugin::steps::ones" <%d+>, [^\n]*ACCUMULATED_LAST, Value Type: INT64'), definitions)
    local _, events = support.shell("otf2-print " .. trace)
    assert.is_true(select(2, events:gsub('"plugin::series_async::ticks"', "")) > 0)
    assert.is_true(select(2, events:gsub('"plugin::steps::halves" <%d+>; DOUBLE; [%d.]+', "")) >= 20)
  end)

  it("names plugins that fail, and records all the same", function()
    local by_name, _, err = recorded("--plugin bad_failing:m --plugin thrower:m --plugin steps:steps -o failing -- "
      .. "./calls crc32:10 sleep:20", "THROWER=get_current_value SCOREP_METRIC_PLUGINS=nosuch")
    assert.equal(10, by_name.crc32.calls)
    assert.is_true(by_name.crc32.events["plugin::steps::steps"] >= 10)
    assert.truthy(err:find("pmlua record: plugin nosuch: ", 1, true), err)
    assert.truthy(err:find("pmlua record: plugin bad_failing: initialize failed with 42", 1, true), err)
    assert.matches("pmlua record: plugin thrower: get_current_value threw[^\n]*runtime_error", err)
  end)

  it("does not take the plugin's own calls for the program's", function()
    local out = support.done(shell(command .. " record --json --plugin thrower:m -o aside -- ./calls crc32:10 sleep:20"))
    local of_libz = 0
    for _, f in ipairs(json.decode(out).functions) do -- the plugin is of C++, the program of C
      assert.falsy(f.library:find "thrower" or f.library:find "stdc++", f.library .. " " .. f.name)
      if f.library:find "^libz" then of_libz = of_libz + 1 end
    end
    assert.is_true(of_libz > 0)
  end)

  -- a plugin that delivers values during the measurement is read at each call; a plugin that keeps its values is read at the end
  it("leaves the values that a plugin had delivered when its process was killed, in the table and in the trace", function()
    local status, _,
      err = shell(command .. " record --lib libz --trace --plugin series_event:ticks -o killed -- ./calls "
      .. ("crc32:1 sleep:2 "):rep(50) .. "kill")
    assert.equal(137, status, err)
    local t = assert(dat.read(files("killed", "^plugins%-%d+%.dat$")[1]))
    assert.is_true(#t.rows > 1)
    for i, row in ipairs(t.rows) do assert.equal(i, row.value) end
    if (support.shell "command -v otf2-print") ~= 0 then return end
    local _, events = support.shell("otf2-print " .. dir .. "/killed/traces.otf2")
    local of_calls, n = {}, 0
    for location in events:gmatch "\nENTER +(%d+)" do of_calls[location] = true end
    for location in events:gmatch "\nMETRIC +(%d+)" do n = n + (of_calls[location] and 0 or 1) end
    assert.equal(#t.rows, n)
  end)

  it("leaves no series that a plugin still had when its process ended by _exit, nor of a forked child", function()
    recorded "--plugin series_async:ticks -o left -- ./calls crc32:10 sleep:20 _exit"
    assert.equal(0, #files("left", "^plugins"))
    recorded "--plugin series_async:ticks -o forked -- ./calls fork crc32:10 sleep:20 wait"
    assert.equal(2, #files("forked", "%.pmlog$"))
    assert.equal(1, #files("forked", "^plugins%-%d+%.dat$"))
  end)

  it("finds the shipped plugins, and watches variables by one: counts of calls, and contents", function()
    local possible, why = core.watchpoint.available()
    if not possible then return pending(tostring(why)) end
    support.compile(dir, { ["level.c"] = [[
#include <zlib.h>
volatile int level;
int main(void) {
  for (int i = 0; i < 10; i++) { crc32(0, (const unsigned char *)"x", 1); level = 3 * i; }
  return (int)crc32(0, (const unsigned char *)"x", 1) == 0;
}
]] }, "gcc -g level.c -o level -lz")
    local _, all = recorded "--sym crc32 --plugin watchpoint:mem:level:w,level -o watched -- ./level"
    assert.same({}, all.processes[1].troubles)
    local t = assert(dat.read(files("watched", "^plugins%-%d+%.dat$")[1]))
    local n = {}
    for _, row in ipairs(t.rows) do
      n[row.event] = (n[row.event] or 0) + 1
      local content = row.event == "plugin::watchpoint::level"
      assert.equal(content and 3 * (n[row.event] - 1) or n[row.event], row.value)
    end
    assert.same({ ["plugin::watchpoint::level"] = 10, ["plugin::watchpoint::mem:level:w"] = 10 }, n)
  end)
end)

local function written(folder, name)
  local found = {}
  for entry in lfs.dir(dir .. "/" .. folder) do
    if entry:find "^substrates%-" then
      local f = io.open(("%s/%s/%s/%s"):format(dir, folder, entry, name))
      if f then
        found[#found + 1] = f:read "a"
        f:close()
      end
    end
  end
  return found
end

local function count(text, what)
  return select(2, text:gsub("%f[^\n]%d+ " .. what .. "%f[%s][^\n]*", ""))
end

local NOT_ENDED = "did not exit normally (_exit, a signal, exec, still running): its substrate plugins"

describe("pmlua record --substrate", function()
  it("loads a plugin into the program, which gets an enter and a leave of each call", function()
    local by_name, _, err = recorded "--substrate writer -o own-calls -- ./calls crc32:3"
    assert.equal(3, by_name.crc32.calls)
    local texts = written("own-calls", "writer.txt")
    assert.equal(1, #texts)
    assert.matches("0 program ./calls of 1 arguments: crc32:3, region calls, process %d+\n", texts[1])
    assert.matches("\nregion crc32 libz%.so%.%d+ ", texts[1])
    assert.equal(3, count(texts[1], "enter crc32"))
    assert.equal(3, count(texts[1], "leave crc32"))
    assert.matches("\nwrite_data\n.*\nfinalize\n$", texts[1])
    assert.matches("pmlua record: substrate plugin writer: pmlua never raises these of its events: MPI_SEND, ", err, 1, true)
    assert.falsy(err:find(NOT_ENDED, 1, true), err)
  end)


  it("honours SCOREP_SUBSTRATE_PLUGINS, and adds to it, in the program and not in pmlua", function()
    recorded("-o own-environment -- ./calls crc32:3", "SCOREP_SUBSTRATE_PLUGINS=enters")
    local by_name = recorded("--substrate writer -o own-both -- ./calls crc32:3",
      "SCOREP_SUBSTRATE_PLUGINS=nothing:enters SCOREP_SUBSTRATE_PLUGINS_SEP=:")
    local calls = 0
    for _, f in pairs(by_name) do calls = calls + f.calls end
    assert.same({ ("%d"):format(calls) }, written("own-environment", "enters.txt"))
    assert.same({ ("%d"):format(calls) }, written("own-both", "enters.txt"))
    assert.equal(1, #written("own-both", "writer.txt"))
    for entry in lfs.dir(dir) do assert.falsy(entry:find "^substrates%-", entry) end
  end)

  it("leaves the folder to SCOREP_EXPERIMENT_DIRECTORY", function()
    recorded("--substrate enters -o own-elsewhere -- ./calls crc32:3", "SCOREP_EXPERIMENT_DIRECTORY=experiment")
    assert.same({}, written("own-elsewhere", "enters.txt"))
    assert.is_true(tonumber(support.slurp(dir .. "/experiment/enters.txt")) >= 3)
  end)

  it("names plugins that fail or throw, and records all the same", function()
    local by_name, _, err = recorded("--substrate bad_refusing --substrate thrower --substrate enters -o own-failing -- "
      .. "./calls crc32:3", "SCOREP_SUBSTRATE_PLUGINS=nosuch")
    assert.equal(3, by_name.crc32.calls)
    assert.matches("pmlua record: substrate plugin nosuch: libscorep_substrate_nosuch.so: ", err, 1, true)
    assert.matches("pmlua record: substrate plugin bad_refusing: its init declined to run\n", err, 1, true)
    assert.matches("pmlua record: substrate plugin thrower: threw[^\n]*the third", err)
    assert.equal(1, #written("own-failing", "enters.txt"))
  end)

  it("does not take the plugin's own calls for the program's", function()
    local by_name = at.recorded "--substrate worker -o own-aside -- ./calls crc32:3" -- the plugin's own thread calls libm
    assert.is_true(tonumber(written("own-aside", "worker.txt")[1]) > 0)
    assert.is_nil(by_name.cbrt)
    assert.equal(3, by_name.crc32.calls)
  end)

  it("ends for each program that exits, not in a forked child, and is reported where it could not", function()
    for acts, of in pairs { ["fork crc32:3 wait"] = { 6, 1 }, ["crc32:3 exec"] = { 6, 1, true },
      ["crc32:3 _exit"] = { 3, 0, true } } do
      local by_name, _, err = recorded(("--substrate enters -o own-%s -- ./calls %s"):format(acts:match "%a+$", acts))
      assert.same({ of[1], of[2], of[3] }, { by_name.crc32.calls, #written("own-" .. acts:match "%a+$", "enters.txt"),
        err:find(NOT_ENDED, 1, true) and true })
    end
  end)

  it("ends plugins before the process gives up its system calls", function()
    local _, _, err = recorded "--substrate enters -o own-confined -- ./calls crc32:3 strict SYS_exit"
    if not err:find("gave up system calls", 1, true) then return pending("seccomp is refused here") end
    assert.equal(1, #written("own-confined", "enters.txt"))
    assert.matches("gave up system calls (seccomp); its substrate plugins ended then", err, 1, true)
    assert.falsy(err:find(NOT_ENDED, 1, true), err)
  end)
end)

--- Allocates 80 MB and calls zlib for at least 300 ms, also in a child process.
local program = support.C .. [[
#include <zlib.h>
static long ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
int main(void) {
  pid_t child = fork();
  char *memory = malloc(80000000);
  if (memory == NULL) return 1;
  memset(memory, 1, 80000000);
  unsigned long sum = 0;
  for (long end = ms() + 300; ms() < end;) sum = crc32(sum, (const unsigned char *)memory, 1000000);
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  return sum == 1;
}
]]

describe("pmlua record --metric", function()
  setup(function() support.compile(dir, { ["crc.c"] = program }, "gcc -O1 crc.c -o crc -lz") end)

  it("has the host's metrics and the process's beside the calls, in a table, a file and the trace", function()
    local _, err = support.done(shell(command .. " record --trace --lib libz --every 10ms --metric 'host::cpus_*' "
      .. "--metric plugin::process::resident -o all -- ./crc"))
    assert.matches("plugin::host::cpus_busy", err)
    local t = assert(require("pmlua.internal.dat").read(dir .. "/all/metrics.dat"))
    local most, n = 0, 0
    for _, row in ipairs(t.rows) do
      if row and row.event == "plugin::process::resident" then
        most, n = math.max(most, row.value), n + 1
      end
    end
    assert.is_true(most > 80e6, ("%g bytes at most, of %d values"):format(most, n))
    support.done(support.shell(("/usr/bin/python3 spec/otf2_validate.py %s/all/traces.otf2"):format(dir)))
    local _, definitions, complaints = shell("otf2-print -G all/traces.otf2")
    assert.is_nil(complaints:find "warning")
    assert.equal(2, select(2, definitions:gsub("\nLOCATION_GROUP ", ""))) -- the child is another process
    for _, metric in ipairs { "host::cpus_user", "process::resident" } do
      local pattern = '\nLOCATION +%d+ +Name: "plugin::' .. metric .. '"[^\n]*Type: METRIC'
      assert.equal(1, select(2, definitions:gsub(pattern, "")), definitions)
    end
  end)

  it("refuses what it cannot measure or load before anything runs", function()
    support.refuses(dir, "record", {
      ["--metric load_1 -- touch ran"] = { 2, "'load_1' is not a metric; write PLUGIN::METRIC, where PLUGIN is one of host, " },
      ["--metric nosuch::x -- touch ran"] = { 2, "'nosuch::x' is not a metric" },
      ["--metric host::lod_1 -- touch ran"] = { 126, "plugin host has no metric 'lod_1'; did you mean 'load_1'" },
      ["--metric uncore::nosuch/x/ -- touch ran"] = { 126, 'no PMU "nosuch"' },
      ["--plugin host:load_1 -- touch ran"] = { 2, "host belongs to pmlua and measures outside the program; use %-%-metric" },
      ["--plugin nosuch -- touch ran"] = { 2, "%-%-plugin: the loader finds no libnosuch.so; set LD_LIBRARY_PATH" },
      ["--plugin no-name -- touch ran"] = { 2, "is not NAME or NAME:METRICS" },
      ["--plugin steps: -- touch ran"] = { 2, "'steps:' is not NAME" }, ["--plugin :x -- touch ran"] = { 2, "':x' is not NAME" },
      ["--plugin a/b -- touch ran"] = { 2, "'a/b' is not NAME" }, ["--substrate a/b -- touch ran"] = { 2, "%-%-substrate: '" },
      ["--substrate no-name -- touch ran"] = { 2, "%-%-substrate: '" },
      ["--substrate a:b -- touch ran"] = { 2, "%-%-substrate: '" },
      ["--substrate nosuch -- touch ran"] = { 2, "%-%-substrate: the loader finds no libscorep_substrate_nosuch.so" },
    })
    assert.not_equal(0, (shell "ls ran"))
  end)

  it("records even if the command ends before there is a value", function()
    local status, _, err = shell(command .. " record --metric host::load_1 --every 10s -o brief -- true")
    assert.equal(0, status, err) -- whether there was a reading or none
    local beside = require "pmlua.internal.host.beside"
    local none = assert(beside.load({ host = { "load_1" } }, 10, support.core.sys.pid()))
    none.handles, none.follower = {}, { finish = function() end }
    local kept, why = none:finish(dir)
    assert.is_nil(kept)
    assert.equal("ENODATA", why.code)
  end)
end)
