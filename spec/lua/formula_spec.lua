-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/formula_spec.lua - formulas of metrics: their values, and the errors of invalid ones.

require "spec.core.support"
local formula = require "pmlua.formula"

local function value(text, values)
  return assert(formula.compile(text)):value(values or {})
end

local function refusal(text)
  local f, err = formula.compile(text)
  assert.is_nil(f)
  return tostring(err)
end

describe("A formula", function()
  for text, expected in pairs {
    ["1 + 2 * 3"] = 7, ["(1 + 2) * 3"] = 9, ["8 / 4 / 2"] = 1, ["8 - 4 - 2"] = 2, ["-2 ^ 2"] = -4, ["2 ^ 3 ^ 2"] = 512,
    ["2 ^ -1"] = 0.5, ["--3"] = 3, ["1e3 + 2.5e-1"] = 1000.25, ["max(1, 5, 3)"] = 5, ["min(4, 2)"] = 2,
    ["sqrt(9) + abs(0 - 2)"] = 5, ["a * b"] = 6, ["64 * lines / time"] = 32e6,
  } do
    it(("'%s' comes to %g"):format(text, expected), function()
      assert.equal(expected, value(text, { a = 2, b = 3, lines = 1e6, time = 2 }))
    end)
  end

  it("names the values that it needs, each once, in order", function()
    assert.same({ "a", "b", "c" }, assert(formula.compile("a / (b + c) - a")).names)
  end)

  for text, reason in pairs {
    ["a / b"] = "b was not counted", ["1 / (x - x)"] = "division by zero: x - x is 0",
    ["sqrt(0 - x)"] = "the root of a negative number: sqrt(0 - x)",
    ["1e300 * 1e300"] = "the result is too large for a number",
    ["1 / max(0, 0 - x)"] = "division by zero: max(0, 0 - x) is 0", ["unknown + 1"] = "unknown was not counted",
    ["nan * 2"] = "nan is not known",
  } do
    it(("'%s' is NaN, because %s"):format(text, reason), function()
      local v, why = value(text, { a = 1, x = 4, nan = 0 / 0 })
      assert.is_true(v ~= v)
      assert.equal(reason, why)
    end)
  end

  for text, err in pairs {
    [""] = "column 1: the formula ends where a value is expected",
    ["1 +"] = "column 4: the formula ends where a value is expected",
    ["(1"] = "column 3: ')' is missing for the '(' in column 1", ["1 2"] = "column 3: '2' where the formula should end",
    ["a $ b"] = "column 3: an unexpected '$'", ["3x"] = "column 1: a malformed number",
    ["1..2"] = "column 1: a malformed number", ["1e999"] = "column 1: a number too large",
    ["sine(1)"] = "column 1: no function 'sine'; use abs, max, min or sqrt",
    ["sqrt(1, 2)"] = "column 1: sqrt takes one argument", ["a\1"] = "column 2: an unexpected '\\1'",
    ["max(1, )"] = "column 8: ')' where a value is expected", ["a)"] = "column 2: ')' where the formula should end",
    ["os.exit()"] = "column 3: an unexpected '.'",
  } do
    it(("'%s' is refused: %s"):format(text:gsub("%c", "?"), err), function() assert.equal(err, refusal(text)) end)
  end

  it("is refused if nested too deeply or too long", function()
    assert.matches("nested too deeply", refusal(("("):rep(200) .. "1" .. (")"):rep(200)))
    assert.matches("nested too deeply", refusal(("-"):rep(200) .. "1"))
    assert.equal("column 4001: longer than 4000 characters", refusal(("1+"):rep(2000) .. "1"))
    assert.equal(1999, value(("1+"):rep(1998) .. "1"))
  end)

  it("is checked against its expected unit", function()
    local dimensions = { time = { s = 1 }, line = { byte = 1 } }
    local function check(text, unit) return assert(formula.compile(text)):check_unit(unit, dimensions) end
    local function wrong(text, unit) return tostring(select(2, check(text, unit))) end
    assert.is_true(check("line * n / time", "byte/s"))
    assert.is_true(check("n / time", "flop/s"))
    assert.is_true(check("100 * a / b", "%"))
    assert.is_true(check("sqrt(time * time)", "s"))
    assert.equal("column 1: the formula's unit is s^-1, not byte/s", wrong("n / time", "byte/s"))
    assert.equal("column 8: byte and s cannot be added or compared", wrong("line + time", "byte"))
    assert.equal("column 1: a power of a value with a unit", wrong("time ^ 2", "s"))
  end)
end)
