-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/choose_spec.lua - tests of the command pmlua choose: plans for any PMU, and runs of a command.

local permission = require "spec.permission"
local support = require "spec.core.support"
local cjson = require "cjson"
local pmu_here = support.core.event.has_pmu()
local known_here = next(require "pmlua.groups".of((require "pmlua.pmus".here()))) ~= nil

local function choose(arguments, before)
  return support.shell(("%s %s/pmlua choose %s"):format(before or "", support.build, arguments))
end

local function data(arguments)
  local status, out, err = choose("--json " .. arguments)
  local done, decoded = pcall(cjson.decode, out)
  assert(done, out .. err)
  return decoded, status, err
end

local function row(d, name)
  for _, r in ipairs(d.results) do
    if r.name == name then return r end
  end
  error("no result " .. name)
end

describe("pmlua choose prints", function()
  for name, patterns in pairs {
    [""] = { "verified by opening it: |every run was opened on this machine|this machine refuses the plan" },
    ["--pmu intel_skx"] = { "^skx %(Intel Skylake%-X", -- where the machine is one, its SMT and watchdog are those found
                            "4 general counters, 3 fixed with SMT|8 general counters, 3 fixed without SMT",
                            "not verified by opening it: this machine has no|every run" },
    ["--pmu amd64_fam19h_zen4"] = { "^amd64_fam19h_zen4 %(AMD Zen%): 6 general counters" },
    ["--pmu arm_n1"] = { "^arm_n1 %(Arm Neoverse N1%): 6 general counters, 1 fixed" },
  } do
    it("for " .. (name == "" and "this machine" or name), function()
      local status, out, err = choose(name .. " CYCLE")
      if name == "" and not known_here then return assert.matches("%-%-pmu generic\n$", err) end
      assert.same({ 0, "" }, { status, err })
      assert.matches("run 1 of %d+: CYCLE/ipc", out)
      assert.matches("\n%d+ runs?; no", out)
      for _, any in ipairs(patterns) do
        local found = false
        for pattern in any:gmatch("[^|]+") do found = found or out:find(pattern) end
        assert.is_truthy(found, any .. "\n" .. out)
      end
    end)
  end

  it("if it has no groups for a known PMU, with a remedy", function()
    assert.same({ 1, "", "pmlua choose: CYCLE: pmlua has no groups and presets for knc; use those of perf's generic events: " ..
      "--pmu generic\n" }, { choose "--pmu knc CYCLE" })
    assert.matches('no event "knc::NONE_SUCH"', (select(3, choose "--pmu knc NONE_SUCH")))
  end)

  it("with the events of each run as CSV, as many as in JSON", function()
    local out = support.done(choose "--pmu arm_n1 CYCLE CACHE --csv")
    local rows, events = select(2, out:gsub("\n%d+,[^,]*,arm_n1::[%w_]+,", "")), 0
    for _, run in ipairs(data("--pmu arm_n1 CYCLE CACHE").runs) do events = events + #run.events end
    assert.equal("run,counter,event,why\n", out:match "^[^\n]*\n")
    assert.equal(events, rows, out)
  end)

  it("the conflicting events, the reason, and the events that can still be added", function()
    local out = support.done(choose("--pmu skx --smt on --watchdog off --more MEM_LOAD_RETIRED:L1_HIT "
      .. "MEM_LOAD_RETIRED:L1_MISS MEM_LOAD_RETIRED:L2_HIT MEM_LOAD_RETIRED:L2_MISS MEM_LOAD_RETIRED:L3_HIT"))
    assert.matches("5 events do not fit together: .* compete for counters 0%-3: 5 events, 4 counters\n", out)
    assert.matches("\n2 runs; no plan has fewer\n", out)
    assert.matches("\nrun 1 has room for any of 9 events of skx %(%d+ do not fit%):\n", out)
    assert.matches("\n  UNHALTED_REFERENCE_CYCLES\n", out)
  end)

  it("with the existing groups and presets, and their sources", function()
    local out = support.done(choose("--pmu a64fx --list"))
    assert.matches("\nFLOPS\n  Floating%-point operations%.", out)
    assert.matches("\n  flop %[flop%] = fixed %+ 4 %* scalable\n", out)
    assert.matches("\nPAPI_TOT_CYC  cycles = cycles  %(cycles: CPU_CYCLES%)\n", out)
  end)

  it("as an object", function()
    local d, status = data("--pmu skx --smt off --watchdog off FLOPS/flop task-clock")
    assert.equal(0, status)
    assert.same({ "skx", 8, 3, true, true, 1 }, { d.pmu, d.general, d.fixed, d.exact, d.together, #d.runs })
    assert.equal(9, #d.runs[1].events)
  end)
end)

describe("pmlua choose refuses", function()
  for arguments, answer in pairs {
    [""] = { 2, "name a group, a metric, a preset or an event" }, ["X -- true"] = { 2, "a command needs" },
    ["X --run"] = { 2, "%-%-run needs a command after" }, ["--pmu sqx X"] = { 1, "sqx: no such core PMU; did you mean skx%?" },
    ["--pmu skx FLOPZ"] = { 1, "did you mean FLOPS%?" }, ["--groups /nowhere.lua X"] = { 1, "/nowhere%.lua: No such file" },
    ["--pmu spr CPU_CLK_UNHALTED:THREAD"] = { 1, "none of these events can be counted on spr" },
    ["--pmu generic task-clock --out /nowhere/x"] = { 1, "/nowhere/x: No such file" },
  } do
    it(("'%s'"):format(arguments), function()
      local status, _, err = choose(arguments)
      assert.equal(answer[1], status)
      local see = status == 2 and "see 'pmlua help choose'\n" or ""
      assert.matches("^pmlua choose: [^\n]*" .. answer[2] .. "[^\n]*\n" .. see .. "$", err)
    end)
  end

  it("an unknown event in a file of groups, with its line and the nearest name", function()
    local file = support.folder() .. "/mine.lua"
    support.spit(file, "return {\n  pmus = { 'arm_n1' },\n  groups = { MINE = {\n    events = { c = 'CPU_CYCLE' },\n" ..
      "    metrics = { { name = 'cycles', formula = 'c' } },\n  } },\n}\n")
    local status, _, err = choose("--pmu arm_n1 --groups " .. file .. " MINE")
    assert.equal(1, status)
    assert.equal(("pmlua choose: %s:4: group MINE: arm_n1 has no event CPU_CYCLE; did you mean CPU_CYCLES?\n"):format(file), err)
    local other, _, why = choose("--pmu skx --groups " .. file .. " MINE")
    assert.same({ 1, ("pmlua choose: %s: its groups are for arm_n1, not for skx\n"):format(file) }, { other, why })
    support.spit(file, "return {\n  pmus = = 1 }\n")
    status, _, err = choose("--groups " .. file .. " MINE")
    assert.equal(1, status)
    assert.equal(("pmlua choose: %s:2: unexpected symbol near '='\n"):format(file), err)
  end)
end)

describe("pmlua choose --run", function()
  it("counts a command and its children, with the share of time counted", function()
    local d, status, err = data("--pmu generic page-faults task-clock CYCLE/cpus --run -- sh -c 'sh -c true; sh -c true'")
    assert.same({ 0, "" }, { status, permission.unexplained(err) })
    local faults = row(d, permission.name "page-faults")
    assert.is_true(faults.value > 100)
    assert.equal(1, faults.coverage)
    local cpus, clock = row(d, "CYCLE/cpus").value, row(d, permission.name "task-clock").value
    assert.is_true(math.abs(cpus - clock / d.runs[1].ended.real_ns) < 1e-9 * cpus) -- the formula, on this run's own numbers
    assert.equal(0, d.runs[1].ended.status)
  end)

  it("names events that this machine cannot count, once, and counts the rest", function()
    if pmu_here then pending("this machine has a PMU: nothing is refused") return end
    local status, out, err = choose("--pmu generic CYCLE --run -- true")
    assert.same({ 0, "" }, { status, permission.unexplained(err) })
    assert.matches("\nCYCLE/ipc +%- +instruction/cycle +%- +%- +hardware +%a+: see %[1%]\n", out)
    assert.matches("\nCYCLE/fault_rate +%d+ +1/s +100 %% +1 +kernel\n", out)
    local _, times = out:gsub("has no hardware PMU; use software events", "")
    assert.equal(1, times)
  end)

  it("fails if it cannot count any event, and does not run the command", function()
    if pmu_here then pending("this machine has a PMU: something can be counted") return end
    local file = support.folder() .. "/ran"
    -- libpfm4 is made to take this cpu for another one, so it reports the real one as absent
    for pmu, why in pairs {
      generic = "this machine has no hardware PMU",
      zen4 = "its PMU amd64_fam19h_zen4 is not on this machine|this machine has no hardware PMU",
    } do
      local events = pmu == "zen4" and "FLOPS" or "cycles:u instructions:u"
      local status, out, err = choose(("--pmu %s --watchdog off %s --run -- touch %s"):format(pmu, events, file))
      assert.equal(1, status)
      local found = false
      for text in why:gmatch("[^|]+") do found = found or err:find("available on this machine: " .. text, 1, true) end
      assert.is_truthy(found, err)
      assert.matches("^pmlua choose: [^\n]*\n$", err)
      assert.matches(pmu == "zen4" and "run 1 of 3" or "run 1 of 1", out)
      assert.is_nil(io.open(file))
    end
  end)

  it("sets a user workload beside the counts", function()
    local d = data("--pmu generic --work 1e6 USER/user_rate USER/rate_per_cpu_second --run -- true")
    assert.is_true(math.abs(row(d, "USER/user_rate").value - 1e15 / d.runs[1].ended.real_ns) < 1e-3)
    assert.is_true(row(d, "USER/rate_per_cpu_second").value > 0)
    d = data("--pmu generic USER/user_rate task-clock --run -- true")
    assert.equal("work was not counted", row(d, "USER/user_rate").problem)
  end)

  it("runs a Lua script itself, and separates the command's output with --out", function()
    local folder = support.folder()
    support.spit(folder .. "/s.lua", "print(require 'pmlua'.version, ...)\n")
    local status, out = choose(("--pmu generic page-faults --out %s/report --run -- %s/s.lua a b"):format(folder, folder))
    assert.same({ 0, support.core.version .. "\ta\tb\n" }, { status, out })
    assert.matches("\n" .. permission.pattern "page-faults" .. " +%d+ +100 %% +1 +kernel\n", support.slurp(folder .. "/report"))
  end)

  it("reports that the command fails, or cannot be run", function()
    local status, out, err = choose("--pmu generic page-faults --run -- sh -c 'exit 7'")
    assert.equal(1, status)
    assert.equal("pmlua choose: run 1: the command ended with status 7\n", permission.unexplained(err))
    assert.matches("\nrun 1 of 1: exit status 7, ", out)
    for command, answer in pairs {
      ["sh -c 'kill -9 $$'"] = "run 1: the command ended with signal 9",
      ["/nowhere/at/all"] = "/nowhere/at/all: No such file or directory",
    } do
      local code, _, why = choose("--pmu generic page-faults --run -- " .. command)
      assert.same({ 1, "pmlua choose: " .. answer .. "\n" }, { code, permission.unexplained(why) })
    end
  end)

  it("runs the command once for each run of the plan", function()
    if pmu_here then pending("this machine has a PMU: the groups below are counted together") return end
    -- Two runs by counters: the software event joins the first; the second has only hardware events and is left out.
    local folder = support.folder()
    local d = data(("--pmu generic cycles instructions branches branch-misses cache-misses page-faults --run -- " ..
      "sh -c 'echo x >>%s/times'"):format(folder))
    assert.equal(2, #d.runs)
    assert.equal("x\n", support.slurp(folder .. "/times"))
  end)

  it("stops when it is interrupted, with the results until then", function()
    local folder = support.folder()
    local status, _, err = choose(("--pmu generic page-faults --out %s/report --run -- sh -c 'kill -INT $PPID; exec sleep 60'")
      :format(folder), "timeout 30")
    assert.equal(1, status)
    assert.equal("pmlua choose: interrupted in run 1\n", permission.unexplained(err))
    assert.matches("ended by signal 15", support.slurp(folder .. "/report"))
  end)
end)

describe("The results of runs", function()
  local chooser = assert(require "pmlua.chooser".open { pmu = "skx", smt = false, watchdog = false })
  local plan = assert(chooser:choose { "CYCLE/ipc", "CYCLE/stalled", "USER/difference", "USER/ratio" })

  --- Results in the form that runs give, from counts by event name.
  local function combined(values, running)
    local results = {}
    for r, run in ipairs(plan.runs) do
      results[r] = { counts = {}, refused = {}, ended = { real_ns = 2000000000, status = 0 } }
      for _, e in ipairs(run.events) do
        local n = values[e.event.short] or 0
        results[r].counts[e.event] = { value = n, coverage = running and running[e.event.short] or 1 }
      end
    end
    local rows = {}
    for _, row_of in ipairs(require "pmlua.internal.chooser.run".combine(chooser, plan, results, { work = 100 })) do
      rows[row_of.name] = row_of
    end
    return rows
  end

  it("is a value with the smallest share of time among its events", function()
    local rows = combined({ ["INST_RETIRED:ANY_P"] = 300, ["CPU_CLK_THREAD_UNHALTED:THREAD_P"] = 600 },
      { ["INST_RETIRED:ANY_P"] = 0.25 })
    assert.equal(0.5, rows["CYCLE/ipc"].value)
    assert.equal(0.25, rows["CYCLE/ipc"].coverage)
    assert.equal("most issue slots are empty", rows["CYCLE/ipc"].says)
  end)

  it("is an error if an event never counted, never a zero", function()
    local rows = combined({ ["INST_RETIRED:ANY_P"] = 300, ["CPU_CLK_THREAD_UNHALTED:THREAD_P"] = 600 },
      { ["INST_RETIRED:ANY_P"] = 0 })
    assert.is_nil(rows["CYCLE/ipc"].value)
    assert.equal("INST_RETIRED:ANY_P never counted: 0 % of the time it was enabled", rows["CYCLE/ipc"].problem)
  end)

  it("has a reason if it cannot be calculated, and a note if it is negative and cannot be", function()
    local rows = combined { ["INST_RETIRED:ANY_P"] = 300 }
    assert.equal("division by zero: cycles is 0", rows["CYCLE/ipc"].problem)
    rows = combined { ["CYCLE_ACTIVITY:STALLS_TOTAL"] = -5, ["CPU_CLK_THREAD_UNHALTED:THREAD_P"] = 10 }
    assert.is_true(rows["CYCLE/stalled"].negative)
    assert.equal(-50, rows["CYCLE/stalled"].value)
    assert.equal(-100, rows["USER/difference"].value) -- the hardware did less than the user counted: no contradiction
    assert.is_nil(rows["USER/difference"].negative)
  end)
end)
