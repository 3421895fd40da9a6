-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/trace_foreign_spec.lua - tests of archives by other writers: wrong counts, times before the beginning, missing files
-- and special files, hosts below racks, inter-communicators.

local support = require "spec.core.support"
local lfs = require "lfs"
local pml = require "pmlua"
local shell = require "spec.shell"
local sh = shell.sh

local folder = support.folder()
local broken = support.build .. "/spec/otf2_broken"

local function shown(path, options)
  return sh(("timeout 20 %s/pmlua trace %s %s"):format(support.build, path, options or ""), 60)
end

--- An archive that is broken in one way; its path.
local function write_broken(name)
  local dir = folder .. "/" .. name
  os.execute("rm -rf " .. dir)
  shell.done(("%s %s %s"):format(broken, name, dir))
  return dir .. "/traces.otf2"
end

--- An archive that lines of Python write with @w, a writer of python3-otf2; nil: that is not installed.
local function write_python(name, lines)
  if select(2, sh "/usr/bin/python3 -c 'import otf2'") ~= 0 then return nil end
  local dir, script = folder .. "/" .. name, folder .. "/" .. name .. ".py"
  os.execute("rm -rf " .. dir)
  shell.write(script, ("import otf2, _otf2, sys\nfrom otf2.events import *\nw = otf2.writer.Writer(sys.argv[1], "
    .. "timer_resolution=10**9)\nd = w.definitions\n") .. lines .. "\nw.close()\n")
  shell.done(("/usr/bin/python3 %s %s"):format(script, dir))
  return dir .. "/traces.otf2"
end

local function sums(path)
  local t <close> = assert(pml.trace.open(path))
  local rows, odd = assert(t:group())
  local calls, each = 0, 0
  for _, r in ipairs(rows) do calls = calls + r.calls end
  assert(t:each(function() each = each + 1 end))
  return { calls = calls, each = each, events = t:about().events, lost = odd.lost, uncounted = odd.uncounted,
    damaged = odd.damaged }
end

describe("an archive by another writer", function()
  it("has the events of its files, for any counts in its definitions", function()
    local of = { calls = 2, each = 6, events = 6, lost = 0, uncounted = 0, damaged = 0 }
    assert.are.same(of, sums(write_broken "none"))
    of.lost = 1
    assert.are.same(of, sums(write_broken "count_high"))
    of.lost, of.uncounted = 0, 1
    assert.are.same(of, sums(write_broken "count_low"))
    local out, code = shown(folder .. "/count_low/traces.otf2")
    assert.are.equal(0, code)
    assert.is_truthy(out:find "1 events are in the files that the definitions do not count", out)
  end)

  it("has all events of long files, even if its definitions count none", function()
    local path = write_python("long", [==[
r = d.region("f"); g = d.location_group("p", system_tree_parent=d.system_tree_node("m"))
e = w.event_writer_from_location(d.location("t", group=g))
for i in range(200000): [x._write(e) for x in (Enter(10 * i, r), Leave(10 * i + 5, r))]]==])
    if not path then pending "python3-otf2 is not installed" return end
    local got = sums(path)
    assert.are.same({ calls = 200000, each = 400000, events = 400000, lost = 0, uncounted = 400000, damaged = 0 }, got)
  end)

  it("has the calls before its beginning and after its end, also in columns", function()
    for _, name in ipairs { "time_before", "time_after" } do
      local path = write_broken(name)
      local got = sums(path)
      assert.are.same({ 2, 6 }, { got.calls, got.each }, name)
      local t <close> = assert(pml.trace.open(path))
      for _, columns in ipairs { 1, 4 } do
        local calls = 0
        for _, r in ipairs((assert(t:group { by = { "region" }, columns = columns }))) do calls = calls + r.calls end
        assert.are.equal(2, calls, name .. columns)
      end
    end
    local path = write_python("offset", [==[
r = d.region("f"); g = d.location_group("p", system_tree_parent=d.system_tree_node("m"))
for i in range(2):
  e = w.event_writer_from_location(d.location("t%d" % i, group=g))
  if i: [_otf2.DefWriter_WriteClockOffset(e._def_handle, t, -400, 0.0) for t in (1000, 2500)]
  for k in range(2): e.enter(1000 + k * 1000, r); e.leave(1500 + k * 1000, r)]==])
    if path then assert.are.equal(4, sums(path).calls) end
  end)

  it("has the extremes of its metrics beside invalid values, and the number of these", function()
    local path = write_python("nans", [==[
g = d.location_group("p", system_tree_parent=d.system_tree_node("m"))
nan = float("nan")
def of(name, values, counts=False):
  m = d.metric(name, value_type=otf2.Type.DOUBLE,
    metric_mode=otf2.MetricMode.ACCUMULATED_START if counts else otf2.MetricMode.ABSOLUTE_POINT)
  for k, all in enumerate(values):
    e = w.event_writer_from_location(d.location("%s%d" % (name, k), group=g))
    for i, v in enumerate(all): e.metric(1000 + 10 * i, m, [v])
of("first", [[nan, 3.0, 5.0]])
of("last", [[3.0, 5.0, nan]])
of("none", [[nan, nan]])
of("counted", [[nan, 1.0], [1.0, 2.0]], True)
of("open", [[1.0, nan], [1.0, 2.0]], True)]==])
    if not path then pending "python3-otf2 is not installed" return end
    local out, code = shown(path, "--csv --table metrics")
    assert.are.equal(0, code, out)
    local of = {}
    for name, rest in out:gmatch "([^,\n]+),[^\n]-,(%d,%d[^\n]*)" do of[name] = rest end
    assert.are.same({ first = "1,3,3,5,5", last = "1,3,3,5,", none = "1,2,,,", counted = "2,4,1,2,3", open = "2,4,1,2," },
      of, out)
    out, code = shown(path)
    assert.are.equal(0, code, out)
    assert.is_truthy(out:find("\n6 values of metrics are no numbers; least and most are of the others\n", 1, true), out)
    out, code = shown(path, "--json")
    assert.are.equal(0, code, out)
    local t <close> = assert(pml.trace.open(path))
    for _, s in ipairs(assert(t:series { columns = 1, metric = "first" })) do
      assert.are.same({ { 3 }, { 5 }, { 5 } }, { s.least, s.most, s.values })
    end
  end)

  it("has a row for each record of any kind that otf2-print shows, in t:each and as CSV", function()
    local path = write_python("every", [==[
import inspect
r = d.region("f"); g = d.location_group("p", system_tree_parent=d.system_tree_node("m"))
m = d.metric("v", value_type=otf2.Type.DOUBLE)
e = w.event_writer_from_location(d.location("t", group=g))
e.enter(1000, r); e.metric(1001, m, [2.5]); time = 1001
for name in sorted(n for n in dir(otf2.events) if hasattr(_otf2, "EvtWriter_" + n)):
  write = getattr(_otf2, "EvtWriter_" + name); time += 1
  if name in ("Enter", "Leave"): write(e._handle, None, time, 77) # of no region
  elif name == "ProgramBegin": write(e._handle, None, time, 0, [])
  elif name != "Metric": write(e._handle, None, time, *[0] * (len(inspect.signature(write).parameters) - 3))
e.leave(time + 1, r)]==])
    if not path then pending "python3-otf2 is not installed" return end
    if select(2, sh "command -v otf2-print") ~= 0 then return pending "otf2-print is not installed (otf2-tools)" end
    local shorter = { PARAMETERINT = "PARAMETERINT64", PARAMETERUNSIGNEDINT = "PARAMETERUINT64",
      IOCHANGESTATUSFLAGS = "IOCHANGEFLAGS" }
    local own = { ENTER = "enter", LEAVE = "leave", METRIC = "metric", MPICOLLECTIVEEND = "collective", MPIISEND = "send",
      MPISEND = "send", MPIRECV = "receive", MPIIRECV = "receive", MPIIRECVREQUEST = "request", MPIISENDCOMPLETE = "request",
      NONBLOCKINGCOLLECTIVEREQUEST = "request", NONBLOCKINGCOLLECTIVECOMPLETE = "collective", RMACOLLECTIVEEND = "collective",
      THREADTEAMBEGIN = "team_begin", THREADTEAMEND = "team_end", RMAREQUESTLOCK = "lock", RMAACQUIRELOCK = "lock",
      RMARELEASELOCK = "lock" }
    local expected, n = {}, 0
    for name, at in sh("otf2-print " .. path):gmatch "\n([A-Z_%d]+) +0 +(%d+) " do
      expected[tonumber(at)], n = name:gsub("_", ""), n + 1
    end
    assert.is_true(n > 75, n)
    --- Rows by time equal otf2-print's.
    local function matches(what, rows)
      for at, row in pairs(rows) do
        local record = row[2] and row[2]:upper()
        local got = row[1] == "other" and (shorter[record] or record) or row[1]
        local record_there = expected[at]
        local is_other = row[1] == "other" or record_there == got
        assert.are.equal(is_other and record_there or own[record_there], got, what .. at)
        assert.is_true(not is_other or not own[record_there] or row[2] == "Enter" or row[2] == "Leave", record_there)
      end
    end
    local rows, count = {}, 0
    local t <close> = assert(pml.trace.open(path))
    assert(t:each(function(e)
      rows[math.floor(e.time_s * 1e9 + 1000.5)], count = { e.kind, e.record }, count + 1
    end))
    assert.are.equal(n, count)
    matches("each", rows)
    local out, lines = support.build .. "/pmlua export %s --to csv --out %s/every.csv", {}
    assert.are.equal(0, select(2, sh(out:format(path, folder))))
    for line in io.lines(folder .. "/every.csv") do
      local at, kind, name = line:match "^(%d+),1,,1,(%l[%l_]*),([^,]*)"
      if at then lines[tonumber(at) + 1000], count = { kind, name }, count - 1 end
    end
    assert.are.equal(0, count)
    matches("csv", lines)
  end)

  it("gives each field of its events to t:each", function()
    local path = write_python("fields", [==[
from otf2.enums import *
g = [d.location_group("p%d" % i, system_tree_parent=d.system_tree_node("m")) for i in range(3)]
l = [d.location("t%d" % i, group=g[i]) for i in range(3)]
d.group("r", GroupType.COMM_LOCATIONS, Paradigm.MPI, members=l)
d.comm("self", d.group("s", GroupType.COMM_GROUP, Paradigm.MPI, members=[1]))
c = d.comm("w", d.group("w", GroupType.COMM_GROUP, Paradigm.MPI, members=[0, 1, 2]))
d.rma_win("first", c); d.rma_win("second", c)
m = [d.metric("m%d" % i, value_type=Type.INT64) for i in range(2)]
e = w.event_writer_from_location(l[1])
for i, (name, *rest) in enumerate([("MpiSend", 2, 1, 5, 64), ("MpiIrecv", 0, 1, 6, 65, 9), ("MpiIrecvRequest", 7),
    ("MpiIsendComplete", 8), ("MpiCollectiveEnd", 2, 1, 2, 66, 67), ("RmaSync", 1, 2, 2), ("RmaSync", 0, 0, 1),
    ("RmaRequestLock", 1, 2, 3, 0), ("RmaAcquireLock", 0, 0, 3, 1), ("RmaReleaseLock", 1, 0, 3)]):
  getattr(_otf2, "EvtWriter_" + name)(e._handle, None, 1000 + i, *rest)
e.metric(1010, m[1], [11])]==])
    if not path then pending "python3-otf2 is not installed" return end
    local t <close> = assert(pml.trace.open(path))
    local expected = { -- processes and metrics are counted from 1
      { kind = "send", to = 3, communicator = 1, tag = 5, bytes = 64 },
      { kind = "receive", from = 1, communicator = 1, tag = 6, bytes = 65, request = 9 },
      { kind = "request", what = "receive posted", request = 7 }, { kind = "request", what = "send complete", request = 8 },
      { kind = "collective", operation = "gather", communicator = 1, members = 3, root = 3, sent_bytes = 66,
        received_bytes = 67 },
      { kind = "notify", window = 1, communicator = 1, process_there = 3, out = true },
      { kind = "notify", window = 0, communicator = 1, process_there = 1, out = false },
      { kind = "lock", what = "requested", window = 1, process_there = 3, exclusive = true },
      { kind = "lock", what = "acquired", window = 0, process_there = 1, exclusive = false },
      { kind = "lock", what = "released", window = 1, process_there = 1, exclusive = false },
      { kind = "metric", metric = "m1", number = 2, value = 11 } }
    local n = 0
    assert(t:each(function(e)
      n = n + 1
      for key, value in pairs { location = 2, process = 2, rank = 1 } do expected[n][key] = value end
      expected[n].time_s = e.time_s
      assert.are.same(expected[n], e)
    end))
    assert.are.equal(#expected, n)
  end)

  it("is damaged if its events have no location, and has nothing to show without events", function()
    local path = write_broken "location_undefined"
    for _, command in ipairs { "trace %s", "trace %s --json", "trace %s --waits", "flame %s --out x.svg",
      "export %s --to perfetto --out x.pftrace" } do
      local out, code = sh(("cd %s && timeout 20 %s/pmlua %s"):format(folder, support.build, command:format(path)), 60)
      assert.are.equal(1, code, command .. out)
      assert.is_truthy(out:find("damaged: it has files of events, and its definitions have no location", 1, true), out)
    end
    lfs.mkdir(folder .. "/empty")
    assert(assert(pml.trace.create(folder .. "/empty")):close())
    local out, code = shown(folder .. "/empty/traces.otf2")
    assert.are.equal(1, code, out)
    assert.is_truthy(out:find("empty/traces.otf2: no location", 1, true), out)
    local t <close> = assert(pml.trace.open(folder .. "/empty/traces.otf2"))
    assert.are.same({}, (assert(t:group())))
  end)

  it("moves times that a correction makes negative to 0", function()
    local path = write_python("below", [==[
from otf2.enums import *
r = d.region("f"); g = d.location_group("p", system_tree_parent=d.system_tree_node("m"))
m = d.metric("v", value_type=Type.DOUBLE)
l = [d.location("t%d" % i, group=g) for i in range(2)]
d.group("r", GroupType.COMM_LOCATIONS, Paradigm.MPI, members=l)
c = d.comm("w", d.group("w", GroupType.COMM_GROUP, Paradigm.MPI, members=[0, 1]))
for i in range(2):
  e = w.event_writer_from_location(l[i])
  if i: [_otf2.DefWriter_WriteClockOffset(e._def_handle, t, -1400, 0.0) for t in (1000, 2500)]
  for k in range(2):
    e.enter(1000 + k * 1000, r); e.metric(1100 + k * 1000, m, [k + 1.0]); e.mpi_send(1200 + k * 1000, 1 - i, c, 0, 8)
    e.leave(1500 + k * 1000, r)]==])
    if not path then pending "python3-otf2 is not installed" return end
    local t <close> = assert(pml.trace.open(path))
    local rows, odd = assert(t:group { by = { "location" } })
    assert.are.same({ 2, 0 }, { #rows, odd.backward })
    -- the second location's regions last from -400 to 100 and from 600 to 1100
    assert.is_near(1000e-9, rows[1].inclusive_s, 1e-12)
    assert.is_near(600e-9, rows[2].inclusive_s, 1e-12)
    for _, order in ipairs { "time", "location" } do
      local times = {}
      assert(t:each(function(e)
        if e.location == 2 then times[#times + 1] = math.floor(e.time_s * 1e9 + 0.5) + 1000 end
      end, { order = order, where = { kinds = { "enter", "leave" } } }))
      assert.are.same({ 0, 100, 600, 1100 }, times)
    end
    local sent = assert(t:messages())
    assert.are.equal(4, sent[1].messages)
    local series = assert(t:series { columns = 1 })
    assert.are.same({ { 2 }, { 1 }, { 2 } }, { series[2].counts, series[2].least, series[2].most })
  end)

  it("has the times of clocks that begin anywhere", function()
    for _, start in ipairs { "0", "2**62", "2**63 - 250", "2**63", "2**64 - 2000" } do
      local path = write_python("clock", ([==[
r = d.region("f"); g = d.location_group("p", system_tree_parent=d.system_tree_node("m"))
e = w.event_writer_from_location(d.location("t", group=g))
for k in range(4): e.enter(%s + k * 200, r); e.leave(%s + k * 200 + 50, r)]==]):format(start, start))
      if not path then pending "python3-otf2 is not installed" return end
      local t <close> = assert(pml.trace.open(path))
      local rows, odd = assert(t:group())
      assert.are.same({ 4, 0 }, { rows[1].calls, odd.backward }, start)
      assert.is_near(200e-9, rows[1].inclusive_s, 1e-12, start)
    end
  end)

  it("is refused if the anchor and the definitions disagree", function()
    local path = write_broken "none"
    local anchor = assert(io.open(path, "rb")):read "a"
    local found = 0
    local damaged = 0
    for i = 8 * 8, 8 * #anchor - 1 do -- the numbers of locations, definitions and properties are among its bytes
      local at, bit = i // 8, 1 << i % 8
      local f <close> = assert(io.open(path, "wb"))
      f:write(anchor:sub(1, at), string.char(anchor:byte(at + 1) ~ bit), anchor:sub(at + 2))
      f:close()
      local t, err = pml.trace.open(path)
      if t then t:close()
      elseif tostring(err):find "of %d+ definitions, %d+ of %d+ locations" then found = found + 1
      elseif tostring(err):find "a damaged anchor file" then damaged = damaged + 1 end
    end
    assert.is_true(found >= 2, found)
    assert.is_true(damaged >= 28, damaged) -- properties that the file has no room for
  end)

  it("does not give wrong names if a location's definitions are missing", function()
    local dir = folder .. "/two"
    lfs.mkdir(dir)
    local t = assert(pml.trace.create(dir))
    for i, name in ipairs { "one", "two" } do
      local at = assert(t:location(name))
      for k = 1, 3 do
        local region = pml.region.intern(("f%d"):format(7 * i + k))
        assert(at:enter(region, pml.clock.ticks()))
        assert(at:leave(region, pml.clock.ticks()))
      end
    end
    assert(t:close())
    local path = dir .. "/traces.otf2"
    assert(os.remove(dir .. "/traces/1.def"))
    local out = shown(path)
    assert.is_truthy(out:find "1 locations lack their file of definitions", out)
    assert.is_nil(out:find("f15", 1, true), out)
    local r <close> = assert(pml.trace.open(path))
    local ok, err = r:each(function() end, { where = { location = 2 } })
    assert.is_nil(ok)
    assert.is_truthy(tostring(err):find "/1.def' with the definitions is missing", tostring(err))
  end)

  it("is not waited for if one of its files is a FIFO", function()
    for _, name in ipairs { "traces.otf2", "traces.def", "traces/0.evt", "traces/0.def" } do
      local path = write_broken "none"
      local file = path:gsub("traces%.otf2$", "") .. name
      assert(os.remove(file))
      assert.are.equal(0, select(2, sh("mkfifo " .. file)))
      for _, command in ipairs { "trace %s", "flame %s --out x.svg", "export %s --to perfetto --out x.pftrace" } do
        local out, code = sh(("cd %s && timeout 20 %s/pmlua %s"):format(folder, support.build,
          command:format(path)), 60)
        assert.are.equal(1, code, name .. command .. out)
        assert.is_truthy(out:find("not a file, but a FIFO", 1, true), out)
      end
    end
  end)

  it("counts hosts by the nodes of its processes", function()
    local path = write_python("hosts", [==[
m = d.system_tree_node("cluster", "machine"); racks = [d.system_tree_node("rack%d" % i, "rack", parent=m) for i in range(2)]
r = d.region("f")
for i in range(4):
  n = d.system_tree_node("n%d" % (i // 2), "node", parent=racks[i % 2])
  e = w.event_writer_from_location(d.location("t", group=d.location_group("p%d" % i, system_tree_parent=n)))
  e.enter(0, r); e.leave(9, r)]==])
    if not path then pending "python3-otf2 is not installed" return end
    local t <close> = assert(pml.trace.open(path))
    assert.are.equal(4, t:about().hosts)
    local hosts = {}
    for i, p in ipairs(t:processes()) do hosts[i] = p.host end
    assert.are.same({ "n0", "n0", "n1", "n1" }, hosts)
    assert.is_truthy(shown(path):find "4 hosts")
  end)
end)
