-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_away_spec.lua - logs of processes on other hosts, whose end is unknown here. They are read by the clock of the
-- machine that made them, also if the reader's clock differs.

local support = require "spec.core.support"
local quote, json = support.quote, require "pmlua.json"
local recording = require "spec.lua.recording"

local HEAD <const> = { started = 40, ticks_per_second = 56, clock = 64, ended = 96, state = 104, host = 120 } -- docs/log.md
local CALLS = 40
local at, command = recording.place(), recording.command
local dir, shell = at.dir, at.shell

--- Write a value into a log's head: @value, or its result for the present value.
local function patch(path, place, format, value)
  local f <close> = assert(io.open(path, "r+b"))
  f:seek("set", place)
  if type(value) == "function" then value = value(string.unpack(format, f:read(8))) end
  f:seek("set", place)
  f:write(string.pack(format, value))
end

local function log_of(folder)
  local _, out = shell(("ls %s/*.pmlog"):format(folder))
  return dir .. "/" .. out:match "%S+"
end

local function traced(folder) return at.traced(folder).crc32 end

--- The logs of @from, as a reader on another host sees them in @folder.
local function seen_from_afar(from, folder)
  shell(("mkdir -p %s && cp -r %s/* %s/"):format(folder, from, folder))
  local _, out = shell(("find %s -name '*.pmlog'"):format(folder))
  for path in out:gmatch "%S+" do patch(dir .. "/" .. path, HEAD.host, "z", "node7") end
end

local function finish(folder)
  local out, err = support.done(shell(("%s record --finish %s --json"):format(command, folder)))
  local all = json.decode(out)
  local functions = all.functions -- crc32 alone
  return functions[1] and functions[1].calls, all.processes[1], err
end

describe("a log of another host", function()
  setup(function() support.done(shell "mkfifo go said") end)

  it("of a process that has not ended may grow: its trace is then made again", function()
    local run = command .. " record -q --trace --lib libz --sym crc32 -o recorded -- ./calls crc32:20 ask crc32:20"
    shell(("{ (%s < go > said 2> err) > out 2>&1 & echo $! > pid; }"):format(run))
    local go <close> = assert(io.open(dir .. "/go", "w"))
    local said <close> = assert(io.open(dir .. "/said"))
    assert.equal("asks", said:read "l")
    seen_from_afar("recorded", "afar")
    local calls, process, err = finish "afar"
    assert.same({ CALLS // 2, "away", "node7" }, { calls, process.ended, process.host })
    assert.truthy(err:find("has not ended as far as its log says: it was cut short, or still runs on node7", 1, true), err)
    assert.equal(CALLS // 2, traced "afar")
    finish "afar"
    assert.equal(CALLS // 2, traced "afar")
    shell "mkdir two && cp afar/*.pmlog two && cp two/*.pmlog two/other.1.pmlog"
    finish "two"
    assert.equal(CALLS, traced "two")
    shell "rm two/other.1.pmlog && touch -d yesterday two/*.pmlog"
    finish "two"
    assert.equal(CALLS, traced "two") -- it is all that is left of the other
    assert.equal(0, (shell(command .. " trace recorded"))) -- what the process has so far
    assert.equal(CALLS // 2, traced "recorded")

    go:write "\n"
    go:flush()
    shell "tail --pid=$(cat pid) -f /dev/null"
    seen_from_afar("recorded", "afar")
    calls, process, err = finish "afar"
    assert.same({ CALLS, "exit", "" }, { calls, process.ended, err })
    assert.equal(CALLS, traced "recorded") -- by the recorder, at the end
    assert.equal(CALLS, traced "afar")
    assert.is_nil(io.open(dir .. "/afar/traces.unended"))
  end)

  it("belongs to a job that was killed with its recorders, or still runs", function()
    local rank = "OMPI_COMM_WORLD_RANK=%d OMPI_COMM_WORLD_SIZE=2 "
      .. "%s record -q --trace --lib libz --sym crc32 -o job -- ./calls crc32:20 kill:1"
    shell(("{ %s & %s; wait; }"):format(rank:format(0, command), rank:format(1, command)))
    assert.equal("rank-0\nrank-1\n", (select(2, shell "ls -A job")))
    seen_from_afar("job", "distant")
    local calls, _, err = finish "distant"
    assert.equal(CALLS, calls)
    assert.truthy(err:find("ranks 0 to 1: not ended as far as the logs say: killed, or still running on node7", 1, true), err)
    assert.equal("rank-0\nrank-1\n", (select(2, shell "ls -A distant"))) -- the ranks may yet end and make the rest

    calls, _, err = finish "job"
    assert.equal(CALLS, calls)
    assert.equal(2, select(2, err:gsub("%(calls%) was cut short by a signal", "")), err)
    assert.equal(CALLS, traced "job")
    assert.equal(CALLS, (finish "job"))
  end)

  it("becomes a trace in memory that does not grow with ended threads", function()
    local record = " record --lib 'libz*' --trace -o short-r -- ./calls " .. ("thread:1 "):rep(600)
    support.done(shell(command .. record .. "&& rm -r short-r/traces*"))
    support.done(shell("bash -c " .. support.quote("ulimit -v 1200000 && " .. command .. " record --finish short-r")))
    assert.equal(600, traced "short-r")
    assert.equal(600, select(2, select(2, shell "ls short-r/traces/*.evt"):gsub("%.evt", "")))
  end)

  it("is missing if no rank left one", function()
    local status, _, err = shell("mkdir -p none/rank-0 none/rank-1 && " .. command .. " record --finish none")
    assert.same({ 1, "pmlua record: no rank left results in none\n" }, { status, err })
  end)

  it("is not reported as away if the process would be visible", function()
    shell "mkdir near && cp recorded/*.pmlog near/"
    patch(log_of "near", HEAD.state, "<I4", 0) -- it never said that it ended
    local _, process, err = finish "near"
    assert.equal("cut", process.ended)
    assert.truthy(err:find("was cut short by a signal", 1, true), err)
  end)
end)

local program = [[
#include <zlib.h>
int main(void) {
  static unsigned char text[1 << 16];
  unsigned long sum = 0;
  for (int i = 0; i < 200; i++) sum = crc32(sum, text, i % 2 ? sizeof text : 16);
  for (int i = 0; i < 20; i++) {
#pragma omp parallel num_threads(2)
    text[0] = 0;
  }
  return sum == 1;
}
]]

-- Longer than the calls of a process whose clock is read a million times slower, also where one waited for a cpu.
local RAN_S = 1000000

--- A copy of folder @from, as if the clock of its process had gone @slower times slower, and the wall clock had been @ahead
--- seconds ahead.
local function slow_down(from, to, slower, ahead)
  shell(("cp -r %s %s"):format(from, to))
  local log = log_of(to)
  patch(log, HEAD.ticks_per_second, "<d", function(rate) return rate / slower end)
  patch(log, HEAD.clock, "z", "sundial")
  if not ahead then return end
  patch(log, HEAD.started, "<I8", function(ns) return ns + ahead * 1000000000 end)
  patch(log, HEAD.ended, "<I8", function(ns) return ns + (ahead + RAN_S) * 1000000000 end)
end

local function finished(folder, options)
  local out = support.done(shell(("%s record --finish %s --json %s"):format(command, folder, options or "")))
  return json.decode(out)
end

local function crc32_of(all) return support.by(all.functions, "name").crc32 end

--- The time of crc32 in the flow graphs.
local function in_flow(folder)
  finished(folder, "--flow=flow.json")
  local sum = 0
  for _, graph in ipairs(json.decode(support.slurp(dir .. "/flow.json")).graphs) do
    for _, node in ipairs(graph.nodes) do
      if node.name == "crc32" then sum = sum + node.inclusive_ns end
    end
  end
  return sum
end

--- The total time of the calls, by the middles of their buckets.
local function by_buckets(f)
  local calls, sum = require "pmlua.internal.record.functions", 0
  for i, n in pairs(f.bucket) do
    local from = math.tointeger(tonumber(i))
    sum = sum + n * (calls.bucket_ns(from, f.tick_ns) + calls.bucket_ns(from + 1, f.tick_ns)) / 2
  end
  return sum
end

--- To whole nanoseconds, of each of some calls.
local function near(expected, got)
  local off = math.abs(got - expected)
  assert.is_true(off <= 4 or off < 2e-4 * expected, ("%.17g is not %.17g"):format(got, expected))
end

describe("a recording of another clock", function()
  setup(function()
    support.compile(dir, { ["sums.c"] = program }, "gcc -O1 -fopenmp sums.c -o sums -lz")
    support.done(shell(command .. " record -q --trace --flow -o plain -- ./sums"))
    slow_down("plain", "slow", 3)
  end)

  it("has times by its own ticks: of functions, paths, constructs of OpenMP and flows", function()
    local plain, slow = finished "plain", finished "slow"
    local p, s = crc32_of(plain), crc32_of(slow)
    assert.same({ 200, 200 }, { p.calls, s.calls })
    for _, what in ipairs { "inclusive_ns", "exclusive_ns", "min_ns", "median_ns", "max_ns", "tick_ns" } do
      near(3 * p[what], s[what])
    end
    near(3 * plain.processes[1].paths[1].inclusive_ns, slow.processes[1].paths[1].inclusive_ns)
    near(3 * plain.openmp[1].ns, slow.openmp[1].ns)
    near(3 * plain.openmp[1].waited_ns, slow.openmp[1].waited_ns)
    near(3 * in_flow "plain", in_flow "slow")
  end)

  it("has a trace as long as its ticks are", function()
    local function seconds(folder)
      local _, out = shell(("%s trace %s/traces.otf2 --json"):format(command, folder))
      return support.by(json.decode(out).regions, "region").crc32.inclusive_s
    end
    shell "rm -rf plain/traces* slow/traces*"
    finished("plain", "")
    finished("slow", "")
    near(3e9 * seconds "plain", 1e9 * seconds "slow")
  end)

  it("adds up with those of other clocks, calls by duration too", function()
    shell("mkdir both && cp plain/*.pmlog both")
    shell(("cp %s both/other.1.pmlog"):format(quote(log_of "slow")))
    local one, both = crc32_of(finished "plain"), crc32_of(finished "both")
    assert.equal(400, both.calls)
    near(4 * one.inclusive_ns, both.inclusive_ns)
    near(one.min_ns, both.min_ns)
    near(3 * one.max_ns, both.max_ns)
    local calls = 0
    for _, n in pairs(both.bucket) do calls = calls + n end
    assert.equal(400, calls)
    local ratio = by_buckets(both) / by_buckets(one) -- the times of 1 and 3 add up, to a bucket's width
    assert.is_true(ratio > 4 / 1.125 and ratio < 4 * 1.125, ratio)
  end)

  it("may be of a machine whose wall clock is ahead", function()
    slow_down("plain", "ahead", 1e6, 3600)
    local one, ahead = crc32_of(finished "plain"), crc32_of(finished "ahead")
    assert.is_true(ahead.inclusive_ns > 60e9) -- longer than the limit for clocks that were set
    assert.is_true(math.abs(ahead.inclusive_ns / one.inclusive_ns - 1e6) < 1e3)
  end)

  it("is read where the reader's clock is another kind", function()
    local out = support.done(shell(("PMLUA_CLOCK=monotonic %s record --finish plain --json"):format(command)))
    near(crc32_of(finished "plain").inclusive_ns, crc32_of(json.decode(out)).inclusive_ns)
  end)
end)
