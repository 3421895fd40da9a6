-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/export_trace_spec.lua - traces and call paths in the forms of other programs: planted calls come out as they
-- went in, decoded by protoc, cjson and pprof.

local cjson = require "cjson"
local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local pml = require "pmlua"
local recorded = require "spec.lua.recorded"
local shell = require "spec.shell"
local sh = shell.sh

local folder = support.folder()

-- Microseconds. a: 100 to 1100, in it b twice (200 to 300, 400 to 700), and a again in the second b (500 to 550). c on
-- another location, with a name that each form must quote.
local ODD <const> = 'c,"<\\>;\xc3\xa9'
local CALLS <const> = { { "one", "+", "a", 100 }, { "one", "+", "b", 200 }, { "one", "-", "b", 300 }, { "one", "+", "b", 400 },
  { "one", "+", "a", 500 }, { "one", "-", "a", 550 }, { "one", "-", "b", 700 }, { "one", "-", "a", 1100 },
  { "two", "+", ODD, 150 }, { "two", "+", "b", 160 }, { "two", "-", "b", 1160 }, { "two", "-", ODD, 2150 } }

--- A trace of calls, each with a value of the metric "work" that is its time in µs: the path of the archive.
local function planted(name, calls)
  return recorded.planted(folder .. "/" .. name, calls, recorded.us, { { name = "work", unit = "W" } })
end

local function export(path, form, options)
  local to = ("%s/out.%s"):format(folder, form)
  local out = shell.done(("%s/pmlua export %s --to %s %s --out %s"):format(support.build, path, form, options or "", to))
  return to, out
end

local read = support.slurp

--- Exclusive µs and calls by name, of begins and ends { what, name, us } of one track in order.
local function sums_of(events, sums)
  local stack = {}
  for _, e in ipairs(events) do
    if e[1] == "begin" then
      stack[#stack + 1] = { e[2], e[3], 0 }
    else
      local top = table.remove(stack)
      assert.are.equal(top[1], e[2] or top[1])
      local span = e[3] - top[2]
      local s = sums[top[1]] or { calls = 0, us = 0 }
      s.calls, s.us = s.calls + 1, s.us + span - top[3]
      sums[top[1]] = s
      if #stack > 0 then stack[#stack][3] = stack[#stack][3] + span end
    end
  end
  assert.are.equal(0, #stack)
  return sums
end

local function near(expected, sums)
  for name, e in pairs(expected) do
    assert.is_truthy(sums[name], name)
    assert.are.equal(e[1], sums[name].calls, name)
    assert.is_true(math.abs(e[2] - sums[name].us) < 0.1, ("%s: %g µs, not %g"):format(name, sums[name].us, e[2]))
  end
end

local WHOLE <const> = { a = { 2, 650 }, b = { 3, 1350 }, [ODD] = { 1, 1000 } }

-- ---- protoc ----

local has_protoc = select(2, sh "command -v protoc") == 0
local function it_decoded(what, test)
  it(what, has_protoc and test or function() pending "protoc is not installed (protobuf-compiler)" end)
end

--- protoc's text as tables: each field is a list.
local function parse(text)
  local root = {}
  local stack = { root }
  for line in text:gmatch "[^\n]+" do
    local name, value = line:match "^%s*([%w_]+): (.*)$"
    local open = line:match "^%s*([%w_]+) {$"
    local top = stack[#stack]
    if open then
      local inner = {}
      top[open] = top[open] or {}
      table.insert(top[open], inner)
      stack[#stack + 1] = inner
    elseif name then
      local text_value = value:match '^"(.*)"$'
      if text_value then
        value = text_value:gsub("\\(%d%d%d)", function(o) return string.char(tonumber(o, 8)) end)
          :gsub('\\(["\'\\])', "%1")
      else
        value = tonumber(value) or value
      end
      top[name] = top[name] or {}
      table.insert(top[name], value)
    else
      stack[#stack] = nil
    end
  end
  return root
end

local function decode(message, proto, path)
  local out = shell.done(("protoc --proto_path=spec/data --decode=%s spec/data/%s.proto <%s"):format(message, proto, path))
  assert.is_nil(out:find "\n%d+: ", "a field without a name")
  return parse(out)
end

--- Begins and ends of each track, in order, from Perfetto's packets; counters, flows and names of threads.
local function of_perfetto(path)
  local names, of = {}, { tracks = {}, counters = {}, threads = {}, starts = {}, ends = {} }
  for _, p in ipairs(decode("Trace", "perfetto", path).packet) do
    local sequence = p.sequence[1]
    for _, t in ipairs(p.track or {}) do
      if t.thread then of.threads[#of.threads + 1] = t.thread[1].name[1] end
      if t.counter then of.counters[t.uuid[1]] = { name = t.name[1], unit = t.counter[1].unit[1] } end
    end
    for _, n in ipairs(p.interned and p.interned[1].name or {}) do names[sequence .. " " .. n.id[1]] = n.text[1] end
    local e = p.event and p.event[1]
    if e and e.type[1] <= 2 then
      local track = of.tracks[sequence] or {}
      of.tracks[sequence] = track
      local name = e.name_id and assert(names[sequence .. " " .. e.name_id[1]])
      track[#track + 1] = { e.type[1] == 1 and "begin" or "end", name, p.timestamp[1] / 1e3 }
    elseif e and e.type[1] == 4 then
      table.insert(assert(of.counters[e.track[1]]), e.value[1])
    elseif e then
      for _, id in ipairs(e.flow or {}) do of.starts[id] = (of.starts[id] or 0) + 1 end
      for _, id in ipairs(e.last_flow or {}) do of.ends[id] = (of.ends[id] or 0) + 1 end
    end
  end
  return of
end

describe("pmlua export of a trace", function()
  local path
  setup(function() path = planted("whole", CALLS) end)
  it_decoded("gives Perfetto all calls, threads and counters", function()
    local of, sums = of_perfetto((export(path, "perfetto"))), {}
    for _, track in pairs(of.tracks) do sums_of(track, sums) end
    near(WHOLE, sums)
    assert.are.same({ "one", "two" }, of.threads)
    local n = 0
    for _, c in pairs(of.counters) do
      n = n + #c
      assert.are.same({ "work", "W" }, { c.name, c.unit })
      for i, v in ipairs(c) do assert.is_true(i == 1 or v >= c[i - 1]) end
    end
    assert.are.equal(#CALLS, n)
  end)

  --- Sums of the calls in speedscope's profiles, one for each location.
  local function of_speedscope(of, options)
    local file, sums = cjson.decode(read((export(of, "speedscope", options)))), {}
    for _, p in ipairs(file.profiles) do
      local events = {}
      for i, e in ipairs(p.events) do
        events[i] = { e.type == "O" and "begin" or "end", file.shared.frames[e.frame + 1].name, e.at / 1e3 }
        assert.is_true(e.at >= p.startValue and e.at <= p.endValue)
      end
      sums_of(events, sums)
    end
    return sums, #file.profiles
  end

  it("gives speedscope a profile of each location, cut at a window, with open calls until the end", function()
    local sums, profiles = of_speedscope(path)
    assert.are.equal(2, profiles)
    near(WHOLE, sums)
    -- the trace begins with a: 350 to 550 µs are 450 to 650 of the clock
    near({ a = { 2, 50 }, b = { 2, 350 }, [ODD] = { 1, 0 } }, (of_speedscope(path, "--window 0.00035:0.00055")))
    local open = planted("open", { { "one", "+", "a", 100 }, { "one", "+", "b", 200 }, { "one", "-", "b", 300 },
      { "one", "+", "c", 400 } })
    near({ a = { 1, 200 }, b = { 1, 100 }, c = { 1, 0 } }, (of_speedscope(open)))
  end)

  it("gives tables a row for each event", function()
    local head, odd, of, values = nil, 0, {}, 0
    for line in read((export(path, "csv"))):gmatch "[^\n]+" do
      local ns, location, kind, name, rest = line:match "^(%d+),1,,(%d),(%l+),(.-),(,,,,.*)$"
      if not head then
        head = line
      elseif kind == "metric" then
        values = values + assert(tonumber(rest:match "^,,,,,(%d+)$"), line)
        assert.are.equal("work", name)
      else
        odd = odd + (name == '"c,""<\\>;é"' and 1 or 0)
        of[location] = of[location] or {}
        local plain = name:gsub('^"(.*)"$', "%1"):gsub('""', '"')
        table.insert(of[location], { kind == "enter" and "begin" or "end", plain, ns / 1e3 })
      end
    end
    assert.are.equal("time_ns,process,rank,location,kind,name,peer,communicator,tag,sent_bytes,received_bytes,value", head)
    local sums, expected = {}, 0
    for _, events in pairs(of) do sums_of(events, sums) end
    near(WHOLE, sums)
    for _, c in ipairs(CALLS) do expected = expected + c[4] end
    assert.are.same({ 2, expected }, { odd, values })
  end)

  it("refuses impossible exports in one line", function()
    local function refused(line, pattern)
      local out, code = sh(("%s/pmlua export %s"):format(support.build, line))
      assert.are_not.equal(0, code, line)
      assert.is_truthy(out:find(pattern), out)
      assert.is_true(select(2, out:gsub("\n", "")) <= 2, out)
    end
    local empty = folder .. "/empty"
    require "lfs".mkdir(empty)
    refused(empty .. " --to perfetto", "no trace")
    refused(empty .. " --to folded", "no recorded calls")
    refused(path .. " --to sqlite --out x.db", "takes logs")
    refused(path .. " --to jsonl", "takes logs; a trace is exported %-%-to csv")
    refused(path .. " --to chrome", "needs csv, jsonl, sqlite, perfetto, speedscope, pprof or folded")
    refused(path .. " --table calls", "omit %-%-table")
    refused(path .. " --to folded --value nothing", "no counter 'nothing'; choose time, calls, work")
    local calls = {}
    for k = 1, 2000 do calls[k] = { "main", k % 2 == 1 and "+" or "-", "a", 10 * k } end
    refused(path .. " --to perfetto --out /dev/full", "No space left")
    refused(planted("long", calls) .. " --to perfetto --out /dev/full", "ENOSPC: the file takes no more bytes")
    shell.write(folder .. "/cut.otf2", "OTF2")
    refused(folder .. "/cut.otf2 --to perfetto", "cut.otf2")
  end)
end)

describe("pmlua export of call paths", function()
  local path
  setup(function() path = planted("paths", CALLS) end)

  local function folded(options)
    local of = {}
    for line in read((export(path, "folded", options))):gmatch "[^\n]+" do
      local stack, value = line:match "^(.*) (%d+)$"
      of[stack] = tonumber(value)
    end
    return of
  end

  it("folds stacks with exclusive time, calls or counts", function()
    local odd = ODD:gsub(";", ",")
    for stack, us in pairs { a = 600, ["a;b"] = 350, ["a;b;a"] = 50, [odd] = 1000, [odd .. ";b"] = 1000 } do
      assert.is_true(math.abs(folded()[stack] / 1e3 - us) < 0.1, stack)
    end
    assert.are.same({ a = 1, ["a;b"] = 2, ["a;b;a"] = 1, [odd] = 1, [odd .. ";b"] = 1 }, folded "--value calls")
    assert.are.same({ a = 600, ["a;b"] = 350, ["a;b;a"] = 50, [odd] = 1000, [odd .. ";b"] = 1000 }, folded "--value work")
  end)

  it_decoded("gives pprof calls, time and a counter of each path", function()
    local packed = export(path, "pprof", "--value work")
    assert.are.equal(0, select(2, sh(("gzip -dc %s >%s/plain"):format(packed, folder))))
    local p, of = decode("Profile", "pprof", folder .. "/plain"), {}
    local function text(i) return p.text[(i or 0) + 1] end
    local names = {}
    for _, f in ipairs(p["function"]) do names[f.id[1]] = text(f.name[1]) end
    for _, s in ipairs(p.sample) do
      local stack = {}
      for _, id in ipairs(s.location) do table.insert(stack, 1, names[id]) end
      of[table.concat(stack, ";")] = { s.value[1], s.value[2] / 1e3, s.value[3] }
    end
    assert.are.same({ "calls", "count", "time", "nanoseconds", "work", "W", "work" }, { text(p.kind[1].type[1]),
      text(p.kind[1].unit[1]), text(p.kind[2].type[1]), text(p.kind[2].unit[1]), text(p.kind[3].type[1]), text(p.kind[3].unit[1]),
      text(p.shown[1]) })
    for stack, e in pairs { a = { 1, 600 }, ["a;b"] = { 2, 350 }, ["a;b;a"] = { 1, 50 }, [ODD] = { 1, 1000 },
      [ODD .. ";b"] = { 1, 1000 } } do
      assert.are.same({ e[1], e[2] }, { of[stack][1], of[stack][3] })
      assert.is_true(math.abs(of[stack][2] - e[2]) < 0.1, stack)
    end
  end)

  it("is read by go tool pprof", function()
    if select(2, sh "command -v go") ~= 0 then return pending "go is not installed (golang-go)" end
    local out = shell.done(("HOME=%s go tool pprof -top -sample_index=time %s"):format(folder, (export(path, "pprof"))))
    assert.is_truthy(out:find " 45%.00%% +45%.00%% +%S+ 46%.67%% +b\n", out)
  end)

  it("gives speedscope a profile", function()
    local file, sum = cjson.decode(read((export(path, "speedscope", "--value work")))), 0
    for _, w in ipairs(file.profiles[1].weights) do sum = sum + w end
    assert.are.same({ 3000, 3000, "sampled" }, { sum, file.profiles[1].endValue, file.profiles[1].type })
  end)
end)

describe("pmlua export of a job of MPI", function()
  mpi_job.it_once("joins each send with its receive", function(name)
    if not has_protoc then return pending "protoc is not installed (protobuf-compiler)" end
    local to = folder .. "/job-" .. name
    local program = mpi_job.compile(name, "known_waits", folder)
    mpi_job.traced(name, 3, program, to)
    local t <close> = assert(pml.trace.open(to .. "/traces.otf2"))
    local messages = 0
    for _, p in ipairs(assert(t:messages())) do messages = messages + p.messages end
    local of, starts, ends = of_perfetto((export(to, "perfetto"))), 0, 0
    for id, n in pairs(of.starts) do
      starts = starts + 1
      assert.are.same({ 1, 1 }, { n, of.ends[id] })
    end
    for _ in pairs(of.ends) do ends = ends + 1 end
    assert.is_true(messages > 0)
    assert.are.same({ messages, messages }, { starts, ends })
  end)
end)
