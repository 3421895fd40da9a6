-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/report_spec.lua - tests of pmlua report: section logs merged, printed and drawn.

local support = require "spec.core.support"
local it = support.it
local quote = support.quote
local json = require "pmlua.json"

local cells = support.cells
local command = support.build .. "/pmlua"

local function pmlua(arguments) return support.shell(command .. " report " .. arguments) end

local file = require "spec.lua.section_log".of

local function tabs(text) return (text:gsub(" +", "\t")) end

--- Rank 0 has two threads, rank 1 one. Times: solve 100 ms in 4 calls, halo 20 ms in 2 on rank 0, 10 ms in 1 on rank 1,
--- all takes 300 ms (inclusive), of which 170 ms are exclusive.
local rank0 = tabs [[
section all calculation inclusive none
row 1 0 1 200e6 120e6 200e6 200e6 200e6 0 0 0
section solve calculation exclusive none
event task-clock integer
row 1 0 2 40e6 40e6 10e6 30e6 20e6 14142135.623730951 2e6 2
values 40000000
row 2 0 1 20e6 20e6 20e6 20e6 20e6 0 1e6 1
values 18000000
section halo communication exclusive none
row 1 0 2 20e6 20e6 10e6 10e6 10e6 0 4096 2
misuse unmatched 3
]]
local rank1 = tabs [[
section all calculation inclusive none
row 1 1 1 100e6 50e6 100e6 100e6 100e6 0 0 0
section solve calculation exclusive none
event task-clock integer
row 1 0 1 40e6 40e6 40e6 40e6 40e6 0 1e6 1
values 40000000
section halo communication exclusive none
row 1 0 1 10e6 10e6 10e6 10e6 10e6 0 2048 1
]]

local function known()
  local dir = support.folder()
  support.spit(dir .. "/rank0.node.7.pmlog", file({ rank = 0, size = 2 }, rank0))
  support.spit(dir .. "/rank1.node.8.pmlog", file({ rank = 1, size = 2, pid = 8 }, rank1))
  support.spit(dir .. "/other.txt", "not one of them")
  return dir
end

describe("A report of known files", function()
  it("adds calls and work, averages times over ranks, names the slowest, and marks inclusive sections", function()
    local out = support.quiet(pmlua(quote(known())))
    assert.matches("^2 processes %(ranks 0 to 1%) on 1 host, 3 threads: %./solver %-n 4\n", out)
    -- exclusive time: 100 ms + 30 ms
    assert.same({ "solve", "4", "50.00 ms", "76.9", "50.00 ms", "25.00 ms", "10.00 ms", "40.00 ms", "12.91 ms", "4.000 MFLOP",
      "40.00 MFLOPS", "1.200", "0" }, cells(out, "solve"))
    assert.same({ "halo", "3", "15.00 ms", "23.1", "15.00 ms", "10.00 ms", "10.00 ms", "10.00 ms", "0 s", "6.144 kB",
      "204.8 kB/s", "1.333", "0" }, cells(out, "halo"))
    assert.same({ "all (*)", "2", "150.0 ms", "-", "85.00 ms", "150.0 ms", "100.0 ms", "200.0 ms", "70.71 ms", "-", "-",
      "1.333", "0" }, cells(out, "all"))
    assert.matches("\nmisuse: halo: unmatched, 3 times: stopped without a start\n", out)
    assert.matches("\nopen: all %(%*%): 1 call had not stopped; not included\n", out)
  end)

  it("shows no byte of a file that is no text", function()
    local path = support.spit(support.folder() .. "/f", file({ command = "a\xffb\27" },
      (rank0:gsub("halo", "ha\xfe\x1blo"):gsub("task%-clock", "task\xff"))))
    for _, form in ipairs { "--detail --threads --legend", "--json", "--csv" } do
      local out = support.done(pmlua(path .. " " .. form))
      assert.truthy(utf8.len(out))
      assert.falsy(out:gsub("\n", ""):find("%c"))
    end
  end)

  it("sorts by time, calls or label", function()
    local dir = known()
    local function order(by)
      local _, out = pmlua(quote(dir) .. " --csv " .. by)
      local list = {}
      for label in out:gmatch("\n(%a+),c") do list[#list + 1] = label end
      return table.concat(list, " ")
    end
    assert.same({ "all solve halo", "all solve halo", "solve halo all", "all halo solve" },
      { order "", order "--sort time", order "--sort=calls", order "--sort label" })
  end)

  it("explains its columns, events and metrics", function()
    local _, out = pmlua(quote(known()) .. " --legend")
    for _, line in ipairs { "%(%*%)  +inclusive", "SIGMA is the standard deviation", "share of the time of all exclusive",
      "task%-clock: %a+", "USER rate_per_cpu_second: in flop/s" } do assert.matches(line, out) end
    assert.same({ "solve", "task-clock", "98000000", "2.45e+07", "980.0 M" }, cells(out:match("\nevents\n(.*)"), "solve"))
    -- 4e6 operations in 0.098 s on the CPU
    assert.matches("USER +rate_per_cpu_second +40%.82 MFLOPS", out)
    assert.matches("CYCLE +cpus +0%.980", out)
  end)

  it("has everything in JSON", function()
    local out = support.done(pmlua(quote(known()) .. " --json"))
    local r = assert(json.decode(out))
    local solve
    for _, s in ipairs(r.sections) do solve = s.label == "solve" and s or solve end
    assert.same({ 0.13, "exclusive", 2, 3, "rank 1", 1 }, { r.total_s, r.total_of, #r.processes, #r.sections,
      r.processes[2].name, r.processes[2].rank })
    assert.same({ 4, 0.1, 0.05, 4e6, 4e7, 1.2, true, "operation" }, { solve.calls, solve.time_s, solve.time_average_s, solve.work,
      solve.rate, solve.imbalance, solve.exclusive, solve.unit })
    assert.same({ 98000000, 3, 2, "rank 0" }, { solve.events["task-clock"], #solve.threads, #solve.processes,
      solve.threads[2].process })
    assert.same({ 2, 0.018, 0.01, 0.03 }, { solve.threads[2].thread, solve.threads[2].events["task-clock"] / 1e9,
      solve.threads[1].min_s, solve.processes[1].max_s })
    assert.truthy(math.abs(solve.stddev_s - math.sqrt(500 / 3) / 1000) < 1e-12)
  end)

  it("reads a log with many sections once, with the same figures: calls, work, events and quantiles of each", function()
    local dir = support.folder()
    support.spit(dir .. "/many.lua", [[
      local section = require "pmlua".section
      for i = 1, 100 do
        assert(section.define { label = "l" .. i, record = i % 2 == 0 and "all" or i % 5 == 0 and "sketch" or nil,
          events = i % 3 == 0 and { "clock::ns" } or nil })
      end
      for _ = 1, 20 do
        for i = 1, 100 do assert(section.start("l" .. i)) assert(section.stop("l" .. i, { operations = i })) end
      end
    ]])
    assert.equal(0, (support.shell(("PMLUA_REPORT=%s %s %s"):format(quote(dir .. "/out"), command, quote(dir .. "/many.lua")))))
    local _, text = pmlua("--json " .. quote(dir .. "/out"))
    local all = json.decode(text)
    assert.are.equal(100, #all.sections)
    for _, s in ipairs(all.sections) do
      local i = math.tointeger(tonumber(s.label:match "^l(%d+)$"))
      local row, thread = s.processes[1], s.threads[1]
      assert.are.same({ 1, 1, 20, 20, 20 * i, 20 * i },
        { #s.processes, #s.threads, row.calls, thread.calls, row.work, thread.work })
      assert.are.equal(s.time_s, row.time_s)
      assert.are.equal(i % 3 == 0, row.events ~= nil)
      assert.are.equal(i % 2 == 0 or i % 5 == 0, s.quantiles ~= nil and #s.quantiles == 1)
      if i % 2 == 0 then assert.are.equal(row.max_s, s.quantiles[1].max_s) end
    end
  end)

  it("gives one table as CSV", function()
    local _, out = pmlua(quote(known()) .. " --csv")
    assert.matches("^section,type,exclusive,calls,running,time_s,share,self_s,mean_s,min_s,max_s,stddev_s,work,iterations,"
      .. "rate,work_source,task%-clock\n", out)
    assert.matches("\nsolve,calculation,yes,4,0,0%.1,0%.769230769230769,0%.1,0%.025,0%.01,0%.04,0%.0129099444873%d+,4000000,4,"
      .. "40000000,program,98000000\n", out)
    assert.matches("\nall,calculation,no,2,1,0%.3,,0%.17,0%.15,0%.1,0%.2,0%.0707106781186%d+,0,0,,,\n", out)
    _, out = pmlua(quote(known()) .. " --csv --threads")
    assert.matches("\nsolve,calculation,yes,rank 0,2,1,0,0%.02,0%.25,", out)
    _, out = pmlua(quote(known()) .. " --csv --detail") -- shares refer to rank 0's 80 ms of exclusive time
    assert.matches("\nsolve,calculation,yes,rank 0,3,0,0%.06,0%.75,", out)
  end)

  it("takes shares of self time if no section is exclusive", function()
    local path = support.spit(support.folder() .. "/f", file({}, tabs [[
section outer calculation inclusive none
row 1 0 1 100 25 100 100 100 0 0 0
section inner calculation inclusive none
row 1 0 1 75 75 75 75 75 0 0 0
]]))
    local _, out = pmlua(path .. " --legend")
    assert.equal("25.0", cells(out, "outer")[4])
    assert.equal("75.0", cells(out, "inner")[4])
    assert.matches("none is exclusive", out)
  end)

  it("names missing ranks, and reports programs that differ", function()
    local path = support.spit(support.folder() .. "/a.pmlog", file({ rank = 3, size = 7, command = "a" }, rank1))
    local other = support.spit(support.folder() .. "/b.pmlog", file({ rank = 0, size = 7, command = "b" }, rank0))
    local _, out = pmlua(path .. " " .. other)
    assert.matches("note: ranks without a file, of 7: 1 to 2, 4 to 6\n", out)
    assert.matches("note: these are different programs: b and a\n", out)
  end)

  it("takes the formulas of the requested PMU", function()
    local path = support.spit(support.folder() .. "/f", file({}, tabs [[
section s calculation exclusive none
event FP_ARITH_INST_RETIRED:SCALAR_SINGLE integer
event FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE integer
event FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE integer
event FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE integer
event FP_ARITH_INST_RETIRED:SCALAR_DOUBLE integer
event FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE integer
event FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE integer
event FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE integer
row 1 0 1 1e9 1e9 1e9 1e9 1e9 0 100 1
values 0 0 0 0 10 20 30 0
]]))
    local _, out = pmlua(path .. " --pmu skx")
    assert.matches("\nmetrics of skx\n", out)
    -- 10 + 2 * 20 + 4 * 30 = 170 operations where the source counted 100
    assert.matches("USER +ratio +1%.700", out)
    assert.matches("USER +difference +70%.00 FLOP", out)
    local status, _, err = pmlua(path .. " --pmu nosuch")
    assert.equal(1, status)
    assert.matches("^pmlua report: no event groups for a PMU called nosuch; choose one of [^\n]+\n$", err)
  end)
end)

describe("Labels of any bytes", function()
  it("go through a file and are shown as text that tells them apart", function()
    local code = [[
local pml = require "pmlua"
local labels = { "tab\there", "line\nfeed", "quote\"and,comma", "back\\x41", "backA", "\x01\x7f", "bad\xff\xfe", "Größe µ",
  "\27[31mred", "pct%d%s", "\xc2\x9b", ("x"):rep(5000), "#", "  ", "(*)" }
for i, label in ipairs(labels) do
  local s = assert(pml.section.define { label = label })
  for _ = 1, i do s:start() s:stop() end
end
assert(pml.section.write(arg[1]))
local p = assert(pml.sections.read(arg[1]))
assert(#p.sections == #labels)
for i, label in ipairs(labels) do assert(p.sections[i].label == label and p.sections[i].rows[1].count == i) end
]]
    local dir = support.folder()
    support.spit(dir .. "/odd.lua", code)
    local status, _, err = support.shell(("%s %s/odd.lua %s/f"):format(command, dir, dir))
    assert.same({ 0, "" }, { status, err })
    local out
    status, out = pmlua(dir .. "/f")
    assert.equal(0, status)
    assert.falsy(out:gsub("\n", ""):find("%c"))
    assert.truthy(utf8.len(out))
    for _, text in ipairs { "tab\\x09here", "back\\\\x41", "bad\\xff\\xfe", "Größe µ (*)", "\\x1b[31mred", "\\xc2\\x9b (*)" } do
      assert.truthy(out:find(text, 1, true), text)
    end
    _, out = pmlua(dir .. "/f --csv")
    assert.truthy(out:find('\n"quote""and,comma",calculation,no,3,', 1, true))
  end)
end)

describe("An impossible report", function()
  local function refused(arguments)
    local status, out, err = pmlua(arguments)
    assert.same({ 1, "" }, { status, out })
    return err:match("^pmlua report: ([^\n]+)\n$") or error("not one line: " .. err)
  end

  it("is an empty folder, a file that is not there, or a rank that is there twice", function()
    local dir = support.folder()
    assert.equal(("%s: no *.pmlog file in this folder; run the program with PMLUA_REPORT=%s"):format(dir, dir),
      refused(dir))
    assert.matches("^" .. dir:gsub("%p", "%%%0") .. "/x: no such file or folder", refused(dir .. "/x"))
    assert.equal(dir .. "/x: no such file or folder", refused(dir .. "/x " .. dir))
    support.spit(dir .. "/a.pmlog", file({ rank = 1 }, rank1))
    support.spit(dir .. "/b.pmlog", file({ rank = 1, pid = 9 }, rank1))
    assert.equal(("rank 1 is in two files, %s/a.pmlog and %s/b.pmlog (of two runs?); name the files of one run")
      :format(dir, dir), refused(dir))
    support.spit(dir .. "/a.pmlog", file({ rank = 1, born = 5, ended = 0 }, rank1))
    support.spit(dir .. "/b.pmlog", file({ rank = 1, born = 6 }, rank1))
    assert.matches("^rank 1 is in two files", refused(dir))
    support.spit(dir .. "/b.pmlog", file({ rank = 1, born = 5 }, rank1))
    assert.equal(0, (pmlua(dir))) -- one process, which became another program
    support.spit(dir .. "/b.pmlog", file({ rank = 2 }, (rank1:gsub("exclusive", "inclusive"))))
    assert.matches("section solve has another exclusiveness than in", refused(dir))
    support.spit(dir .. "/none", file({}, ""))
    assert.equal(dir .. "/none: no section, counter or recorder was used", refused(dir .. "/none"))
    support.spit(dir .. "/one", file({}, rank1))
    assert.matches("/one: no timeline; also set PMLUA_REPORT_TIMELINE=on for the program",
      select(3, pmlua(("%s/one --timeline %s/t.svg"):format(dir, dir))))
    assert.matches("one table", select(3, pmlua(("%s/one --csv --detail --threads"):format(dir))))
    assert.matches("/no/p%.svg: No such file or directory\n$", select(3, pmlua(("%s/one --plot %s/no/p.svg"):format(dir, dir))))
  end)
end)

describe("A timeline", function()
  local function calls(events, regions)
    local list, open = require "pmlua.internal.report.timeline".calls({ events = events }, regions or { "a", "b" })
    local out = {}
    for i, c in ipairs(list) do out[i] = { c.name, c.first, c.last, c.depth } end
    return out, open
  end
  local function enter(ns, region) return { ns = ns, region = region, leave = false } end
  local function leave(ns, region) return { ns = ns, region = region, leave = true } end

  it("pairs enters and leaves, nested and cut", function()
    assert.same({ { "b", 2, 3, 1 }, { "a", 1, 5, 0 } }, (calls { enter(1, 1), enter(2, 2), leave(3, 2), leave(5, 1) }))
    local cut, open = calls { leave(1, 1), enter(2, 1), enter(4, 2) }
    assert.same({ { { "b", 4, 4, 1 }, { "a", 2, 4, 0 } }, 2 }, { cut, open })
  end)

  it("joins the sections of a depth that are too short to see, under the name with the longest time", function()
    local boxes = require "pmlua.internal.report.timeline".boxes
    local long = { { first = 0, last = 20, name = "a", depth = 0 }, { first = 5, last = 15, name = "b", depth = 1 } }
    assert.same({ { first = 0, last = 20, name = "a" } }, boxes(long, 0, 10))
    assert.same({ { first = 5, last = 15, name = "b" } }, boxes(long, 1, 10))
    local short = {}
    for i = 0, 19 do
      short[#short + 1] = { first = i * 10, last = i * 10 + 7, name = "a", depth = 0 }
      short[#short + 1] = { first = i * 10 + 7, last = i * 10 + 9, name = "b", depth = 0 }
    end
    assert.same({ { first = 0, last = 200, name = "a" } }, boxes(short, 0, 50))
  end)
end)
