-- SPDX-License-Identifier: BSD-3-Clause
local helper = require "spec.lua.helper"
local compare = require "pmlua.compare"
local json = require "pmlua.json"

-- Ten rounds around a median, with a spread.
local function around(median, spread)
  local out = {}
  for i = 1, 10 do out[i] = median * (1 + spread * ((i * 7) % 10 - 4.5) / 4.5) end
  return out
end

local function verdicts(a, b, changes_a, changes_b)
  local r = assert(compare(helper.run_folder(a, changes_a), helper.run_folder(b, changes_b)))
  local out = {}
  for i, c in ipairs(r.cells) do out[i] = c.verdict end
  return out, r
end

describe("compare", function()
  after_each(helper.clean)

  it("calls a cell faster or slower, and by how much, where rounds do not overlap", function()
    local v, r = verdicts({ around(100, 0.01), around(100, 0.01) }, { around(120, 0.01), around(80, 0.01) })
    assert.same({ "slower by 20 %", "faster by 20 %" }, v)
    assert.is_true(r.cells[1].low > 1.18 and r.cells[1].high < 1.22 and r.cells[1].low <= r.cells[1].ratio)
    assert.equal("2 cells: 1 faster, 1 slower, 0 same, 0 cannot tell; geometric mean of the ratios B/A 0.9798", r.overall)
  end)

  it("calls equal runs the same, and runs that spread undecided", function()
    assert.same({ "same" }, (verdicts({ around(100, 0.002) }, { around(100.1, 0.002) })))
    assert.matches("^cannot tell %(the rounds spread", verdicts({ around(100, 0.3) }, { around(103, 0.3) })[1])
  end)

  it("does not call what is surely different, but perhaps by less than the threshold, the same", function()
    local a, b = around(1000, 0.004), around(1009, 0.004)
    assert.equal("cannot tell (the difference may be below 1 %)", verdicts({ a }, { b })[1])
    local r = assert(compare(helper.run_folder { a }, helper.run_folder { b }, { threshold = 0.001 }))
    assert.equal("slower by 0.9 %", r.cells[1].verdict)
  end)

  it("does not tell below the clock's resolution", function()
    assert.matches("resolution", verdicts({ around(10, 0.001) }, { around(10.5, 0.001) })[1])
    -- a sample of ten calls sees a tenth of it
    assert.same({ "slower by 5 %" }, (verdicts({ around(10, 0.001) }, { around(10.5, 0.001) }, { calls = 10 }, { calls = 10 })))
  end)

  it("does not tell from too few rounds, or without data", function()
    local v = verdicts({ { 1, 2, 3 }, {}, around(5, 0) }, { { 4, 5, 6 }, {}, {} })
    assert.matches("too few rounds: 3 and 3", v[1])
    assert.matches("not measured in either", v[2])
    assert.matches("not measured in B", v[3])
  end)

  it("pays for testing many cells: five rounds a side cannot decide twenty of them", function()
    local a, b = {}, {}
    for i = 1, 20 do
      a[i] = { 100, 101, 102, 103, 104 }
      b[i] = { 200, 201, 202, 203, 204 }
    end
    assert.equal("cannot tell (too few rounds for 20 cells)", verdicts(a, b)[1])
    assert.matches("^slower by", verdicts({ a[1] }, { b[1] })[1])
  end)

  it("keeps false alarms rare: runs of one distribution are hardly ever called different", function()
    local random, alarms = require "pmlua.internal.rng" (77), 0
    for _ = 1, 40 do
      local a, b = {}, {}
      for cell = 1, 5 do
        a[cell], b[cell] = {}, {}
        for i = 1, 10 do a[cell][i], b[cell][i] = 1000 + random(200), 1000 + random(200) end
      end
      for _, v in ipairs(verdicts(a, b)) do
        if v:find("^slower") or v:find("^faster") then alarms = alarms + 1 end
      end
      helper.clean()
    end
    assert.is_true(alarms <= 6, alarms .. " of 200 cells")
  end)

  it("reports cells that only one run has, and warns of other machines and incomplete runs", function()
    local _, r = verdicts({ around(1, 0) }, { around(1, 0), around(2, 0) }, nil,
      { status = "interrupted", machine = { cpu = "another" }, script_sha256 = "11" })
    assert.same({ "path=p2" }, { table.unpack(r.only_b) })
    assert.equal(3, #r.warnings)
    assert.matches("B is incomplete %(interrupted%)", r.warnings[1])
    assert.matches("different machines", r.warnings[2])
    assert.matches("script", r.warnings[3])
  end)

  it("refuses other units and folders that cannot be read", function()
    local good = helper.run_folder { { 1 } }
    for _, bad in ipairs { helper.run_folder({ { 1 } }, { unit = "bytes" }), "/nonexistent", helper.folder() } do
      local r, err = compare(good, bad)
      assert.is_nil(r)
      assert.is_nil(err:find("\n"))
    end
  end)

  it("survives negative and zero medians", function()
    assert.matches("not positive", verdicts({ around(0, 0) }, { around(1, 0) })[1])
    assert.matches("not positive", verdicts({ around(-1, 0) }, { around(1, 0) })[1])
  end)
end)

describe("pmlua compare", function()
  if not helper.has_core then
    pending("runs as a command: " .. helper.no_core)
    return
  end
  after_each(helper.clean)

  it("prints a table or JSON, and exits 0 whatever the verdict, 1 for a bad folder, 2 when misused", function()
    local a, b = helper.run_folder { around(100, 0.01) }, helper.run_folder { around(120, 0.01) }
    local code, out, err = helper.pmlua(("compare %s %s"):format(a, b))
    assert.equal(0, code)
    assert.matches("path=p1.*slower by 20 %%", out)
    assert.equal("", err)
    code, out = helper.pmlua(("compare --json %s %s"):format(a, b))
    assert.equal(0, code)
    assert.equal("slower by 20 %", json.decode(out).cells[1].verdict)
    helper.write(b .. "/data.dat", "garbage\0")
    code, out, err = helper.pmlua(("compare %s %s"):format(a, b))
    assert.equal(1, code)
    assert.equal("", out)
    assert.matches("^pmlua compare: [^\n]*data.dat:1: [^\n]+\n$", err)
    for _, misuse in ipairs { "", a, a .. " " .. b .. " x", "--nope " .. a .. " " .. b, "--threshold x " .. a .. " " .. b } do
      code, _, err = helper.pmlua("compare " .. misuse)
      assert.equal(2, code)
      assert.matches("^pmlua compare: [^\n]+\nsee 'pmlua help compare'\n$", err)
    end
  end)
end)
