-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/foreign_groups_spec.lua - tests of the reader of other tools' groups: LIKWID's files, perf's, Intel's and Arm's JSON,
-- all written here.

local support = require "spec.core.support"
local chooser = require "pmlua.chooser"
local expression = require "pmlua.internal.groups.expression"
local formula = require "pmlua.formula"
local groups = require "pmlua.groups"

local folder

local function spit(name, text)
  support.spit(folder .. "/" .. name, text)
  return folder .. "/" .. name
end

local function open(pmu, path)
  return assert(chooser.open { pmu = pmu, groups = path, smt = true, watchdog = false })
end

local function refusals(c)
  local of = {}
  for _, r in ipairs(c.refused) do of[r.group .. "/" .. r.metric] = r.why end
  return of
end

describe("expressions of other tools", function()
  local env = { ["A.B"] = 6, ["C"] = 3, ["cpu/event=0x3c,cmask=1/"] = 10 }
  local constants = { ["#SMT_on"] = 1.0 }

  local function value(text)
    local node, why = expression.parse(text)
    if not node then return nil, why end
    local keys, n = {}, 0
    local written
    written, why = expression.formula(node, function(name)
      if constants[name] then return "number", constants[name] end
      if name == "M" then return "expression", assert(expression.parse "A.B - 1") end
      if name == "LOOP" then return "expression", assert(expression.parse "LOOP + 1") end
      if not env[name] then return "unknown", name .. " is nowhere" end
      n = n + 1
      keys["k" .. n] = env[name]
      return "key", "k" .. n
    end)
    if not written then return nil, why end
    return (assert(formula.compile(written)):value(keys))
  end

  for _, case in ipairs {
    { "A.B - C - 1", 2 }, { "A.B / C / 2", 1 }, { "-A.B + 1", -5 }, { "1.5e1 + .5", 15.5 }, { "0x10 + 1", 17 },
    { "max(A.B, C) - min(A.B, C, 1)", 5 }, { "10 - M - 1", 4 }, { "A.B if #SMT_on > 1 else C", 3 }, { "C - -2", 5 },
    { "1 if 0 else 2 if 0 else 3", 3 }, { [[cpu@event\=0x3c\,cmask\=1@ / C * 3]], 10 }, { "10 - max(A.B, C) - 1", 3 },
  } do
    it("have the expected values: " .. case[1], function() assert.equal(case[2], (assert(value(case[1])))) end)
  end

  local divided_by_zero

  --- A random expression of @depth levels as text, and its value, which is calculated here without the code under test.
  local function random(depth)
    local kinds <const> = { "leaf", "-", "+", "*", "/", "if", "else", "d_ratio", "min", "negate" }
    local kind = depth == 0 and "leaf" or kinds[math.random(#kinds)]
    if kind == "leaf" then
      local name = ({ "A.B", "C", "#SMT_on", "M", "7" })[math.random(5)]
      return name, env[name] or constants[name] or name == "M" and env["A.B"] - 1 or 7
    end
    local a, x = random(depth - 1)
    if kind == "negate" then return ("-(%s)"):format(a), -x end
    local b, y = random(depth - 1)
    if (kind == "/" or kind == "d_ratio") and y == 0 then divided_by_zero = true end
    if kind == "if" then return ("((%s) if #SMT_on else (%s))"):format(a, b), x end
    if kind == "else" then return ("((%s) if #SMT_on > 1 else (%s))"):format(a, b), y end
    if kind == "d_ratio" then return ("d_ratio(%s, %s)"):format(a, b), x / y end
    if kind == "min" then return ("min(%s, %s)"):format(a, b), math.min(x, y) end
    local value_of = { ["+"] = x + y, ["-"] = x - y, ["*"] = x * y, ["/"] = x / y }
    return ("(%s) %s (%s)"):format(a, kind, b), value_of[kind]
  end

  it("have the expected values, at any depth of nesting", function()
    local compared = 0
    for seed = 1, 1000 do
      math.randomseed(seed)
      divided_by_zero = false
      local text, expected = random(4)
      local got = not divided_by_zero and assert(value(text))
      if got then
        local near = math.abs(got - expected) <= 1e-9 * (1 + math.abs(expected))
        assert.is_true(near, ("%s = %g, not %g"):format(text, expected, got))
        compared = compared + 1
      end
    end
    assert.is_true(compared > 500)
  end)

  for _, case in ipairs {
    { "A.B if C else 1", "it depends on a condition of counts" }, { "A.B < C", "it has the operator < on counts" },
    { "has_event(C)", "it calls has_event, which formulas have not" }, { "A.B +", "its end where a value is expected" },
    { "NOTHING", "NOTHING is nowhere" }, { "LOOP", "LOOP is made of itself" }, { "(A.B", "its end where ')' is expected" },
    { "cpu@event", "an @ that nothing closes" }, { "A ? B", "an unexpected character in column 3" },
    { ("("):rep(300) .. "1", "it is nested too deeply" }, { "1 2", "2 where it should end" },
    { "", "its end where a value is expected" },
  } do
    it("are refused with the reason: " .. case[1]:sub(1, 20), function()
      local v, why = value(case[1])
      assert.same({ nil, case[2] }, { v, why })
    end)
  end
end)

local LIKWID <const> = [[
SHORT work and memory

EVENTSET
FIXC0 INSTR_RETIRED_ANY
FIXC1 CPU_CLK_UNHALTED_CORE
PMC0  FP_ARITH_INST_RETIRED_SCALAR_DOUBLE
PMC1  IDQ_MITE_UOPS:THRESHOLD=0x2:INVERT
PMC1:THRESHOLD=0x4:EDGEDETECT  IDQ_MITE_UOPS
PMC2  NO_SUCH_EVENT
PMC3:MATCH0=0x1  L1D_REPLACEMENT
MBOX0C0 CAS_COUNT_RD
MBOX1C0 CAS_COUNT_RD

METRICS
Runtime [s] FIXC1*inverseClock
CPI  FIXC1/FIXC0
Scalar DP [MFLOP/s]  1.0E-06*PMC0/time
Bandwidth [MBytes/s] 1.0E-06*(MBOX0C0+MBOX1C0)*64.0/time
Edges PMC1
Stall duration FIXC1/PMC1:THRESHOLD=0x4:EDGEDETECT
Broken PMC2/PMC0
Option PMC3
Stranger PMC9

LONG
This part is for readers: 1 + ] (
]]

describe("Metrics that depend on SMT", function()
  it("follow the given setting of SMT, even if it takes no counter", function()
    folder = support.folder()
    local path = spit("smt.json",
      '[{"MetricName":"m","MetricExpr":"INST_RETIRED.ANY_P / (2 if #SMT_on else 1)","MetricGroup":"G"}]')
    for _, pmu in ipairs { "skx", "icx", "spr" } do
      for smt, divisor in pairs { [true] = 2, [false] = 1 } do
        local c = assert(chooser.open { pmu = pmu, groups = path, smt = smt, watchdog = false })
        local metric = c.groups.G.by_name.m
        local counts = {}
        for name in pairs(metric.events) do counts[name] = 12 end
        assert.equal(12 / divisor, (metric.formula:value(counts)))
      end
      assert.matches("SMT is assumed to be on", table.concat(assert(chooser.open { pmu = pmu, groups = path }).notes, "\n"))
    end
  end)
end)

local JOULE <const> = 2.0 ^ 32 -- LIKWID counts energy in joules, the kernel in 2^-32 J

--- Compare the formulas of a group that was read from LIKWID's text with what Lua makes of the lines; how many.
local function compare_with_lua(text, group)
  local env, counts, spelt = { time = 1 + math.random(), inverseClock = 1e-9 * (1 + math.random()) }, {}, {}
  for name, value in pairs(env) do counts[name] = value end
  for counter, event in text:match("EVENTSET\n(.-)METRICS"):gmatch "(%S+)[ \t]+(%S+)[^\n]*\n" do
    local name = counter:match "^[^:]*"
    env[name] = math.random(1, 1000000)
    counts[name] = env[name] * (event:find "_ENERGY$" and JOULE or 1)
    if name ~= counter then spelt[#spelt + 1] = counter end
  end
  local by_title, compared = {}, 0 -- some titles stand in a group twice
  for line in text:match("METRICS\n(.-)\nLONG"):gmatch "[^\n]+" do
    local title, written = line:match "^(.*%])%s*(.-)%s*$"
    if not title or written == "" then title, written = line:match "^(.-)%s+(%S+)%s*$" end
    for _, counter in ipairs(spelt) do
      local from, to = written:find(counter, 1, true)
      while from do
        written = written:sub(1, from - 1) .. counter:match "^[^:]*" .. written:sub(to + 1)
        from, to = written:find(counter, 1, true)
      end
    end
    by_title[title] = by_title[title] or {}
    table.insert(by_title[title], load("return " .. written, written, "t", env))
  end
  for _, metric in ipairs(group and group.metrics or {}) do
    local got, near, finite = groups.value(group, metric, counts), false, false
    for _, of in ipairs(by_title[metric.about]) do
      local expected = of()
      finite = finite or expected - expected == 0
      near = near or math.abs(got - expected) <= 1e-9 * math.abs(expected)
    end
    assert.is_true(near or not finite, ("%s/%s is %g"):format(group.name, metric.about, got))
    compared = compared + (near and 1 or 0)
  end
  return compared
end

describe("LIKWID's group files", function()
  setup(function() folder = support.folder() end)
  local LEAVES <const> = { "FIXC0", "FIXC1", "PMC0", "PMC1:THRESHOLD=0x4:EDGEDETECT", "PMC1", "MBOX0C0", "PWR0", "time",
    "inverseClock", "1.0E-06", "64.0", "2" }

  --- A random formula as LIKWID's files have them: without blanks, with as few parentheses as its author liked.
  local function formula_of(depth)
    if depth == 0 or math.random(5) == 1 then return LEAVES[math.random(#LEAVES)] end
    local sign = ({ "+", "-", "*", "/" })[math.random(4)]
    local both = formula_of(depth - 1) .. sign .. formula_of(depth - 1)
    return math.random(2) == 1 and ("(%s)"):format(both) or both
  end

  it("give formulas with the same values as in Lua, on random counts", function()
    local texts, compared = {}, 0
    math.randomseed(1)
    assert(require "lfs".mkdir(folder .. "/random"))
    for i = 1, 20 do
      local lines = { "SHORT random", "", "EVENTSET", "FIXC0 INSTR_RETIRED_ANY", "FIXC1 CPU_CLK_UNHALTED_CORE",
        "PMC0  FP_ARITH_INST_RETIRED_SCALAR_DOUBLE", "PMC1:THRESHOLD=0x4:EDGEDETECT  IDQ_MITE_UOPS",
        "MBOX0C0 CAS_COUNT_RD", "PWR0 PWR_PKG_ENERGY", "", "METRICS" }
      for k = 1, 20 do
        local unit = k % 2 == 0 and " [MBytes/s]" or ""
        lines[#lines + 1] = ("metric %d%s %s"):format(k, unit, formula_of(math.random(4)))
      end
      texts[i] = table.concat(lines, "\n") .. "\n\nLONG\nrandom\n"
      spit(("random/R%d.txt"):format(i), texts[i])
    end
    local c = open("skx", folder .. "/random")
    for i, text in ipairs(texts) do compared = compared + compare_with_lua(text, c.groups["R" .. i]) end
    assert.is_true(compared > 350, compared)
  end)

  it("give groups whose formulas have the expected values, and list the excluded ones", function()
    local c = open("skx", spit("WORK.txt", LIKWID))
    local g = c.groups.WORK
    assert.equal("work and memory", g.prose)
    local counts = { FIXC0 = 200, FIXC1 = 300, PMC0 = 4e6, PMC1 = 7, MBOX0C0 = 1e6, MBOX1C0 = 2e6, time = 2, inverseClock = 0.5 }
    local expected = { runtime = 150, cpi = 1.5, scalar_dp = 2, bandwidth = 96, edges = 7, stall_duration = 300 / 7 }
    for name, wanted in pairs(expected) do
      local v, why = groups.value(g, assert(g.by_name[name], name), counts)
      assert.is_nil(why)
      assert.is_true(math.abs(v - wanted) < 1e-9, name .. " " .. v)
    end
    assert.equal("MFLOP/s", g.by_name.scalar_dp.unit)
    assert.equal("INST_RETIRED:ANY_P", g.events.FIXC0)
    assert.equal("FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", g.events.PMC0)
    assert.equal("IDQ:MITE_UOPS:c=4:e=1", g.events.PMC1)
    assert.equal("skx_unc_imc1::UNC_M_CAS_COUNT:RD", g.events.MBOX1C0)
    assert.same({
      ["WORK/Broken"] = "skx has no event NO_SUCH_EVENT", ["WORK/Option"] = "its counter has the option MATCH0=0x1",
      ["WORK/Stranger"] = "it names PMC9, which the EVENTSET has not",
    }, refusals(c))
    assert.equal(1, #assert(c:choose { "WORK/cpi", "scalar_dp" }).runs)
    local list, refused = groups.foreign(folder .. "/WORK.txt", "skx")
    assert.same({ g.events, c.refused }, { list.WORK.events, refused })
    list, refused = groups.foreign(folder .. "/NONE.txt", "skx")
    assert.is_nil(list)
    assert.truthy(refused.text:find "NONE.txt")
  end)

  it("name events in LIKWID's spelling, for cores, boxes and the older uncore", function()
    local wanted = {
      { "snb", "PMC0", "L2_LINES_IN_ALL", "L2_LINES_IN:ANY" }, { "skx", "PMC0", "L1D_M_EVICT", "r451" },
      { "amd64_fam10h_barcelona", "PMC0", "CPU_CLOCKS_UNHALTED", "CPU_CLK_UNHALTED" },
      { "ivb_ep", "PMC1", "CYCLE_ACTIVITY_STALLS_TOTAL", "CYCLE_ACTIVITY:CYCLES_NO_EXECUTE" },
      { "wsm", "UPMC0", "UNC_QMC_NORMAL_READS_ANY", "wsm_unc::UNC_QMC_NORMAL_READS:ANY" },
      { "ivb_ep", "CBOX3C0", "CBOX_CLOCKTICKS", "ivbep_unc_cbo3::UNC_C_CLOCKTICKS" },
      { "hsw_ep", "CBOX0C1", "LLC_VICTIMS_M", "hswep_unc_cbo0::UNC_C_LLC_VICTIMS:STATE_M" },
      { "bdw_ep", "CBOX0C1", "LLC_VICTIMS_M", "bdx_unc_cbo0::UNC_C_LLC_VICTIMS:M_STATE" },
      { "ivb_ep", "SBOX0C0", "TXL_FLITS_G0_DATA", "ivbep_unc_qpi0::UNC_Q_TXL_FLITS_G0:DATA" },
    }
    for _, w in ipairs(wanted) do
      local c = open(w[1], spit("SPELT.txt", ("EVENTSET\n%s %s\nMETRICS\nm %s\n"):format(w[2], w[3], w[2])))
      assert.same({}, refusals(c))
      assert.equal(w[4], c.groups.SPELT.events[w[2]])
    end
    os.remove(folder .. "/SPELT.txt")
  end)

  it("have spellings that libpfm4 encodes, each PMU and name once", function()
    local core, literal = require "pmlua.core", require "pmlua.internal.literal"
    local data = assert(literal.read(literal.shipped "spellings/likwid.lua"))
    local seen, encoded = {}, 0
    for pmus, events in pairs(data.spellings) do
      for pmu in pmus:gmatch "%S+" do
        for name, spelt in pairs(events) do
          assert.is_nil(seen[pmu .. name])
          seen[pmu .. name] = true
          local event, why = core.event.parse(spelt:find "^r%x+$" and spelt or pmu .. "::" .. spelt)
          assert.truthy(event, why)
          encoded = encoded + 1
        end
      end
    end
    assert.is_true(encoded > 300, tostring(encoded))
  end)

  it("are refused with file and line if they are malformed", function()
    for text, why in pairs {
      [""] = ":1: the file has no METRICS", ["EVENTSET\nPMC0\n"] = ":2: a counter and an event are expected",
      ["EVENTSET\nPMC0 X\nMETRICS\nword\n"] = ":4: a metric and its formula are expected",
      ["EVENTSET\n0 X\n"] = ":2: malformed counter",
    } do
      local path = spit("BAD.txt", text)
      local c, err = chooser.open { pmu = "skx", groups = path }
      assert.is_nil(c)
      assert.truthy(err.text:find(path .. why, 1, true), err.text)
    end
    os.remove(folder .. "/BAD.txt")
  end)

  it("are read as in Debian's package, every file of every processor", function()
    local likwid = require "pmlua.internal.groups.likwid"
    if not likwid.folder "skx" then pending "LIKWID is not installed (Debian: likwid)" return end
    for _, pmu in ipairs { "skx", "icx", "hsw_ep", "snb", "amd64_fam19h_zen3", "arm_n1" } do
      local c, taken = open(pmu, "likwid"), 0
      for _, g in pairs(c.groups) do taken = taken + #g.metrics end
      assert.is_true(taken > 40, pmu .. " " .. taken)
      for _, r in ipairs(c.refused) do assert.is_true(#r.why > 10 and #r.why < 200, r.why) end
      local compared, at = 0, likwid.folder(pmu)
      for _, name in ipairs(require "pmlua.internal.file".names(at)) do
        compared = compared + compare_with_lua(support.slurp(at .. "/" .. name), c.groups[name:match "^[^.]*"])
      end
      assert.is_true(compared >= 0.9 * taken, pmu .. " " .. compared)
    end
    local c, err = chooser.open { pmu = "generic", groups = "likwid" }
    assert.same({ nil, "LIKWID has no groups for generic" }, { c, err.text })
  end)
end)

local PERF <const> = [=[[
 { "MetricName": "IPC", "MetricExpr": "INST_RETIRED.ANY / CPU_CLK_UNHALTED.THREAD", "MetricGroup": "Summary;Ret",
   "BriefDescription": "instructions per cycle" },
 { "MetricName": "tma_retiring", "MetricExpr": "UOPS_RETIRED.RETIRE_SLOTS / tma_slots", "ScaleUnit": "100%",
   "MetricGroup": "TmaL1" },
 { "MetricName": "tma_slots", "MetricGroup": "",
   "MetricExpr": "4 * CPU_CLK_UNHALTED.THREAD if #SMT_on else CPU_CLK_UNHALTED.THREAD" },
 { "MetricName": "stuck", "MetricExpr": "cpu@ITLB_NONSENSE@", "MetricGroup": "TmaL1" },
 { "MetricName": "seconds", "MetricExpr": "duration_time", "MetricGroup": "Summary" },
 { "MetricName": "four", "MetricExpr": "IDQ.MITE_UOPS:c4:i1", "MetricGroup": "Summary" },
 { "EventName": "MADE.UP", "EventCode": "0x3C", "UMask": "0x01", "CounterMask": "2", "Counter": "0,1" },
 { "MetricName": "made", "MetricExpr": "MADE.UP", "MetricGroup": "Summary" },
 { "EventType": "Kernel event", "EventName": "cpu-cycles" }, 7, null
]]=]

local INTEL <const> = [=[{ "Header": {}, "Metrics": [
 { "MetricName": "loads_share", "UnitOfMeasure": "percent", "Category": "Memory",
   "Events": [ { "Name": "MEM_INST_RETIRED.ALL_LOADS", "Alias": "a" }, { "Name": "INST_RETIRED.ANY", "Alias": "b" } ],
   "Constants": [ { "Name": "HYPERTHREADING_ON", "Alias": "ht" } ], "Formula": "100 * (a / b) * (1 + ht)" } ] }]=]

local ARM <const> = [[{ "product_configuration": { "product_name": "A core" },
 "events": { "CPU_CYCLES": { "code": "0x0011" }, "STALL_BACKEND": { "code": "0x0024" }, "NEW_EVENT": { "code": "0x0123" } },
 "metrics": { "backend_stalled_cycles": { "title": "Backend stalled", "units": "percent of cycles",
    "formula": "((STALL_BACKEND / CPU_CYCLES) * 100)" },
    "loose": { "formula": "NEW_EVENT / CPU_CYCLES", "units": "" } },
 "groups": { "metrics": { "Cycle_Accounting": { "title": "Cycles", "metrics": ["backend_stalled_cycles", "absent"] } } } }]]

describe("catalogues in JSON", function()
  setup(function() folder = support.folder() end)

  local function value(c, full, counts)
    local name, metric = full:match "^(.-)/(.*)$"
    local g = assert(c.groups[name], name)
    local m = assert(g.by_name[metric], metric)
    local of = { time = 3 }
    for key, event in pairs(m.events) do of[key] = assert(counts[event], event) end
    return groups.value(g, m, of)
  end

  it("of perf give metrics by their groups, made of events and of other metrics", function()
    local c = open("skx", spit("perf.json", PERF))
    local counts = { ["INST_RETIRED:ANY_P"] = 500, ["UOPS_RETIRED:RETIRE_SLOTS"] = 100,
      ["CPU_CLK_UNHALTED:THREAD_P"] = 250, ["IDQ:MITE_UOPS:c=4:i=1"] = 9, ["r200013c"] = 11 }
    assert.equal(2, value(c, "Summary/ipc", counts))
    assert.equal(2, value(c, "Ret/ipc", counts))
    assert.equal(10, value(c, "TmaL1/tma_retiring", counts))
    assert.equal(1000, value(c, "METRICS/tma_slots", counts))
    assert.equal(3, value(c, "Summary/seconds", counts))
    assert.equal(9, value(c, "Summary/four", counts))
    assert.equal(11, value(c, "Summary/made", counts))
    assert.truthy(refusals(c)["TmaL1/stuck"]:find "ITLB_NONSENSE")
    assert.equal(1, #c.refused)
    assert.equal("100%", "100" .. c.groups.TmaL1.by_name.tma_retiring.unit)
  end)

  -- Metrics of perfmon that use more than events of the core's counters.
  local PERFMON <const> = [=[{ "Metrics": [
 { "MetricName": "retiring", "Events": [ { "Name": "PERF_METRICS.RETIRING", "Alias": "a" },
   { "Name": "TOPDOWN.SLOTS:perf_metrics", "Alias": "b" } ], "Constants": [], "Formula": "100 * a / b" },
 { "MetricName": "memory_bound", "Events": [ { "Name": "PERF_METRICS.MEMORY_BOUND", "Alias": "a" } ], "Formula": "a" },
 { "MetricName": "read_rate", "Events": [ { "Name": "UNC_M_CAS_COUNT.RD", "Alias": "a" } ],
   "Constants": [ { "Name": "DURATIONTIMEINMILLISECONDS", "Alias": "d" }, { "Name": "64", "Alias": "l" } ],
   "Formula": "a * l / (d / 1000)" },
 { "MetricName": "snoops", "Events": [ { "Name": "UNC_CHA_X.Y", "Alias": "a" } ], "Formula": "a" },
 { "MetricName": "filtered", "Events": [ { "Name": "UNC_IIO_X.PART0", "Alias": "a" } ], "Formula": "a" },
 { "MetricName": "kernel", "Events": [ { "Name": "CPU_CLK_UNHALTED.THREAD_P:SUP", "Alias": "a" } ], "Formula": "a" },
 { "MetricName": "masked", "Events": [ { "Name": "FP_ARITH_INST_RETIRED.SCALAR:u0xfc", "Alias": "a" } ], "Formula": "a" },
 { "MetricName": "frequency", "Events": [ { "Name": "CPU_CLK_UNHALTED.THREAD", "Alias": "a" },
   { "Name": "CPU_CLK_UNHALTED.REF_TSC", "Alias": "b" } ],
   "Constants": [ { "Name": "SYSTEM_TSC_FREQ", "Alias": "f" } ], "Formula": "a / b * f" } ],
 "Events": [
 { "EventName": "UNC_M_CAS_COUNT.RD", "Unit": "iMC", "EventCode": "0x04", "UMask": "0x0f", "UMaskExt": "0x00" },
 { "EventName": "UNC_CHA_X.Y", "Unit": "CHA", "EventCode": "0x35", "UMask": "0x01", "UMaskExt": "0xC817FE" },
 { "EventName": "UNC_IIO_X.PART0", "Unit": "IIO", "EventCode": "0x83", "UMask": "0x01", "PortMask": "0x01" },
 { "EventName": "FP_ARITH_INST_RETIRED.SCALAR", "EventCode": "0xc7", "UMask": "0x03" } ] }]=]

  it("of perfmon name slots, all PMUs of a unit, other masks, and numbers of time and of the machine", function()
    local c = open("icx", spit("perfmon.json", PERFMON))
    local counts = { r400 = 200, r8000 = 50, ["uncore_imc_*/event=0x04,umask=0x0f/"] = 6e9,
      ["uncore_cha_*/event=0x35,umask=0xc817fe01/"] = 17, ["CPU_CLK_UNHALTED:THREAD_P:k"] = 5, rfcc7 = 9 }
    for name, wanted in pairs { retiring = 25, read_rate = 64 * 6e9 / 3, snoops = 17, kernel = 5, masked = 9 } do
      assert.equal(wanted, value(c, "METRICS/" .. name, counts), name)
    end
    local refused = refusals(c)
    assert.equal("icx has no event PERF_METRICS.MEMORY_BOUND", refused["METRICS/memory_bound"]) -- Sapphire Rapids has it
    assert.equal("icx has no event UNC_IIO_X.PART0", refused["METRICS/filtered"])
    assert.equal("it needs the rate of the machine's time-stamp counter", refused["METRICS/frequency"])
    assert.equal(3, #c.refused)
    assert.equal(25, value(open("spr", folder .. "/perfmon.json"), "METRICS/retiring", counts))
    assert.truthy(refusals(open("skx", folder .. "/perfmon.json"))["METRICS/retiring"])
    assert.equal(1, #assert(c:choose { "METRICS/read_rate", "METRICS/snoops", "METRICS/retiring" }).runs)
  end)

  local PERF_TEXT <const> = [==[
List of pre-defined events:

  cycles                                             [Hardware event]

Metrics:

  CPI
       [Cycles for each instruction [of a thread]]
       [CPU_CLK_UNHALTED.THREAD / INST_RETIRED.ANY]
  Nameless
       [It has no formula]
  Broken
       [It cannot be read]
       [CPU_CLK_UNHALTED.THREAD / ( ]

Summary:
  half
       [Half of the instructions, in a text that is
        broken into lines]
       [0.5 *
        INST_RETIRED.ANY]
       [half > 7]
  CPI

Metric Groups:

Summary
]==]

  it("of a perf that prints text give the same as its JSON", function()
    for _, name in ipairs { "perf.txt", "text.json" } do
      local c = open("skx", spit(name, PERF_TEXT))
      local counts = { ["INST_RETIRED:ANY_P"] = 500, ["CPU_CLK_UNHALTED:THREAD_P"] = 250 }
      assert.equal(0.5, value(c, "Summary/cpi", counts))
      assert.equal(250, value(c, "Summary/half", counts))
      assert.equal("Half of the instructions, in a text that is broken into lines", c.groups.Summary.by_name.half.about)
      assert.equal("Cycles for each instruction [of a thread]", c.groups.Summary.by_name.cpi.about)
      assert.truthy(refusals(c)["METRICS/Broken"])
      assert.equal(1, #c.refused)
    end
    local c, err = chooser.open { pmu = "skx", groups = spit("none.txt", "Metrics:\n\n  NAME\n    [no formula]\n") }
    assert.is_nil(c)
    assert.truthy(err.text:find("none.txt: contains no metrics with formulas", 1, true), err.text)
    c, err = chooser.open { pmu = "skx", groups = spit("cut.json", '[{"MetricName": "x", "MetricExpr": "1') }
    assert.is_nil(c)
    assert.truthy(err.text:find("cut.json: malformed JSON: ", 1, true), err.text)
  end)

  it("are read from the installed perf", function()
    local _, text = support.shell "perf list --json 2>/dev/null || perf list --details metric 2>/dev/null"
    local known = 0
    for _ in text:gmatch '"MetricExpr"' do known = known + 1 end
    if known == 0 then known = #require "pmlua.internal.groups.perf_text".rows(text) end
    if known == 0 then return pending "no perf with metrics for this machine is installed" end
    local c = open("icl", "perf")
    local taken = {}
    for _, g in pairs(c.groups) do for _, m in ipairs(g.metrics) do taken[m.name] = true end end
    local n = #c.refused
    for _ in pairs(taken) do n = n + 1 end
    assert.is_true(n >= 0.9 * known, ("%d of %d"):format(n, known))
    for _, r in ipairs(c.refused) do assert.is_true(#r.why > 10, r.metric) end
  end)

  it("of Intel name their events by aliases, and their Counter column limits them", function()
    local c = open("skx", spit("intel.json", INTEL))
    assert.equal(100, value(c, "Memory/loads_share", { ["MEM_INST_RETIRED:ALL_LOADS"] = 5, ["INST_RETIRED:ANY_P"] = 10 }))
    c = open("hsw", spit("events.json", PERF))
    local event = assert(c:event "r200013c")
    assert.same({ 1, 2 }, event.placements)
    assert.equal("perfmon's Counter column says so", event.why)
    assert.same({ 1, 2, 4, 8 }, { table.unpack(assert(c:event "r0003").placements, 1, 4) })
  end)

  it("of AMD have codes of twelve bits, and events of the core only", function()
    local c = open("amd64_fam19h_zen3", spit("amd.json", [=[
      [{"EventName": "ex_ret_fused_instr", "EventCode": "0x1d0"},
       {"EventName": "ex_ret_brn_misp", "EventCode": "0xc3", "UMask": "0x00"},
       {"EventName": "l3_lookup", "EventCode": "0x04", "UMask": "0xff", "Unit": "L3PMC"},
       {"MetricName": "fused", "MetricExpr": "d_ratio(ex_ret_fused_instr, ex_ret_brn_misp)"},
       {"MetricName": "farther", "MetricExpr": "l3_lookup / 2"}]
    ]=]))
    assert.equal(4, value(c, "METRICS/fused", { r1000000d0 = 8, rc3 = 2 }))
    assert.equal("amd64_fam19h_zen3 has no event l3_lookup", refusals(c)["METRICS/farther"])
  end)

  it("that perf list prints have events in the kernel's notation", function()
    local c = open("skx", spit("list.json", [=[
      [{"EventName": "clock", "Encoding": "software/config=1,period=0x186a3/"},
       {"EventName": "far", "Encoding": "none_such/event=1/"},
       {"MetricName": "half", "MetricExpr": "clock / 2"},
       {"MetricName": "other", "MetricExpr": "far / 2"}]
    ]=]))
    if not support.core.event.parse "software/config=1/" then return pending "this kernel has no perf events" end
    assert.equal(4, value(c, "METRICS/half", { ["software/config=1/"] = 8 }))
    assert.equal("skx has no event far", refusals(c)["METRICS/other"])
  end)

  it("of Arm give events that libpfm4 lacks by their number", function()
    local c = open("arm_n1", spit("arm.json", ARM))
    assert.equal(25, value(c, "Cycle_Accounting/backend_stalled_cycles", { STALL_BACKEND = 1, CPU_CYCLES = 4 }))
    assert.equal(2, value(c, "METRICS/loose", { r123 = 8, CPU_CYCLES = 4 }))
    assert.same({}, c.refused)
  end)

  it("are refused if they are malformed", function()
    local none = { "", "[", "7", "{}", '[{"MetricName": 7}]', '{"metrics": {"x": 1}, "groups": 3, "events": []}', "[null]" }
    for _, text in ipairs(none) do
      local c, err = chooser.open { pmu = "skx", groups = spit("bad.json", text) }
      assert.is_nil(c, text)
      assert.truthy(err.text:find "bad.json" and #err:sentence() < 200, err.text)
    end
    local c, err = chooser.open { pmu = "skx", groups = folder .. "/nowhere.json" }
    assert.is_nil(c)
    assert.truthy(err.text:find "nowhere.json")
  end)

  it("are listed by pmlua choose, with the excluded ones and the reason", function()
    local status, out, err = support.shell(("%s/pmlua choose --pmu skx --groups %s --list"):format(support.build,
      support.quote(folder .. "/perf.json")))
    assert.same({ 0, "" }, { status, err })
    assert.truthy(out:find "\nSummary\n" and out:find "\nnot taken: 1 metric\n  TmaL1/stuck: ", out)
    status, out = support.shell(("%s/pmlua choose --pmu skx --groups %s ipc TmaL1"):format(support.build,
      support.quote(folder .. "/perf.json")))
    assert.equal(0, status)
    assert.truthy(out:find "TmaL1/tma_retiring", out)
  end)
end)
