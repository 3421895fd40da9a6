-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_plugin_spec.lua - pmlua record with metric plugins: values at each call, and asynchronous ones.

local support = require "spec.core.support"
local core = require "pmlua.core"
local dat = require "pmlua.internal.dat"
local json = require "pmlua.json"
local quote = support.quote

local command, plugins = support.build .. "/pmlua", support.build .. "/spec/plugins"
local dir

-- Calls crc32 argv[1] times, waits 20 ms, and ends as argv[2] says.
local program = [[
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
int main(int argc, char **argv) {
  unsigned long sum = 0;
  int how = atoi(argv[2]);
  if (how == 3 && fork() == 0) how = 0;
  for (int i = 0; i < atoi(argv[1]); i++) sum = crc32(sum, (const unsigned char *)"pmlua", 5);
  usleep(20000);
  if (how == 1) _exit(0);
  if (how == 3) wait(NULL);
  return argc > 9 && sum == 0;
}
]]

local function shell(text)
  return support.shell(("cd %s && LD_LIBRARY_PATH=%s %s"):format(quote(dir), quote(plugins), text))
end

local function recorded(arguments, environment)
  local status, out, err = shell(("%s %s record --json --lib libz %s"):format(environment or "", command, arguments))
  assert.equal(0, status, err)
  local all, by_name = json.decode(out), {}
  for _, f in ipairs(all.functions) do by_name[f.name] = f end
  return by_name, all, err
end

local function files(folder, pattern)
  local found = {}
  for name in require("lfs").dir(dir .. "/" .. folder) do
    if name:find(pattern) then found[#found + 1] = ("%s/%s/%s"):format(dir, folder, name) end
  end
  return found
end

describe("pmlua record --plugin", function()
  setup(function()
    dir = io.popen("mktemp -d"):read("l")
    support.spit(dir .. "/sums.c", program)
    assert.equal(0, (support.shell(("cd %s && gcc -O1 sums.c -o sums -lz"):format(quote(dir)))))
  end)
  teardown(function() os.execute("rm -rf " .. quote(dir)) end)

  it("sums a strictly synchronous metric over each function's own calls", function()
    -- read at each enter and leave: a call adds one by itself, and one for each call that it makes
    local by_name = recorded "--plugin steps:steps,debts -o sync -- ./sums 1000 0"
    local calls = by_name.crc32.calls
    assert.equal(1000, calls)
    local inner = by_name.crc32_z and by_name.crc32_z.calls or 0
    assert.equal(calls + inner, by_name.crc32.events["plugin::steps::steps"])
    assert.equal(-(calls + inner), by_name.crc32.events["plugin::steps::debts"])
  end)

  it("prints values with their unit and scale", function()
    local status, _, err = shell(command .. " record --lib libz --plugin steps:debts -o told -- ./sums 10 0")
    assert.equal(0, status)
    assert.truthy(err:find("steps::debts [B]", 1, true), err)
    assert.truthy(err:find("%-%d+"), err)
  end)

  it("honours SCOREP_METRIC_PLUGINS, and adds to it", function()
    local by_name = recorded("--plugin steps:steps -o both -- ./sums 10 0",
      "SCOREP_METRIC_PLUGINS=zero SCOREP_METRIC_ZERO=a")
    assert.equal(0, by_name.crc32.events["plugin::zero::a"])
    assert.is_true(by_name.crc32.events["plugin::steps::steps"] >= 10)
    by_name = recorded("-o environment -- ./sums 10 0", "SCOREP_METRIC_PLUGINS=steps SCOREP_METRIC_STEPS=halves")
    assert.is_true(by_name.crc32.events["plugin::steps::halves"] >= 5)
  end)

  it("leaves a table of what is measured in the plugin's own time, and a picture", function()
    recorded "--plugin series_async:ticks,wave -o async -- ./sums 10 0"
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

  it("has both in the trace, as what they are", function()
    if (support.shell "command -v otf2-print") ~= 0 then return pending "otf2-print is not installed" end
    recorded "--trace --plugin steps:debts,halves,steps,ones --plugin series_async:ticks -o traced -- ./sums 10 0"
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

  it("tells how one that comes with pmlua is asked for", function()
    local status, _, err = shell(command .. " record --plugin host:load_1 -o own -- ./sums 1 0")
    assert.equal(2, status)
    local said = "--plugin: host belongs to pmlua and measures beside the program; use --metric host::NAME"
    assert.truthy(err:find(said, 1, true), err)
  end)

  it("refuses a plugin that is nowhere", function()
    local status, out, err = shell(command .. " record --plugin nosuch -o nowhere -- ./sums 10 0")
    assert.same({ 2, "" }, { status, out })
    assert.truthy(err:find("--plugin: the loader finds no libnosuch.so; set LD_LIBRARY_PATH", 1, true), err)
  end)

  it("names a plugin that fails, and records all the same", function()
    local by_name, _, err = recorded("--plugin bad_failing:m --plugin steps:steps -o failing -- ./sums 10 0",
      "SCOREP_METRIC_PLUGINS=nosuch")
    assert.equal(10, by_name.crc32.calls)
    assert.is_true(by_name.crc32.events["plugin::steps::steps"] >= 10)
    assert.truthy(err:find("pmlua record: plugin nosuch: ", 1, true), err)
    assert.truthy(err:find("pmlua record: plugin bad_failing: initialize failed with 42", 1, true), err)
    by_name, _, err = recorded("--plugin thrower:m -o throwing -- ./sums 10 0", "THROWER=get_current_value")
    assert.equal(10, by_name.crc32.calls)
    assert.matches("pmlua record: plugin thrower: get_current_value threw[^\n]*runtime_error", err)
  end)

  it("does not take the plugin's own calls for the program's", function()
    local status, out, err = shell(command .. " record --json --plugin thrower:m -o aside -- ./sums 10 0")
    assert.equal(0, status, err)
    local of_libz = 0
    for _, f in ipairs(json.decode(out).functions) do -- the plugin is of C++, the program of C
      assert.falsy(f.library:find "thrower" or f.library:find "stdc++", f.library .. " " .. f.name)
      if f.library:find "^libz" then of_libz = of_libz + 1 end
    end
    assert.is_true(of_libz > 0)
  end)

  -- a plugin that hands values over while it measures is asked at each call; one that keeps them is asked at the end
  it("leaves what a plugin had handed over when its process was killed, in the table and in the trace", function()
    local slow = [[
#include <signal.h>
#include <unistd.h>
#include <zlib.h>
int main(void) {
  for (int i = 0; i < 50; i++) { crc32(0, (const unsigned char *)"pmlua", 5); usleep(2000); }
  return raise(SIGKILL);
}
]]
    support.spit(dir .. "/slow.c", slow)
    assert.equal(0, (support.shell(("cd %s && gcc slow.c -o slow -lz"):format(quote(dir)))))
    local status, _, err = shell(command .. " record --lib libz --trace --plugin series_event:ticks -o killed -- ./slow")
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

  it("leaves no series that a plugin still had when its process ended by _exit, nor of a child that it forks", function()
    recorded "--plugin series_async:ticks -o left -- ./sums 10 1"
    assert.equal(0, #files("left", "^plugins"))
    recorded "--plugin series_async:ticks -o forked -- ./sums 10 3"
    assert.equal(2, #files("forked", "%.pmlog$"))
    assert.equal(1, #files("forked", "^plugins%-%d+%.dat$"))
  end)

  it("finds the plugins that ship, and watches variables by one: counts of calls, and contents", function()
    local possible, why = core.watchpoint.available()
    if not possible then return pending(tostring(why)) end
    support.spit(dir .. "/level.c", [[
#include <zlib.h>
volatile int level;
int main(void) {
  for (int i = 0; i < 10; i++) { crc32(0, (const unsigned char *)"x", 1); level = 3 * i; }
  return (int)crc32(0, (const unsigned char *)"x", 1) == 0;
}
]])
    assert.equal(0, (support.shell(("cd %s && gcc -g level.c -o level -lz"):format(quote(dir)))))
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

  it("says what is wrong with --plugin in a line", function()
    for _, given in ipairs { "no-name", "steps:", ":x", "a/b" } do
      local says = ("--plugin: '%s' is not NAME or NAME:METRICS"):format(given)
      local status, _, err = shell(("%s record --plugin %s -o wrong -- ./sums 1 0"):format(command, given))
      assert.equal(2, status)
      assert.truthy(err:find(says, 1, true), err)
      assert.matches("^[^\n]+\nsee 'pmlua help record'\n$", err)
    end
    local status, _, err = shell(command .. " record --plugin")
    assert.equal(2, status)
    assert.truthy(err:find("--plugin needs a value", 1, true), err)
  end)
end)
