-- SPDX-License-Identifier: BSD-3-Clause

local demo = require "spec.lua.demo"
local support = require "spec.core.support"
local compare = require "pmlua.compare"
local json = require "pmlua.json"

-- Ten rounds around a median, with a spread.
local function around(median, spread)
  local out = {}
  for i = 1, 10 do out[i] = median * (1 + spread * ((i * 7) % 10 - 4.5) / 4.5) end
  return out
end

local function verdicts(a, b, changes_a, changes_b)
  local r = assert(compare(demo.run_folder(a, changes_a), demo.run_folder(b, changes_b), { between_starts = 0 }))
  local out = {}
  for i, c in ipairs(r.cells) do out[i] = c.verdict end
  return out, r
end

describe("compare", function()
  it("calls a cell faster or slower, with the ratio, if rounds do not overlap", function()
    local v, r = verdicts({ around(100, 0.01), around(100, 0.01) }, { around(120, 0.01), around(80, 0.01) })
    assert.same({ "slower by 20 %", "faster by 20 %" }, v)
    assert.is_true(r.cells[1].low > 1.18 and r.cells[1].high < 1.22 and r.cells[1].low <= r.cells[1].ratio)
    assert.equal("2 cells: 1 faster, 1 slower, 0 same, 0 cannot tell; geometric mean of the ratios B/A 0.9798", r.overall)
  end)

  it("calls equal runs the same, and runs with a large spread undecided", function()
    assert.same({ "same" }, (verdicts({ around(100, 0.002) }, { around(100.1, 0.002) })))
    assert.matches("^cannot tell %(the rounds spread", verdicts({ around(100, 0.3) }, { around(103, 0.3) })[1])
  end)

  it("does not call a sure difference, which is perhaps below the threshold, the same", function()
    local a, b = around(1000, 0.004), around(1009, 0.004)
    assert.equal("cannot tell (the difference may be below 1 %)", verdicts({ a }, { b })[1])
    local r = assert(compare(demo.run_folder { a }, demo.run_folder { b }, { threshold = 0.001, between_starts = 0 }))
    assert.equal("slower by 0.9 %", r.cells[1].verdict)
  end)

  it("does not decide below the clock's resolution", function()
    assert.matches("resolution", verdicts({ around(10, 0.001) }, { around(10.5, 0.001) })[1])
    -- a sample of ten calls sees a tenth of it
    assert.same({ "slower by 5 %" }, (verdicts({ around(10, 0.001) }, { around(10.5, 0.001) }, { calls = 10 }, { calls = 10 })))
  end)

  it("does not decide from too few rounds, or without data", function()
    local v = verdicts({ { 1, 2, 3 }, {}, around(5, 0), {} }, { { 4, 5, 6 }, {}, {}, around(5, 0) })
    assert.matches("too few rounds: 3 and 3", v[1])
    assert.matches("not measured in either", v[2])
    assert.matches("not measured in B", v[3])
    assert.matches("not measured in A", v[4])
  end)

  it("corrects for many cells: five rounds a side cannot decide twenty of them", function()
    local a, b = {}, {}
    for i = 1, 20 do
      a[i] = { 100, 101, 102, 103, 104 }
      b[i] = { 200, 201, 202, 203, 204 }
    end
    assert.equal("cannot tell (too few rounds for 20 cells)", verdicts(a, b)[1])
    assert.matches("^slower by", verdicts({ a[1] }, { b[1] })[1])
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

  it("refuses different units and folders that cannot be read", function()
    local good = demo.run_folder { { 1 } }
    for _, bad in ipairs { demo.run_folder({ { 1 } }, { unit = "bytes" }), "/nonexistent", support.folder() } do
      local r, err = compare(good, bad)
      assert.is_nil(r)
      assert.is_nil(err:find("\n"))
    end
  end)

  it("calls counts that never differ the same, even if they are zero", function()
    assert.same({ "same" }, (verdicts({ around(0, 0) }, { around(0, 0) })))
    assert.same({ "same" }, (verdicts({ around(7, 0) }, { around(7, 0) })))
  end)

  it("prints huge and tiny ratios with four digits", function()
    local function compared(a, b)
      local code, out = support.pmlua(("compare %s %s"):format(demo.run_folder { around(a, 0) },
        demo.run_folder { around(b, 0) }))
      assert.equal(0, code)
      return support.cells(out, "path=p1")
    end
    assert.equal("2.5e+299", compared(4, 1e300)[4])
    assert.equal("4e-300", compared(1e300, 4)[4])
    assert.equal("2.0000", compared(4, 8)[4])
  end)

  it("judges by differences if a value is 0 or negative, because these have no ratio", function()
    assert.same({ "slower, from 0 to 1" }, (verdicts({ around(0, 0) }, { around(1, 0) })))
    assert.same({ "faster, from 0 to -1" }, (verdicts({ around(0, 0) }, { around(-1, 0) })))
    assert.same({ "slower, from -1 to 1" }, (verdicts({ around(-1, 0.01) }, { around(1, 0.01) })))
    local one_zero = around(10, 0.01)
    one_zero[3] = 0
    local v, r = verdicts({ one_zero }, { around(1000, 0.01) })
    assert.matches("^slower by 99%d%d %%", v[1])
    assert.is_true(r.cells[1].low > 90 and r.cells[1].high < 110 and r.cells[1].ratio > 99)
    assert.same({ "same" }, (verdicts({ one_zero }, { one_zero })))
    assert.same({ "faster by 100 %" }, (verdicts({ around(1000, 0.01) }, { around(0, 0) })))
  end)

  it("says slower only if the whole interval is beyond the threshold, like --fail-on with its threshold", function()
    local a, b = around(1000, 0.01), around(1018, 0.01) -- the interval begins below 1.018
    local function cell(threshold)
      local options = { threshold = threshold, between_starts = 0 }
      return assert(compare(demo.run_folder { a }, demo.run_folder { b }, options)).cells[1]
    end
    local low = cell(0.001).low
    assert.is_true(low > 1.001 and low < 1.0175)
    assert.equal("slower by 1.8 %", cell(low - 1 - 0.0005).verdict)
    assert.matches("cannot tell %(the difference may be below", cell(low - 1 + 0.0005).verdict)
    local c = cell(0.001)
    assert.is_true(compare.beyond(c, "slower", low - 1 - 0.0005))
    assert.is_false(compare.beyond(c, "slower", low - 1 + 0.0005)) -- the estimate alone is beyond
    assert.is_false(compare.beyond(c, "faster", 0))
    a, b = b, a
    local less = cell(0.001)
    assert.is_true(compare.beyond(less, "faster", 1 - less.high - 0.0005))
    assert.is_false(compare.beyond(less, "faster", 1 - less.high + 0.0005))
  end)
end)

describe("compare of several starts", function()
  it("allows for differences between starts, and for larger ones if the rounds drift", function()
    local function single(a, b, options)
      return assert(compare(demo.run_folder { a }, demo.run_folder { b }, options)).cells[1]
    end
    local c = single(around(100, 0.002), around(103, 0.002))
    assert.equal("cannot tell (one run of each; runs may differ by 6.9 %)", c.verdict)
    assert.is_true(c.low < 0.98 and c.high > 1.08)
    assert.matches("^slower by 3 %%", single(around(100, 0.002), around(103, 0.002), { between_starts = 0 }).verdict)
    assert.matches("^slower by 20 %%", single(around(100, 0.002), around(120, 0.002)).verdict)
    assert.matches("^slower by 3 %%", single(around(100, 0), around(103, 0)).verdict) -- exact counts
    local rising = {}
    for i = 1, 10 do rising[i] = 100 + 3 * i end
    assert.equal("cannot tell (the drift over rounds exceeds the difference)",
      single(around(108, 0.002), rising, { between_starts = 0 }).verdict)
  end)

  it("finds a difference that is larger than that of starts, with p and interval of Welch's test", function()
    local function side(...)
      local out = {}
      for i, median in ipairs { ... } do out[i] = demo.run_folder { around(median, 0.001) } end
      return out
    end
    local r = assert(compare(side(100, 101, 102), side(120, 121, 122)))
    assert.matches("^slower by 19.8 %%", r.cells[1].verdict)
    assert.is_true(r.cells[1].low > 1.15 and r.cells[1].high < 1.25)
    assert.same({ 3, 3 }, { r.starts_a, r.starts_b })
    assert.equal("cannot tell (the runs spread more than the difference)",
      assert(compare(side(100, 110, 120), side(105, 115, 125))).cells[1].verdict)
    assert.equal("cannot tell (too few starts: 1 and 3, 3 are needed)",
      assert(compare(side(100), side(105, 115, 125))).cells[1].verdict)
  end)
end)

describe("compare by a factor", function()
  it("keeps levels apart that differ in blanks, quotes and the like, or run into the next factor's", function()
    local levels = { "a b", "a_b", "a  b", " a b", "a\tb", "a%20b", "'a'", '"a"', "#a", "NaN", "-", "", "1 n=2" }
    local exp = require "pmlua.experiment" {
      name = "demo", unit = "ns", repeats = 6, rounds = 6, warmup = 0,
      factors = { { "alg", levels }, { "n", { "2", "2 n=2" } } },
      measure = function(_, p)
        for i, v in ipairs(levels) do
          if v == p.alg then return 100 * i * (p.n == "2" and 1 or 3) end
        end
      end,
    }
    local run = assert(exp:run { out = support.folder(), no_plot = true, quiet = true })
    local r = assert(compare(run.dir, run.dir))
    assert.equal(2 * #levels, #r.cells)
    assert.equal("26 cells: 26 same, 0 cannot tell; geometric mean of the ratios B/A 1", r.overall)
    r = assert(compare.by(run.dir, "alg"))
    assert.equal(2 * (#levels - 1), #r.cells)
    for i, c in ipairs(r.cells) do
      local place = (i - 1) % (#levels - 1) + 2
      assert.same({ levels[1], levels[place], place }, { c.level_a, c.level_b, c.ratio })
    end
  end)

  it("keeps numbers apart that differ in any digit, and refuses levels that no file or figure can tell apart", function()
    local output = require "pmlua.internal.experiment.output"
    local function exp(levels)
      return require "pmlua.experiment" {
        name = "demo", unit = "ns", repeats = 6, rounds = 6, warmup = 0, factors = { v = levels },
        measure = function() return 100 end,
      }
    end
    local texts = { "1.0001", "1.0002", "1234567.5", "1.0000000000100009", "1.00000000001", "3" }
    local levels = {}
    for i, text in ipairs(texts) do levels[i] = tonumber(text) end
    local run = assert(exp(levels):run { out = support.folder(), no_plot = true, quiet = true })
    local rows, at = {}, 1
    for text in output.csv(run):gmatch "\n([^,\n]+)," do rows[#rows + 1] = text end
    assert.same(texts, rows)
    for line in output.text(run):gmatch "[^\n]+" do
      if line:find("100.0", 1, true) then
        assert.equal(texts[at], line:match "^%s*(%S+)")
        at = at + 1
      end
    end
    assert.equal(#texts + 1, at)
    for i, c in ipairs(assert(compare.by(run.dir, "v")).cells) do
      assert.same({ texts[1], texts[i + 1] }, { c.level_a, c.level_b })
    end
    for why, refused in pairs { ["9007199254740993 and 9007199254740992 are the same as a double"] = { (1 << 53) + 1, 1 << 53 },
      ["value 2 contains a zero byte"] = { "a", "a\0b" } } do
      assert.matches(why, select(2, pcall(exp, refused)), 1, true)
    end
  end)

  it("compares the values of a factor within a run with the first, for each combination of the others", function()
    local exp = require "pmlua.experiment" {
      name = "demo", unit = "ns", repeats = 10, rounds = 10, warmup = 0, metrics = { { name = "faults" } },
      factors = { { "how", { "plain", "with blanks" } }, { "size", { 1, 2 } }, { "lone", { "x" } } },
      measure = function(_, p) return 1000 * p.size * (p.how == "plain" and 1 or p.size), { faults = p.size } end,
    }
    local run = assert(exp:run { out = support.folder(), no_plot = true, quiet = true })
    local r = assert(compare.by(run.dir, "how"))
    assert.same({ "size=1", "plain", "with blanks", "same" },
      { r.cells[1].label, r.cells[1].level_a, r.cells[1].level_b, r.cells[1].verdict })
    assert.same({ "size=2", "slower by 100 %", 2, 4 },
      { r.cells[2].label, r.cells[2].verdict, r.cells[2].ratio, r.cells[2].cell })
    r = assert(compare.by(run.dir, "size", { metric = "faults" }))
    assert.same({ "how=with blanks", "more by 100 %", 2 }, { r.cells[2].label, r.cells[2].verdict, r.cells[2].ratio })
    for arguments, why in pairs { nothing = "has no factor nothing; choose one of how, size, lone", lone = "has one level" } do
      assert.matches(why, select(2, compare.by(run.dir, arguments)))
    end
    assert.matches("has no metric flops; choose one of faults", select(2, compare.by(run.dir, "how", { metric = "flops" })))
    local code, out = support.pmlua(("compare %s --by how --fail-on slower:99"):format(run.dir))
    assert.equal(1, code)
    assert.matches("\nsize=2 +plain +with blanks +2000 +4000 +2.0000 +[^\n]*slower by 100 %%\n", out)
    assert.equal(0, (support.pmlua(("compare %s --by how --fail-on slower:100%% --fail-on less"):format(run.dir))))
    code, out = support.pmlua(("compare --csv %s --by how --metric faults"):format(run.dir))
    assert.equal(0, code)
    assert.matches("^level_a,level_b,cell,median_a", out)
    assert.matches("\nplain,with blanks,size=2,2,2,1,1,1,,same\n", out)
  end)
end)

describe("pmlua compare", function()
  it("prints a table or JSON, and exits 0 for any verdict, 1 for a bad folder, 2 when misused", function()
    local a, b = demo.run_folder { around(100, 0.01) }, demo.run_folder { around(120, 0.01) }
    local code, out, err = support.pmlua(("compare %s %s"):format(a, b))
    assert.equal(0, code)
    assert.matches("path=p1.*slower by 20 %%", out)
    assert.equal("", err)
    code, out = support.pmlua(("compare --json %s %s"):format(a, b))
    assert.equal(0, code)
    assert.equal("slower by 20 %", json.decode(out).cells[1].verdict)
    code, out = support.pmlua(("compare %s %s -- %s %s"):format(a, a, b, b))
    assert.equal(0, code)
    assert.matches("A is 2 runs of the program, B is 2", out)
    -- an increase from zero exceeds any percentage; and cells that were not judged are named, or fail
    local none, three = demo.run_folder { around(0, 0) }, demo.run_folder { { 1, 2, 3 } }
    assert.equal(1, (support.pmlua(("compare --fail-on slower:500%% -q %s %s"):format(none, a))))
    code, out, err = support.pmlua(("compare --fail-on slower:2%% -q %s %s"):format(three, a))
    assert.matches("too few rounds", out)
    assert.equal(1, code)
    assert.matches("^pmlua compare: %-%-fail%-on judged 0 of 1 cells; path=p1: cannot tell %(too few rounds", err)
    local two = demo.run_folder { around(100, 0), around(5, 0) }
    code, out, err = support.pmlua(("compare --fail-on slower:2%% -q %s %s"):format(two, a))
    assert.matches("only in A", out)
    assert.same({ 0, "pmlua compare: warning: --fail-on judged 1 of 2 cells; path=p2: only in A\n" }, { code, err })
    assert.equal(1, (support.pmlua(("compare --fail-on slower:2%% --fail-on unjudged -q %s %s"):format(two, a))))
    assert.equal(0, (support.pmlua(("compare --fail-on slower:2%% --fail-on unjudged -q %s %s"):format(two, two))))
    code, out, err = support.pmlua(("compare --fail-on slower:2%% -q %s %s"):format(a, b))
    assert.same({ 1, "pmlua compare: path=p1: slower by 20 %\n" }, { code, err })
    assert.matches("slower by 20 %%", out)
    assert.equal(0, (support.pmlua(("compare --fail-on slower:30%% --fail-on faster %s %s"):format(a, b))))
    support.spit(b .. "/data.dat", "garbage\0")
    code, out, err = support.pmlua(("compare %s %s"):format(a, b))
    assert.equal(1, code)
    assert.equal("", out)
    assert.matches("^pmlua compare: [^\n]*data.dat:1: [^\n]+\n$", err)
    for _, misuse in ipairs { "", a, a .. " " .. b .. " x", "--nope " .. a .. " " .. b, "--threshold x " .. a .. " " .. b,
      a .. " " .. b .. " --by path", a .. " --", "--fail-on worse " .. a .. " " .. b } do
      code, _, err = support.pmlua("compare " .. misuse)
      assert.equal(2, code)
      assert.matches("^pmlua compare: [^\n]+\nsee 'pmlua help compare'\n$", err)
    end
  end)
end)
