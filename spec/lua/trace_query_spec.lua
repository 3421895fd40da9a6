-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/trace_query_spec.lua - tests of questions about a trace against an independent reader, python3-otf2.

local cjson = require "cjson"
local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local pml = require "pmlua"
local recorded = require "spec.lua.recorded"
local shell = require "spec.shell"
local sh = shell.sh

local folder = support.folder()
local PYTHON <const> = "/usr/bin/python3"

local function has_python() return select(2, sh(PYTHON .. " -c 'import otf2'", 60)) == 0 end

--- The sums of python3-otf2.
local function sums_of(path)
  local out = shell.done(("%s spec/otf2_sums.py %s"):format(PYTHON, path), 120)
  return cjson.decode(out)
end

--- An archive that python3-otf2 wrote.
local function foreign(name)
  shell.done(("%s spec/otf2_foreign.py %s/%s 1000000000"):format(PYTHON, folder, name), 60)
  return ("%s/%s/traces.otf2"):format(folder, name)
end

local function add(to, key, row, rate)
  local function ticks(s) return math.floor(s * rate + 0.5) end
  local sum = to[key] or { 0, 0, 0 }
  to[key] = { sum[1] + row.calls, sum[2] + ticks(row.inclusive_s), sum[3] + ticks(row.exclusive_s) }
end

--- Calls and times by region and location, and by call path.
local function compare_times(t, expected, threads)
  local rate, regions, columns, paths, names = t:about().ticks_per_second, {}, {}, {}, {}
  local rows, odd = assert(t:group { by = { "region", "location" }, threads = threads })
  for _, r in ipairs(rows) do add(regions, ("%s@%d"):format(r.region, r.location), r, rate) end
  assert.are.same(expected.sums, regions)
  assert.are.same(expected.kinds, odd.kinds)
  for _, r in ipairs(assert(t:group { by = { "region", "location", "column" }, columns = 37, threads = threads })) do
    add(columns, ("%s@%d"):format(r.region, r.location), r, rate)
  end
  assert.are.same(expected.sums, columns)
  for i, r in ipairs(assert(t:paths { threads = threads })) do
    names[i] = (r.parent and names[r.parent] .. "/" or "") .. r.region
    add(paths, names[i], r, rate)
  end
  assert.are.same(expected.paths, paths)
end

local function compare_messages(t, expected, threads)
  local messages, bytes, moved = 0, 0, {}
  for _, m in ipairs(assert(t:messages { threads = threads })) do
    messages, bytes = messages + m.messages, bytes + m.bytes
  end
  assert.are.same(expected.messages, { messages, bytes })
  for _, r in ipairs(assert(t:group { sum = { "bytes" }, threads = threads })) do
    assert.is_nil(r.calls)
    local moves = r.sent_bytes + r.received_bytes > 0 or expected.moved[r.region]
    if moves then moved[r.region] = { r.sent_bytes, r.received_bytes } end
  end
  assert.are.same(expected.moved, moved)
end

local function compare_metrics(t, expected, threads)
  local metrics = {}
  for _, s in ipairs(assert(t:series { columns = 1, threads = threads })) do
    metrics[("%s@%d"):format(s.metric, s.location)] = { s.counts[1], s.least[1], s.most[1], s.values[1] }
  end
  assert.are.same(expected.metrics, metrics)
end

local function compare(path)
  local expected = sums_of(path)
  for _, threads in ipairs { 1, 2 } do
    local t <close> = assert(pml.trace.open(path))
    compare_times(t, expected, threads)
    compare_messages(t, expected, threads)
    compare_metrics(t, expected, threads)
  end
  return expected
end

describe("a query of a trace", function()
  it("agrees with python3-otf2 about an archive that pmlua did not write", function()
    if not has_python() then return pending("python3-otf2 is not installed") end
    local path = foreign "agrees"
    assert.are.equal(3, compare(path).sums["solve@1"][1])
    local t <close> = assert(pml.trace.open(path))
    local of = {}
    local question = { by = { "region", "rank" }, sum = { "first", "last", "longest" }, quantiles = { 0, 0.5 } }
    for _, r in ipairs(assert(t:group(question))) do
      of[r.region .. r.rank] = r
    end
    -- the clock of rank 1 is behind by 500 ticks, and its times are corrected: both ranks enter main at 1000
    for _, name in ipairs { "main0", "main1" } do
      assert.is_near(500e-9, of[name].first_s, 1e-12)
      assert.is_near(6500e-9, of[name].last_s, 1e-12)
    end
    assert.are.same({ 200e-9, 2 }, { of.MPI_Recv1.most_s, of.MPI_Recv1.most_location })
    assert.is_near(1550e-9, of.MPI_Recv1.most_began_s, 1e-12)
    assert.is_near(900e-9, of.solve0.quantiles[2], 900e-9 * of.solve0.quantile_error)
    assert.are.same({ { location = 2, offsets = 2, least_s = 500e-9, most_s = 500e-9 } }, t:clocks())
  end)

  it("gives all definitions of such an archive", function()
    if not has_python() then return pending("python3-otf2 is not installed") end
    local t <close> = assert(pml.trace.open(foreign "definitions"))
    assert.are.same({ { name = "cluster", kind = "machine" }, { name = "host-1", kind = "node", parent = 1 } }, t:system())
    assert.are.same({ { name = "cores", value = "4", of = "node", number = 2 },
      { name = "cpu", value = "7", of = "location", number = 1 },
      { name = "cpu", value = "8", of = "location", number = 2 } }, t:properties())
    assert.are.same({ { name = "MPI_COMM_WORLD", id = 0, group = 2 } }, t:communicators())
    assert.are.same({ name = "world", kind = "communicator", paradigm = "MPI", members = { 0, 1 } }, t:groups()[2])
    assert.are.same({ "rank 1", "host-1", 1, 2 }, { t:processes()[2].name, t:processes()[2].host, t:processes()[2].rank,
      t:processes()[2].node })
    assert.are.same({ 1000000000, 1000000000000000500 }, { t:about().ticks_per_second, t:about().first_tick })
  end)

  it("has the pairs with the most bytes, and the number of pairs", function()
    if not has_python() then return pending("python3-otf2 is not installed") end
    local dir = support.folder() .. "/pairs"
    support.spit(dir .. ".py", [[
import otf2, sys
from otf2.enums import *
w = otf2.writer.Writer(sys.argv[1]); d = w.definitions
l = [d.location('t', group=d.location_group('r%d' % i, system_tree_parent=d.system_tree_node('m'))) for i in range(4)]
d.group('r', GroupType.COMM_LOCATIONS, Paradigm.MPI, members=l)
c = d.comm('w', d.group('w', GroupType.COMM_GROUP, Paradigm.MPI, members=[0, 1, 2, 3]))
e = [w.event_writer_from_location(x) for x in l]
for i, (a, b, n) in enumerate([(0, 1, 5), (0, 2, 9), (1, 0, 7), (2, 3, 9), (3, 0, 1), (0, 1, 3)]):
  e[a].mpi_send(10 + i, b, c, 0, n)
w.close()
]])
    shell.done(("/usr/bin/python3 %s.py %s"):format(dir, dir))
    local t <close> = assert(pml.trace.open(dir .. "/traces.otf2"))
    local function shown(top)
      local list, unknown, pairs_n = assert(t:messages { top = top })
      for i, m in ipairs(list) do list[i] = ("%d %d %d %d"):format(m.from, m.to, m.messages, m.bytes) end
      return { list, unknown, pairs_n }
    end
    assert.are.same({ { "1 3 1 9", "3 4 1 9", "1 2 2 8" }, 0, 5 }, shown(3))
    assert.are.same({ { "1 3 1 9", "3 4 1 9", "1 2 2 8", "2 1 1 7", "4 1 1 1" }, 0, 5 }, shown(9))
    assert.are.same({ { "1 2 2 8", "1 3 1 9", "2 1 1 7", "3 4 1 9", "4 1 1 1" }, 0, 5 }, shown())
  end)

  it("resamples metrics, and counts locations that are busy at once", function()
    if not has_python() then return pending("python3-otf2 is not installed") end
    local t <close> = assert(pml.trace.open(foreign "over_time"))
    -- rank 0 has 1, 1/2, 1/3 at 1.51, 2.51 and 3.51 us after the beginning, which is at 0.5
    local series, columns = assert(t:series { columns = 5, where = { rank = 0, window = { 0, 5e-6 } } })
    assert.are.same({ false, 1, 0.5, 1 / 3, 1 / 3 }, series[1].values)
    assert.are.same({ 0, 1, 1, 1, 0 }, series[1].counts)
    assert.are.same({ false, 1, 0.5, 1 / 3, false }, series[1].most)
    assert.is_near(1e-6, columns.step_s, 1e-12)
    assert.are.equal(0, #assert(t:series { metric = "other*" }))
    -- both ranks are in solve from 1.5 to 2.4 us after the beginning, and so on
    local levels, spent = assert(t:concurrency { columns = 4, where = { region = "solve", window = { 1.5e-6, 5.5e-6 } } })
    for i = 1, 3 do assert.are.same({ 0, 2 }, { levels[i].least, levels[i].most }) end
    assert.is_near(1.8, levels[1].mean, 1e-6)
    assert.are.same({ 0, 0 }, { levels[4].most, levels[4].mean })
    assert.is_near(2.7e-6, spent.spent_s[2], 1e-12)
    assert.is_near(1.3e-6, spent.spent_s[0], 1e-12)
  end)

  mpi_job.it_once("agrees with python3-otf2 about a job of MPI", function(name)
    if not has_python() then return pending("python3-otf2 is not installed") end
    local to, program = os.tmpname(), mpi_job.compile(name, "messages", folder, "-w")
    os.remove(to)
    mpi_job.traced(name, 4, program, to)
    assert.is_true(compare(to .. "/traces.otf2").messages[1] > 0)
    sh("rm -r " .. to, 30)
  end)

  it("ends columns with the last event, for any length in seconds", function()
    for n = 1, 40 do -- lengths whose seconds are no whole ticks
      local path = recorded.planted(("%s/ends%d"):format(folder, n), { { "one", "+", "last", 0 },
        { "one", "-", "last", 7 * n * n + n } })
      local t <close> = assert(pml.trace.open(path))
      local s = 0
      for _, r in ipairs(assert(t:group { columns = 3 })) do s = s + r.inclusive_s end
      assert.are.equal(7 * n * n + n, math.floor(s * t:about().ticks_per_second + 0.5))
    end
  end)

  it("treats wrong questions as mistakes of the script", function()
    local path = recorded.planted(folder .. "/wrong", { { "one", "+", "a", 0 }, { "one", "-", "a", 1 } })
    local t <close> = assert(pml.trace.open(path))
    assert.has_error(function() t:group { by = { "column" } } end, "by: columns are asked for; say how many in columns")
    assert.has_error(function() t:group { quantiles = { 2 } } end, "quantiles: give a list of numbers from 0 to 1")
    assert.has_error(function() t:paths { by = { "region" } } end,
      "by: unknown name 'region'; choose from process, rank, location")
    assert.has_error(function() t:group { sum = { "time" } } end)
    assert.are.same({ 1, 1 }, { #assert(t:group { by = {}, quantiles = {} }), #assert(t:paths { by = { "location" } }) })
  end)
end)

describe("pml.trace.open of a folder", function()
  it("reads a recording before and after it is an archive, and leaves nothing behind", function()
    local program, to, temporary = folder .. "/zipping", folder .. "/recorded", folder .. "/tmp"
    support.spit(program .. ".c", [[
#include <string.h>
#include <zlib.h>
int main(void) {
  static unsigned char a[1000], b[2000];
  for (int i = 0; i < 7; i++) { unsigned long n = sizeof b; if (compress(b, &n, a, sizeof a) != Z_OK) return 1; }
  return 0;
}
]])
    local said, bad = sh(("cc -o %s %s.c -lz"):format(program, program), 60)
    if bad ~= 0 then return pending("zlib's headers are not installed: " .. said:sub(1, 60)) end
    shell.done(("%s/pmlua record -q --trace --lib 'libz*' -o %s -- %s"):format(support.build, to, program), 60)
    local function calls()
      local t <close> = assert(pml.trace.open(to))
      return assert(t:group { where = { region = "compress" } })[1].calls, t:about().events
    end
    local n, events = calls()
    assert.are.equal(7, n)
    sh("rm -r " .. to .. "/traces*", 10)
    require "lfs".mkdir(temporary)
    local script = folder .. "/asks.lua"
    support.spit(script, ([[
local pml = require "pmlua"
local recorded = require "spec.lua.recorded"
local t <close> = assert(pml.trace.open %q)
print(assert(t:group { where = { region = "compress" } })[1].calls, t:about().events)
t:close()
local files = 0
for name in require "lfs".dir(os.getenv "TMPDIR") do if name:find "trace" then files = files + 1 end end
print(files)
kept = assert(pml.trace.open %q) -- closed with the state
]]):format(to, to))
    local out = shell.done(("TMPDIR=%s %s/pmlua %s"):format(temporary, support.build, script), 60)
    assert.are.equal(("7\t%d\n0\n"):format(events), out)
    for name in require "lfs".dir(temporary) do assert.is_nil(name:find "trace") end
    assert.is_nil(require "lfs".attributes(to .. "/traces.otf2"))
    assert.are.equal("ENODATA", select(3, pml.trace.open(temporary)))
  end)
end)
