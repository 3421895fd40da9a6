-- SPDX-License-Identifier: BSD-3-Clause

local support = require "spec.core.support"

local dat = require "pmlua.internal.dat"
local demo = require "spec.lua.demo"
local experiment = require "pmlua.experiment"
local json = require "pmlua.json"
local lfs = require "lfs"
local output = require "pmlua.internal.experiment.output"
local results = require "pmlua.results"

local define, run, script, command, csv = demo.define, demo.run, demo.script, demo.command, demo.csv

describe("experiment", function()
  it("measures every cell in every round and keeps every sample", function()
    local r = run()
    assert.equal("complete", r.status)
    local opened = assert(results.open(r.dir))
    assert.is_true(opened.complete)
    assert.equal("complete", opened.data.status)
    assert.equal(3, #opened.data.rows)
    assert.equal(60, opened.data.rows[2].samples)
    assert.equal(202, opened.data.rows[2].median)
    assert.equal(18, #opened.rounds.rows)
    local lines, count = csv(r.dir), 0
    assert.matches("^cell,round,index,value\n", lines)
    for cell, _, index, value in lines:gmatch("(%d+),(%d+),(%d+),(%d+)\n") do
      count = count + 1
      assert.equal(cell * 100 + (index + 1) % 5, tonumber(value))
    end
    assert.equal(180, count)
    assert.equal(180, opened.meta.samples)
  end)

  it("collects the heap, which holds every cell, seldom: not once per visit", function()
    local levels, walks, collect = {}, 0, collectgarbage
    for i = 1, 1000 do levels[i] = i end
    finally(function() _G.collectgarbage = collect end)
    _G.collectgarbage = function(how, ...)
      if how then return collect(how, ...) end
      walks = walks + 1
    end
    local r = run { factors = { k = levels }, repeats = 2, rounds = 2, measure = function() return 1 end }
    assert.equal(2000, r.meta.samples)
    assert.is_true(walks < 200, walks)
  end)

  it("visits cells in the order that the seed repeats", function()
    local visited
    local function note(_, p) visited[#visited + 1] = p.k return 1 end
    local function order(seed)
      visited = {}
      run({ measure = note, repeats = 6 }, { seed = seed })
      return table.concat(visited, " ")
    end
    local first = order(1)
    assert.equal(first, order(1))
    assert.is_not.equal(first, order(2))
    assert.equal(18, #visited)
  end)

  it("accepts samples objects, arrays and single numbers", function()
    local as_object = run { measure = function(_, p, n)
      local s = support.core.samples.new(n)
      for i = 1, n do s:push(p.k * 100 + i % 5) end
      return s
    end }
    local calls = 0
    local as_number = run { measure = function(_, p)
      calls = calls + 1
      return p.k * 100 + calls % 5
    end }
    local as_array = run()
    for cell = 1, 3 do
      for _, k in ipairs { "min", "median", "max", "mean" } do
        assert.equal(as_array.cells[cell].summary[k], as_object.cells[cell].summary[k])
        assert.equal(as_array.cells[cell].summary[k], as_number.cells[cell].summary[k])
      end
    end
    assert.equal(180, calls)
    assert.equal(csv(as_array.dir), csv(as_object.dir))
  end)

  it("shows ticks in nanoseconds and per call, and keeps ticks in the samples", function()
    local r = run { unit = "ticks", calls = 10 }
    local ns = 1e9 / support.core.clock.info().ticks_per_second
    assert.is_true(math.abs(r.cells[1].summary.median - 102 * ns / 10) < 1e-6)
    assert.matches("\n1,1,0,101\n", csv(r.dir))
    assert.equal("ns", r.unit)
  end)

  it("sets up, measures and tears down a cell in each round, and discards the warm-up", function()
    local log = {}
    local r = run({
      factors = {}, rounds = 2, repeats = 4, warmup = 3,
      setup = function() log[#log + 1] = "setup" return { n = 0 } end,
      measure = function(state, _, n) log[#log + 1] = "measure " .. n state.n = n return { 1, n } end,
      teardown = function(state) log[#log + 1] = "teardown " .. state.n end,
    })
    local round = "setup, measure 2, teardown 2"
    assert.equal("setup, measure 3, teardown 3, " .. round .. ", " .. round, table.concat(log, ", "))
    assert.equal(4, r.cells[1].summary.n)
  end)

  it("sets up a cell once before its first visit, and tears it down at the end, also after a failure", function()
    local log = {}
    local function of(measure)
      log = {}
      return { factors = { k = { 1, 2, 3 } }, rounds = 3, repeats = 6, warmup = 1, measure = measure,
        cell_setup = function(p)
          log[#log + 1] = "set up " .. p.k
          if p.k == 3 then return nil, "none here" end
          return { p.k }
        end,
        setup = function(p, _, shared) return { p.k, shared } end,
        cell_teardown = function(shared, p) log[#log + 1] = ("tear down %d %d"):format(shared[1], p.k) end,
      }
    end
    local all = { "set up 1", "set up 2", "set up 3", "tear down 1 1", "tear down 2 2" }
    local r = run(of(function(state, p) return state[1] == p.k and state[2][1] == p.k and 10 * p.k end))
    table.sort(log)
    assert.same(all, log)
    assert.same({ 10, 20, "none here" }, { r.cells[1].summary.median, r.cells[2].summary.median, r.cells[3].status })
    local code, _, err = command [[local pml = require "pmlua"
return pml.experiment { name = "demo", cell_setup = function() return 7 end, measure = function(s) error("at " .. s) end,
  cell_teardown = function(s) print("down", s) end }]]
    assert.same({ 1, true }, { code, err:find("at 7", 1, true) ~= nil })
  end)

  it("gives a column's interval from its value in each round, in which drift cancels", function()
    local round = 0
    local columns = { { name = "ratio", interval = true, value = function(c, r)
      local first = r.cells[1].summary
      return first and c.summary.mean / first.mean
    end }, { name = "word", unit = "text", value = function() return "w" end } }
    local r = run({ factors = { k = { 1, 2 } }, rounds = 9, repeats = 9, warmup = 0, columns = columns, measure = function(_, p)
      round = round + 0.5
      local drift = 2 ^ math.ceil(round)
      return p.k == 1 and drift or drift * (3 + math.ceil(round) / 1000)
    end })
    local row = assert(results.open(r.dir)).data.rows[2]
    assert.is_true(row.median_hi / row.median_lo > 10)
    assert.is_true(row.ratio_lo >= 3.001 and row.ratio_lo <= 3.003 and row.ratio_hi >= 3.007 and row.ratio_hi <= 3.009)
    assert.matches("ratio  95 %% interval +word\n", output.text(r))
    assert.matches("ratio,ratio_lo,ratio_hi,word,status\n", output.csv(r))
    assert.matches('"ratio_hi": 3.00', output.json(r))
    for k = 1, 2 do r.cells[k].rounds = { table.unpack(r.cells[k].rounds, 1, 4) } end
    r.cells[2].derived = { 3 }
    require "pmlua.internal.experiment.columns".intervals(r)
    assert.same({ 3 }, r.cells[2].derived)
  end)

  it("keeps rows that cannot be measured, with their reason, from constraints, setup and measure", function()
    local r = run {
      factors = { k = { 1, 2, 3, 4, 5 } },
      constraints = function(p) if p.k == 2 then return "needs a PMU" end return p.k ~= 5 end,
      setup = function(p) if p.k == 3 then return nil, "counter.open: ENOENT: no event" end return {} end,
      measure = function(_, p) if p.k == 4 then return nil, "no luck" end return 5 end,
    }
    assert.equal("complete", r.status)
    local rows = assert(dat.read(r.dir .. "/data.dat")).rows
    assert.equal(4, #rows)
    assert.same({ "ok", "needs a PMU", "counter.open: ENOENT: no event", "no luck" },
      { rows[1].status, rows[2].status, rows[3].status, rows[4].status })
    assert.is_nil(rows[2].median)
    assert.equal("needs a PMU", assert(results.open(r.dir)).meta.unmeasured[1].reason)
    assert.matches("k=3 was skipped: counter", table.concat(r.meta.warnings, "\n"))
  end)

  it("adds columns, tables and text of the experiment", function()
    local r = run {
      columns = { { name = "retries", unit = "", description = "tried again",
                    value = function(cell) return experiment.sum(cell, "retries") end } },
      measure = function() return { 1, 2 }, { retries = 3 } end,
      analyse = function(run_)
        run_:write_table("extra.dat", { columns = { { "x", "ns", "of mine" } }, rows = { { 1 } } }, "mine")
      end,
    }
    assert.equal(18, assert(dat.read(r.dir .. "/data.dat")).rows[1].retries)
    assert.equal("complete", assert(dat.read(r.dir .. "/extra.dat")).status)
    local named = {}
    for _, f in ipairs(assert(results.open(r.dir)).meta.files) do named[f.name] = f.description end
    assert.equal("mine", named["extra.dat"])
    for _, name in ipairs { "data.dat", "rounds.dat", "outliers.dat", "histogram.dat", "samples.csv.gz", "traces.otf2" } do
      assert.is_truthy(named[name], name)
    end
  end)

  it("calculates columns from the last summaries of all cells", function()
    local turn = 0
    local r = run { factors = { k = { 1, 2 } }, measure = function(_, _, n)
      turn = turn + 1 -- each round is slower than the previous one
      local out = {}
      for i = 1, n do out[i] = turn * 1000 + i end
      return out
    end, columns = { { name = "other", unit = "ns", description = "the median of the other cell",
      value = function(cell, run_)
        local other = run_.cells[3 - cell.index].summary
        return other and other.median
      end } } }
    assert.equal(r.cells[2].summary.median, r.cells[1].derived[1])
    assert.equal(r.cells[1].summary.median, r.cells[2].derived[1])
  end)

  it("names outliers with their place in the samples", function()
    local r = run { measure = function(_, p, n)
      local out = {}
      for i = 1, n do out[i] = 10 + i % 3 end
      out[4] = p.k == 2 and 999 or out[4]
      return out
    end }
    local rows = assert(dat.read(r.dir .. "/outliers.dat")).rows
    assert.equal(6, #rows)
    assert.same({ cell = 2, round = 1, index = 3, value = 999 }, rows[1])
    assert.equal(6, r.cells[2].summary.outliers)
  end)

  it("gives options their types and defaults, and lets --quick change them", function()
    local seen
    local options = {
      { name = "size-of", type = "integer", default = 8 }, { name = "file", default = "none" }, { name = "fast", type = "flag" },
    }
    local function measure(_, _, n, o) seen = o return { n } end
    run({ options = options, measure = measure, quick = { repeats = 2, size_of = 3 } })
    assert.same({ size_of = 8, file = "none", fast = false, quick = false }, seen)
    local r = run({ options = options, measure = measure, quick = { repeats = 2, size_of = 3 } }, { quick = true, file = "x" })
    assert.same({ size_of = 3, file = "x", fast = false, quick = true }, seen)
    assert.equal(2, r.repeats)
  end)

  it("reads an option without a type as its default's type", function()
    local cli = require "pmlua.internal.cli.experiment"
    local exp = { name = "demo", options = { { name = "n", default = 8 }, { name = "x", default = 0.5 },
      { name = "on", default = false }, { name = "word", default = "7" } } }
    local given = cli.parse(exp, "demo.lua", { "--n", "3", "--x", "2", "--on", "--word", "9" })
    assert.same({ n = 3, x = 2, on = true, word = "9", quick = false }, cli.values(exp, given))
    assert.matches("whole number", select(2, cli.parse(exp, "demo.lua", { "--n", "1.5" })))
  end)

  it("keeps its levels if the script's functions change theirs, and passes the result of setup to each call", function()
    local seen = {}
    local function twice(p) p.kib = p.kib * 2 return p.kib end
    local r = run { factors = { kib = { 1, 2 } }, repeats = 4, rounds = 2, warmup = 0, metrics = { { name = "m" } },
      constraints = function(p) return twice(p) > 0 end,
      setup = function(p) twice(p) p.note = "setup's" return {} end,
      measure = function(_, p)
        seen[#seen + 1] = p.kib .. p.note
        return twice(p)
      end,
      teardown = function(_, p) p.kib = "gone" end,
      columns = { { name = "c", value = function(cell) cell.p.kib = -1 return 7 end } } }
    table.sort(seen)
    assert.same({ "2setup's", "2setup's", "2setup's", "2setup's", "4setup's", "4setup's", "4setup's", "4setup's" }, seen)
    local rows = require "pmlua.results".open(r.dir).data.rows
    assert.same({ 1, 4, 2, 8 }, { rows[1].kib, rows[1].median, rows[2].kib, rows[2].median })
    assert.matches("\n +1 +4", "\n" .. require "pmlua.internal.experiment.output".text(r))
  end)

  it("refuses an invalid definition, with the line of the script", function()
    for text, what in pairs {
      ["name = 'a b'"] = "name must consist of letters", ["nonsense = 1"] = "unknown field nonsense",
      ["factors = { a = {} }"] = "array of values", ["factors = { median = { 1 } }"] = "column of this name",
      ["metrics = { { name = 'median' } }"] = "metric median: a table already has a column of this name",
      ["metrics = { { name = 'round' } }"] = "metric round: a table already has",
      ["metrics = { 7 }"] = "metrics%[1%] must be a table with a name",
      ["metrics = { { name = 'a' }, { name = 'a_lo' } }"] = "metric a_lo: a table already has",
      ["metrics = { { name = 'hit rate' }, { name = 'hit_rate' } }"] = "figures would confuse it with hit rate",
      ["factors = { a = { 1 } }, metrics = { { name = 'a' } }"] = "metric a: a table already has",
      ["columns = { { name = 'a b', value = print }, { name = 'a_b', value = print } }"] =
        "columns%[2%], a_b: figures would confuse",
      ["repeats = 0"] = "positive integer", ["repeats = 1.5"] = "positive integer",
      ["options = { { name = 'out' } }"] = "defined twice",
      ["columns = { { name = 'min', value = print } }"] = "columns%[1%], min: a table already has a column",
      ["setup = 7"] = "setup must be a function",
      ["columns = { 3 }"] = "columns%[1%]", ["options = { { name = 'x', type = 'y' } }"] = "type must be",
      ["options = { { name = 'x', type = 'r i' } }"] = "type must be",
    } do
      local made, err = pcall(load(("local pml = require 'pmlua'\nlocal e = pml.experiment { name = 'x',\n%s,\n"
        .. "measure = function() return 1 end }\nreturn e"):format(text), "@script.lua"))
      assert.is_false(made)
      assert.matches("^script.lua:%d+: experiment: [^\n]*" .. what .. "[^\n]*$", tostring(err))
    end
    -- not error_matches, which removes positions
    local _, err = pcall(function() local _ = experiment(7) end)
    assert.matches("experiment_spec.lua:%d+: experiment: a table expected", err)
    _, err = pcall(function() local _ = experiment { name = "x" } end)
    assert.matches("experiment_spec.lua:%d+: experiment: measure is missing", err)
  end)

  it("keeps its measurements when measure raises, and names the line of the script", function()
    local code, out, err, dir = command([[
local pml = require "pmlua"
local calls = 0
return pml.experiment { name = "demo", factors = { k = { 1, 2 } }, rounds = 5, repeats = 5, warmup = 0, unit = "ns",
  measure = function()
    calls = calls + 1
    if calls == 8 then error "boom" end
    return 5
  end }
]], "--quiet")
    assert.equal(1, code)
    assert.matches("^pmlua: [^\n]*script.lua:6: boom %(demo: cell k=%d, round 4%)\n$", err)
    assert.matches("failed, 7 samples", out)
    local opened = assert(results.open(dir .. "/demo/latest"))
    assert.equal("failed", opened.status)
    assert.equal("incomplete", opened.data.status)
    assert.equal(7, #opened.rounds.rows)
    assert.equal(8, select(2, csv(opened.path):gsub("\n", "")))
  end)

  it("calls NaN, infinite and empty samples an error of measure", function()
    local text = "return require 'pmlua'.experiment { name = 'demo', warmup = 0, metrics = { { name = 'm' } }, "
      .. "measure = function() return %s end }"
    for value, what in pairs {
      ["{ 1 }, { m = '3' }"] = "metric m is a string, not a number", ["{ 1, {} }"] = "sample 2 is a table, not",
      ["{ 1, 0 / 0 }"] = "sample 2 is NaN", ["{}"] = "no samples", ["math.huge"] = "an infinite number", ["0 / 0"] = "NaN",
      [""] = "returned nothing; return a number", ["true"] = "returned a boolean", ["'text'"] = "returned a string",
      ["nil, 'not today'"] = "no cell was measured: not today", ["nil, (require 'pmlua'.event.parse 'nosuch')"] = "nothing",
      ["pml.eventset.open { 'nosuch' } and 1"] = "the last refusal was: [^\n]*nosuch",
      ["pml.eventset.open { 'nosuch' }"] = "no cell was measured: [^\n]*nosuch",
    } do
      for _, warmup in ipairs { 0, 1 } do
        local script_text = "local pml = require 'pmlua'\n" .. text:format(value):gsub("warmup = 0", "warmup = " .. warmup)
        local code, out, err = command(script_text, "--quiet")
        assert.equal(1, code, value)
        assert.matches("^pmlua: [^\n]*script%.lua:2: [^\n]*" .. what .. "[^\n]*\n$", err)
        assert.matches("failed, 0 samples", out)
      end
    end
  end)

  it("closes and marks its folder when the script calls os.exit", function()
    for _, how in ipairs { { "3", 3 }, { "true", 1 }, { "", 1 }, { "7, true", 7 } } do
      local code, _, err, dir = command(([[
        return require 'pmlua'.experiment { name = 'demo', warmup = 0, repeats = 8, rounds = 4, measure = function()
          calls = (calls or 0) + 1
          if calls == 5 then os.exit(%s) end
          return calls
        end }]]):format(how[1]), "--quiet")
      assert.equal(how[2], code)
      assert.matches("script%.lua:3: os%.exit was called in an experiment %(demo: cell all, round 3%)\n$", err)
      local opened = assert(results.open(dir .. "/demo/latest"))
      assert.same({ "failed", "incomplete", 4 }, { opened.status, opened.data.status, opened.data.rows[1].samples })
      assert.matches("called os%.exit", opened.meta.error)
      assert.equal(5, select(2, csv(opened.path):gsub("\n", "")))
      assert.equal(0, (support.shell("gzip -t " .. opened.path .. "/samples.csv.gz")))
    end
  end)

  it("is refused with unknown options and bad numbers: one line, status 2, nothing written", function()
    local path, dir = script "return require 'pmlua'.experiment { name = 'demo', measure = function() return 1 end }"
    for _, arguments in ipairs { "--nope", "--seed x", "--rounds 0", "--iterations 1.5", "--iterations", "extra" } do
      local code, out, err = support.pmlua(("%s -o %s/out %s"):format(path, dir, arguments))
      assert.equal(2, code, arguments)
      assert.equal("", out)
      assert.matches("^pmlua: [^\n]+\nsee 'pmlua [^\n]+ %-%-help'\n$", err)
    end
    assert.is_nil(lfs.attributes(dir .. "/out", "mode"))
  end)

  it("accepts negative numbers as values", function()
    local said = { 'return require "pmlua".experiment { name = "demo", measure = function() return 1 end,',
      'options = { { name = "shift", type = "number", default = 0 } },',
      'analyse = function(run) run:say("shift " .. run.options.shift) end }' }
    local path, dir = script(table.concat(said, "\n"))
    for _, given in ipairs { "--shift -3", "--shift=-3" } do
      local out, err = support.done(support.pmlua(("%s -o %s/out --quick --no-plot %s"):format(path, dir, given)))
      assert.matches("shift %-3", out .. err)
    end
  end)

  it("takes the rest of the command line as a command, from -- or the first word on, if it declares one", function()
    for line, words in pairs {
      ["--quiet --size 3 -- --quick 'a b'"] = "--quick|a b", ["--quiet --size 3 true --size 4"] = "true|--size|4",
      ["--quiet --size=3"] = "", ["--size 3 --quiet --"] = "",
    } do
      local code, out, err = command([[return require "pmlua".experiment { name = "demo", command = "CMD [ARGS]",
        options = { { name = "size", type = "integer" } }, measure = function(_, _, _, o)
          assert(o.size == 3)
          io.write("<", table.concat(o.command, "|"), ">")
          return 1
        end, repeats = 1, warmup = 0 }]], "--no-plot " .. line)
      assert.equal(0, code, err)
      assert.truthy(out:find("<" .. words .. ">", 1, true), line .. ": " .. out)
    end
    local out = support.done(command([[return require "pmlua".experiment { name = "demo", command = "CMD [ARGS]",
      measure = function() return 1 end }]], "--help"))
    assert.matches("%[OPTIONS%] %[%-%-%] CMD %[ARGS%]", out)
  end)

  it("explains itself with --help", function()
    local out = support.done(command([[return require "pmlua".experiment { name = "demo", measure = function() return 1 end,
      options = { { name = "width", type = "integer", default = 640, help = "of the picture" } } }]], "--help"))
    assert.matches("%-%-width N +of the picture %(default: 640%)", out)
    assert.matches("\nexamples:\n", out)
    for _, o in ipairs { "quick", "out", "no%-plot", "json", "seed", "rounds", "iterations", "quiet" } do
      assert.matches("%-%-" .. o, out)
    end
  end)

  it("runs code given with -e", function()
    local dir = support.folder()
    local text = "return pml.experiment { name = 'demo', unit = 's', measure = function() error 'boom' end }"
    local code, _, err = support.shell(("cd %s && %s/pmlua -e %s"):format(dir, support.build, support.quote(text)))
    assert.equal(1, code)
    assert.matches("%(command line%):1: boom", err)
    assert.equal("failed", assert(results.open(dir .. "/results/demo/latest")).status)
  end)

  it("prints JSON and nothing else on stdout with --json", function()
    local out = support.done(command([[return require "pmlua".experiment { name = "demo", factors = { k = { 1, 2 } }, unit = "ns",
      constraints = function(p) return p.k == 1 or "needs a PMU" end,
      analyse = function(run) run:say "text" end, measure = function() return 3 end }]], "--json --quick --seed 5"))
    local summary = assert(json.decode(out))
    assert.equal("complete", summary.status)
    assert.equal(5, summary.seed)
    assert.equal(3, summary.cells[1].median)
    assert.equal(10, #summary.cells[1].round_medians)
    assert.equal("needs a PMU", summary.cells[2].status)
  end)

  it("reports in one line that a folder cannot be written, before it measures", function()
    local path, dir = script "return require 'pmlua'.experiment { name = 'demo', measure = function() error 'measured' end }"
    support.spit(dir .. "/file", "")
    for _, out_dir in ipairs { dir .. "/file", "/proc/nothing" } do
      local code, out, err = support.pmlua(("%s --quiet -o %s"):format(path, out_dir))
      assert.equal(1, code)
      assert.equal("", out)
      assert.matches("^pmlua: cannot make the folder [^\n]+\n$", err)
    end
  end)

  it("raises no error when the trace cannot be written, and continues", function()
    local r = run { trace_events = { "no-such-event" } }
    assert.equal("complete", r.status)
    assert.matches("trace: .*no%-such%-event", table.concat(r.meta.warnings, "\n"))
  end)

  it("keeps further results of measure as metrics, with their medians and intervals", function()
    local calls = 0
    local r = run({ rounds = 6, repeats = 6, metrics = { { name = "faults" }, { name = "size", unit = "bytes" } },
      factors = { k = { 1, 2 } }, measure = function(_, p)
        calls = calls + 1
        return p.k, { faults = 10 * p.k, size = calls > 10 and 7 or nil, other = 5 }
      end })
    local opened = assert(results.open(r.dir))
    local row = opened.data.rows[2]
    assert.same({ 20, 20, 20 }, { row.faults, row.faults_lo, row.faults_hi })
    assert.equal("bytes", opened.data.columns[opened.data.position.size].unit)
    assert.same({ 7, nil }, { row.size, row.size_lo }) -- too few rounds had it
    assert.equal(10, opened.rounds.rows[1].faults)
    assert.is_nil(opened.rounds.position.other)
    assert.matches("\n1,[^\n]*,10,10,10,", output.csv(r))
    assert.same({ median = 20, low = 20, high = 20 }, json.decode(output.json(r)).cells[2].metrics.faults)
    assert.is_false(pcall(define, { metrics = { { name = "a" } }, factors = { a_lo = { 1 } } }))
  end)

  it("ends after the round in which its budget is used up, but not before the minimum of rounds", function()
    local r = run { repeats = 1000, rounds = 1000, budget = { seconds = 0, rounds = 7 } }
    assert.same({ "complete", 7, 7, 7 }, { r.status, r.meta.rounds_done, r.rounds, r.repeats })
    assert.equal(7, assert(results.open(r.dir)).data.rows[1].samples)
    assert.equal(20, run({ repeats = 20, rounds = 20, budget = { seconds = 1000, rounds = 7 } }).meta.rounds_done)
  end)
end)
