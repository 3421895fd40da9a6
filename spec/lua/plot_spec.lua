-- SPDX-License-Identifier: BSD-3-Clause

local demo = require "spec.lua.demo"
local support = require "spec.core.support"
local lfs = require "lfs"
local plot = require "pmlua.plot"
local svg_texts = require "spec.lua.svg_texts"


local draws = support.with "gnuplot"

describe("plot", function()
  draws("draws SVG and PNG from the files of the folder alone, from anywhere", function()
    local dir = demo.run_folder({ { 10, 12, 11 }, {}, { 900, 1000, 950 } }, { description = 'quotes " and \\ and \'' })
    local files = assert(plot.draw(dir))
    assert.same({ dir .. "/plot.svg", dir .. "/plot.png" }, files)
    assert.matches("<svg", support.slurp(files[1]))
    assert.equal("\137PNG", support.slurp(files[2]):sub(1, 4))
    assert.matches("needs a PMU", support.slurp(files[1]))
    assert.matches("%[ns%]", support.slurp(files[1]))
    os.execute(("mkdir %s/moved && mv %s/*.gp %s/*.dat %s/moved"):format(dir, dir, dir, dir))
    assert.equal(0, (support.shell(("cd %s/moved && gnuplot plot.gp"):format(dir))))
    assert.matches("<svg", support.slurp(dir .. "/moved/plot.svg"))
  end)

  draws("draws chosen cells of one or several runs, which become lines, into a file of each format", function()
    local out = support.folder()
    local dirs = { demo.run_folder { { 10 }, { 20 }, { 30 } }, demo.run_folder { { 40 }, { 50 }, { 60 } } }
    local begins = { svg = "<?xml", png = "\137PNG", pdf = "%PDF", eps = "%!PS" }
    for format, text in pairs(begins) do
      local path = ("%s/a.%s"):format(out, format)
      assert.same({ path }, plot.draw(dirs, { out = path, width = 500, height = 300, title = "both", logy = true }))
      assert.equal(text, support.slurp(path):sub(1, #text))
    end
    local svg = support.slurp(out .. "/a.svg")
    assert.matches('width="500" height="300"', svg)
    for _, words in ipairs { ">both<", ">run<", dirs[1]:match "[^/]+$", ">p1<", ">p3<" } do
      assert.matches(words, svg, 1, true)
    end
    assert(plot.draw(dirs[1], { out = out .. "/b.svg", where = { { name = "path", value = "p2" } }, y = "q1" }))
    svg = support.slurp(out .. "/b.svg")
    assert.matches(">p2<", svg, 1, true)
    assert.is_nil(svg:find(">p1<", 1, true))
    assert.matches("q1 time", svg, 1, true)
    for wrong, options in pairs {
      ["ends in .svg, .png, .pdf or .eps"] = { out = "x.jpg" },
      ["did you mean path?"] = { out = "x.svg", where = { { name = "pat", value = "p1" } } },
      ["no cell has path=p4; choose one of p1, p2, p3"] = { out = "x.svg", where = { { name = "path", value = "p4" } } },
      ["y: unknown column mediam"] = { out = "x.svg", y = "mediam" },
    } do
      local files, err = plot.draw(dirs[1], options)
      assert.is_nil(files)
      assert.matches(wrong, tostring(err), 1, true)
    end
  end)

  -- Each option shows its effect, and at two widths no text overlaps another or leaves the picture.
  draws("draws ranges, free scales, grids, renamed and ordered levels, own intervals, violins and cumulative shares", function()
    local exp = require "pmlua.experiment" { name = "demo", unit = "ns", repeats = 20, rounds = 5, warmup = 0,
      factors = { { "size", { 1, 4, 64 } }, { "how", { "fast", "slow one" } }, { "mode", { "cold", "hot" } } },
      measure = function(_, p) return p.size * (p.how == "fast" and 1 or 2e3) + math.random() end }
    local out = support.folder()
    local dir = assert(exp:run { out = out, quiet = true, no_plot = true }).dir
    for i, case in ipairs {
      { { x = "size", lines = "how", facet = "mode", xrange = { low = 0, high = 50 }, yrange = { high = 9000 } }, "50", "60" },
      { { x = "size", lines = "mode", facet = "how", free = "y" }, "median time [µs]" },
      { { x = "size", lines = "mode", facet = "how", free = "xy", logx = true }, "fast" },
      { { x = "size", facet = "how", rows = "mode" }, "slow one, hot", "hot" },
      { { x = "size", lines = "how", facet = "mode", rename = { ["slow one"] = "by hand" } }, "by hand", "slow one" },
      { { x = "size", lines = "how", facet = "mode", rename = { size = "length", median = "middle" } }, "middle [µs]", "size" },
      { { x = "how", lines = "mode", facet = "size", order = { how = { "slow one" } } }, "slow one" },
      { { x = "size", lines = "how", facet = "mode", order = { size = { 64, 4 } } }, "64" },
      { { x = "size", lines = "how", facet = "mode", y = "q1", low = "min", high = "max" }, "q1 time [µs]" },
      { { x = "size", lines = "how", facet = "mode", kind = "violin", logy = true }, "time [ns]" },
      { { lines = "how", facet = "mode", rows = "size", kind = "cumulative", free = "x", logx = true }, "share of the samples" },
    } do
      local options, shown, hidden = table.unpack(case)
      for _, width in ipairs { 960, 318 } do
        options.out, options.width, options.height = out .. "/a.svg", width, 700
        assert(plot.draw(dir, options))
        local svg, texts = support.slurp(options.out), {}
        assert.same({}, svg_texts.faults(svg), ("case %d, width %d"):format(i, width))
        if width == 318 then assert.is_true(svg_texts.smallest(svg) >= 7 * 96 / 72) end
        for _, one in ipairs((svg_texts.of(svg))) do texts[one.text] = true end
        local message = ("case %d, width %d"):format(i, width)
        assert.is_true(texts[shown] or texts["how " .. shown], message)
        assert.is_nil(texts[hidden or ""], message)
      end
    end
    for wrong, options in pairs {
      ["kind: unknown value violn; did you mean violin?"] = { kind = "violn" },
      ["free: unknown value z"] = { free = "z" },
      ["yrange must be { low = NUMBER, high = NUMBER }, low below high"] = { yrange = { low = 2, high = 1 } },
      ["logy: the axis begins at 0"] = { logy = true, yrange = { low = 0 } },
      ["order: how has no value slow"] = { order = { how = { "slow" } } },
      ["xrange: the values of how are texts"] = { x = "how", xrange = { low = 1 } },
      ["low: unknown column mni"] = { low = "mni" },
      ["a distribution is one of all samples"] = { kind = "violin", y = "q1" },
    } do
      options.out = out .. "/a.svg"
      assert.matches(wrong, tostring(select(2, plot.draw(dir, options))), 1, true)
    end
    assert(os.remove(dir .. "/samples.csv.gz"))
    assert.matches("no samples.csv.gz", tostring(select(2, plot.draw(dir, { out = out .. "/a.svg", kind = "violin" }))), 1, true)
  end)

  draws("draws the figure of an experiment without a table in one column of a page, with text of 7 pt", function()
    local numbers, words = { size = { 1, 4, 64 }, how = { "fast", "slow one" } }, { way = { "by hand", "a", "b", "c", "of 5" } }
    for _, factors in ipairs { numbers, words } do
      local exp = require "pmlua.experiment" { name = "demo", unit = "ns", repeats = 8, rounds = 8, warmup = 0, factors = factors,
        measure = function(_, p) return (p.size or #p.way) * (p.how == "slow one" and 2 or 1) end }
      local out = support.folder()
      local dir = assert(exp:run { out = out, quiet = true, no_plot = true }).dir
      assert(plot.draw(dir, { out = out .. "/a.svg", width = 318, height = 340 }))
      local svg = support.slurp(out .. "/a.svg")
      assert.same({}, svg_texts.faults(svg))
      assert.is_true(svg_texts.smallest(svg) >= 7 * 96 / 72)
    end
  end)

  draws("says in the figure that the run is incomplete", function()
    local dir = demo.run_folder({ { 10, 12, 11 } }, { status = "interrupted" })
    local files = assert(plot.draw(dir))
    assert.matches("incomplete run %(interrupted%)", support.slurp(files[1]))
  end)

  draws("keeps an edited plot.gp, runs it where it is trusted, and replaces it when asked to", function()
    local dir = demo.run_folder { { 10, 12, 11 } }
    assert(plot.draw(dir))
    support.spit(dir .. "/plot.gp", 'load "theme.gp"\nset title "mine"\nplot sin(x)\n')
    assert.matches("mine", support.slurp(assert(plot.draw(dir, { trust = true }))[1]))
    assert.is_nil(support.slurp(assert(plot.draw(dir, { refresh = true }))[1]):find("mine"))
  end)

  draws("shows gnuplot's complaint as one line with the file, and keeps the figure that was there", function()
    local dir = demo.run_folder { { 10, 12, 11 } }
    assert(plot.draw(dir))
    local before = support.slurp(dir .. "/plot.svg")
    support.spit(dir .. "/plot.gp", 'load "theme.gp"\nplot "no such file"\n')
    local files, err = plot.draw(dir, { trust = true })
    assert.is_nil(files)
    assert.matches("plot.gp", err, 1, true)
    assert.is_nil(err:find("\n"))
    assert.equal(before, support.slurp(dir .. "/plot.svg"))
    assert.is_nil(lfs.attributes(dir .. "/.plot.svg.tmp", "mode"))
    support.spit(dir .. "/plot.gp", "set nonsense\n")
    files, err = plot.draw(dir, { trust = true })
    assert.is_nil(files)
    assert.matches("plot.gp:1: ", err, 1, true)
  end)

  draws("falls back to the generic figure when the named one is not there, and says so", function()
    local files, note = plot.draw(demo.run_folder({ { 1, 2 } }, { plot = "nonexistent" }))
    assert.equal(2, #files)
    assert.matches("no plot nonexistent.gp", note)
  end)

  draws("lays a factor of numbers along the axis, a line for each level of the other, and boxes without such a factor", function()
    local function svg(factors)
      local exp = require "pmlua.experiment" { name = "demo", unit = "ns", repeats = 8, rounds = 8, warmup = 0, factors = factors,
        measure = function(_, p) return 1000 * p.size * (p.how == "slow one" and 2 or 1) end }
      return support.slurp(assert(exp:run { out = support.folder(), quiet = true }).dir .. "/plot.svg")
    end
    local how = { "how", { "fast", "slow one" } }
    local lines = svg { { "size", { 1, 4, 64 } }, how }
    for _, text in ipairs { "how fast", "how slow one", ">64<", ">size<" } do assert.matches(text, lines) end
    assert.is_nil(lines:find "quartiles")
    assert.matches("median, 95 %% interval", svg { { "size", { 1, 4, 64 } } })
    assert.matches("quartiles", svg { { "size", { 1, 4 } }, how })
    local many = {}
    for i = 1, 7 do many[i] = "level" .. i end
    assert.matches("quartiles", svg { { "size", { 1, 2, 3 } }, { "how", many } }) -- too many lines to be told apart
  end)

  it("keeps the data and names the package to install without gnuplot", function()
    local dir = demo.run_folder { { 1, 2, 3 } }
    local files, err = plot.draw(dir, { gnuplot = "no-such-gnuplot" })
    assert.is_nil(files)
    assert.matches("apt-get install gnuplot-nox", err, 1, true)
    assert.equal("file", lfs.attributes(dir .. "/plot.gp", "mode"))
  end)

  it("refuses a run without measurements", function()
    local files, err = plot.draw(demo.run_folder { {} })
    assert.is_nil(files)
    assert.matches("no cell was measured", err)
  end)

  it("refuses a corrupt or absent folder with one line", function()
    local dir = demo.run_folder { { 1 } }
    support.spit(dir .. "/data.dat", "\0\1\2")
    for _, bad in ipairs { dir, "/nonexistent" } do
      local files, err = plot.draw(bad)
      assert.is_nil(files)
      assert.is_nil(err:find("\n"))
    end
  end)

  it("has plots that read only files beside them", function()
    for file in lfs.dir(support.root .. "/plots") do
      if file:match("%.gp$") then
        for name in support.slurp(support.root .. "/plots/" .. file):gmatch('"([^"\n]*%.[dg][ap]t?)"') do
          assert.is_nil(name:find("/"), file .. " reads " .. name)
        end
      end
    end
  end)
end)

describe("pmlua plot", function()
  it("exits 1 for a folder that cannot be plotted and 2 when misused, in one line", function()
    for arguments, status in pairs { ["/nonexistent"] = 1, ["/dev/null"] = 1, [""] = 2, ["--nope x"] = 2 } do
      local code, out, err = support.pmlua("plot " .. arguments)
      assert.equal(status, code)
      assert.equal("", out)
      assert.matches("^pmlua plot: [^\n]+\n" .. (code == 2 and "see 'pmlua help plot'\n" or "") .. "$", err)
    end
  end)

  draws("prints the files it drew, and that a run is incomplete", function()
    local dir = demo.run_folder({ { 1, 2, 3 } }, { status = "running", process = { pid = 4194303, start_time = 1 } })
    local out, err = support.done(support.pmlua("plot " .. dir))
    assert.equal(dir .. "/plot.svg\n" .. dir .. "/plot.png\n", out)
    assert.matches("this run is incomplete", err)
  end)
end)
