-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/import_spec.lua - pmlua import: sums by call path are those of the file, exported again they are its lines.

local helper = require "spec.lua.helper"
local lfs = require "lfs"
local pml = require "pmlua"
local shell = require "spec.shell"
local sh = shell.sh

local folder = helper.folder()

local function import(name, text, options)
  local path, to = folder .. "/" .. name, folder .. "/" .. name .. ".trace"
  os.execute(("rm -rf %s"):format(to))
  shell.write(path, text)
  local out, code = sh(("%s/pmlua import %s %s"):format(helper.build, path, options or ""))
  return to .. "/traces.otf2", out, code
end

--- Own values by call path.
local function paths(trace, value)
  local out, code = sh(("%s/pmlua export %s --to folded --value '%s'"):format(helper.build, trace, value or "time"))
  assert.are.equal(0, code, out)
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
  it("makes calls of perf's samples, and counts their periods exactly", function()
    local trace, out, code = import("perf.txt", PERF)
    assert.are.equal(0, code, out)
    assert.are.same({ ["outer;inner"] = 2000, outer = 2000 }, paths(trace, "cycles:u"))
    assert.are.same({ ["operator new(unsigned long);[unknown]"] = 500 }, paths(trace, "cache-misses"))
    -- two neighbours with one stack are one call; the last sample lasts as long as the one before it
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

  it("takes folded stacks, and gives them back", function()
    local lines = { ["main;a"] = 30, ["main;a;b c"] = 12, main = 5, ["main;d"] = 0 }
    local text = ""
    for path, v in pairs(lines) do text = text .. ("%s %d\n"):format(path, v) end
    local trace, out, code = import("stacks.folded", text)
    assert.are.equal(0, code, out)
    lines["main;d"] = nil
    assert.are.same(lines, paths(trace))
    assert.are.same(lines, paths(trace, "samples"))
  end)

  it("takes the JSON of Chrome's viewer: nested calls, durations, threads", function()
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

  it("makes processes of those that perf and Chrome's JSON tell apart", function()
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

    local json = folder .. "/several.json"
    assert.are.equal(0, select(2, sh(("%s/pmlua export %s --to chrome -o %s"):format(helper.build, trace, json))))
    local f <close> = assert(io.open(json, "rb"))
    trace, out, code = import("several-again.json", f:read "a")
    assert.are.equal(0, code, out)
    local again <close> = assert(pml.trace.open(trace))
    local calls, names = {}, {}
    for _, r in ipairs((assert(t:group { by = { "process" } }))) do calls[#calls + 1] = r.calls end
    for i, r in ipairs((assert(again:group { by = { "process" } }))) do assert.are.equal(calls[i], r.calls) end
    for i, p in ipairs(again:processes()) do names[i] = p.name:gsub("^.*/", ""):gsub(" %(%d+%)$", "") end
    assert.are.same({ "my app (7)", "other (8)", "several.txt" }, (function() table.sort(names) return names end)())
  end)

  it("takes what pmlua exported: pprof, Chrome's JSON and folded stacks of one trace have the same sums", function()
    local trace = import("perf.txt", PERF)
    local whole = paths(trace)
    for form, name in pairs { pprof = "again.pb.gz", chrome = "again.json", folded = "again.folded" } do
      local path = folder .. "/" .. name
      assert.are.equal(0, select(2, sh(("%s/pmlua export %s --to %s -o %s"):format(helper.build, trace, form, path))))
      local f <close> = assert(io.open(path, "rb"))
      local again, out, code = import("from-" .. name, f:read "a")
      assert.are.equal(0, code, out)
      assert.are.same(whole, paths(again), form)
    end
  end)

  it("refuses other files in one line that says where", function()
    local function refused(name, text, pattern, options)
      local path, out, code = import(name, text, options)
      assert.are.equal(1, code, name)
      assert.is_nil(lfs.attributes((path:gsub("/[^/]*$", ""))), path)
      assert.is_truthy(out:find(pattern), out)
      assert.are.equal(1, select(2, out:gsub("\n", "")), out)
    end
    refused("empty", "", "neither perf script")
    refused("binary", "\127ELF\0\0", "neither perf script")
    refused("bad.txt", PERF .. "my app 7 [001] 10.1: 5 cycles:\n\tnonsense\n", "bad.txt:18: not a frame")
    refused("bad.folded", "a;b 3\nc\n", "bad.folded:2: not 'OUTER;INNER VALUE'")
    refused("bad.json", '{"traceEvents": [', "not the JSON of a trace")
    refused("none.json", '{"traceEvents": []}', "no calls")
    refused("cut.pb", "\31\139\8\0\0", "not a profile of pprof")
    refused("odd.pb", "\n\4\8\1\16\2\18\200", "not a profile of pprof", "--from pprof")
    local _, out = import("twice.folded", "a 1\n")
    assert.is_truthy(out:find "traces.otf2\n$")
    out = sh(("%s/pmlua import %s/twice.folded"):format(helper.build, folder))
    assert.is_truthy(out:find "already exists", out)
  end)
end)
