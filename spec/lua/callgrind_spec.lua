-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/callgrind_spec.lua - callgrind's files: exclusive costs are exact, and a damaged file is an error, never a wrong sum.

local support = require "spec.core.support"
local callgrind = require "pmlua.internal.simulation.callgrind"

local whole = [[
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 4711
cmd:  ./program one two
part: 1
thread: 2

desc: I1 cache: 32768 B, 64 B, 8-way associative
positions: line
events: Ir Dr Dw
summary: 141 12 3

ob=(1) /home/me/program
fl=(1) program.c
fn=(1) main
3 10 2 1
+2 20
cfn=(2) work
calls=4 9
* 100 8
fi=(2) inlined.h
-1 1

fn=(2)
9 60 5
cob=(2) /lib/libc.so.6
cfi=(3) string.c
cfn=(3) memcpy
calls=2 50
* 50 5 2
* 40 3

ob=(2)
fl=(3)
fn=(3)
0x32 10 2 2

totals: 141 12 3
]]

local function function_called(out, name)
  for _, f in ipairs(out.functions) do
    if f.name == name then return f end
  end
end

describe("a file of callgrind", function()
  it("has the exclusive cost of each function", function()
    local out = assert(callgrind.parse(whole))
    assert.same({ "Ir", "Dr", "Dw" }, out.events)
    assert.same({ 31, 2, 1 }, function_called(out, "main").cost)
    assert.same({ 100, 8, 0 }, function_called(out, "work").cost)
    assert.same({ 10, 2, 2 }, function_called(out, "memcpy").cost)
    assert.equal(3, #out.functions)
  end)

  it("has calls, objects, process, thread and command", function()
    local out = assert(callgrind.parse(whole))
    assert.equal(4, function_called(out, "work").calls)
    assert.equal(2, function_called(out, "memcpy").calls)
    assert.equal("/home/me/program", function_called(out, "work").object)
    assert.equal("/lib/libc.so.6", function_called(out, "memcpy").object)
    assert.equal(4711, out.pid)
    assert.equal(2, out.thread)
    assert.equal("./program one two", out.command)
    assert.equal("32768 B, 64 B, 8-way associative", out.description["I1 cache"])
  end)

  it("takes omitted costs at the end of a line, and of the totals, as 0", function()
    local out = assert(callgrind.parse("events: A B C\nfn=f\n1 5\ntotals: 5\n"))
    assert.same({ 5, 0, 0 }, out.functions[1].cost)
    assert.same({ 5, 0, 0 }, out.totals)
  end)

  it("distinguishes functions of one name in two objects", function()
    local out = assert(callgrind.parse("events: A\nob=a\nfn=f\n1 5\nob=b\nfn=f\n1 6\ntotals: 11\n"))
    assert.equal(2, #out.functions)
  end)

  it("may have line ends of another system", function()
    assert.same({ 141, 12, 3 }, assert(callgrind.parse((whole:gsub("\n", "\r\n")))).totals)
  end)

  local function refused(text, why)
    local out, err = callgrind.parse(text)
    assert.is_nil(out)
    assert.truthy(err:find(why, 1, true), err)
  end

  it("is refused if its sums are inconsistent", function()
    refused((whole:gsub("9 60 5", "9 61 5")), "the functions' Ir add up to 142, not to the total of 141")
  end)

  it("is refused when it is cut short", function()
    refused(whole:sub(1, #whole - 20), "it has no totals, so it is not whole")
    refused("", "it has no events")
  end)

  it("is refused when its events or totals come twice, or too late", function()
    refused("events: A\ntotals: 0\nevents: A B\n", "line 3: events twice")
    refused("totals: 0\nevents: A\n", "line 1: totals without events, or twice")
    refused("events: A\ntotals: 0\ntotals: 0\n", "line 3: totals without events, or twice")
    refused("events: A\ntotals: 0 0\n", "line 2: more costs than events")
    refused("ob=a\nfn=f\nevents: A\nfn=f\n1 1\ntotals: 1\n", "line 3: events after costs")
  end)

  it("is refused with the faulty line", function()
    refused((whole:gsub("fn=%(1%) main", "fn=(9)")), "line 16: number (9) has no name")
    refused((whole:gsub("fn=%(1%) main\n", "")), "line 16: a cost without a function")
    refused((whole:gsub("3 10 2 1", "3 10 x 1")), "line 17: a cost that is not a number")
    refused((whole:gsub("3 10 2 1", "3 1 2 3 4")), "line 17: more costs than events")
    refused((whole:gsub("3 10 2 1", "3 99999999999999999999")), "line 17: a number that is too large")
    refused((whole:gsub("cfn=%(2%) work\n", "")), "line 19: calls without a callee")
    refused((whole:gsub("%+2 20", "rubbish")), "line 18: a line that is neither a name nor a cost")
  end)

  it("that does not exist is named", function()
    local out, err = callgrind.read("/nowhere/callgrind.out")
    assert.is_nil(out)
    assert.equal("/nowhere/callgrind.out: No such file or directory", tostring(err))
    local dir = support.folder()
    support.spit(dir .. "/out", "rubbish")
    out, err = callgrind.read(dir .. "/out")
    assert.is_nil(out)
    assert.equal(dir .. "/out: line 1: a line that is neither a name nor a cost", err)
  end)
end)
