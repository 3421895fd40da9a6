-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/live_session_spec.lua - tests of an application's side of one connection: replies, and the limits of received code.

local support = require "spec.core.support"
local it = support.it
local core = support.core

local session

setup(function()
  if support.missing then return end
  session = require "pmlua.internal.live.session"
end)

local function eval(code)
  return session.handle("eval", code)
end

describe("The question for sections", function()
  it("has a log as its reply, equal to the file", function()
    local s = assert(core.section.define { label = "asked for" })
    s:start()
    s:stop()
    local bytes = assert(core.section.snapshot())
    local path = support.folder() .. "/answer.pmlog"
    support.spit(path, bytes)
    local process, found = assert(require "pmlua.sections".read(path)), nil
    for _, section in ipairs(process.sections) do found = section.label == "asked for" and section or found end
    assert.equal(1, found.rows[1].count)
  end)

  it("can also be code, which may only read", function()
    assert.same({ true, "number" }, { eval "type(pml.section.report()[1].count)" })
    local _, others = eval "pml.section.start, pml.section.reset, pml.section.write, pml.section.define"
    assert.equal("nil\tnil\tnil\tnil", others)
  end)
end)

describe("Code from outside", function()
  it("is an expression or statements, with the printed text first", function()
    assert.same({ true, "3\tx" }, { eval "1 + 2, 'x'" })
    assert.same({ true, "" }, { eval "kept = 5" })
    assert.same({ true, "a\tnil\n5" }, { eval "print('a', nil) return kept" })
    assert.same({ false, "stdin:1: unexpected symbol near <eof>" }, { eval "x =" })
    assert.same({ false, "stdin:1: first" }, { eval "error 'first\\nsecond'" })
    assert.same({ false, "(error object is a table value)" }, { eval "error {}" })
  end)

  it("writes a read-write counter and reads series, and makes no events", function()
    local lib = core.sde.library("CODE")
    local n, r = lib:counter("n"), lib:recorder("r", { type = "int64" })
    lib:counter("ro", { readonly = true })
    r:push(7)
    eval "pml.sde.find 'CODE::n':write(12)"
    assert.equal(12, n:read())
    assert.matches("EACCES", select(2, eval "pml.sde.find 'CODE::ro':write(1)"))
    assert.same({ true, "7" }, { eval "pml.sde.find 'sde:::CODE::r':open():values()[1]" })
    assert.same({ true, "nil\tnil\tnil" }, { eval "pml.sde.library, pml.sde.find 'CODE::r':open().push, pml.eventset" })
    local before = #core.sde.list()
    assert.matches("no event is called sde:::CODE::made", select(2, eval "pml.sde.find 'CODE::made'"))
    assert.equal(before, #core.sde.list())
  end)

  -- A few elements whose length, by Lua's search for a border, is 2^62.
  local far = "local t = { 1, 1, nil, 1, 1, nil, nil, 1, 1 } for i = 4, 62 do t[1 << i] = 1 end assert(#t > 1e9) "
  for name, case in pairs {
    ["files"] = { "return io.open('/etc/passwd')", "global 'io'" },
    ["commands"] = { "return os.execute('true')", "field 'execute'" },
    ["the end of the process"] = { "os.exit(1)", "field 'exit'" },
    ["removing files"] = { "os.remove('/tmp/x')", "field 'remove'" },
    ["modules"] = { "return require 'pmlua.core'", "only \"pmlua\" can be loaded here" },
    ["what is loaded"] = { "return package.loaded", "global 'package'" },
    ["files as code"] = { "dofile('/etc/passwd')", "global 'dofile'" },
    ["debugging"] = { "return debug.getregistry()", "global 'debug'" },
    ["bytecode"] = { "assert(load(string.char(27) .. 'Lua'))", "attempt to load a binary chunk" },
    ["bytecode by mode"] = { "assert(load('\\27Lua', 'x', 'b'))", "attempt to load a binary chunk" },
    ["code in pieces"] = { "assert(load(function() return '\\27Lua' end))", "only text is allowed" },
    ["dumping"] = { "return string.dump(print)", "field 'dump'" },
    ["dumping by method"] = { "return ('x').dump(print)", "field 'dump'" },
    ["finalizers"] = { "setmetatable({}, { __gc = function() while true do end end })", "__gc" },
    ["finalizers promised"] = { "setmetatable({}, { __gc = true })", "__gc" },
    ["collecting"] = { "collectgarbage 'stop'", "only 'count'" },
    ["collecting by default"] = { "collectgarbage()", "only 'count'" },
    ["long strings"] = { "return ('x'):rep(1e9)", "too long" },
    ["long strings by separator"] = { "return string.rep('', 1e6, ('x'):rep(1e3))", "too long" },
    ["empty strings for ever"] = { "return ('').rep('', 1e15)", "too long" },
    ["a pattern that gmatch does not anchor"] = { "return ('^'):rep(1000000):gmatch('^^*x')()", "could take" },
    ["a pattern bomb"] = { ("return ('a'):rep(30000):find(%q)"):format(("a*"):rep(20) .. "b"), "could take" },
    ["a match bomb"] = { "return ('a'):rep(30000):match('.-.-.-b')", "could take" },
    ["a gsub bomb"] = { "return ('a'):rep(30000):gsub('a+a+b', '')", "could take" },
    ["a gmatch bomb"] = { "for _ in ('a'):rep(30000):gmatch('.+.+b') do end", "could take" },
    ["a bomb of options"] = { ("return ('a'):rep(60):find(%q)"):format(("a?"):rep(60) .. ("a"):rep(60)), "could take" },
    ["a bomb in a set"] = { "return ('a'):rep(30000):find('[%]a]*[]a]*[^]b]*b')", "could take" },
    ["a bomb by back reference"] = { "return ('a'):rep(30000):find('(.*)%1%1b')", "could take" },
    ["a plain search that is too long"] = { "return ('a'):rep(1e5):find(('a'):rep(5e4) .. 'b', 1, true)", "could take" },
    ["moving without end"] = { "table.move({}, 1, 1e15, 2)", "elements" },
    ["moving with overflow"] = { "table.move({}, math.mininteger, math.maxinteger, 2)", "elements" },
    ["unpacking without end"] = { "return table.unpack({}, 1, 1e8)", "elements" },
    ["joining without end"] = { "return table.concat(setmetatable({}, {__index = function() return '' end}), '', 1, 2)",
      "metatable" },
    ["joining far"] = { "return table.concat({}, '', 1, math.maxinteger)", "elements" },
    ["sorting what C answers"] = { "table.sort(setmetatable({}, { __index = tostring, __len = function() return 2^30 end }))",
      "metatable" },
    ["sorting a border far away"] = { far .. "table.sort(t, tonumber)", "elements" },
    ["inserting before a border far away"] = { far .. "table.insert(t, 1, 1)", "elements" },
    ["printing without end"] = { "local s = ('x'):rep(1e6) for i = 1, 100 do print(s) end", "too much was printed" },
    ["recursion"] = { "local function f() return 1 + f() end return f()", "stack overflow" },
    ["recursion of matching"] = { "return (('x'):rep(300000)):find(('(.'):rep(40))", "too many captures" },
    ["deep nesting of code"] = { "assert(load(('('):rep(6e4)))", "overflow" },
    ["code of any length"] = { "assert(load(('x=1 '):rep(1e5)))", "at most 65536 bytes" },
  } do
    it("is refused " .. name, function()
      local ok, message = eval(case[1])
      assert.is_false(ok, message)
      assert.matches(case[2], message, 1, true)
    end)
  end

  it("has its mistakes reported by the names that it wrote", function()
    local lib = assert(core.sde.library("MISTAKES"))
    lib:recorder("r", { type = "double" }):push(1)
    for code, message in pairs {
      ["pml.sde.find'MISTAKES::r':open():values(0)"] = "recorder:values: argument 1 must be an integer not below 1",
      ["table.insert({}, 5, 5)"] = "table.insert: argument 2: position out of bounds",
      ["string.format('%99999d', 1)"] = "string.format: invalid conversion specification: '%99999d'",
      ["('x'):gsub('x', function() error('boom', 0) end)"] = "string.gsub: boom",
      ["('x'):gsub('x', function() error('boom') end)"] = "stdin:1: boom",
    } do
      local _, text = eval(code)
      assert.equal(message, text)
    end
  end)

  it("cannot make pmlua's own patterns explode", function()
    assert.is_true((session.handle("complete", ("sde:::"):rep(10000) .. "'")))
    assert.is_true((session.handle("complete", ("a"):rep(60000) .. "!")))
    assert.equal(1000, #select(2, eval "error(('x'):rep(8 << 20))"))
    assert.same({ false, "" }, { eval "error((' '):rep(8 << 20), 0)" })
    assert.matches("too long for a time", select(2, eval "pml.sde.watch('X::Y', '1' .. (' '):rep(8 << 20) .. '!', print)"))
  end)

  it("cannot change the methods of strings for others, nor keep its own", function()
    eval "string.upper = function() return 'mine' end"
    assert.same({ true, "mine" }, { eval "('x'):upper()" })
    assert.equal("X", ("x"):upper())
    eval "string = nil"
    assert.same({ true, "X" }, { eval "('x'):upper()" })
    assert.same({ true, "nil" }, { eval "getmetatable('')" })
    assert.equal(string, getmetatable("").__index)
    eval "string = {}"
  end)

  it("cannot reach the metatables of its values", function()
    core.sde.library("GUARD"):counter("n")
    assert.same({ true, "false" }, { eval "getmetatable(pml.sde.find 'GUARD::n')" })
    assert.is_false((eval "setmetatable(pml.sde.find 'GUARD::n', {})"))
    assert.same({ true, "nil" }, { eval "getmetatable(print)" })
  end)

  it("gets series and rules without their internals", function()
    local lib = core.sde.library("LENT")
    local n, r = lib:counter("n"), lib:recorder("r", { type = "double" })
    r:push(1)
    r:push(5)
    eval [[
      function look(value, series)
        seen = { value, #series, series[1], #series:last(5), series.time and series.time[1], series.handle, series.recorder,
          getmetatable(series), series.sample }
      end
      one = pml.sde.watch("LENT::r", 0.001, look)]]
    session.tick(1000.0)
    assert.same({ true, "5.0\t2\t1.0\t2\tnil\tnil\tnil\tfalse\tnil" }, { eval "table.unpack(seen, 1, 9)" })
    assert.same({ true, "1\t5.0\tnil\tnil\tfalse" },
      { eval "one:fired(), one:last(), one:error(), one.handle, getmetatable(one)" })
    eval "one:cancel() two = pml.sde.watch('LENT::n', 0.001, function(v, s) look(v, s) return false end)"
    n:add(3)
    session.tick(1001.5)
    assert.same({ true, "3\t1\t3\t1\t1001.5\tnil\tnil\tfalse\tnil" }, { eval "table.unpack(seen, 1, 9)" })
    assert.is_nil((session.tick(1002.0)))
    assert.matches("at most 100", select(2, eval "for i = 1, 200 do pml.sde.watch('LENT::n', 1, print) end"))
    assert.matches("^every is \"soon\"", select(2, eval "pml.sde.watch('LENT::n', 'soon', print)"))
    assert.matches("^every is a table;", select(2, eval "pml.sde.watch('LENT::n', {}, print)"))
    eval "r = pml.sde.find 'LENT::r':open()"
    assert.same({ true, "2\tnil\tnil\tnil" }, { eval "r:count(), r.push, r.reset, r.close" })
  end)

  it("fails alone: the next question succeeds", function()
    eval "error(setmetatable({}, { __tostring = function() error 'again' end }))"
    eval "setmetatable(_G, { __index = function() error 'no' end, __newindex = function() error 'no' end })"
    eval "rawset(_G, 'kept', { print, pml, tostring }) print, pml, tostring = nil"
    assert.same({ true, "7" }, { eval "3 + 4" })
    eval "setmetatable(_G, nil) print, pml, tostring = kept[1], kept[2], kept[3]"
    assert.is_true((session.handle("complete", "str")))
    assert.is_true((session.handle("info", "")))
    assert.same({ false, "unknown request 'bogus'; this program's pmlua is older than your pmlua command" },
      { session.handle("bogus", "") })
  end)
end)

describe("Completion", function()
  local function complete(text)
    local _, words = session.handle("complete", text)
    return words
  end

  it("completes globals, fields, methods and, in strings and after sde:::, events", function()
    core.sde.library("COMPLETE"):counter("alpha")
    core.sde.library("COMPLETE"):counter("beta")
    eval "apples = { red = 1, [1] = 2, ['no name'] = 3, eat = function() end, big = 1, sour = 2, cut = 3, new = 4, old = 5 }"
    assert.equal("apples", complete "x = appl")
    assert.equal("big cut eat new old red sour", (complete "print(apples.":gsub("apples.", ""):gsub("\n", " ")))
    assert.equal("apples:eat", complete "apples:")
    assert.equal("pml.sde.find", complete "pml.sde.f")
    assert.equal("sde:::COMPLETE::alpha", complete "pml.sde.find 'sde:::COMPLETE::a")
    assert.equal("COMPLETE::alpha\nCOMPLETE::beta", complete 'pml.sde.find("COMPLETE::')
    assert.equal("sde:::COMPLETE::beta", complete "sde:::COMPLETE::b")
    assert.equal("", complete "nowhere.at.all")
    assert.equal("", complete "x = 1 -- appl")
    assert.equal("apples", complete 'x = "--" .. appl')
    eval "e = pml.sde.find 'COMPLETE::alpha'"
    assert.equal("e:read", complete "e:r")
  end)

  it("runs none of the metamethods that it passes", function()
    eval "trap = setmetatable({}, { __index = function() error 'trapped' end, __pairs = error })"
    assert.equal("", complete "trap.x.")
    eval "trap = setmetatable({ a = 1 }, { __index = setmetatable({}, { __index = error }) })"
    assert.equal("trap.a", complete "trap.")
  end)
end)
