-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/counted_spec.lua - tests of pmlua's reports on programs with counts by the compiler: files, stat, choose, record,
-- sections, queries.

local permission = require "spec.permission"
local support = require "spec.core.support"
local it = support.it
local quote = support.quote
local json = require "pmlua.json"

local command = support.build .. "/pmlua"

-- n additions of loaded doubles, in a section, and in a separate library if they are recorded.
local library = [[
double sum(const double *a, int n);
double sum(const double *a, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += a[i];
  return s;
}
]]
local program = [[
#include "adapter/section/pml_section.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
double sum(const double *a, int n);
int main(int argc, char **argv) {
  static double a[1000];
  int times = argc > 1 ? atoi(argv[1]) : 10;
  double s = 0;
  PML_SECTION("sum", section);
  for (int i = 0; i < times; i++) {
    pml_section_start(section);
    s += sum(a, 1000);
    pml_section_stop(section);
  }
  if (argc > 2 && fork() == 0) {
    s += sum(a, 1000);
    _exit(0);
  }
  if (argc > 2) wait(NULL);
  if (argc > 3) fclose(fopen(argv[2], "w")); /* until it may end, at most a minute */
  for (int i = 0; argc > 3 && i < 6000 && access(argv[3], F_OK) != 0; i++) usleep(10000);
  printf("%g\n", s);
  return 0;
}
]]

local folder -- holds the program after it was compiled
local FLOPS, ADD = "sde:::BYFL::flop_count_I", "sde:::BYFL::fp_add_double"

local function cc(at, sources)
  local line = "cd %s && %s cc --count --at=%s -- clang -O2 -I%s/core %s -L%s -lpmlua -Wl,-rpath,%s:%s"
  return support.shell(line:format(quote(folder), quote(command), at, quote(os.getenv "PWD"), sources, quote(support.build),
    quote(support.build), quote(folder)))
end

--- Compile once; nil and why, if that fails.
local function compiled()
  if folder then return true end
  if support.sanitized then return nil, "a program without a sanitizer cannot load libraries that have one" end
  local found, why = require "pmlua.internal.cc.llvm".instrumenter()
  if not found then return nil, why end
  if support.shell "command -v clang" ~= 0 then return nil, "there is no clang" end
  folder = support.folder()
  support.spit(folder .. "/library.c", library)
  support.spit(folder .. "/program.c", program)
  local status, _, err = cc("source", "-fPIC -shared library.c -o libsum.so")
  assert.same({ 0, "" }, { status, err })
  for _, at in ipairs { "source", "final" } do
    status, _, err = cc(at, ("program.c -o %s -L. -lsum"):format(at))
    assert.same({ 0, "" }, { status, err })
  end
  return true
end

--- it(), or pending if programs cannot be compiled with counts.
local function counted(name, f)
  it(name, function()
    local can, why = compiled()
    if can then f() else pending(why) end
  end)
end

local function shell(line, environment)
  return support.shell(("cd %s && env %s %s"):format(quote(folder), environment or "-u NOTHING", line))
end

describe("A program that counts", function()
  counted("prints nothing, and leaves nothing, unless requested", function()
    assert.same({ 0, "0\n", "" }, { shell "./source" })
    local _, files = shell "ls -A"
    assert.equal("final\nlibrary.c\nlibsum.so\nprogram.c\nsource\n", files)
  end)

  counted("is counted by pmlua stat, with the source named", function()
    local status, out, err = shell(quote(command) .. " stat --json -- ./final")
    assert.same({ 0, "" }, { status, permission.unexplained(err) })
    local rows = support.by(json.decode(out:match("{.*}")).counts, "event")
    assert.equal(10 * 1000 + 10, rows[FLOPS].value)
    assert.equal("compiler, some at source, some at final", rows[FLOPS].source) -- its library is at source
    assert.equal("perf_event", (rows[permission.name "page-faults"] or rows[permission.name "minor-faults"]).source)
  end)

  counted("is counted by pmlua stat for the requested events only", function()
    local _, err = support.done(shell(quote(command) .. " stat -e " .. ADD .. ",page-faults -- ./source"))
    assert.matches("\nsde:::BYFL::fp_add_double +10010 +compiler, at source\n", err)
    assert.matches("\nnot counted: the work of libm%.so%.6, which was not compiled with counts\n", err)
    assert.is_nil(err:find("load_count", 1, true))
    assert.matches("\n" .. permission.pattern "page-faults" .. " +%d+ +perf_event\n", err)
  end)

  counted("leaves its counts in the place of the user's choice, under any user", function()
    local _, err = support.done(shell(quote(command) .. " stat -e " .. FLOPS .. " -- ./source", "PMLUA_COUNT=mine"))
    assert.matches("not counted: PMLUA_COUNT is already set: the counts go there\n", err)
    assert.equal(0, (shell(quote(command) .. " choose --pmu generic FLOPS CYCLE/cpus --run -- ./source", "PMLUA_COUNT=mine")))
    local countfile = require "pmlua.countfile"
    assert.equal(2 * 10010, countfile.read_all(folder .. "/mine").events.flop_count_I) -- sum of both runs
    os.execute("rm -f " .. quote(folder) .. "/mine*")
  end)

  counted("has the metrics of pmlua choose beside the metrics of the PMU", function()
    local line = " choose --json --pmu generic FLOPS BANDWIDTH/memory_read --run -- ./source"
    local out = support.done(shell(quote(command) .. line))
    local rows = {}
    for _, row in ipairs(json.decode(out:match("{.*}")).results) do rows[row.name .. " " .. (row.source or "")] = row end
    assert.equal(10010, rows["FLOPS/flop compiler, at source"].value)
    assert.is_truthy(rows["FLOPS/ipc hardware"])
    local intensity = rows["BANDWIDTH/intensity compiler, at source"].value
    assert.is_true(intensity > 0.12 and intensity <= 0.125) -- a flop for 8 bytes, and some bytes of main()
  end)

  counted("is run for its own counts if a PMU has no such event", function()
    local out = support.done(shell(quote(command) .. " choose --pmu zen4 FLOPS --run -- ./source"))
    assert.matches("\nFLOPS/flop +10010 +flop +%- +1 +compiler, at source\n", out)
  end)

  counted("has counts by function when its calls are recorded", function()
    local line = quote(command) .. " record --lib 'libsum*' --event " .. FLOPS .. " -o recorded -- ./source"
    local _, out = support.done(shell(line))
    assert.matches("\nlibsum%.so +sum +10 +[^\n]* 10000 +library\n", "\n" .. out)
    os.execute("rm -rf " .. quote(folder) .. "/recorded")
  end)

  counted("has the computed, moved and reached amounts in the report of its sections", function()
    support.quiet(shell("./source", "PMLUA_REPORT=report"))
    local _, out = shell(quote(command) .. " report --json report")
    local report = json.decode(out)
    local s = report.sections[1]
    assert.same({ "source", "sum", "compiler", 10000 + 10 }, { report.counted, s.label, s.work_source, s.work })
    assert.is_true(math.abs(s.rate - s.work / s.time_s) <= 1e-9 * s.rate)
    local metrics = {}
    for _, m in ipairs(s.metrics) do metrics[m.group .. "/" .. m.name] = m end
    assert.equal(s.work / s.time_s, metrics["FLOPS/flop_rate"].value)
    assert.equal("compiler, at source", metrics["BANDWIDTH/bandwidth"].source)
    local bytes = s.events["sde:::BYFL::load_count_I"] + s.events["sde:::BYFL::store_count_I"]
    assert.is_true(math.abs(metrics["BANDWIDTH/intensity"].value - s.work / bytes) < 1e-12)
    assert.is_true(bytes >= 80000 and bytes < 81000)
    assert.is_nil(metrics["USER/ratio"]) -- a count is not compared with itself
    _, out = shell(quote(command) .. " report report")
    assert.matches("\nsum %(%*%) +10 [^\n]* 10%.01 kFLOP%+ ", out)
    assert.matches("\nnote: WORK marked %(%+%) was not stated by the program: flop counted by the compiler, as", out)
    assert.matches("\nnote: not counted by the compiler: the work of libm%.so%.6, which was not compiled with counts\n", out)
    os.execute("rm -rf " .. quote(folder) .. "/report")
  end)

  counted("counts the known operations of two threads exactly", function()
    local source = os.getenv "PWD" .. "/spec/c/section_report_example.c"
    support.quiet(cc("source", quote(source) .. " -lpthread -o example"))
    assert.equal(0, (shell("./example 24", "PMLUA_REPORT=report")))
    local _, out = shell(quote(command) .. " report --json report")
    local seen = {}
    for _, s in ipairs(json.decode(out).sections) do
      for _, m in ipairs(s.metrics) do
        if m.group == "USER" and m.name == "ratio" then seen[s.label] = m.value end
      end
      if s.label == "sweep" then assert.equal(48 * 4 * 128 * 510, s.events[FLOPS]) end
      if s.label == "residual" then assert.equal(12 * 7 * 128 * 510, s.events[FLOPS]) end
    end
    assert.same({ sweep = 1, residual = 1 }, seen) -- an exchange has no work in flop
    os.execute("rm -rf " .. quote(folder) .. "/report " .. quote(folder) .. "/example")
  end)

  counted("has its counts in a trace that names them, and is no loss to a trace without them", function()
    local workload = support.build .. "/workloads/counted/kernels_source.so"
    if not io.open(workload) then pending("the kernels that count are not built") return end
    if support.shell "command -v otf2-print" ~= 0 then pending("otf2-print is not installed") return end
    support.spit(folder .. "/trace.lua", ([[
      local pml = require "pmlua"
      local w = assert(pml.workload.load "%s")
      local counts = {}
      for i, n in ipairs { "flop_count_I", "load_count_I", "store_count_I", "op_count_I" } do
        counts[i] = { name = "sde:::BYFL::" .. n }
      end
      for i, metrics in ipairs { counts, { { name = "task-clock" } } } do
        os.execute("mkdir -p trace" .. i)
        local t = assert(pml.trace.create("trace" .. i, { metrics = metrics }))
        local s = pml.section.define { label = "section" .. i, events = i == 2 and { "task-clock" } or nil }
        assert(t:attach())
        s:start()
        local samples <close> = pml.samples.new(1)
        w:run { operation = "empty", samples = { samples }, phases = 1, options = { kernel = "add", n = 100, copies = 1,
          batch_ns = 1, samples = 1 } }
        s:stop()
        t:close()
      end
    ]]):format(workload))
    local status, out, err = shell(quote(command) .. " trace.lua")
    assert.same({ 0, "", "" }, { status, out, err })
    local _, first = shell "otf2-print trace1/traces.otf2 | grep '^METRIC '"
    -- two calls of 100 additions: the first finds the batch size, the second is timed
    local value = '"sde:::BYFL::flop_count_I" <%%d+>; INT64; %d%%)[^\n]*\n'
    assert.matches((value:format(0) .. "[^\n]*" .. value:format(200)), first)
    local _, defined = shell "otf2-print -G trace1/traces.otf2 | grep METRIC_MEMBER"
    assert.matches('"sde:::BYFL::flop_count_I" <%d+>, Descr%.: "counted by the compiler, at source"', defined)
    local _, second = shell "otf2-print trace2/traces.otf2 | grep -c '^METRIC '"
    assert.equal("2\n", second)
    os.execute(("cd %s && rm -rf trace.lua trace1 trace2"):format(quote(folder)))
  end)

  counted("answers questions with the sum of its threads while it runs", function()
    local runtime = support.folder()
    local line = "cd %s && XDG_RUNTIME_DIR=%s %s live --name COUNTED -- ./source 10 counted end >/dev/null 2>&1 &"
    os.execute(line:format(quote(folder), quote(runtime), quote(command)))
    support.wait_for_socket(runtime)
    local counted_all = support.shell_in(folder, "for i in $(seq 600); do test -e counted && exit 0; sleep 0.1; done; exit 1")
    assert.equal(0, counted_all)
    local status, out, err = shell(quote(command) .. " query --json COUNTED " .. quote "sde:::BYFL::flop_count_I",
      "XDG_RUNTIME_DIR=" .. quote(runtime))
    local reported, report, why = shell(quote(command) .. " report COUNTED", "XDG_RUNTIME_DIR=" .. quote(runtime))
    support.spit(folder .. "/end", "")
    assert.same({ 0, "" }, { status, err })
    assert.matches('"value": ?1%d%d%d%d[,}\n]', out)
    assert.same({ 0, "" }, { reported, why })
    assert.matches("\nnote: not counted by the compiler: the work of [^\n]+, which was not compiled with counts\n", report)
  end)
end)

describe("An impossible count is reported:", function()
  it("a command without counts", function()
    local _, err = support.done(support.shell(quote(command) .. " stat -e " .. FLOPS .. " -- true"))
    assert.matches("sde:::BYFL::flop_count_I +%- +flop +compiler +not counted: the command counts nothing; compile it with", err)
  end)

  it("files that are missing, or of another kind", function()
    local countfile = require "pmlua.countfile"
    local scratch = support.folder()
    local counts, err = countfile.read_all(scratch .. "/none")
    assert.is_nil(counts)
    assert.matches("none: no file of counts; compile the program with pmlua cc %-%-count and run it with PMLUA_COUNT=", err)
    support.spit(scratch .. "/some", ("x"):rep(100000))
    counts, err = countfile.read_all(scratch .. "/some")
    assert.is_nil(counts)
    assert.matches("some: not a log of pmlua", err)
  end)

  it("the two ways that need no PMU, in doctor and in the list of events", function()
    local _, out = support.shell(quote(command) .. " doctor")
    assert.matches("\n%l+ +compiler counts +[^\n]+\n", out)
    assert.matches("\n%l+ +simulation +[^\n]+\n", out)
    _, out = support.shell(quote(command) .. " events " .. quote "sde:::BYFL::*_I")
    assert.matches("%-%- unavailable: counted in programs that pmlua cc %-%-count compiled\n", out)
    assert.matches("\n9 events, 0 available, 9 unavailable", out)
  end)
end)
