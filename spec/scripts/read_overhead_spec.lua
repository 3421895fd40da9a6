-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/read_overhead_spec.lua - tests of the experiment read_overhead, run for real by its command: files, tables, plot,
-- trace.

local tables = require "spec.scripts.tables"
local permission = require "spec.permission"
local support = require "spec.core.support"
local shell, folder, read_table = tables.shell, tables.folder, tables.words

local pmlua = tables.pmlua

local function count(rows, want)
  local n = 0
  for _, row in ipairs(rows) do
    local same = true
    for k, v in pairs(want) do same = same and row[k] == v end
    if same then n = n + 1 end
  end
  return n
end

-- One run serves all checks of what a run leaves.
local out, text, status, dir, seconds
local function run_once()
  if out then return end
  out = folder()
  text, status = shell(("%s scripts/read_overhead.lua --quick --seed 7 -o %s; s=$?; times; exit $s"):format(pmlua, out))
  local m, user, n, system = text:match("(%d+)m([%d.]+)s (%d+)m([%d.]+)s\n$") -- time of child processes
  seconds = m and m * 60 + user + n * 60 + system
  dir = out .. "/read_overhead/latest"
end

describe("scripts/read_overhead.lua --quick", function()
  setup(run_once)

  it("ends well and prints the place of its files", function()
    assert.equal(0, status, text)
    assert.truthy(text:find("plot.svg", 1, true) or not shell("command -v gnuplot"):find "gnuplot", text)
    assert.truthy(text:find "complete", text)
    -- the promise of --quick is 20 s; on a cpu, because others may have it meanwhile
    assert.is_true(seconds > 0 and seconds < 120, "took " .. seconds .. " s")
  end)

  it("has a row for every operation, number of events and path", function()
    local rows = read_table(dir .. "/data.dat")
    assert.equal(1, count(rows, { context = "loop", operation = "empty", path = "none", status = "ok" }))
    for _, operation in ipairs { "start_stop", "read", "read_ts", "accum", "reset" } do
      assert.equal(8, count(rows, { context = "loop", operation = operation, path = "page" }), operation)
      assert.equal(8, count(rows, { context = "loop", operation = operation, path = "group" }), operation)
    end
    assert.equal(8, count(rows, { context = "loop", operation = "read", path = "read" }))
    for _, context in ipairs {
      "sobel/pixel", "stream/element", "stream/copy", "stream/scale", "stream/add", "stream/triad", "lu/panel_init",
      "lu/panel_factorisation", "lu/broadcast", "lu/update",
    } do
      assert.equal(3, count(rows, { context = context, operation = "read", events = "2" }), context)
    end
  end)

  it("measures with this machine's features, and names the cells that need a PMU", function()
    local rows, measured = read_table(dir .. "/data.dat"), 0
    for _, row in ipairs(rows) do
      local where = table.concat({ row.context, row.operation, row.path, row.events }, " ")
      if row.status == "ok" then
        measured = measured + 1
        local min, q1, median = tonumber(row.min), tonumber(row.q1), tonumber(row.median)
        local q3, p95, p99, max = tonumber(row.q3), tonumber(row.p95), tonumber(row.p99), tonumber(row.max)
        assert.is_true(0 < min and min <= q1 and q1 <= median and median <= q3 and q3 <= p95 and p95 <= p99 and p99 <= max,
          where)
        assert.is_true(tonumber(row.samples) > 0, where)
        assert.is_true(row.path_taken == row.path or row.path == "page", where)
      elseif row.path == "page" then
        assert.truthy(row.status:find "^needs a PMU" or row.status:find "ETOOMANY", where .. " " .. row.status)
      end
    end
    assert.is_true(measured > 50, measured .. " cells are measured")
  end)

  it("prints three figures, and writes the tables with their units and the events by their counter", function()
    for _, wanted in ipairs { "ns  to read one event ", "ns  to read 8 events ", "times  faster " } do
      wanted = "\n +[%d.]+ " .. wanted
      assert.truthy(text:find(wanted), wanted)
    end
    local report = assert(io.open(dir .. "/report.txt")):read "a"
    for _, wanted in ipairs {
      "Clock: ", "Table 1. Median cost in the bare loop %[ns%]", "8 events", "Table 2. .*%[ticks%]", "Table 3. ", "msr/tsc/",
      "Table 4. .*each further %[ns%]", "Table 5. ", "Table 6. ", "Table 7. ",
      "lu/update +group +2 +",
    } do
      assert.truthy(report:find(wanted), wanted)
    end
    if pmlua and not shell(pmlua .. " -e 'print(pml.event.has_pmu())'"):find "^true" then
      assert.truthy(report:find("page (needs a PMU)", 1, true))
      assert.truthy(report:find(("are added: %s, "):format(permission.name "perf::TASK-CLOCK"), 1, true), report)
    end
  end)

  it("solves its linear system, finds the same edges everywhere and validates its vectors", function()
    local value = {}
    for _, row in ipairs(read_table(dir .. "/workloads.dat")) do
      value[row.workload .. " " .. row.result] = tonumber(row.value)
    end
    assert.is_true(value["lu residual"] > 0 and value["lu residual"] < 16)
    assert.is_true(value["lu rate"] > 0)
    assert.equal(8978977, value["sobel checksum"])
    assert.equal(480, value["sobel width"])
    assert.is_true(value["stream error"] < 1e-13)
    assert.is_true(value["stream triad_rate"] > 0)
  end)

  it("writes the summary in ticks beside the summary in ns", function()
    local ns, ticks = read_table(dir .. "/data.dat"), read_table(dir .. "/ticks.dat")
    assert.equal(#ns, #ticks)
    local scale
    for i, row in ipairs(ns) do
      if row.status == "ok" then
        scale = scale or tonumber(row.median) / tonumber(ticks[i].median)
        assert.near(scale, tonumber(row.p99) / tonumber(ticks[i].p99), 1e-6 * scale)
      end
    end
  end)

  it("derives speed-ups and the cost of an additional event", function()
    local speedup = read_table(dir .. "/speedup.dat")
    assert.equal(11, #speedup)
    for _, row in ipairs(speedup) do
      assert.near(tonumber(row.read) / tonumber(row.group), tonumber(row.group_speedup), 1e-6)
    end
    assert.is_true(#read_table(dir .. "/slope.dat") >= 10)
  end)

  it("draws a plot", function()
    assert.is_true(tables.drawn(dir))
    if shell "command -v gnuplot" == "" then return pending "gnuplot is not installed" end
    local svg = support.slurp(dir .. "/plot.svg")
    assert.truthy(svg:find("What a counter read costs", 1, true) and svg:find("one read(2) per group", 1, true))
  end)

  it("can be drawn from a run that was cut short after a round", function()
    if shell "command -v gnuplot" == "" then return pending "gnuplot is not installed" end
    local copy = folder()
    shell(("cp %s/*.gp %s/meta.json %s/rounds.dat %s/outliers.dat %s/histogram.dat %s/data.dat %s"):format(
      dir, dir, dir, dir, dir, dir, copy))
    local said, code = shell(("%s plot %s"):format(pmlua, copy))
    assert.equal(0, code, said)
    os.execute("rm -rf " .. copy)
  end)

  it("leaves a trace that the validator accepts, with the phases of the LU factorisation", function()
    local said, code = shell(("/usr/bin/python3 spec/otf2_validate.py %s/traces.otf2"):format(dir))
    if code == 2 then return pending(said) end
    assert.equal(0, code, said)
    local dump = shell(("otf2-print %s/traces.otf2"):format(dir))
    for _, region in ipairs { "panel_init", "panel_factorisation", "broadcast", "update", "sobel", "triad" } do
      assert.truthy(dump:find(region, 1, true), region)
    end
  end)
end)

describe("scripts/read_overhead.lua", function()
  local place = folder()

  it("accepts a picture, sizes and events of the user's choice", function()
    local image = place .. "/step.pgm"
    local f = assert(io.open(image, "wb"))
    f:write("P2 4 3 255 " .. ("0 0 100 100 "):rep(3))
    f:close()
    local said, code = shell(("%s scripts/read_overhead.lua --quick --no-plot --iterations 40 --rounds 2 -o %s --image %s "
      .. "--n 50 --nb 64 --stream-n 1000 --events perf::PAGE-FAULTS,clock::ns,perf::TASK-CLOCK --context-events 3"):format(
      pmlua, place, image))
    assert.equal(0, code, said)
    local latest = place .. "/read_overhead/latest"
    for _, row in ipairs(read_table(latest .. "/workloads.dat")) do
      if row.result == "checksum" then assert.equal("2400", row.value) end
      if row.result == "panels" then assert.equal("1", row.value) end
    end
    local rows = read_table(latest .. "/data.dat")
    assert.equal(3, count(rows, { context = "loop", operation = "read", path = "group", status = "ok" }))
    assert.equal(1, count(rows, { context = "lu/update", path = "group", events = "3", status = "ok" }))
  end)
end)
