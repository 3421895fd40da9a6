-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/bench_spec.lua - tests of pmlua bench: commands with a known difference, and commands that fail.

local counting = require "spec.lua.counting"
local support = require "spec.core.support"

local json = require "pmlua.json"
local quote = support.quote
local results = require "pmlua.results"

--- Run it in a new folder: status, output, errors, the folder.
local function bench(arguments, dir)
  dir = dir or support.folder()
  local status, out, err = support.shell(("cd %s && %s/pmlua bench --no-plot -q %s"):format(quote(dir), support.build, arguments))
  return status, out, err, dir
end

--- The measured results, decoded.
local function measured(arguments, dir)
  local status, out, err, where = bench("--json " .. arguments, dir)
  assert(out:find "^{", err)
  return json.decode(out), status, where
end

local function lines(path)
  local list = {}
  for line in io.lines(path) do list[#list + 1] = line end
  return list
end

describe("pmlua bench", function()
  it("finds the slower command in either order, and its ratio", function()
    local r, status = measured("-r 8 'sleep 0.02' 'sleep 0.2'")
    assert.equal(0, status)
    local c = r.comparisons[1].cells[1]
    assert.same({ "sleep 0.02", "sleep 0.2" }, { c.level_a, c.level_b })
    assert.matches("^slower by ", c.verdict)
    assert.is_true(c.low <= c.ratio and c.ratio <= c.high and c.low > 1)
    assert.is_true(r.cells[1].min >= 20e6 and r.cells[2].min >= 200e6) -- a sleep is never shorter than requested
    assert.same({ 8, 8 }, { r.cells[1].n, r.cells[2].n })
    c = measured("-r 8 'sleep 0.2' 'sleep 0.02'").comparisons[1].cells[1]
    assert.matches("^faster by ", c.verdict)
  end)

  it("calls a command neither slower nor faster than itself", function()
    local r = measured("-r 8 --threshold 50 'sleep 0.1' 'sleep 0.1'")
    assert.same({ "sleep 0.1", "sleep 0.1 (2)" }, { r.cells[1].factors.command, r.cells[2].factors.command })
    local verdict = r.comparisons[1].cells[1].verdict
    assert.is_true(verdict == "same" or verdict:find "^cannot tell" == 1, verdict)
  end)

  counting.it("compares the compiler's counts exactly", function()
    local program = counting.build { ["a.c"] = [[
#include <stdlib.h>
int main(int argc, char **argv) {
  volatile double v = 1;
  for (int i = atoi(argv[argc - 1]); i > 0; i--) v = v * 1.5;
  return 0;
}
]] }
    local event = "sde:::BYFL::flop_count_I"
    local r = measured(("-r 5 -e %s -P n=1000,3000,3000.5 '%s {n}'"):format(event, program))
    for i, flops in ipairs { 1000, 3000, 3000 } do
      assert.same({ median = flops, low = flops, high = flops }, r.cells[i].metrics[event])
    end
    local cells = r.comparisons[2].cells
    assert.same({ event, "more by 200 %", 3, 3, 3 },
      { r.comparisons[2].metric, cells[1].verdict, cells[1].ratio, cells[1].low, cells[1].high })
  end)

  support.with "valgrind" ("compares what a simulation counts, which of one command is the same each time", function()
    local r = measured("-r 5 -w 0 -e sim::Ir true true 'expr 1 + 1'")
    local first = r.cells[1].metrics["sim::Ir"]
    assert.is_true(first.median > 10000)
    assert.same(first, r.cells[2].metrics["sim::Ir"])
    assert.same({ "same", 1, 1, 1 }, { r.comparisons[2].cells[1].verdict, r.comparisons[2].cells[1].ratio,
      r.comparisons[2].cells[1].low, r.comparisons[2].cells[1].high })
    assert.matches("^more by ", r.comparisons[2].cells[2].verdict)
  end)

  it("counts the kernel's events in a command and all its children", function()
    local r = measured([[-r 5 -e minor-faults,page-faults --shell sh ':' 'for i in 1 2 3 4 5 6 7 8; do /bin/true; done']])
    local alone, with = r.cells[1].metrics["minor-faults"].median, r.cells[2].metrics["minor-faults"].median
    assert.is_true(with > alone + 8 * 20, ("%d with children, %d without"):format(with, alone))
    assert.matches("^more by ", r.comparisons[2].cells[1].verdict)
    assert.is_truthy(r.cells[1].metrics["page-faults"])
  end)

  it("runs every combination of commands and parameters equally often, in an order that its seed repeats", function()
    local line = "-r 6 -w 0 --seed %d -P a=1,2 -P b=x,y 'echo {a} {b} {c}' -n E 'true' -P c=7"
    local r, _, dir = measured(line:format(5))
    assert.equal(8, #r.cells)
    for _, cell in ipairs(r.cells) do assert.equal(6, cell.n) end
    assert.same({ a = 2, b = "y", c = 7, command = "E" }, r.cells[4].factors)
    assert.equal(4, #r.comparisons[1].cells)
    assert.equal("a=1 b=x", r.comparisons[1].cells[1].label)
    local function order(seed)
      local where = seed and select(3, measured(line:format(seed))) or dir
      local positions = {}
      for i, row in ipairs(assert(results.open(where .. "/results/bench/latest")).rounds.rows) do positions[i] = row.position end
      return positions
    end
    assert.same(order(), order(5))
    assert.is_false(pcall(assert.same, order(), order(6)))
  end)

  it("compares the values of a parameter if there is one command, or if --by names it", function()
    local r = measured("-r 5 -P t=0.02,0.2 'sleep {t}'")
    assert.equal("t", r.by)
    assert.same({ "0.02", "0.2" }, { r.comparisons[1].cells[1].level_a, r.comparisons[1].cells[1].level_b })
    assert.matches("^slower", r.comparisons[1].cells[1].verdict)
    r = measured("-r 5 --by t -P t=0.02,0.2 'sleep {t}' 'sleep 0{t}'")
    assert.same({ "command=sleep {t}", "command=sleep 0{t}" },
      { r.comparisons[1].cells[1].label, r.comparisons[1].cells[2].label })
  end)

  it("calls prepare before each run, setup and cleanup once for each combination, none of them measured", function()
    local dir = support.folder()
    local log = "echo %s {x} >>" .. dir .. "/log"
    local r = measured(("-r 5 -w 2 -P x=1,2 --setup %s --prepare %s --cleanup %s 'test -s %s/log' -e page-faults")
      :format(quote(log:format "setup"), quote("sleep 0.1; " .. log:format "prepare"), quote(log:format "cleanup"), dir), dir)
    local seen = {}
    for i, line in ipairs(lines(dir .. "/log")) do
      seen[line] = (seen[line] or 0) + 1
      if i == 1 then assert.equal("setup 1", line) end
    end
    assert.same({ ["setup 1"] = 1, ["setup 2"] = 1, ["prepare 1"] = 7, ["prepare 2"] = 7, ["cleanup 1"] = 1,
      ["cleanup 2"] = 1 }, seen)
    assert.is_true(r.cells[1].min < 100e6 or r.cells[2].min < 100e6, "one of ten runs takes less than what prepares it")
  end)

  it("fails when a hook fails, and cleans up anyway", function()
    local dir = support.folder()
    local status, out, err = bench("--setup 'echo no disk >&2; exit 4' --cleanup 'touch done' true", dir)
    assert.same({ 1, "" }, { status, out })
    assert.equal("pmlua bench: --setup 'echo no disk >&2; exit 4': exit status 4 (no disk)\n", err)
    assert.is_truthy(io.open(dir .. "/done"))
  end)

  it("counts an exit status other than 0 as a failure, and measures the rest", function()
    local r, status = measured("-r 5 true false nosuchcommand 'sh -c \"echo late >&2; kill -9 $$\"'")
    assert.equal(1, status)
    assert.same({ "ok", "exit status 1", "ended by signal 9 (late)" },
      { r.cells[1].status, r.cells[2].status, r.cells[4].status })
    assert.matches("^exit status 127 %(.*nosuchcommand.*not found%)$", r.cells[3].status)
    assert.same({ 5, 0 }, { r.cells[1].n, r.cells[2].n })
    assert.matches("^cannot tell %(not measured in B%)", r.comparisons[1].cells[1].verdict)
    r, status = measured("-r 5 --ignore-failure true false")
    assert.same({ 0, "ok", 5 }, { status, r.cells[2].status, r.cells[2].n })
    local out, err
    status, out, err = support.pmlua("bench -r 5 --no-plot -o " .. support.folder() .. " false")
    assert.equal(1, status)
    assert.matches("exit status 1", out)
    assert.matches("pmlua: bench: no cell was measured: exit status 1 ", err, 1, true)
    assert.matches("measure it nevertheless with --ignore-failure", err, 1, true)
  end)

  it("runs without a shell if possible, and reports that", function()
    assert.equal("none", measured("-r 1 'true \"a b\"' true").shell)
    assert.equal("sh", measured("-r 1 true 'true | true'").shell)
    assert.equal("sh", measured("-r 1 'exit 0'").shell)
    assert.equal("/bin/sh", measured("-r 1 --shell /bin/sh true").shell)
    local r = measured("-r 1 --shell none 'test a|b = a|b' 'test \"$HOME\" = $HOME'")
    assert.same({ "ok", "ok" }, { r.cells[1].status, r.cells[2].status })
    local words_of = require "pmlua.internal.benchmark".words_of
    assert.same({ "a", "b c", "", "d'e" }, words_of [[a "b c"  '' "d'e"]])
    for _, text in ipairs { "a|b", "a >b", "a $b", 'a "$b"', "a *", "~/a", "a=1 b", "a 'b", "a\nb", "a #b", "a\\ b" } do
      assert.is_nil(words_of(text), text)
    end
    assert.same({ "a#b", "c=~d" }, words_of "a#b c=~d")
  end)

  it("stops when its time is over, but not before five rounds", function()
    local r = measured("--time 1s true")
    assert.is_true(r.cells[1].n >= 5)
    assert.equal(r.rounds, r.cells[1].n)
    assert.equal("complete", r.status)
    assert.equal(5, measured("--time 50ms 'sleep 0.1'").cells[1].n)
  end)

  it("hides the commands' standard error from other users", function()
    local dir = support.folder()
    local script = "cd %s && TMPDIR=$PWD %s/pmlua bench --no-plot -q -w 0 -r 2 "
      .. "'sh -c \"stat -c %%a pmlua-bench-* >>mode; echo >&2\"'"
    support.done(support.shell(script:format(quote(dir), support.build)))
    assert.equal("700\n700\n", support.slurp(dir .. "/mode"))
  end)

  it("keeps its measurements when it is interrupted, marked incomplete", function()
    local dir = support.folder()
    local line = "cd %s && { TMPDIR=$PWD %s/pmlua bench --no-plot -q -w 0 -r 1000 'sleep 0.01' 'test -e four || { echo >>n; "
      .. "test $(wc -l <n) -lt 4 || { touch four; kill -INT $PPID; sleep 60; }; }'; }"
    local status, out, err = support.shell(line:format(quote(dir), support.build))
    assert.equal(1, status)
    assert.matches("bench: interrupted at cell", err)
    assert.matches("\nresults/bench/[^\n]*: interrupted, so incomplete, 3 rounds", out)
    local run = assert(results.open(dir .. "/results/bench/latest"))
    assert.same({ "interrupted", false, 3 }, { run.status, run.complete, run.data.rows[2].samples })
    assert.equal(0, (support.shell(("! ls -d %s/pmlua-bench-* 2>/dev/null"):format(dir))), "its temporary folder is gone")
  end)

  it("prints a table for people, and the same rows as JSON, CSV and Markdown", function()
    local _, out = bench("-r 5 -e page-faults,task-clock 'sleep 0.02' 'sleep 0.2'")
    assert.matches("\ncommand +runs +median %[ms%] +95 %% interval +min +max +user +system +page%-faults +95 %% interval +"
      .. "task%-clock %[ns%] +95 %% interval\n", out)
    assert.matches("\nsleep 0.2 +5 +%d+", out)
    assert.matches("\nsleep 0.02 +sleep 0.2 +time +%d%.%d+ +%d[%d.]+ %.%. %d[%d.]+ +slower by ", out)
    _, out = bench("-r 5 --csv -e page-faults 'sleep 0.02' 'sleep 0.2'")
    local first, a, b = out:match "^([^\n]*)\n([^\n]*)\n([^\n]*)\n$"
    assert.matches("^command,min,q1,median,median_lo,.*,page%-faults,page%-faults_lo,.*,verdict,.*,page%-faults_verdict$", first)
    assert.matches("^sleep 0.02,.*,ok,,,,,,,,,,$", a)
    assert.matches("^sleep 0.2,.*,ok,%d[%d.]*,.*,slower by [%d.]+ %%,", b)
    _, out = bench("-r 5 --markdown 'sleep 0.02' 'sleep 0.02 | true'")
    assert.matches("^| command | runs | median %[ms%] |", out)
    assert.matches("\n| sleep 0.02 \\| true | 5 | ", out, 1, true)
  end)

  it("supports hyperfine's conventions: ranges, a reference, streams, files of results, bounds of runs, a unit", function()
    local r = measured("-r 1 -P n=1..3,5,8..32:x2 -P s=0..1:0.5 'echo {n} {s}'")
    local seen = {}
    for i, cell in ipairs(r.cells) do seen[i] = ("%g %g"):format(cell.factors.n, cell.factors.s) end
    local expected = {}
    for _, n in ipairs { "1", "2", "3", "5", "8", "16", "32" } do
      for _, half in ipairs { "0", "0.5", "1" } do expected[#expected + 1] = n .. " " .. half end
    end
    table.sort(seen)
    table.sort(expected)
    assert.same(expected, seen)

    local dir = support.folder()
    local options = " --export-json all.json --export-csv all.csv --export-markdown all.md --export-asciidoc all.adoc "
      .. "--export-org all.org"
    support.spit(dir .. "/in", "a\nb\n")
    local status, out, err = bench("--seed 3 --time-unit s --min-runs 5 --max-runs 5 -w 0 -N --reference 'sleep 0.1' "
      .. "--fail-on slower:5% --fail-on faster:5% --input in --output out" .. options .. " 'wc -l'", dir)
    assert.equal(1, status) -- faster than the reference
    assert.matches("time of wc %-l: faster by", err)
    assert.matches("median %[s%]", out)
    assert.same({ "2" }, lines(dir .. "/out")) -- wc runs last with this seed
    local all = json.decode(assert(io.open(dir .. "/all.json")):read "a")
    assert.same({ "sleep 0.1", "wc -l" }, { all.cells[1].factors.command, all.cells[2].factors.command })
    assert.same({ 0, 0, 0, 0, 0 }, all.cells[2].exit_statuses)
    assert.equal("command,", lines(dir .. "/all.csv")[1]:sub(1, 8))
    assert.equal("| --- | --- | --- | --- | --- | --- | --- | --- |", lines(dir .. "/all.md")[2])
    assert.equal("|---+---+---+---+---+---+---+---|", lines(dir .. "/all.org")[2])
    assert.same({ "[options=\"header\"]", "|===" }, table.move(lines(dir .. "/all.adoc"), 1, 2, 1, {}))
    status, out = bench("-r 1 --show-output 'echo; echo shown'")
    assert.equal(0, status)
    assert.matches("\nshown\n", out)
  end)

  it("warns of runs that consist mostly of start-up, of a slow first run, and of outliers", function()
    local dir = support.folder()
    local function warnings(command, runs)
      support.shell("rm -f " .. dir .. "/n; : >" .. dir .. "/n")
      local line = "cd %s && %s/pmlua bench --json --no-plot -w 0 -r %d %s"
      local _, out, err = support.shell(line:format(dir, support.build, runs, quote(command)))
      return err, json.decode(out).cells[1].median
    end
    local said, median = warnings("true", 5) -- on a busy machine it may take longer
    assert.equal(median < 5e6, said:find "runs of [%d.]+ ms are mostly the start of a process" ~= nil, said)
    -- The n-th run is one of 30 ms, of which some sleep longer.
    local slow = "echo >>n; case $(wc -l <n) in %s) sleep 0.5;; esac; sleep 0.03"
    assert.matches("the first run was slower than the others", (warnings(slow:format "1", 6)))
    assert.matches("%d+ of 20 runs are outliers", (warnings(slow:format "7|9|12|15", 20)))
  end)

  support.with "gnuplot" ("leaves the folder of a run, which plot and compare read", function()
    local dir = support.folder()
    local line = "cd %s && %s/pmlua bench -q -r 6 -e page-faults -P t=0.02,0.04 'sleep {t}' 'sleep 0{t}; true' "
      .. "'%s %%s \"quoted\"'"
    local status, out = support.shell(line:format(quote(dir), support.build, "echo " .. ("long "):rep(30)))
    assert.equal(0, status)
    assert.matches("\n  plot     results/bench/[^\n]*/plot.svg\n", out)
    local svg = support.slurp(dir .. "/results/bench/latest/plot.svg")
    for _, text in ipairs { "page%-faults", "elapsed time", "sleep {t}, t=0.02", "Compared with sleep {t}" } do
      assert.matches(text, svg)
    end
    status, out = support.shell(("cd %s/results/bench && %s/pmlua compare --json latest latest"):format(dir, support.build))
    assert.same({ 0, 6 }, { status, #json.decode(out).cells })
    status = support.shell(("cd %s && %s/pmlua bench -q -r 2 -P n=1,2,4 'seq {n}' 'seq {n}0'"):format(quote(dir), support.build))
    assert.equal(0, status)
    svg = support.slurp(dir .. "/results/bench/latest/plot.svg")
    for _, text in ipairs { "Commands over n", ">seq {n}<", ">seq {n}0<", ">4<" } do assert.matches(text, svg) end
  end)

  it("names errors in the command line", function()
    for arguments, why in pairs {
      [""] = "no command given", ["true ' '"] = "command 2 is empty", ["ls -l"] = "quote each command, as in 'ls -l'",
      ["-P x true"] = "'x' is not NAME=VALUE,VALUE", ["-P x=1,1 'echo {x}'"] = "has the value 1 twice",
      ["-P x=1 true"] = "--parameter x: no command contains {x}", ["-P user=1 'echo {user}'"] = "a column of the results",
      ["-n a -n b true"] = "2 names for 1 commands", ["-e a,, true"] = "an event's name is empty",
      ["-e sim::Xy true"] = "a simulation has no event 'sim::Xy'", ["--by z true"] = "--by z: neither 'command' nor a parameter",
    } do
      local status, out, err = support.pmlua("bench " .. arguments)
      assert.same({ 2, "" }, { status, out }, arguments)
      assert.is_truthy(err:find(why, 1, true), err)
    end
    local status, _, err = bench "-e nosuch true"
    assert.same({ 1, 'pmlua bench: no event "nosuch"; list the events with pmlua events\n' }, { status, err })
  end)
end)

describe("pml.bench", function()
  local pml = require "pmlua"

  it("finds the number of calls per sample: one for a slow function, many for a fast one", function()
    local slow = assert(pml.bench(function() pml.sys.sleep(0.02) end, { seconds = 0.1 }))
    assert.equal(1, slow.iterations)
    assert.is_true(slow.samples >= 5 and slow.samples == #slow.values)
    assert.is_true(slow.min + slow.empty >= 20e6) -- a sleep is never shorter than requested
    local fast = assert(pml.bench(function() return 1 end, { seconds = 0.1 }))
    assert.is_true(fast.iterations > 100)
    assert.is_true(fast.empty > 0)
    for _, r in ipairs { slow, fast } do assert.is_true(r.low <= r.median and r.median <= r.high and r.min <= r.median) end
    assert.is_true(slow.median > fast.median)
  end)

  it("calls the function in every iteration, keeps its last result, and counts events per call", function()
    local library = pml.sde.library "BENCHED"
    local steps, calls = assert(library:counter "steps"), 0
    local r = assert(pml.bench(function()
      steps:add(3)
      calls = calls + 1
      return calls
    end, { seconds = 0.05, events = { "sde:::BENCHED::steps" } }))
    assert.equal(3, r.counts["sde:::BENCHED::steps"])
    assert.equal(calls, r.result)
    assert.is_true(calls >= r.iterations * r.samples)
    library:shutdown()
  end)

  it("subtracts the empty loop, so that an empty function costs less than any other", function()
    local nothing = assert(pml.bench(function() end, { seconds = 0.2 }))
    local something = assert(pml.bench(function() for _ = 1, 1000 do calls = nil end end, { seconds = 0.2 })) -- luacheck: ignore
    assert.is_true(something.median > nothing.median)
    assert.is_true(math.abs(nothing.median) < something.median)
  end)

  it("has a readable sentence as its text", function()
    local r = assert(pml.bench(function() pml.sys.sleep(0.001) end, { seconds = 0.02, events = { "clock::ns" } }))
    assert.matches("^%d[%d.]* ms a call %(95 %%: %d[%d.]* %.%. %d[%d.]*%), %d+ samples of 1 calls, less %-?%d[%d.]* ns of the "
      .. "empty loop; clock::ns %d+", tostring(r))
  end)

  it("raises misuse and the function's errors, and returns the reason for an event that cannot be counted", function()
    assert.matches("bench: a function expected, got a number", select(2, pcall(pml.bench, 3)))
    assert.matches("bench: unknown option second; did you mean seconds%?$", select(2, pcall(pml.bench, print, { second = 1 })))
    assert.matches("seconds must be a positive number", select(2, pcall(pml.bench, print, { seconds = 0 })))
    assert.matches("planted", select(2, pcall(pml.bench, function() error "planted" end)))
    local r, err = pml.bench(print, { events = { "nosuch" } })
    assert.is_nil(r)
    assert.matches('no event "nosuch"', err)
  end)
end)

describe("Runs that fail", function()
  it("are counted if they are measured nevertheless, and otherwise named", function()
    local dir = support.folder()
    support.spit(dir .. "/f.sh", "n=$(cat cnt 2>/dev/null || echo 0); n=$((n + 1)); echo $n >cnt; \n"
      .. "[ $((n % 5)) -ne 0 ] || exit 3\n")
    local at = ("cd %s && rm -f cnt && %s/pmlua "):format(dir, support.build)
    local status, out, err = support.shell(at .. "bench -i --warmup 0 --runs 10 --no-plot --json -o o 'sh ./f.sh'")
    assert.equal(0, status, err)
    assert.matches("sh ./f.sh: 2 of 10 runs failed and are in the numbers %(the last: exit status 3%)", err .. out)
    assert.matches("2 of 10 runs failed", support.slurp(dir .. "/o/bench/latest/meta.json"))
    status, out = support.shell(at .. "bench --warmup 0 --runs 10 --no-plot --json -o o 'sh ./f.sh'")
    assert.matches("run 5: exit status 3", out, status)
    status, out, err = support.shell(at .. "stat -r 6 -e task-clock -- sh ./f.sh")
    assert.equal(3, status, out)
    assert.matches("1 of 6 runs failed and are in the numbers", err)
    status, out, err = support.shell(at .. "stat -r 4 -e task-clock -- sh ./f.sh")
    assert.same({ 0, nil }, { status, err:match "failed" }, out)
  end)
end)
