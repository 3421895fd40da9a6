-- SPDX-License-Identifier: BSD-3-Clause

local support = require "spec.core.support"
local dat = require "pmlua.internal.dat"
local rng = require "pmlua.internal.rng"

local demo = {
  title = "demo", status = "incomplete",
  columns = { { "cell", "", "number" }, { name = "path", unit = "text", description = "how" }, { "time", "ns", "median" } },
  rows = { { 1, "page", 12.5 }, { 2, "needs a PMU", nil }, false, { 3, "", 1e-7 } },
}

describe("dat", function()
  it("writes what it reads back", function()
    local t = assert(dat.parse(dat.format(demo), "demo.dat"))
    assert.equal("demo", t.title)
    assert.equal("incomplete", t.status)
    assert.same({ cell = 1, path = "page", time = 12.5 }, t.rows[1])
    assert.same({ cell = 2, path = "needs a PMU" }, t.rows[2])
    assert.same({ cell = 3, path = "", time = 1e-7 }, t.rows[3])
    assert.same({ name = "time", unit = "ns", description = "median" }, t.columns[3])
    assert.equal(3, t.position.time)
  end)

  it("keeps every number exactly", function()
    local random = rng(1)
    for _ = 1, 300 do
      local v = random(1 << 53) / random(1 << 53)
      local t = dat.parse(dat.format { title = "x", columns = { { "v", "", "" } }, rows = { { v } } }, "x")
      assert.equal(v, t.rows[1].v)
    end
  end)

  it("makes one word of any text, and recovers the text", function()
    assert.equal("it%27s%20%22x%22%20%231", dat.word 'it\'s "x" #1')
    for text, word in pairs { [""] = "-", ["-"] = "%2D", NaN = "%4EaN", a_b = "a_b", ["a b"] = "a%20b" } do
      assert.equal(word, dat.word(text))
    end
    local random, words = rng(7), {}
    local texts = { "", "-", "NaN", "nan", "a b", "a_b", " a b", "a  b", "a\tb", "a%20b", "%", "%2", "%25",
      "'q'", '"q"', "'lead", "a\\b",
      "#", "\0", "\127", "é", "\xE9", "\xC2\xA0", "a\nb" }
    for _ = 1, 2000 do
      local bytes = {}
      for k = 1, random(6) do bytes[k] = string.char(random(256) - 1) end
      texts[#texts + 1] = table.concat(bytes)
    end
    for _, text in ipairs(texts) do
      local word = dat.word(text)
      assert.is_nil(word:find "[%s%c\"'#\\]", word)
      assert.truthy(utf8.len(word) and word ~= "")
      assert.equal(text, dat.text(word))
      assert.is_true(words[word] == nil or words[word] == text)
      words[word] = text
      local written = dat.format { title = "x", columns = { { "v", "text" }, { "n " .. word } }, rows = { { text, 1 } } }
      local t = assert(dat.parse(written, "x"))
      assert.equal(text, t.rows[1].v)
      assert.equal(2, t.position["n " .. word])
    end
  end)

  it("refuses two columns of one name, which readers cannot distinguish", function()
    assert.error_matches(function() dat.format { title = "x", columns = { { "v" }, { "v" } }, rows = {} } end,
      "x: two columns are called v")
  end)

  it("writes large numbers in a form that gnuplot reads as numbers", function()
    for text, v in pairs { ["1.0e+18"] = 1e18, ["-1.0e+300"] = -1e300, ["1.5e+18"] = 1.5e18, ["100"] = 100.0 } do
      assert.equal(text, dat.number(v))
      assert.equal(v, tonumber(text))
    end
  end)

  it("raises an error if a text is written where numbers are declared", function()
    assert.error_matches(function()
      dat.format { title = "x", columns = { { "v", "ns", "" } }, rows = { { "fast" } } }
    end, "column v holds numbers")
  end)

  it("is plotted by gnuplot, blocks and missing values included", function()
    if not os.execute("command -v gnuplot >/dev/null") then return pending "gnuplot is not installed" end
    local dir = support.folder()
    support.spit(dir .. "/demo.dat", dat.format(demo))
    local program = 'set datafile missing "NaN"; stats "demo.dat" using 3'
    local out = support.done(support.shell(("cd %s && gnuplot -e %s 2>&1"):format(dir, support.quote(program))))
    assert.matches("Records:%s+2", out)
    assert.matches("Blocks:%s+2", out)
  end)

  it("has its names where gnuplot's columnheader and pandas look for them", function()
    local dir, plain = support.folder(), { title = "t", columns = demo.columns, rows = { demo.rows[1], demo.rows[2] } }
    support.spit(dir .. "/demo.dat", dat.format(plain))
    local function ran(line) return support.done(support.shell(("cd %s && %s 2>&1"):format(dir, line))) end
    if os.execute "command -v gnuplot >/dev/null" then
      local program = [[set datafile columnheaders; stats "demo.dat" using "time" name "t" nooutput; s = "";
        stats "demo.dat" using (s = s . strcol("path") . "|", 0) nooutput; print t_max, " ", s]]
      assert.matches("^12.5 +page|needs%%20a%%20PMU|\n$", ran("gnuplot -e " .. support.quote(program)))
    end
    local rows = [[import csv; print([r["path"] + r["time"] for r in csv.DictReader((l for l in open("demo.dat")
      if l[0] != "#"), delimiter=" ")])]]
    assert.equal("['page12.5', 'needs%20a%20PMUNaN']\n", ran("python3 -c " .. support.quote(rows)))
    local pandas = [[import pandas; t = pandas.read_csv("demo.dat", comment="#", sep=" ")
print(list(t.columns), t.time.max(), t.path[1])]]
    if os.execute "python3 -c 'import pandas' 2>/dev/null" then
      assert.equal("['cell', 'path', 'time'] 12.5 needs%20a%20PMU\n", ran("python3 -c " .. support.quote(pandas)))
    end
  end)

  it("reads tables of version 0.1, whose names are a comment", function()
    local text = dat.format(demo)
    local old = text:gsub("\ncell path time\n", "\n# cell path time\n")
    assert.not_equal(text, old)
    local new, was = assert(dat.parse(text, "new")), assert(dat.parse(old, "old"))
    assert.same(new.rows, was.rows)
    assert.same({ true }, { was.commented, new.commented })
  end)

  it("names file and line of what is wrong", function()
    local good = dat.format(demo)
    for what, text in pairs {
      ["f:8: 2 columns where 3 are declared"] = good:gsub("2 needs%%20a%%20PMU NaN", "2 needs%%%%20a%%%%20PMU"),
      ["f:7: 4 columns where 3 are declared"] = good:gsub("1 page 12.5", "1 page 12.5 9"),
      ['f:7: column time: "nan" is not a number'] = good:gsub("12.5", "nan"),
      ['f:7: column time: "inf" is not a number'] = good:gsub("12.5", "inf"),
      ['f:7: column time: "0x10" is not a number'] = good:gsub("12.5", "0x10"),
      ['f:7: column time: "1e999" is not a number'] = good:gsub("12.5", "1e999"),
      ["f:1: a line ends in CR LF; pmlua writes LF"] = good:gsub("\n", "\r\n"),
      ["f:7: byte 0x00 in a text file"] = good:gsub("page", "pa\0ge"),
      ["f:7: not UTF-8 text"] = good:gsub("page", "pa\xffge"),
      ["f:1: empty file"] = "",
      ["f:1: cut short: the last line has no newline"] = "# pmlua demo",
      ['f:1: not a pmlua table: the first line is not "# pmlua NAME"'] = "x\n",
      ["f:3: column 2 out of order"] = good:gsub("# column 1", "# column 2"),
      ["f:6: data before the end of the header"] = good:gsub("cell path time", "cell path tim"),
      ["f:6: not a header line of pmlua: # cell path tim"] = good:gsub("cell path time", "# cell path tim"),
      ["f:2: the header is not complete"] = "# pmlua x\n# status: complete\n",
    } do
      local t, err = dat.parse(text, "f")
      assert.is_nil(t)
      assert.equal(what, tostring(err))
    end
  end)

  it("names the missing file", function()
    local t, err = dat.read "/nonexistent/data.dat"
    assert.is_nil(t)
    assert.matches("/nonexistent/data.dat", err)
  end)
end)
