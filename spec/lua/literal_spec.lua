-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/literal_spec.lua - data files cannot run code, and their time, memory and size are bounded.

local support = require "spec.core.support"
local literal = require "pmlua.internal.literal"

local function refusal(text, megabytes)
  local data, err = literal.parse(text, "x.lua", megabytes)
  assert.is_nil(data, text:sub(1, 100))
  return tostring(err)
end

--- Nested tables @n deep, each with @times references to the next.
local function shared(n, times)
  return ("local t = { 1 } for _ = 1, %d do t = { %s } end return t"):format(n, ("t, "):rep(times))
end

describe("A data file", function()
  it("gives strings, numbers, booleans and tables", function()
    local data = literal.parse("local a = { 1, 2.5 } return { a = a, b = a, [3] = 'x', c = { d = { e = not nil } } }", "x.lua")
    assert.same({ a = { 1, 2.5 }, b = { 1, 2.5 }, [3] = "x", c = { d = { e = true } } }, data)
    assert.same({ "integer", "float" }, { math.type(data.a[1]), math.type(data.a[2]) })
    data.a[1] = 7
    assert.equal(1, data.b[1]) -- each has its own
  end)

  it("is stopped when it takes too much time or memory", function()
    for _, text in ipairs {
      "while true do end", "local s = 'x' while true do s = s .. s end", "local t = {} for i = 1, 1e9 do t[i] = i end",
      "local function f() return f() end return f()", "local function f() f() end f()", "goto a ::a:: goto a",
    } do
      assert.matches("^x%.lua:1: ", refusal(text))
    end
    assert.equal("x.lua:1: runs too long for a data file", refusal "while true do end")
    assert.equal("x.lua:1: takes too much memory for a data file", refusal "local s = 'x' while true do s = s .. s end")
  end)

  it("has no functions, not even the methods of strings", function()
    for _, text in ipairs {
      "return { ('x'):rep(1e10) }", "return { ('^'):rep(1e6):gmatch('^^*x')() }", "return { #('x'):rep(9) }",
    } do
      assert.matches("attempt to index a string value", refusal(text))
    end
    for _, name in ipairs { "print", "setmetatable", "load", "string", "pcall", "coroutine", "_G", "require" } do
      assert.matches("attempt to", refusal(("return { %s(1) }"):format(name)))
    end
    assert.equal("x.lua:1: the table.a.1 is a function, not data", refusal "return { a = { function() end } }")
    assert.equal("x.lua:1: unexpected symbol near '='", refusal "return { a = = 1 }")
    assert.matches("attempt to load a binary chunk", refusal(string.dump(function() return {} end)))
  end)

  it("is a tree that any reader can walk", function()
    assert.equal("x.lua:1: the table.t contains itself", refusal "local t = {} t.t = t return t")
    assert.equal("x.lua:1: the table.a.b contains itself", refusal "local t = {} t.a = { b = t } return t")
    assert.matches("is nested too deeply$", refusal(shared(25, 1)))
    for _, text in ipairs { shared(18, 2), shared(15, 8), shared(5, 40) } do
      assert.matches("has more values than a data file may$", refusal(text))
    end
    assert.is_table((literal.parse(shared(10, 2), "x.lua")))
    assert.matches("has a key that is neither name nor number$", refusal "return { [1.5] = 2 }")
    assert.matches("it does not return a table$", refusal "return 5")
  end)

  it("is no longer than the limit; a longer one is not read to its end", function()
    local long = "return { '" .. ("x"):rep(1 << 20) .. "' }"
    assert.equal("x.lua:1: longer than a megabyte", refusal(long))
    assert.is_table((literal.parse(long, "x.lua", 2)))
    local data, err = literal.read "/dev/zero"
    assert.same({ nil, "/dev/zero: not a file, but a device" }, { data, tostring(err) })
  end)

  it("may belong to a wrapper", function()
    local folder, dir = require "pmlua.internal.wrap.folder", support.folder()
    support.spit(dir .. "/wrap.lua", "while true do end return { name = 'x' }")
    local t, err = folder.load(dir)
    assert.is_nil(t)
    assert.matches("/wrap%.lua:1: runs too long for a data file", err)
  end)
end)
