-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/tabulate_spec.lua - printed tables: complete in a pipe, and never wider than the terminal.

local support = require "spec.core.support"
local tabulate = require "pmlua.tabulate"

local name = "sde:::LIBRARY::" .. ("part_"):rep(11) .. "end"

describe("A table", function()
  it("cuts a text in the middle, by characters", function()
    assert.equal("abc", tabulate.cut("abc", 5))
    assert.equal("a...z", tabulate.cut("abcdefghijz", 5))
    assert.equal("äö...ß", tabulate.cut("äöüäöüäöüß", 6))
    for width = 5, 12 do assert.equal(width, utf8.len(tabulate.cut(name, width))) end
  end)

  it("shows control characters of a file as text", function()
    local printable = require "pmlua.internal.printable"
    assert.equal("a\\x1b[2Jb\\x0a\\xc2\\x9b äö\\x7f", printable "a\27[2Jb\n\194\155 äö\127")
    assert.equal("\\xff", printable "\255")
    assert.equal("n\\x1b\nx\\x07", tabulate({ "n\27" }, { { "x\7" } }))
  end)

  it("has full names if it is not for a terminal", function()
    assert.equal(name .. "      n\nx" .. (" "):rep(#name - 1) .. "  22222", tabulate({ name, "n" }, { { "x", 22222 } }))
  end)

  it("fits the terminal: the widest text is shortened, numbers are not", function()
    local code = [[print(require "pmlua.tabulate"({ "event", "count" }, { { %q, 12345678901 }, { "short", 1 } }, 1))]]
    code = code:format(name)
    local command = ("%s/pmlua -e %s"):format(support.build, support.quote(code))
    local _, piped = support.shell(command)
    assert.matches(name, piped, 1, true)
    for _, columns in ipairs { 40, 60 } do
      local shown = support.done(support.shell(("python3 %s/spec/terminal.py %d '[]' -- %s"):format(support.root, columns,
        command)))
      for line in shown:gmatch "[^\r\n]+" do assert.is_true(#line <= columns, line) end
      assert.matches("^event +count\r\nsde:::L[^\n]*%.%.%.[^\n]*end  12345678901\r\nshort +1\r\n$", shown)
    end
  end)

  it("moves columns without room to a block below, with the names again", function()
    local code = [[local t = { { "a name that is rather long", "b" } }
      for i = 3, 9 do t[1][i] = i * 100000 end
      print(require "pmlua.tabulate"({ "name", "kind", "c3", "c4", "c5", "c6", "c7", "c8", "c9" }, t, 1))]]
    local command = ("%s/pmlua -e %s"):format(support.build, support.quote(code))
    local _, piped = support.shell(command)
    assert.matches("^name +kind +c3 +c4[^\n]*c9\na name that is rather long  b [^\n]*900000\n$", piped)
    local _, shown = support.shell(("python3 %s/spec/terminal.py 48 '[]' -- %s"):format(support.root, command))
    local heads, values = {}, {}
    for line in shown:gmatch "[^\r\n]+" do
      assert.is_true(#line <= 48, line)
      for head in line:gmatch "c%d" do heads[#heads + 1] = head end
      for value in line:gmatch "%d00000" do values[#values + 1] = value end
    end
    assert.same({ "c3", "c4", "c5", "c6", "c7", "c8", "c9" }, heads)
    assert.same({ "300000", "400000", "500000", "600000", "700000", "800000", "900000" }, values)
    assert.equal(select(2, shown:gsub("name +kind", "")), select(2, shown:gsub("a name[^\n]*  b ", "")))
  end)

  it("of events fits, and is whole in a pipe", function()
    local command = support.build .. "/pmlua events clock"
    local _, shown = support.shell(("python3 %s/spec/terminal.py 60 '[]' -- %s"):format(support.root, command))
    local _, piped = support.shell(command)
    local function words(text)
      local list = {}
      for word in text:gmatch "%S+" do list[#list + 1] = word end
      return list
    end
    for line in shown:gmatch "[^\r\n]+" do
      assert.is_true(utf8.len(line) <= 60 or line:find("available", 1, true) ~= nil, line)
    end
    assert.is_true(#words(piped) > 20)
    assert.same(words(piped), words(shown))
  end)

  it("of working features also fits", function()
    local _, shown = support.shell(("python3 %s/spec/terminal.py 80 '[]' -- %s/pmlua doctor"):format(support.root, support.build))
    for line in shown:gmatch "[^\r\n]+" do
      assert.is_true(utf8.len(line) <= 80 or not line:sub(31):find "%S %S", line) -- a path is one word
    end
  end)
end)
