-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/tabulate_spec.lua - tables for people: whole in a pipe, and never wider than a terminal.
local helper = require "spec.lua.helper"
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
    local printable = require "pmlua.printable"
    assert.equal("a\\x1b[2Jb\\x0a\\xc2\\x9b äö\\x7f", printable "a\27[2Jb\n\194\155 äö\127")
    assert.equal("\\xff", printable "\255")
    assert.equal("n\\x1b\nx\\x07", tabulate({ "n\27" }, { { "x\7" } }))
  end)

  it("has names whole where it is not for a terminal", function()
    assert.equal(name .. "      n\nx" .. (" "):rep(#name - 1) .. "  22222", tabulate({ name, "n" }, { { "x", 22222 } }))
  end)

  it("fits the terminal: the widest text gives way, numbers do not", function()
    if not helper.has_core then return pending(helper.no_core) end
    local code = [[print(require "pmlua.tabulate"({ "event", "count" }, { { %q, 12345678901 }, { "short", 1 } }, 1))]]
    code = code:format(name)
    local command = ("%s/pmlua -e %s"):format(helper.build, helper.quote(code))
    local _, piped = helper.shell(command)
    assert.matches(name, piped, 1, true)
    for _, columns in ipairs { 40, 60 } do
      local status, shown = helper.shell(("python3 %s/spec/terminal.py %d '[]' -- %s"):format(helper.root, columns, command))
      assert.equal(0, status)
      for line in shown:gmatch "[^\r\n]+" do assert.is_true(#line <= columns, line) end
      assert.matches("^event +count\r\nsde:::L[^\n]*%.%.%.[^\n]*end  12345678901\r\nshort +1\r\n$", shown)
    end
  end)

  it("of what works here fits, too", function()
    if not helper.has_core then return pending(helper.no_core) end
    local _, shown = helper.shell(("python3 %s/spec/terminal.py 80 '[]' -- %s/pmlua doctor"):format(helper.root, helper.build))
    for line in shown:gmatch "[^\r\n]+" do
      assert.is_true(utf8.len(line) <= 80 or not line:sub(31):find "%S %S", line) -- a path is one word
    end
  end)
end)
