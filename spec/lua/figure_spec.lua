-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/figure_spec.lua - tests of the figure that an experiment describes: its contents, and refused descriptions.

local support = require "spec.core.support"
local svg_texts = require "spec.lua.svg_texts"

local experiment = require "pmlua.experiment"

local SCRIPT = [[
return require "pmlua".experiment {
  name = "demo",
  factors = { bytes = { 64, 1024, 1048576 }, way = { "by_hand", "twice over" }, threads = { 1, 2 } },
  units = { bytes = "B" }, repeats = 20, unit = "ns",
  measure = function(_, p) return p.bytes + p.threads * 100 + #p.way end,
  plot = %s,
}
]]

--- Run the script with this figure: the folder of the run, the picture, the output.
local function drawn(plot, other)
  local dir = support.folder()
  support.spit(dir .. "/s.lua", SCRIPT:format(plot))
  for name, text in pairs(other or {}) do support.spit(("%s/%s"):format(dir, name), text) end
  local _, err = support.done(support.shell(("cd %s && %s/pmlua s.lua --quiet"):format(dir, support.build)))
  local run = dir .. "/results/demo/latest"
  return run, support.slurp(run .. "/plot.svg"), err
end

local draws = support.with "gnuplot"

local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
end

describe("plot = { ... }", function()
  draws("puts factors along x, into lines and into panels, with units and a key", function()
    local _, svg, err = drawn '{ x = "bytes", lines = "way", y = "median", facet = "threads", logx = true }'
    assert.equal("", err)
    for _, text in ipairs { ">bytes %[B%]<", ">median time %[ms%]<", ">1KiB<", ">1MiB<", ">twice over<", ">by_hand<", ">way<" } do
      assert.matches(text, svg)
    end
    assert.same({ 1, 1 }, { count(svg, ">threads 1<"), count(svg, ">threads 2<") })
  end)

  draws("draws the intervals of a column that has them, and any column of data.dat", function()
    local run = drawn '{ x = "bytes", lines = "way", facet = "threads" }'
    assert.matches("\nfigure_y_low = [1-9]", support.slurp(run .. "/run.gp"))
    local _, svg = drawn '{ x = "bytes", lines = "way", facet = "threads", y = "samples", logx = true, logy = true }'
    assert.matches(">samples<", svg)
  end)

  -- Labels of y are as wide as " 1.2×10^8" here; a name, a unit or a description may be longer than there is room for.
  local WIDE = [[
return require "pmlua".experiment {
  name = "wide", description = ("a long description "):rep(12), unit = "ns", repeats = 1, rounds = 1,
  factors = { { "n", { 10, 1000, 1000000 } }, { "kind", { "a", "b", "c", "d", "e", "f", ("long"):rep(20) } } },
  metrics = { { name = "rate", unit = "1/s" }, { name = "small", unit = "J" }, { name = ("m"):rep(60), unit = "bytes" } },
  measure = function(_, p) return p.n * 1e5, { rate = p.n * 123456.7, small = 1e-7 / p.n, [("m"):rep(60)] = p.n * 9e6 } end,
  plot = { x = "n", facet = "kind", logx = true, y = %q, logy = %s },
}
]]

  draws("leaves room for the labels of y, however wide", function()
    for _, y in ipairs { "rate", "small", "median", ("m"):rep(60) } do
      for _, logy in ipairs { "true", "false" } do
        local dir = support.folder()
        support.spit(dir .. "/s.lua", WIDE:format(y, logy))
        support.done(support.shell(("cd %s && %s/pmlua s.lua --quiet"):format(dir, support.build)))
        for _, factor in ipairs { 1, 0.75 } do
          local svg = svg_texts.draw(dir .. "/results/wide/latest", factor)
          assert.same({}, svg_texts.faults(svg), ("%s, logy = %s, size_factor = %g"):format(y, logy, factor))
        end
      end
    end
  end)

  draws("scales bytes and times of y to the unit of the largest", function()
    local script = [[return require "pmlua".experiment { name = "demo", factors = { { "n", { 1, 2 } } }, unit = %q, repeats = 1,
      rounds = 1, metrics = { { name = "rss", unit = "bytes" } }, plot = { x = "n", y = %q },
      measure = function(_, p) return p.n / 4, { rss = p.n * 3 * 2 ^ 20 } end }]]
    for _, case in ipairs { { "ns", "rss", ">rss %[MiB%]<" }, { "s", "median", ">median time %[ms%]<" },
      { "ms", "median", ">median time %[µs%]<" }, { "us", "median", ">median time %[ns%]<" } } do
      local dir = support.folder()
      support.spit(dir .. "/s.lua", script:format(case[1], case[2]))
      assert.equal(0, (support.shell(("cd %s && %s/pmlua s.lua --quiet"):format(dir, support.build))))
      assert.matches(case[3], support.slurp(dir .. "/results/demo/latest/plot.svg"))
    end
  end)

  draws("draws texts beside each other", function()
    local _, svg = drawn '{ x = "way", lines = "bytes", facet = "threads" }'
    assert.matches(">by_hand<", svg)
    assert.matches(">bytes %[B%]<", svg)
  end)

  draws("draws every level, whatever is in its text, and numbers of any size", function()
    local dir = support.folder()
    local texts = { "plain", "'quoted'", '"quoted"', "'lead", [[a\b]], "NaN", "don't", "a b", "a_b", "#1", "50%d", "{x}^2", "-" }
    support.spit(dir .. "/s.lua", ([[local pml = require "pmlua"
      local L = { %s }
      return pml.experiment { name = "demo", factors = { k = L }, repeats = 5, rounds = 5, unit = "ns",
        measure = function(_, p) for i, v in ipairs(L) do if v == p.k then return i * 10 end end end, plot = PLOT }]]):format(
      (("%q, "):rep(#texts):format(table.unpack(texts)))))
    local script = support.slurp(dir .. "/s.lua")
    for _, plot in ipairs { '{ x = "k" }', '{ x = "k", logy = true }', "nil" } do
      support.spit(dir .. "/s.lua", (script:gsub("PLOT", plot)))
      support.quiet(support.shell(("cd %s && %s/pmlua s.lua --quiet"):format(dir, support.build)))
      local svg = support.slurp(dir .. "/results/demo/latest/plot.svg")
      for _, text in ipairs(texts) do
        local shown = text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })
        local escaped = shown:gsub("'", "&apos;"):gsub('"', "&quot;")
        local found = svg:find(">" .. shown .. "<", 1, true) or svg:find(">" .. escaped .. "<", 1, true)
        assert.truthy(found, plot .. " lacks " .. text)
      end
    end
    for _, levels in ipairs { "1e16, 1e18", "1e300, 1e-300", "-1e18, 0, 1e18", "1e15, 1e16, 1e17, 1e18" } do
      for _, plot in ipairs { '{ x = "k" }', "nil" } do
        support.spit(dir .. "/s.lua", ([[return require "pmlua".experiment { name = "demo", factors = { k = { %s } }, repeats = 5,
          rounds = 5, unit = "ns", measure = function() return 5 end, plot = %s }]]):format(levels, plot))
        local code, _, err = support.shell(("cd %s && %s/pmlua s.lua --quiet"):format(dir, support.build))
        assert.same({ 0, "" }, { code, err }, levels .. plot)
      end
    end
  end)

  draws("gives way to a gnuplot script of the experiment's name beside the script", function()
    local run, svg = drawn('{ x = "bytes", lines = "way", facet = "threads" }',
      { ["demo.gp"] = 'load "theme.gp"\nset title "my own"\nplot "data.dat" using 1:(column(c_median)) notitle\n' })
    assert.matches(">my own<", svg)
    assert.matches("my own", support.slurp(run .. "/plot.gp"))
  end)

  draws("is drawn again by pmlua plot, and by gnuplot alone", function()
    for _, kind in ipairs { "lines", "violin" } do
      local run, svg = drawn(('{ x = "bytes", lines = "way", facet = "threads", kind = %q }'):format(kind))
      local code, out = support.pmlua("plot " .. run)
      assert.same({ 0, svg }, { code, support.slurp(run .. "/plot.svg") }, out)
      code = support.shell(("cd %s && rm plot.svg && gnuplot plot.gp"):format(run))
      assert.equal(0, code)
      assert.matches("<svg", support.slurp(run .. "/plot.svg"))
    end
  end)

  draws("shows the distribution of several runs, or a column instead of the run's own violins", function()
    local run = drawn '{ x = "bytes", lines = "way", facet = "threads", kind = "violin" }'
    local other, file = drawn '{ x = "bytes", lines = "way", facet = "threads" }', support.folder() .. "/a.svg"
    local shares = "plot -o %s --kind cumulative --lines run --where threads=1 --facet way --rows bytes %s %s"
    support.done(support.pmlua(shares:format(file, run, other)))
    assert.matches(">latest %(2%)<", support.slurp(file))
    support.done(support.pmlua(("plot -o %s --y q1 %s"):format(file, run)))
    assert.matches(">q1 time", support.slurp(file))
  end)

  draws("of a folder that comes from somebody else is refused where it does not fit the data, and drawn otherwise", function()
    local run = drawn '{ x = "bytes", lines = "way", facet = "threads" }'
    local meta = support.slurp(run .. "/meta.json")
    support.spit(run .. "/meta.json", (meta:gsub('"x": *"bytes"', '"x": "`touch x`"')))
    local _, err = support.done(support.pmlua("plot " .. run))
    assert.matches("plot: x: unknown factor", err, 1, true)
  end)

  it("is refused if a name is wrong, with the nearest name", function()
    local function refused(plot)
      local done, err = pcall(experiment, { name = "demo", factors = { bytes = { 0, 64 }, way = { "a", "b" } }, measure = print,
        plot = plot })
      assert.is_false(done)
      return err
    end
    for sentence, plot in pairs {
      ["unknown field liens; did you mean lines?"] = { x = "bytes", liens = "way" },
      ["x: unknown factor byts; did you mean bytes?"] = { x = "byts", lines = "way" },
      ["y: unknown column medain; did you mean median?"] = { x = "bytes", lines = "way", y = "medain" },
      ["x is missing"] = { lines = "way" },
      ["x and facet are both bytes"] = { x = "bytes", facet = "bytes" },
      ["factor way has no role"] = { x = "bytes" },
      ["logx: bytes has the value 0"] = { x = "bytes", lines = "way", logx = true },
      ["logx: the values of way are texts"] = { x = "way", lines = "bytes", logx = true },
      ["logy must be a boolean"] = { x = "bytes", lines = "way", logy = 1 },
    } do
      assert.matches(sentence, refused(plot), 1, true)
    end
  end)
end)
