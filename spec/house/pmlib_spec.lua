-- spec/house/pmlib_spec.lua - tests of the drop-in for PMlib, by programs in C++, C and Fortran: alone, with threads, over ranks.
-- The programs do known work, so all figures of a report except times are known; the times must agree with the figures derived
-- from them.

local support = require "spec.core.support"
local build = os.getenv("PMLUA_BUILD") or "build"
local flags = "-Icore/interface/pmlib -Wall -Wextra -Wconversion -Wshadow -Werror"
local link = ("-L%s/compat -Wl,-rpath-link,%s"):format(build, build)
local library = support.build

local shell = require "spec.shell"
local groups = require "pmlua.groups"
local permission = require "spec.permission"
local sh = shell.sh

local dir = support.folder()

local compiled = {}

--- Build spec/pmlib/SOURCE with COMPILER to `name`, once; the compiler must print nothing.
local function compile(compiler, source, name, lib)
  if compiled[name] then return end
  assert.equal("", shell.done(("%s spec/pmlib/%s -o %s/%s %s -l%s -lm"):format(compiler, source, dir, name, link, lib or "PM")))
  compiled[name] = true
end

--- Run it with the variables; the exit status must be 0.
local function run(command, variables)
  return shell.done(("cd %s && env -u HWPC_CHOOSER -u PMLIB_REPORT -u BYPASS_PMLIB -u OTF_TRACING -u OTF_FILENAME "
    .. "LD_LIBRARY_PATH=%s/compat %s %s"):format(dir, library, variables or "", command))
end

--- The time that is reported ended before the program's own time; its last digit is rounded.
local function stops_the_root(out, report)
  local own, reported = out:match "stopped after +(%S+)", report:match "Time from initialize to report: (%S+)"
  assert.is_true(tonumber(reported) <= 1.001 * tonumber(own), reported .. " s of " .. own .. " s")
end

local units = { Mflops = 1e6, Gflops = 1e9, Tflops = 1e12, Pflops = 1e15,
  ["MB/sec"] = 1e6, ["GB/sec"] = 1e9, ["TB/sec"] = 1e12, ["PB/sec"] = 1e15 }

--- The rows of the first basic report, in order, and by label.
local function basic(out)
  local rows, by = {}, {}
  local text = assert(out:match("# PMlib Basic Report.-\n%-+%+%-.-\n(.-)\n%-+%+%-"), out)
  for line in text:gmatch("[^\n]+") do
    local label, calls, seconds, _, _, sdv, work, wsdv, speed, unit =
      line:match("^(.-)%s*:%s+(%d+)%s+(%S+)%s+(%S+)%s+(%S+)%s+(%S+)%s+(%S+)%s+(%S+)%s+(%S+) (%a[%a/]+)[()*+]*$")
    assert.is_truthy(label, line)
    local r = { label = label, calls = tonumber(calls), seconds = tonumber(seconds), sdv = tonumber(sdv),
      work = tonumber(work), wsdv = tonumber(wsdv), speed = tonumber(speed), unit = unit }
    rows[#rows + 1], by[label] = r, r
  end
  return rows, by
end

--- The rows of `Rank N` or of threads below `Section : LABEL`, after the line that matches `from`: { calls, work }.
local function parts(out, from, label)
  local rows, inside, begun = {}, false, false
  for line in out:gmatch("[^\n]+") do
    if line:match("^## ") then begun, inside = line:find(from, 1, true) ~= nil, false end
    if line:match("^Section : ") then inside = begun and line == "Section : " .. label end
    local n, calls, _, work = line:match("^Rank +(%d+) : +(%d+) +(%S+) +%S+ +%S+ +%S+ +(%S+)")
    if not n then n, calls, _, work = line:match("^ *(%d+) +(%d+) +(%S+) +%S+ +(%S+) +%S+ %a") end
    if inside and n then rows[tonumber(n)] = { tonumber(calls), tonumber(work) } end
  end
  return rows
end

describe("PMlib's calls", function()
  setup(function() compile("g++ -std=c++11 -DDISABLE_MPI " .. flags, "serial.cpp", "serial") end)

  describe("of the library", function()
    it("are PMlib's and those that its class makes", function()
      local have = {}
      for name in sh(("nm -D --defined-only %s/compat/libPM.so"):format(build)):gmatch("%x+ %a ([%w_]+)") do
        if not name:match("^pmlib_") then have[#have + 1] = name end
      end
      local want = {}
      for name in ([[initialize start stop stop_usermode setproperties reset resetall report select_report print
          printdetail printthreads printlegend printgroup printcomm posttrace gather sections serial_parallel
          stop_root mergethreads getpowerknob setpowerknob]]):gmatch("%S+") do
        want[#want + 1] = "f_pm_" .. name .. "_"
        want[#want + 1] = "C_pm_" .. name:gsub("stop_root", "stop_Root")
      end
      want[#want + 1] = "C_pm_printprogress"
      table.sort(want)
      table.sort(have)
      assert.same(want, have)
    end)

    it("need neither MPI nor C++", function()
      local out = sh(("objdump -p %s/compat/libPM.so"):format(build))
      assert.is_truthy(out:find "libpmlua%.so%.%d")
      assert.is_nil(out:match("NEEDED%s+libmpi"))
      assert.is_nil(out:match("NEEDED%s+libstdc"))
    end)

    it("also link from the archive, under either name", function()
      if build:match("san") then pending("an archive for sanitizers wants their runtime") return end
      shell.done(("g++ -DDISABLE_MPI %s spec/pmlib/serial.cpp -o %s/alone %s/compat/libPMmpi.a -lotf2 "
        .. "-lpthread -ldl -lm"):format(flags, dir, build))
      local _, by = basic(run("./alone"))
      assert.equal(3, by["inner part"].calls)
    end)
  end)

  describe("in C++", function()
    it("report calls and work of each section, longest first, (*) if one contains others", function()
      local rows, by = basic(run("./serial"))
      assert.equal(3, #rows)
      assert.equal("outer (*)", rows[1].label)
      assert.same({ 1, 5e5 }, { by["outer (*)"].calls, by["outer (*)"].work })
      assert.same({ 3, 6e6 }, { by["inner part"].calls, by["inner part"].work })
      assert.same({ 1, 5e8 }, { by.copy.calls, by.copy.work })
      for i = 2, #rows do assert.is_true(rows[i].seconds <= rows[i - 1].seconds) end
    end)

    it("sum exclusive times, work by work and bytes by bytes", function()
      local out = run("./serial")
      assert.equal("5.000e+08", out:match("Sum of exclusive COMM +%S+ +%S+ +(%S+)"))
      assert.equal("6.000e+06", out:match("Sum of exclusive CALC +%S+ +%S+ +(%S+)"))
    end)

    it("scale the unit to the speed", function()
      local rows = basic(run("./serial units"))
      local seen = {}
      assert.equal(30, #rows)
      for _, r in ipairs(rows) do
        local factor = assert(units[r.unit], r.unit)
        local speed = r.work / r.seconds
        assert.is_true(math.abs(r.speed * factor - speed) <= 0.005 * factor + 0.002 * speed, r.label)
        assert.is_true(factor == 1e6 or r.speed >= 1, r.label)
        assert.is_true(factor == 1e15 or r.speed <= 1000, r.label)
        local bytes = r.label == "copy" or r.label:match("^moved") ~= nil
        assert.equal(bytes, r.unit:match("B/sec$") ~= nil, r.label)
        seen[factor] = true
      end
      assert.is_true(seen[1e6] and seen[1e9] and seen[1e12] and seen[1e15])
    end)

    it("print each part on request, as defined or by time, with comment, host and legend", function()
      local out = run("./serial parts")
      local rows = basic(out)
      assert.same({ "copy", "outer (*)", "inner part" }, { rows[1].label, rows[2].label, rows[3].label })
      assert.is_truthy(out:find("Host name : this-host", 1, true))
      assert.is_truthy(out:find("a comment", 1, true))
      assert.same({ [0] = { 3, 6e6 } }, parts(out, "Process Report", "inner part"))
      assert.same({ [0] = { 3, 6e6 } }, parts(out, "Thread Report for rank 0", "inner part"))
      assert.equal(2, select(2, out:gsub("# PMlib Legend", "")))
      assert.is_truthy(out:find("no rank 9", 1, true))
      assert.is_truthy(out:find("## Process group 4: 1 of 1 ranks", 1, true))
      assert.is_truthy(out:find("## Process group 0: 1 of 1 ranks", 1, true))
    end)

    it("start over with one section, or all", function()
      local _, by = basic(run("./serial reset"))
      assert.same({ 1, 10 }, { by["inner part"].calls, by["inner part"].work })
      assert.equal(5e8, by.copy.work)
      assert.same({ 1, 6 }, { by["told (*)"].calls, by["told (*)"].work })
      local rows = basic(run("./serial 'reset all'"))
      assert.equal(2, #rows)
    end)

    it("support the calls of PMlib's own machinery", function()
      local out = run("./serial inside")
      assert.is_truthy(out:find("sections 4 4 mid 1 inside 0 rank 0 of 1 version 9.", 1, true), out)
      assert.is_truthy(out:find("Parallel mode: Own", 1, true))
    end)

    it("name misuse, and lose nothing because of it", function()
      local out = run("./serial misuse")
      local _, by = basic(out)
      assert.same({ 2, 5e8 }, { by.copy.calls, by.copy.work })
      assert.is_truthy(out:find("Section never started: 1 times stopped without a start", 1, true), out)
      assert.is_truthy(out:find("Section copy: 1 times a workload that is negative", 1, true), out)
      assert.equal(1, select(2, out:gsub("pmlib: label: empty name", "")))
      assert.equal(1, select(2, out:gsub("pmlib: power knob", "")))
      assert.is_truthy(out:find("pmlib: printComm: nothing was gathered; call report() before", 1, true), out)
      assert.is_truthy(out:find("knob 42", 1, true))
    end)

    it("work without initialize, and accept NULL for standard output", function()
      local _, by = basic(run("./serial uninitialized"))
      assert.equal(3, by["inner part"].calls)
      assert.equal(3, #basic(run("./serial null")))
    end)
  end)

  describe("and the environment", function()
    it("BYPASS_PMLIB disables them", function()
      assert.equal("end of program\n", run("./serial", "BYPASS_PMLIB= PMLIB_REPORT=FULL OTF_TRACING=on"))
      assert.equal("sections 0 0 mid 1 inside 0 rank 0 of 1 version 9.0.1\nend of program\n",
        run("./serial inside", "BYPASS_PMLIB=1"))
    end)

    it("PMLIB_REPORT chooses the level of detail", function()
      local function told(level)
        local out = run("./serial", "PMLIB_REPORT=" .. level)
        return { out:find("Basic Report") ~= nil, out:find("Process Report") ~= nil, out:find("Thread Report") ~= nil }
      end
      assert.same({ true, false, false }, told("BASIC"))
      assert.same({ true, true, false }, told("DETAIL"))
      assert.same({ true, true, true }, told("full"))
    end)

    it("PMLIB_REPORT makes a program without a report call report at its end, once", function()
      assert.equal("end of program\n", run("./serial none"))
      local out = run("./serial none", "PMLIB_REPORT=BASIC")
      assert.equal(3, #basic(out))
      assert.is_truthy(out:match("^end of program"))
      assert.equal(1, select(2, run("./serial", "PMLIB_REPORT=BASIC"):gsub("Basic Report", "")))
      assert.equal(1, select(2, run("./serial fork", "PMLIB_REPORT=BASIC"):gsub("Basic Report", "")))
    end)

    it("with nonsense is named once, and the report is the same as if it were not set", function()
      local out = run("./serial", "HWPC_CHOOSER=banana PMLIB_REPORT=x OTF_TRACING=maybe")
      for _, name in ipairs { "HWPC_CHOOSER=banana", "PMLIB_REPORT=x", "OTF_TRACING=maybe" } do
        assert.equal(1, select(2, out:gsub("pmlib: " .. name .. " is unknown", "")), name)
      end
      assert.equal(3, #basic(out))
    end)

    it("HWPC_CHOOSER counts the listed events, section by section", function()
      local out = run("./serial touch", "HWPC_CHOOSER=FLOPS PMLUA_CHOOSER_EVENTS='perf::PAGE-FAULTS clock::ns' PMLIB_REPORT=FULL")
      local faults, ns = out:match("\ntouch +: +(%S+) +(%S+)\n")
      assert.equal(512, tonumber(faults), out)
      assert.is_true(tonumber(ns) > 0)
      assert.equal(1, select(2, out:gsub(("Here, for FLOPS: %s clock::ns"):format(permission.pattern "perf::PAGE-FAULTS"), "")))
      local _, by = basic(out)
      assert.equal(6e6, by["inner part"].work)
    end)

    it("HWPC_CHOOSER gives the reason if nothing is counted, and the program's stated work", function()
      local out = run("./serial", "HWPC_CHOOSER=VECTOR PMLUA_CHOOSER_EVENTS='perf::NOTHING'")
      assert.is_truthy(out:match("Nothing is counted for HWPC_CHOOSER=VECTOR: [^\n]*NOTHING"), out)
      if not require("pmlua.core").event.has_pmu() then
        assert.is_truthy(run("./serial", "HWPC_CHOOSER=FLOPS"):match("HWPC_CHOOSER=FLOPS: this machine has no hardware PMU"))
      end
      local _, by = basic(out)
      assert.equal(6e6, by["inner part"].work)
    end)

    it("HWPC_CHOOSER takes the counts of a program compiled for counting", function()
      if not support.has "clang++" then return pending "clang is not installed (Debian: clang)" end
      local source = dir .. "/counted.cpp"
      shell.write(source, [[
        #include <PerfMonitor.h>
        int main() { pm_lib::PerfMonitor m; m.initialize(4); m.start("a"); volatile double x = 0;
          for (int i = 0; i < 1000; i++) x = x + 1.0; m.stop("a", 1000); m.print(stdout, "", ""); return 0; }]])
      local line = "%s/pmlua cc --count -q -- clang++ -w -DDISABLE_MPI %s %s -o %s/counted %s -L%s -Wl,-rpath,%s -lPM"
      local said, code = sh(line:format(library, flags, source, dir, link, library, library))
      if code ~= 0 then return pending("clang does not count here: " .. said) end
      local out = run("./counted", "HWPC_CHOOSER=FLOPS")
      assert.is_truthy(out:find("sde:::BYFL::flop_count_I", 1, true), out)
      assert.equal(1000, tonumber(out:match "BYFL::op_count_I.-\na +: +(%S+)"), out)
    end)

    it("HWPC_CHOOSER has the events of each PMU's group, also floating-point ones if the PMU counts them", function()
      local text, code = sh("lua5.4 core/compat/pmlib/choosers.lua lua/pmlua/groups/*.lua lua/pmlua/without_pmu/compiler.lua")
      assert.equal(0, code, text)
      local rows = {}
      for pmu, chooser, events in text:gmatch '{"([^"]+)", "([^"]+)", "([^"]+)"}' do rows[pmu .. " " .. chooser] = events end
      local compared = 0
      for _, pmu in ipairs(groups.pmus()) do
        for name, group in pairs(groups.of(pmu)) do
          local events, listed = {}, {}
          for _, event in pairs(group.events) do events[event] = true end
          local row = rows[pmu .. " " .. name]
          for event in (row or ""):gmatch "%S+" do listed[event] = true end
          if name ~= "USER" and (row or name:find "^FLOPS$" or name == "VECTOR") then
            assert.same(events, listed, pmu .. " " .. name)
            compared = compared + 1
          end
        end
      end
      assert.is_true(compared > 100)
      for _, pmu in ipairs { "skx", "icx", "spr", "amd64_fam17h_zen2" } do assert.is_truthy(rows[pmu .. " FLOPS"], pmu) end
      assert.is_nil(rows["hsw FLOPS"]) -- Haswell counts none
    end)

    it("HWPC_CHOOSER=CYCLE counts cycles with a PMU, and otherwise reports that the PMU is missing", function()
      local out = run("./serial", "HWPC_CHOOSER=CYCLE")
      local cycles, instructions = out:match("\ninner part +: +(%S+) +(%S+)\n")
      if cycles then
        assert.is_true(tonumber(cycles) > 0 and tonumber(instructions) > 0)
      else
        assert.is_truthy(out:match("Nothing is counted for HWPC_CHOOSER=CYCLE: [^\n]+"), out)
      end
    end)

    it("POWER_CHOOSER is refused with a sentence", function()
      assert.is_truthy(run("./serial", "POWER_CHOOSER=NODE"):find("power is not measured", 1, true))
    end)

    describe("OTF_TRACING", function()
      local function events(folder)
        local out = shell.done(("otf2-print %s/%s/traces.otf2"):format(dir, folder))
        return select(2, out:gsub("\nENTER ", "")), select(2, out:gsub("\nLEAVE ", "")), out
      end

      support.with "otf2-print" ("writes every start and stop, also if the program just ends", function()
        run("./serial none", "OTF_TRACING=ON")
        local enters, leaves, out = events("pmlib_otf_files")
        assert.same({ 5, 5 }, { enters, leaves }, out)
        assert.is_nil(out:find("METRIC", 1, true))
      end)

      support.with "otf2-print" ("writes with full what work was done so far, to OTF_FILENAME", function()
        run("./serial trace", "OTF_TRACING=full OTF_FILENAME=own")
        local enters, leaves, out = events("own")
        assert.same({ 5, 5 }, { enters, leaves }, out)
        local sums = {}
        for moved, done in out:gmatch('"bytes moved" <%d+>; %w+; (%d+)%), %("operations" <%d+>; %w+; (%d+)') do
          sums[#sums + 1] = moved .. " " .. done
        end
        assert.same({ "0 2000000", "0 4000000", "0 6000000", "0 6500000", "500000000 6500000" }, sums)
      end)

      support.with "otf2-print" ("writes with full the counts of the chooser's events", function()
        run("./serial touch", "OTF_TRACING=full OTF_FILENAME=counts HWPC_CHOOSER=CACHE PMLUA_CHOOSER_EVENTS=perf::PAGE-FAULTS")
        local _, _, out = events("counts")
        local values, value = {}, ('"%s" <%%d+>; %%w+; (%%d+)'):format(permission.pattern "perf::PAGE-FAULTS")
        for v in out:gmatch(value) do values[#values + 1] = tonumber(v) end
        assert.equal(12, #values) -- one value at each start and stop; the last ones belong to "touch"
        assert.equal(512, values[12] - values[11])
      end)

      it("leaves an existing trace alone, and reports that", function()
        run("./serial none", "OTF_TRACING=on OTF_FILENAME=twice")
        local sum = "cat " .. dir .. "/twice/traces.otf2 | cksum"
        local before = sh(sum)
        local out = run("./serial", "OTF_TRACING=on OTF_FILENAME=twice")
        assert.is_truthy(out:match("pmlib: OTF_TRACING: no trace in twice: [^\n]+"), out)
        assert.equal(3, #basic(out))
        assert.equal(before, (sh(sum)))
        assert.is_truthy(run("./serial", "OTF_TRACING=on OTF_FILENAME=no/such/folder"):match("pmlib: OTF_TRACING: no trace"))
      end)
    end)
  end)

  it("from C report to the file they are given", function()
    compile("gcc " .. flags, "calls.c", "calls")
    local out = run("./calls report.txt")
    assert.is_truthy(out:find("sections 5 mid 1 inside 0 knob 42", 1, true), out)
    local f <close> = assert(io.open(dir .. "/report.txt"))
    local text = f:read("a")
    local rows, by = basic(text)
    assert.equal(3, #rows)
    stops_the_root(out, text)
    assert.same({ 4, 10000 }, { by.done.calls, by.done.work })
    assert.same({ 4, 3200, "B/sec" }, { by.moved.calls, by.moved.work, by.moved.unit:match("B/sec") })
    assert.equal(1, by["around (*)"].calls)
    assert.equal(4, select(2, text:gsub("# PMlib Basic Report", "")))
    assert.is_truthy(text:find("under way", 1, true))
    assert.same({ [0] = { 4, 10000 } }, parts(text, "Process Report", "done"))
    local last = basic(text:match(".*(# PMlib Basic Report.*)"))
    assert.equal(1, #last)
    assert.same({ "done", 1, 1 }, { last[1].label, last[1].calls, last[1].work })
  end)

  it("from C report to standard output if the file cannot be written, with a message", function()
    compile("gcc " .. flags, "calls.c", "calls")
    local out = run("./calls no/such/file")
    assert.is_truthy(out:find("pmlib: report: no/such/file: No such file or directory", 1, true), out)
    assert.equal(3, #basic(out))
  end)

  support.with "gfortran" ("from Fortran take labels of any length, without the blanks at their end", function()
    compile("gfortran -std=f2008 -Wall -Wno-implicit-interface", "calls.f90", "callsf")
    local out = run("./callsf")
    assert.is_truthy(out:find("facts 6 1 0 42", 1, true), out)
    stops_the_root(out, out)
    local rows, by = basic(out)
    assert.equal(4, #rows)
    assert.same({ 5, 105 }, { by.padded.calls, by.padded.work })
    assert.same({ 5, 320, "B/sec" }, { by.moved.calls, by.moved.work, by.moved.unit:match("B/sec") })
    assert.equal(1, by[("x"):rep(290)].calls)
    local last = basic(out:match(".*(# PMlib Basic Report.*)"))
    assert.same({ 1, "padded", 1 }, { #last, last[1].label, last[1].work })
  end)

  it("inside a parallel region report each thread, by its OpenMP number", function()
    compile("g++ -fopenmp -DDISABLE_MPI " .. flags, "threads.cpp", "threads")
    local out = run("./threads", "PMLIB_REPORT=FULL")
    local _, by = basic(out)
    assert.same({ 3, 1400 }, { by["each (+)"].calls, by["each (+)"].work })
    assert.same({ [0] = { 1, 100 }, { 2, 400 }, { 3, 900 } }, parts(out, "Thread Report for rank 0", "each (+)"))
    assert.same({ [0] = { 1, 4 } }, parts(out, "Thread Report for rank 0", "all"))
    assert.is_truthy(out:find("OpenMP (1 processes x 3 threads)", 1, true))
  end)

  describe("over ranks", function()
    local mpirun = "timeout 60 mpirun --allow-run-as-root --oversubscribe -n 4 "

    local function missing(compiler)
      for _, name in ipairs { "mpirun", compiler } do
        if not support.has(name) then return name .. " is not installed (openmpi-bin, libopenmpi-dev)" end
      end
    end

    --- A test of ranks in C++.
    local function it_cxx(what, test)
      support.it_unless(function() return missing "mpicxx" end)(what, function()
        compile("mpicxx -DOMPI_SKIP_MPICXX " .. flags, "ranks.cpp", "ranks", "PMmpi")
        test()
      end)
    end

    it_cxx("gather calls, work and their spread", function()
      local out = run(mpirun .. "./ranks", "PMLIB_REPORT=DETAIL")
      local _, by = basic(out)
      assert.equal(1, select(2, out:gsub("# PMlib Basic Report", "")))
      assert.is_truthy(out:find("(4 processes x 1 threads)", 1, true))
      local all = by["all ranks"] -- 1, 4, 9, 16 operations in 1, 2, 3, 4 calls
      assert.same({ 3, 7.5, 6.56 }, { all.calls, all.work, all.wsdv })
      assert.same({ 10, 20 }, { by["last only"].work, by["last only"].wsdv })
      assert.is_truthy(out:match("of all processes +7%.000e%+01"))
      assert.same({ [0] = { 1, 1 }, { 2, 4 }, { 3, 9 }, { 4, 16 } }, parts(out, "Process Report", "all ranks"))
    end)

    it_cxx("report a group of ranks, and each colour of a split", function()
      local out = run(mpirun .. "./ranks")
      local function group(n) return parts(out:match("## Process group " .. n .. ":.-(## PMlib.-)\n\n## ") or
        out:match("## Process group " .. n .. ":.-(## PMlib.*)"), "Process Report", "all ranks") end
      assert.same({ { 2, 4 }, [3] = { 4, 16 } }, group(7))
      assert.same({ [0] = { 1, 1 }, { 2, 4 } }, group(0))
      assert.same({ [2] = { 3, 9 }, [3] = { 4, 16 } }, group(1))
    end)

    it_cxx("report rank 0 alone after MPI is finalized, with a note", function()
      local out = run(mpirun .. "./ranks 'too late'")
      local _, by = basic(out)
      assert.equal(1, select(2, out:gsub("# PMlib Basic Report", "")))
      assert.is_truthy(out:find("This is rank 0 of 4 alone", 1, true), out)
      assert.same({ 1, 1 }, { by["all ranks"].calls, by["all ranks"].work })
    end)

    it("take the handles of C and of Fortran", function()
      local why = missing("mpicc") or missing("mpif90")
      if why then pending(why) return end
      compile("mpicc " .. flags, "ranks.c", "ranksc", "PMmpi")
      compile("mpif90", "ranks.f90", "ranksf", "PMmpi")
      local c, f = run(mpirun .. "./ranksc"), run(mpirun .. "./ranksf")
      assert.equal(150, basic(c)[1].work)
      assert.same({ [0] = { 1, 0 }, [3] = { 1, 300 } },
        parts(c:match("(## Process group 6:.-)\n\n## Process group"):gsub("^.-\n", ""), "Process Report", "work"))
      assert.is_truthy(c:match("## Process group 3: 1 of 4 ranks"))
      assert.equal(15, basic(f)[1].work)
      assert.same({ [0] = { 1, 0 }, [2] = { 1, 20 } },
        parts(f:match("(## Process group 5:.-)\n\n## Process group"):gsub("^.-\n", ""), "Process Report", "work"))
    end)

    it_cxx("trace each rank in a separate folder", function()
      run(mpirun .. "./ranks", "OTF_TRACING=on OTF_FILENAME=ranks.otf")
      for rank = 0, 3 do
        local f = io.open(("%s/ranks.otf/rank-%d/traces.otf2"):format(dir, rank))
        assert.is_truthy(f)
        f:close()
      end
    end)
  end)
end)
