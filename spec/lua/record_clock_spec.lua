-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_clock_spec.lua - a recording is read by the clock of the machine it was made on, whatever the reader's is.

local support = require "spec.core.support"
local quote, json = support.quote, require "pmlua.json"

local command = support.build .. "/pmlua"
local STARTED_AT, TICKS_PER_SECOND_AT, CLOCK_AT, ENDED_AT = 40, 56, 64, 96 -- of a log's head (docs/log.md)
local dir = support.folder()
local shell = support.shell_of(dir)

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

local function log_of(folder)
  local _, out = shell(("ls %s/*.pmlog"):format(folder))
  return dir .. "/" .. out:match "%S+"
end

-- Longer than the calls of a process whose clock is read a million times slower, also where one waited for a cpu.
local RAN_S = 1000000

--- A copy of folder @from, as if the clock of its process had gone @slower times slower, and the wall clock had been @ahead
--- seconds ahead.
local function slow_down(from, to, slower, ahead)
  shell(("cp -r %s %s"):format(from, to))
  local f <close> = assert(io.open(log_of(to), "r+b"))
  f:seek("set", TICKS_PER_SECOND_AT)
  local rate = string.unpack("<d", f:read(8))
  f:seek("set", TICKS_PER_SECOND_AT)
  f:write(string.pack("<d", rate / slower))
  f:seek("set", CLOCK_AT)
  f:write "sundial\0"
  for _, at in ipairs(ahead and { STARTED_AT, ENDED_AT } or {}) do
    f:seek("set", at)
    local ns = string.unpack("<I8", f:read(8))
    f:seek("set", at)
    f:write(string.pack("<I8", ns + ahead * 1000000000 + (at == ENDED_AT and RAN_S * 1000000000 or 0)))
  end
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

--- What the calls took together, by the middles of their buckets.
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
    local ratio = by_buckets(both) / by_buckets(one) -- the sum is of those of 1 and of 3, to a bucket's width
    assert.is_true(ratio > 4 / 1.125 and ratio < 4 * 1.125, ratio)
  end)

  it("may be of a machine whose wall clock is ahead", function()
    slow_down("plain", "ahead", 1e6, 3600)
    local one, ahead = crc32_of(finished "plain"), crc32_of(finished "ahead")
    assert.is_true(ahead.inclusive_ns > 60e9) -- longer than what is allowed clocks that were set
    assert.is_true(math.abs(ahead.inclusive_ns / one.inclusive_ns - 1e6) < 1e3)
  end)

  it("is read where the reader's clock is another kind", function()
    local out = support.done(shell(("PMLUA_CLOCK=monotonic %s record --finish plain --json"):format(command)))
    near(crc32_of(finished "plain").inclusive_ns, crc32_of(json.decode(out)).inclusive_ns)
  end)
end)
