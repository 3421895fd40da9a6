-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/samples_spec.lua - pml.samples from Lua.

local support = require "spec.core.support"
local it = support.it
local samples = support.core and support.core.samples

local function series(list, capacity)
  local s = assert(samples.new(capacity or #list))
  for _, v in ipairs(list) do assert(s:push(v)) end
  return s
end

local function values(s)
  local list = {}
  for i = 1, #s do list[i] = s[i] end
  return list
end

describe("Samples", function()
  it("are indexed from 1, and nil outside", function()
    local s <close> = series { 5, 3, 9 }
    assert.same({ 5, 3, 9 }, values(s))
    assert.is_nil(s[0] or s[4] or s[-1] or s[1.5] or s[math.mininteger] or s[0 / 0])
    assert.equal(3, s:capacity())
  end)

  it("that do not fit are refused, and existing ones are kept", function()
    local s <close> = series { 1, 2 }
    local ok, err, code = s:push(3)
    assert.is_nil(ok)
    assert.equal("EFULL", code)
    assert.matches("^samples%.push: EFULL: ", err)
    assert.equal("EFULL", select(3, s:append(s)))
    assert.same({ 1, 2 }, values(s))
  end)

  it("are copied, appended, sorted and cleared", function()
    local s <close> = series({ 5, 3, 9 }, 6)
    local copy <close> = s:copy()
    assert.same({ 3, 5, 9 }, values(copy:sort()))
    assert.same({ 5, 3, 9, 3, 5, 9 }, values(s:append(copy)))
    assert.same({}, values(s:clear()))
    local none <close> = s:copy()
    assert.equal(0, #none)
  end)

  it("have quantiles between order statistics, and moments", function()
    local s <close> = series { 1, 2, 3, 4 }
    assert.same({ 1.0, 2.5, 4.0 }, { s:quantile(0), s:quantile(0.5), s:quantile(1) })
    assert.is_true(s:quantile(2) ~= s:quantile(2))
    local m = s:moments()
    assert.same({ 2.5, 1.0, 4.0 }, { m.mean, m.min, m.max })
    assert.is_true(math.abs(m.sd - math.sqrt(5 / 3)) < 1e-12)
  end)

  it("are written in chunks that together hold all of them", function()
    local list = {}
    for i = 1, 200000 do list[i] = i * 7 end
    local s <close> = series(list)
    local text, first, chunks = "", 1, 0
    while first do
      local chunk
      chunk, first = s:format("4,0,", first)
      assert.is_true(#chunk > 0 and #chunk <= 1 << 20)
      text, chunks = text .. chunk, chunks + 1
    end
    assert.is_true(chunks > 1)
    assert.matches("^4,0,0,7\n4,0,1,14\n", text)
    assert.matches("\n4,0,199999,1400000\n$", text)
    assert.equal("2,1,6\n", (series { 5, 6, 7 }:format("2,", 2, 2)))
    assert.same({ "" }, { s:format("", 200001) })
  end)

  it("above a threshold are named with their position, up to a limit", function()
    local s <close> = series { 1, 100, 2, 300, 200 }
    local index, value, total = s:above(50.5, 2)
    assert.same({ { 2, 4 }, { 100, 300 }, 3 }, { index, value, total })
    assert.same({ {}, {}, 0 }, { s:above(0 / 0, 10) })
  end)

  it("that need too much memory are refused before the kernel kills the process", function()
    local s, _, code = samples.new(1 << 50)
    assert.is_nil(s)
    assert.equal("ENOMEM", code)
    assert.error_matches(function() samples.new(0) end, "bad argument #1")
  end)
end)
