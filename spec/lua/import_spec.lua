-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/import_spec.lua - tests of pmlua import: the sums by call path equal the sums of the file, and a new export yields the
-- same lines.

local support = require "spec.core.support"
local lfs = require "lfs"
local pml = require "pmlua"
local shell = require "spec.shell"
local sh = shell.sh

local folder = support.folder()

local function import(name, text, options)
  local path, to = folder .. "/" .. name, folder .. "/" .. name .. ".trace"
  os.execute(("rm -rf %s"):format(to))
  shell.write(path, text)
  local out, code = sh(("%s/pmlua import %s %s"):format(support.build, path, options or ""))
  return to .. "/traces.otf2", out, code
end

--- Own values by call path.
local function paths(trace, value)
  local out = shell.done(("%s/pmlua export %s --to folded --value '%s'"):format(support.build, trace, value or "time"))
  local of = {}
  for line in out:gmatch "[^\n]+" do
    local path, v = line:match "^(.*) (%d+)$"
    of[path] = tonumber(v)
  end
  return of
end

local PERF <const> = [[
# a comment
my app 7 [001] 10.000000001:    1000 cycles:u:
	    115b inner+0x22 (/bin/my app)
	    118c outer+0xe (/bin/my app)

my app 7 [001] 10.000001001:    1000 cycles:u:
	    115b inner+0x22 (/bin/my app)
	    118c outer+0xe (/bin/my app)

other 8/9 [000] 10.000001501:     500 cache-misses:
	ffffff [unknown] ([unknown])
	    20 operator new(unsigned long)+0x1 (/lib/libc.so)

my app 7 [001] 10.000003001:    2000 cycles:u:
	    118c outer+0xe (/bin/my app)

]]

describe("pmlua import", function()
  it("converts perf's samples to calls, and counts their periods exactly", function()
    local trace, out, code = import("perf.txt", PERF)
    assert.are.equal(0, code, out)
    assert.are.same({ ["outer;inner"] = 2000, outer = 2000 }, paths(trace, "cycles:u"))
    assert.are.same({ ["operator new(unsigned long);[unknown]"] = 500 }, paths(trace, "cache-misses"))
    -- two neighbours with one stack are one call; the last sample is as long as the previous one
    assert.are.same({ ["outer;inner"] = 3000, outer = 2000 }, paths(trace))
    local t <close> = assert(pml.trace.open(trace))
    local names = {}
    for i, l in ipairs(t:locations()) do names[i] = l.name end
    assert.are.same({ "my app 7", "other 8/9" }, names)
    assert.are.same({ "perf.txt", "other (8)" }, { t:processes()[1].name:match "[^/]*$", t:processes()[2].name })
    assert.are.equal(2, t:locations()[2].process)
    for _, row in ipairs(assert(t:group())) do
      assert.are.equal(1, row.calls, row.region)
    end
  end)

  it("reads folded stacks, and exports them unchanged", function()
    local lines = { ["main;a"] = 30, ["main;a;b c"] = 12, main = 5, ["main;d"] = 0 }
    local text = ""
    for path, v in pairs(lines) do text = text .. ("%s %d\n"):format(path, v) end
    local trace, out, code = import("stacks.folded", text)
    assert.are.equal(0, code, out)
    lines["main;d"] = nil
    assert.are.same(lines, paths(trace))
    assert.are.same(lines, paths(trace, "samples"))
  end)

  it("reads the JSON of Chrome's viewer: nested calls, durations, threads", function()
    local trace, out, code = import("chrome.json", [[ [
      {"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"main"}},
      {"ph":"B","pid":1,"tid":2,"ts":100,"name":"a"}, {"ph":"X","pid":1,"tid":2,"ts":110,"dur":20,"name":"b"},
      {"ph":"X","pid":1,"tid":2,"ts":115.5,"dur":2.25,"name":"c"}, {"ph":"E","pid":1,"tid":2,"ts":200},
      {"ph":"X","pid":1,"tid":3,"ts":50,"dur":10,"name":"c"}, {"ph":"C","pid":1,"ts":60,"name":"n","args":{"n":1}},
      {"ph":"E","pid":1,"tid":3,"ts":300}
    ]])
    assert.are.equal(0, code, out)
    assert.is_truthy(out:find "1 events are no calls", out)
    assert.is_truthy(out:find "1 times went back, calls were too deep or ends have no beginning", out)
    assert.are.same({ a = 80000, ["a;b"] = 17750, ["a;b;c"] = 2250, c = 10000 }, paths(trace))
    local t <close> = assert(pml.trace.open(trace))
    assert.are.same({ "main 1/2", "1/3" }, { t:locations()[1].name, t:locations()[2].name })
    assert.are.same({ "chrome.json", 1000000000 }, { t:processes()[1].name:match "[^/]*$", t:about().ticks_per_second })
  end)

  it("says which durations of Chrome's calls are missing, and which contradict the call around them", function()
    local trace, out = import("durations.json", [[ [
      { "ph": "X", "name": "around", "ts": 0, "dur": 10 }, { "ph": "X", "name": "over", "ts": 5, "dur": 10 },
      { "ph": "X", "name": "back", "ts": 20, "dur": -5 }, { "ph": "X", "name": "open", "ts": 30 },
      { "ph": "X", "name": "exact", "ts": 40, "dur": 0.3334 }, { "ph": "X", "name": "inside", "ts": 40.0001, "dur": 0.3333 } ] ]])
    assert.is_truthy(out:find("note: 2 calls (X) have no usable duration", 1, true), out)
    assert.is_truthy(out:find("note: 1 calls (X) end later than the call around them", 1, true), out)
    local t <close> = assert(pml.trace.open(trace))
    local total = 0
    for _, r in ipairs(assert(t:group())) do total = total + r.exclusive_s end
    assert.are.equal(10333, math.floor(1e9 * total + 0.5))
  end)

  it("distinguishes the processes of perf and of Chrome's JSON", function()
    local text = PERF:gsub("other 8/9", "my app 7/9"):gsub("my app 7 ", "my app 7/7 ")
      .. PERF:match("other.*"):gsub("8/9", "8/10")
    local trace, out, code = import("several.txt", text)
    assert.are.equal(0, code, out)
    local t <close> = assert(pml.trace.open(trace))
    local of = {}
    for i, l in ipairs(t:locations()) do of[i] = l.name .. " in " .. t:processes()[l.process].name end
    table.sort(of)
    assert.are.same({ "my app 7 in several.txt", "my app 7/7 in my app (7)", "my app 7/9 in my app (7)",
      "other 8/10 in other (8)" }, { (of[1]:gsub("in .*/", "in ")), of[2], of[3], of[4] })

    trace, out, code = import("several.json", [[ { "traceEvents": [
      {"ph":"M","pid":7,"name":"process_name","args":{"name":"my app"}}, {"ph":"X","pid":7,"tid":7,"ts":1,"dur":3,"name":"a"},
      {"ph":"X","pid":7,"tid":9,"ts":2,"dur":1,"name":"a"}, {"ph":"X","pid":8,"tid":8,"ts":2,"dur":4,"name":"b"},
      {"ph":"M","pid":8,"name":"process_name","args":{"name":"other"}} ] } ]])
    assert.are.equal(0, code, out)
    local json <close> = assert(pml.trace.open(trace))
    local calls = {}
    for _, r in ipairs((assert(json:group { by = { "process" } }))) do calls[json:processes()[r.process].name] = r.calls end
    assert.are.same({ ["my app (7)"] = 2, ["other (8)"] = 1 }, calls)
  end)

  it("reads pmlua's exports: pprof and folded stacks of one trace have the same sums", function()
    local trace = import("perf.txt", PERF)
    local whole = paths(trace)
    for form, name in pairs { pprof = "again.pb.gz", folded = "again.folded" } do
      local path = folder .. "/" .. name
      assert.are.equal(0, select(2, sh(("%s/pmlua export %s --to %s --out %s"):format(support.build, trace, form, path))))
      local f <close> = assert(io.open(path, "rb"))
      local again, out, code = import("from-" .. name, f:read "a")
      assert.are.equal(0, code, out)
      assert.are.same(whole, paths(again), form)
    end
  end)

  it("keeps every nanosecond of Chrome's times, with any beginning", function()
    for _, first in ipairs { 0, 999999000000000, 1666382280874000, 9223372036850000 } do
      local events, expected = {}, {}
      for i = 0, 299 do
        local name, lasts = "c" .. i % 3, i % 7 * 8 + 1 -- in units of 1/8 us
        events[i + 1] = ('{"ph":"X","name":"%s","pid":1,"tid":1,"ts":%d.%03d,"dur":%d.%03d}'):format(name, first + i * 10, i % 5,
          lasts // 8, lasts % 8 * 125)
        expected[name] = (expected[name] or 0) + lasts * 125
      end
      local trace, out, code = import("times.json", '{"traceEvents":[' .. table.concat(events, ",") .. "]}")
      assert.are.equal(0, code, out)
      assert.are.same(expected, paths(trace), tostring(first))
    end
  end)

  it("distinguishes threads with large numbers, and names unnamed functions", function()
    local trace, out, code = import("ids.json", [[ [{"ph":"X","name":"","pid":1,"tid":9007199254740993,"ts":1,"dur":1},
      {"ph":"X","name":"a\u0000b","pid":1,"tid":9007199254740992,"ts":1,"dur":1}] ]])
    assert.are.equal(0, code, out)
    assert.are.same({ ["?"] = 1000, ["a b"] = 1000 }, paths(trace))
    local t <close> = assert(pml.trace.open(trace))
    assert.are.equal(2, #t:locations())
  end)

  it("reads the complete events of a JSON that was cut at any place", function()
    local head, event = '{"otherData":{"}":"traceEvents","[":[1,{"a\\"":"]"}]},"traceEvents":[',
      '{"ph":"X","name":"operator{}\\"[","pid":1,"tid":1,"ts":%d,"dur":2,"args":{"}":[1,"]"]}}'
    local whole = head
    for i = 1, 3 do whole = whole .. (i > 1 and ",\n" or "") .. event:format(i * 10) end
    local two, three = #head + 2 * #event:format(10) + 2, #whole
    for _, case in ipairs { { two, 2 }, { two + 1, 2 }, { two + 40, 2 }, { three - 1, 2 }, { three, 3 } } do
      for _, tail in ipairs { "", ("\0"):rep(100), "\n\n" } do
        local trace, out, code = import("cut.json", whole:sub(1, case[1]) .. tail)
        assert.are.equal(0, code, out)
        assert.is_truthy(out:find(("cut within or behind event %d"):format(case[2] + 1)), out)
        assert.are.same({ ['operator{}"['] = case[2] * 2000 }, paths(trace))
      end
    end
    local trace, out = import("cut.json", whole .. '],"displayTimeUnit":"n')
    assert.is_nil(out:find "note", out)
    assert.are.same({ ['operator{}"['] = 6000 }, paths(trace))
  end)

  it("notes text behind the JSON, such as a second trace", function()
    local event = '[{"ph":"X","name":"f","pid":1,"tid":1,"ts":1,"dur":2}]'
    for text, behind in pairs { [event .. "\n" .. event] = #event, [event .. " \n"] = 0,
      ['{"traceEvents":' .. event .. ',"more":{"]":["}"]}}x'] = 1, ['{"traceEvents":' .. event .. ',"more":"}"}\n'] = 0 } do
      local trace, out = import("behind.json", text)
      assert.equal(behind, tonumber(out:match "note: (%d+) bytes behind the end of the JSON" or 0), out)
      assert.are.same({ f = 2000 }, paths(trace))
    end
  end)

  it("recognises the format behind long comments, long lines, other members and a byte order mark", function()
    local deep = "main"
    for i = 1, 2000 do deep = deep .. ";some::name::space::function_" .. i end
    local event = '{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}'
    local long = ('{"otherData":{"x":"%s"},"traceEvents":[%s]}'):format(("y"):rep(100000), event)
    local texts = { ["deep.folded"] = deep .. " 1\n",
      ["header.perf"] = ("# header\n"):rep(9999) .. "\n" .. PERF, ["long.json"] = long,
      ["indented.json"] = "\n [\n  " .. event .. "\n]", ["bracket.folded"] = "[unknown];main 3\n" }
    for name, text in pairs(texts) do
      for _, mark in ipairs { "", "\xef\xbb\xbf" } do
        local trace, out, code = import(name, mark .. text)
        assert.are.equal(0, code, name .. out)
        assert.is_truthy(next(paths(trace)), name)
      end
    end
  end)

  it("unpacks gzip of every form, also of several members, and reads the part before a cut", function()
    local gzip = function(text) return (require "zlib".deflate(6, 31)(text, "finish")) end
    local lines = {}
    for i = 1, 5000 do lines[i] = ("main;f%d %d\n"):format(i * 7919 % 5000, i) end
    local text = table.concat(lines)
    local plain = paths((import("plain.folded", text)))
    local half = #table.concat(lines, "", 1, 2500)
    for _, packed in ipairs { gzip(text), gzip(text:sub(1, half)) .. gzip(text:sub(half + 1)), gzip(text) .. ("\0"):rep(512),
      gzip "" .. gzip(text) } do
      local trace, out, code = import("packed.folded.gz", packed)
      assert.are.equal(0, code, out)
      assert.are.same(plain, paths(trace))
    end
    local trace, out, code = import("packed.folded.gz", gzip(text):sub(1, -200))
    if code == 0 then -- the cut may be within a line
      assert.is_truthy(out:find "note: the gzip data is damaged or cut", out)
      assert.is_true(#trace > 0)
    else
      assert.is_truthy(out:find "not 'OUTER;INNER VALUE'", out)
    end
    local json = gzip('{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}')
    trace, out, code = import("t.json.gz", json)
    assert.are.equal(0, code, out)
    assert.are.same({ a = 1000 }, paths(trace))
  end)

  it("reads the fields of a pprof profile in any order, packed or not", function()
    local function bytes(field, s) return string.char(field << 3 | 2, #s) .. s end
    local function integer(field, v) return string.char(field << 3, v) end
    local texts = ""
    for _, t in ipairs { "", "cpu", "nanoseconds", "main", "work" } do texts = texts .. bytes(6, t) end
    -- The first sample has a value more than there are kinds.
    local parts = { bytes(1, integer(1, 1) .. integer(2, 2)), bytes(2, bytes(1, "\2\1") .. bytes(2, "\7\9")),
      bytes(2, integer(1, 2) .. integer(1, 1) .. integer(2, 5)), bytes(4, integer(1, 1) .. bytes(4, integer(1, 1))),
      bytes(4, integer(1, 2) .. bytes(4, integer(1, 2))), bytes(5, integer(1, 1) .. integer(2, 3)),
      bytes(5, integer(1, 2) .. integer(2, 4)), texts }
    for i = 1, #parts do
      table.insert(parts, 1, table.remove(parts, i))
      local trace, out, code = import("any.pb", table.concat(parts))
      assert.are.equal(0, code, out)
      assert.are.same({ ["main;work"] = 12 }, paths(trace))
    end
  end)

  it("reads perf's lines of every kind: missing objects, no call stacks, exiting processes, other records", function()
    local trace, out, code = import("kinds.perf", "# header\n" .. [[
a b 5/6 [001] U 1.000000000: PERF_RECORD_MMAP2 5/6: [0x1(0x1) @ 0 08:01 1 0]: r-xp /bin/x
a b 5/6 [001] U 1.000000001:       4 cpu-clock:ppp:
	10 inner(int (*)(int))+0x1 (/tmp/lib foo.so (deleted))
  foo.c:12
|12   code(); 3.5: 2
	20 main+0x1 (/bin/x)

a b 5/6 [001] U 1.000000005:       4 cpu-clock:ppp:
	11 inner(int (*)(int))+0x21 (/tmp/lib foo.so (deleted))
	20 main+0x7 (/bin/x+0x20)

:-1    -1 [001] 1.000000005: 8 cpu-clock:ppp:
	10 gone (/memfd:a)b (deleted))

a b 5/6 1.1: PERF_RECORD_LOST lost 9
  flat 9 1.000000009: 2 cpu-clock:ppp:      55d0945de13a hot+0x11 (/home/user/spin)
  flat 9 1.000000011: 2 cpu-clock:ppp:      55d0945de13a hot+0x12 (/home/user/spin)
swap 0 1.000000012: sched:switch: prev=1.2: 3 next=(x)

100 [000] 1.000000013: 3 cpu-clock:ppp:
	1 operator() (inlined)

not a line of perf
]])
    assert.are.equal(0, code, out)
    assert.is_truthy(out:find "note: 1 lines are neither samples nor frames and are left out, the first is line 24\n", out)
    assert.is_truthy(out:find "note: perf lost 9 events", out)
    assert.are.same({ ["main;inner(int (*)(int))"] = 8, gone = 8, hot = 4, ["operator()"] = 3 }, paths(trace, "cpu-clock:ppp"))
    assert.are.same({ ["[unknown]"] = 1 }, paths(trace, "sched:switch"))
    local t <close> = assert(pml.trace.open(trace))
    local calls, names = {}, {}
    for _, r in ipairs((assert(t:group()))) do calls[r.region] = r.calls end
    for i, l in ipairs(t:locations()) do names[i] = l.name end
    assert.are.equal(1, calls["inner(int (*)(int))"])
    table.sort(names)
    assert.are.same({ "100", ":-1 -1", "a b 5/6", "flat 9", "swap 0" }, names)
  end)

  it("has perf's counts, for any fields that perf script prints", function()
    local data = folder .. "/perf.data"
    local loop = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    local _, none = sh(("perf record -q -g -e cpu-clock -o %s -- sh -c '%s'"):format(data, loop))
    if none ~= 0 then pending "perf cannot record here" return end
    local _, n = sh(("perf script -i %s -F period 2>/dev/null"):format(data)):gsub("%d+", "")
    for _, fields in ipairs { "", "-G", "-F +srcline", "-F +pid,+misc", "-F -period", "-F comm,time,event,ip,sym", "-F -dso",
      "-F -sym,-symoff", "-F -comm", "-F -event", "-F -ip,-sym,-dso,-symoff", "-F +insn", "--show-mmap-events --show-task-events",
      "-G --show-mmap-events --ns", "--header -F +srcline,+srccode" } do
      local text = sh(("perf script -i %s %s 2>/dev/null"):format(data, fields))
      if #text > 0 then -- this perf has the field
        local trace, out, code = import("real.perf", text)
        assert.are.equal(0, code, fields .. out)
        local t <close> = assert(pml.trace.open(trace))
        local values = 0
        assert(t:each(function() values = values + 1 end, { where = { kinds = { "metric" } } }))
        assert.are.equal(2 * n, values, fields)
      end
    end
  end)

  it("leaves nothing after an import that fails at its end", function()
    local _, status = sh(("mkdir -p %s/full && cp /dev/null %s/full/traces.def"):format(folder, folder))
    assert.are.equal(0, status)
    shell.write(folder .. "/fine.folded", "a 1\n")
    local out, code = sh(("%s/pmlua import %s/fine.folded -o %s/no/such"):format(support.build, folder, folder))
    assert.are.equal(1, code, out)
    assert.is_nil(lfs.attributes(folder .. "/no"))
    out, code = sh(("ulimit -f 0; %s/pmlua import %s/fine.folded -o %s/small"):format(support.build, folder, folder))
    assert.are_not.equal(0, code, out)
    assert.is_nil(lfs.attributes(folder .. "/small/traces.otf2"), out)
  end)

  it("refuses other files in one line with the place of the error", function()
    local function refused(name, text, pattern, options)
      local path, out, code = import(name, text, options)
      assert.are.equal(1, code, name)
      assert.is_nil(lfs.attributes((path:gsub("/[^/]*$", ""))), path)
      assert.is_truthy(out:find(pattern), out)
      assert.are.equal(1, select(2, out:gsub("\n", "")), out)
    end
    refused("empty", "", "neither perf script")
    refused("binary", "\127ELF\0\0", "neither perf script")
    refused("no-time.txt", "my app 7 5 cycles:\n\t1 f (/a)\n", "no samples .*the field time", "--from perf")
    refused("bad.folded", "a;b 3\nc\n", "bad.folded:2: not 'OUTER;INNER VALUE'")
    refused("none.json", '{"traceEvents": []}', "no calls")
    refused("cut.json", '{"traceEvents": [', "no calls.*cut within or behind event 1")
    refused("other.json", '{"nodes": [{"traceEvents": 1}]}', "no array traceEvents")
    refused("odd.json", '[{"ph": "B"}, nonsense, {}]', "event 2, at byte 15, is not a JSON object")
    refused("untimed.json", '[{"ph":"B","ts":1e300},{"ph":"E"}]', "no calls: 2 have no usable time")
    refused("cut.pb", "\31\139\8\0\0", "damaged or cut: nothing")
    refused("odd.pb", "\n\4\8\1\16\2\18\200", "not a profile of pprof", "--from pprof")
    refused("late.folded", ("a 9007199254740992\n"):rep(600), "lasts more than 100 years")
    local _, out = import("twice.folded", "a 1\n")
    assert.is_truthy(out:find "traces.otf2\n$")
    out = sh(("%s/pmlua import %s/twice.folded"):format(support.build, folder))
    assert.is_truthy(out:find "already exists", out)
  end)
end)
