-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/chooser_spec.lua - which events fit on the counters, why others do not, and the fewest runs, against brute force.

require "spec.core.support"
local chooser = require "pmlua.chooser"
local place = require "pmlua.internal.chooser.place"
local schedule = require "pmlua.internal.chooser.schedule"
local rng = require "pmlua.internal.rng"

local function open(pmu, smt, watchdog)
  return assert(chooser.open { pmu = pmu, smt = smt or false, watchdog = watchdog or false })
end

local function events_of(c, names)
  local list = {}
  for i, name in ipairs(names) do list[i] = assert(c:event(name)) end
  return list
end

--- The label of each event's counter, or nil and why not.
local function fit(c, names)
  local list = events_of(c, names)
  local where, why = place.fit(list)
  if not where then return nil, why end
  local labels = {}
  for i, e in ipairs(list) do labels[i] = where[e] and place.label(where[e]) or "-" end
  return labels
end

describe("On its counters,", function()
  it("Skylake-X has four for a thread with SMT, eight without", function()
    local names = {}
    for i = 0, 7 do names[i + 1] = "UOPS_DISPATCHED_PORT:PORT_" .. i end
    assert.is_truthy(fit(open("skx", false), names))
    local where, why = fit(open("skx", true), names)
    assert.is_nil(where)
    assert.matches("compete for counters 0%-3: 5 events, 4 counters$", why)
  end)

  it("fixed counters take their events, and free the general ones", function()
    local where = assert(fit(open("skx", true), { "INST_RETIRED:ANY_P", "CPU_CLK_UNHALTED", "UNHALTED_REFERENCE_CYCLES",
      "L1D:REPLACEMENT", "L2_LINES_IN:ALL", "L2_TRANS:L2_WB", "LONGEST_LAT_CACHE:MISS" }))
    assert.same({ "fixed 0", "fixed 1", "fixed 2" }, { where[1], where[2], where[3] })
  end)

  it("an event of the lower four does not fit above them, and gets one from an event that does", function()
    local c = open("skx", false)
    local retired = { "MEM_LOAD_RETIRED:L1_HIT", "MEM_LOAD_RETIRED:L1_MISS", "MEM_LOAD_RETIRED:L2_HIT",
      "MEM_LOAD_RETIRED:L2_MISS" }
    local any = { "L1D:REPLACEMENT", "L2_LINES_IN:ALL", "L2_TRANS:L2_WB", "LONGEST_LAT_CACHE:MISS" }
    local all = { table.unpack(any) }
    for _, name in ipairs(retired) do all[#all + 1] = name end
    local where = assert(fit(c, all)) -- events that may use any counter came first
    for i = 5, 8 do assert.is_true(tonumber(where[i]) < 4) end
    retired[5] = "MEM_LOAD_RETIRED:L3_HIT"
    assert.same({ nil, "MEM_LOAD_RETIRED:L1_HIT, MEM_LOAD_RETIRED:L1_MISS, MEM_LOAD_RETIRED:L2_HIT, MEM_LOAD_RETIRED:L2_MISS, "
      .. "MEM_LOAD_RETIRED:L3_HIT compete for counters 0-3: 5 events, 4 counters" }, { fit(c, retired) })
  end)

  it("events that Intel lists for the lower four stay there, if a thread has eight", function()
    local function lower(c, names)
      for _, name in ipairs(names) do
        local five = {}
        for i = 1, 5 do five[i] = name:format(i) end
        assert.matches("compete for counters 0%-3: 5 events, 4 counters$", select(2, fit(c, five)) or name)
      end
    end
    -- unit masks of one event that need no extra register
    lower(open("skx", false), { "r0%da3", "r0%dd3", "r0%dd4", "r1%dbb", "r1%db7", "r0%dd0" })
    lower(open("icx", false), { "r0%d55", "r0%d56", "r0%d54", "r0%d48" })
    lower(open("icl", false), { "r0%d55", "r0%d56" })
    assert.is_truthy(fit(open("icx", false), { "r0157", "r0257", "r0357", "r0457", "r0557" }))
    assert.is_truthy(fit(open("skx", false), { "r01d5", "r02d5", "r03d5", "r04d5", "r05d5" }))
  end)

  it("topdown slots of general counters are no fixed counter's event", function()
    assert.same({ "fixed 3", "0" }, fit(open("spr", false), { "TOPDOWN:SLOTS", "TOPDOWN:BAD_SPEC_SLOTS" }))
    assert.matches("compete for counter 0", select(2, fit(open("spr", false), { "TOPDOWN:BAD_SPEC_SLOTS",
      "TOPDOWN:MEMORY_BOUND_SLOTS" })))
  end)

  it("an event with a list of one counter keeps it from others", function()
    local c = open("skx", true)
    assert.same({ "1" }, fit(c, { "INST_RETIRED:PREC_DIST" }))
    assert.same({ nil,
      "r01ce, r02cd compete for counter 0: 2 events, 1 counter" }, { fit(open("spr", false), { "r02cd", "r01ce" }) })
  end)

  it("shared registers of events hold a limited number of values", function()
    local c = open("spr", false)
    local two = { "OCR:READS_TO_CORE_DRAM", "OCR:READS_TO_CORE_L3_HIT" }
    assert.is_truthy(fit(c, two))
    two[3] = "OFFCORE_RESPONSE_1:READS_TO_CORE_DRAM" -- the same value as the first, so it shares the register
    assert.is_truthy(fit(c, two))
    two[4] = "OCR:READS_TO_CORE_L3_MISS"
    assert.matches("need 3 values of OFFCORE_RSP .*, which has 2$", select(2, fit(c, two)))
  end)

  it("AMD counts floating-point operations on an even counter and the next", function()
    local c = open("zen4")
    assert.same({ "4", "5", "0+1", "2+3" }, fit(c, { "RETIRED_INSTRUCTIONS", "CYCLES_NOT_IN_HALT", "RETIRED_SSE_AVX_FLOPS:ANY",
      "RETIRED_SSE_AVX_FLOPS:MAC_FLOPS" }))
    assert.matches("two counters each: 4 do not fit$", select(2, fit(c, { "RETIRED_SSE_AVX_FLOPS:ANY",
      "RETIRED_SSE_AVX_FLOPS:MAC_FLOPS", "RETIRED_SSE_AVX_FLOPS:DIV_FLOPS", "RETIRED_SSE_AVX_FLOPS:MULT_FLOPS" })))
    assert.matches("compete for counters? .* that RETIRED_SSE_AVX_FLOPS:ANY leaves: 5 events, 4 counters", select(2, fit(c, {
      "RETIRED_SSE_AVX_FLOPS:ANY", "RETIRED_INSTRUCTIONS", "CYCLES_NOT_IN_HALT", "RETIRED_OPS", "LS_DISPATCH:LD_DISPATCH",
      "LS_DISPATCH:STORE_DISPATCH" })))
  end)

  it("Arm has six and one for cycles, A64FX eight and one", function()
    local n1 = open("arm_n1")
    local six = { "L1D_CACHE", "L1D_CACHE_REFILL", "L2D_CACHE_ACCESS", "L2D_CACHE_REFILL", "LD_SPEC", "ST_SPEC" }
    six[7] = "CPU_CYCLES"
    assert.equal("fixed 0", fit(n1, six)[7])
    six[8] = "INST_RETIRED"
    assert.matches("7 events, 6 counters$", select(2, fit(n1, six)))
    assert.equal(8, open("a64fx").counters.general)
  end)

  it("events that the core does not count take none of its counters", function()
    assert.same({ "-", "-", "-" }, fit(open("skx"), { "task-clock", "clock::ns", "msr/tsc/" }))
  end)

  it("memory is counted by each channel that the kernel has, and planned without channels", function()
    local pml = require "pmlua"
    for pmu, case in pairs {
      icx = { "icelake", 24, 0xf04, 0x3004 }, spr = { "icelake", 24, 0xcf05, 0xf005 },
      amd64_fam19h_zen4 = { "zen5", 4, 0x10a, 0x20a }, amd64_fam1ah_zen5 = { "zen5", 4, 0x10a, 0x20a },
      snb = { "client", 1, 1, 2 }, hsw = { "client", 1, 1, 2 }, icl = { "client", 1, 1, 2 },
    } do
      local c, group = open(pmu), pml.groups.of(pmu).MEMORY
      local plan = assert(c:choose { "MEMORY" })
      assert.same({ 1, true }, { #plan.runs, plan.together })
      local read, written = group.events.lines_read, group.events.lines_written
      local by = read:match "^[^/]+"
      assert.equal(("it is counted by %s, for whole packages"):format(by:gsub(".*%*$", "PMUs %0")
        :gsub("^%w+_%w+$", "the PMU %0")), c:event(read).why)
      assert(pml.event.set_sysfs("spec/data/sysfs/" .. case[1]))
      local parts = { assert(pml.event.parse(read)).parts, assert(pml.event.parse(written)).parts }
      pml.event.set_sysfs()
      assert.same({ case[2], case[2] }, { #parts[1], #parts[2] })
      for i = 1, case[2] do assert.same({ case[3], case[4] }, { parts[1][i].config, parts[2][i].config }) end
    end
    assert.same({}, { pml.groups.of("icl").UPI, pml.groups.of("amd64_fam19h_zen4").UPI })
    assert.is_nil(pml.groups.of("hsw_ep").MEMORY.events.lines_read) -- its home agents count
  end)

  it("Zen 5, which libpfm4 may not support, is recognised by its model and opened by numbers", function()
    local pmus, processor = require "pmlua.pmus", require "pmlua.internal.processor"
    local text = "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 26\nmodel : %d\nmodel name : any\n"
    local function recognised(model) return pmus.recognise(processor.of(text:format(model))) end
    assert.same({ "amd64_fam1ah_zen5", "amd64_fam1ah_zen5", "amd64_fam1ah_zen5", nil },
      { recognised(2), recognised(0x44), recognised(0x60), recognised(0x50) })
    assert.is_nil(pmus.recognise(processor.of((text:format(2):gsub("AMD", "Not")))))
    assert.is_nil(pmus.recognise(processor.of ""))
    local c = open "zen5"
    local event = assert(c:event "DISPATCH_STALLS_1:FE_NO_OPS:C=8:u")
    assert.same({ "r1080001a0:u", "DISPATCH_STALLS_1:FE_NO_OPS:C=8:u" }, { event.name, event.short })
    assert.same({ "2+3", "0+1" }, { fit(c, { "RETIRED_SSE_AVX_FLOPS:ANY", "RETIRED_SSE_AVX_FLOPS:MAC_FLOPS" })[2],
      fit(c, { "RETIRED_SSE_AVX_FLOPS:ANY" })[1] })
    assert.matches("has no event RETIRED_OP; did you mean RETIRED_OPS%?$", tostring(select(2, c:event "RETIRED_OP")))
    assert.matches("has no attributes$", tostring(select(2, c:event "RETIRED_OPS:ANY")))
  end)

  it("Cortex-A72 is also found by its part, and in its place among others", function()
    local pmus, processor = require "pmlua.pmus", require "pmlua.internal.processor"
    local one = "CPU implementer : 0x%x\nCPU architecture: 8\nCPU variant : 0x0\nCPU part : 0x%x\nCPU revision : 3\n\n"
    local function recognised(implementer, part) return pmus.recognise(processor.of(one:format(implementer, part))) end
    assert.same({ "arm_ac72", nil, nil }, { recognised(0x41, 0xd08), recognised(0x41, 0xd07), recognised(0x51, 0xd08) })
    local event = assert(open("arm_ac72"):event "L2D_CACHE_REFILL:u")
    assert.same({ "r17:u", "L2D_CACHE_REFILL:u" }, { event.name, event.short })
  end)

  it("an event of all places differs from the event of one", function()
    local pml = require "pmlua"
    local c = open("generic")
    assert(pml.event.set_sysfs "spec/data/sysfs/server")
    local all, one = c:event "power/energy-pkg/", c:event "power/energy-pkg/:package0"
    pml.event.set_sysfs()
    assert.not_equal(assert(all), assert(one))
  end)

  it("a name that the kernel cannot count is refused with a name that it can", function()
    local event = assert(open("spr"):event("CPU_CLK_UNHALTED:THREAD"))
    assert.matches("; cycles are CPU_CLK_UNHALTED:THREAD_P$", event.dead)
    assert.matches("^event 0 is for fixed counters", assert(open("spr"):event("r1000")).dead)
    assert.is_nil(assert(open("spr"):event("TOPDOWN:MEMORY_BOUND_SLOTS")).dead)
    assert.is_nil(assert(open("spr"):event("TOPDOWN:SLOTS")).dead)
  end)

  it("two names of one event are one event", function()
    local c = open("skx")
    assert.equal(c:event("CPU_CLK_UNHALTED"), c:event("intel_skx::CPU_CLK_THREAD_UNHALTED:THREAD_P"))
    assert.equal(c:event("FP_ARITH:SCALAR_DOUBLE"), c:event("FP_ARITH_INST_RETIRED:SCALAR_DOUBLE"))
    assert.not_equal(c:event("CPU_CLK_UNHALTED"), c:event("CPU_CLK_UNHALTED:u"))
  end)
end)

-- --- a plan ---

--- Check what holds of every plan.
local function check_plan(c, plan)
  for _, item in ipairs(plan.items) do
    if not item.dead and not item.split then
      local run = plan.runs[item.run]
      for _, e in ipairs(item.events) do assert.is_true(run.has[e], item.name) end
    end
  end
  for _, run in ipairs(plan.runs) do
    local taken = 0
    for _, e in ipairs(run.events) do
      assert.equal(0, taken & e.mask)
      taken = taken | e.mask
    end
  end
  assert.is_true(#plan.runs >= plan.bound)
  assert.is_true(not plan.exact or #plan.runs == plan.bound)
  assert.is_truthy(c)
end

describe("A plan", function()
  for _, pmu in ipairs { "skx", "icx", "icl", "spr", "zen2", "zen3", "zen4", "arm_n1", "arm_v1", "a64fx", "generic" } do
    it("of every group on " .. pmu .. " keeps the events of each metric in one run", function()
      for _, smt in ipairs { true, false } do
        local c = open(pmu, smt, true)
        local plan = assert(c:choose(require "pmlua.groups".NAMES))
        check_plan(c, plan)
        for _, item in ipairs(plan.items) do assert.is_nil(item.dead, item.name) end
      end
    end)
  end

  it("gives no counter to two events, and names the NMI watchdog's", function()
    local plan = assert(open("skx", true, true):choose { "CYCLE" })
    assert.same({ event = "the NMI watchdog", counter = "fixed 1" }, plan.runs[1].reserved)
    assert.is_nil(assert(open("skx", true, false):choose { "CYCLE" }).runs[1].reserved)
  end)

  it("divides a metric that does not fit into its parts, with the reason", function()
    local plan = assert(open("skx", true):choose { "FLOPS/flop" })
    local flop = plan.items[1]
    assert.matches("compete for counters 0%-3: 5 events, 4 counters$", flop.split)
    assert.same({ 1, 2 }, flop.runs)
    assert.equal(4, #plan.runs[1].events)
    assert.is_nil(assert(open("skx", false):choose { "FLOPS/flop" }).items[1].split)
  end)

  it("names the pairs that never fit together", function()
    local plan = assert(open("skx"):choose { "MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=4", "MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=8" })
    assert.is_false(plan.together)
    assert.equal(1, #plan.rivals)
    assert.matches("need 2 values of LD_LAT", plan.rivals[1].why)
    assert.equal(2, #plan.runs)
  end)

  it("names the events that can still be added to a run", function()
    local c = open("arm_n1")
    local plan = assert(c:choose { "L1D_CACHE", "L1D_CACHE_REFILL", "L2D_CACHE_ACCESS", "L2D_CACHE_REFILL", "LD_SPEC" })
    local fitting, others = c:more(plan.runs[1])
    assert.is_true(#fitting > 90 and others == 0)
    plan = assert(c:choose { "L1D_CACHE", "L1D_CACHE_REFILL", "L2D_CACHE_ACCESS", "L2D_CACHE_REFILL", "LD_SPEC", "ST_SPEC" })
    fitting, others = c:more(plan.runs[1])
    assert.same({ "CPU_CYCLES" }, fitting)
    assert.is_true(others > 90)
  end)

  it("finds groups, metrics, presets and events, and the nearest name of an unknown one", function()
    local c = open("skx")
    assert.equal(1, #assert(c:choose { "PAPI_TOT_CYC" }).items)
    assert.equal("FLOPS/ipc", assert(c:choose { "FLOPS/ipc" }).items[1].name)
    assert.equal(2, #assert(c:choose { "task-clock", "CPU_CLK_UNHALTED", "CPU_CLK_UNHALTED" }).items)
    assert.matches("did you mean FLOPS%?$", select(2, c:choose { "FLOPZ" }))
    assert.matches("did you mean PAPI_TOT_CYC%?$", select(2, c:choose { "PAPI_TOT_CYK" }))
    assert.matches("^group FLOPS has no metric x; choose one of sp_flop, ", select(2, c:choose { "FLOPS/x" }))
    assert.matches("is an event of amd64_fam19h_zen4, not of skx$", select(2, c:choose { "amd64_fam19h_zen4::RETIRED_OPS" }))
    assert.matches("did you mean CPU_CYCLES%?$", select(2, open("arm_n1"):choose { "CPU_CYCLE" }))
  end)

  it("for an unknown PMU is refused with the nearest name", function()
    assert.equal("intel_skz: no such core PMU; choose one of " .. table.concat(require "pmlua.pmus".names(), ", "),
      tostring(select(2, chooser.open { pmu = "intel_skz" })))
  end)
end)

-- --- against brute force ---

local random = rng(20260101)

--- Whether events fit, by trying every placement of every event.
local function brute_fit(events, at, taken)
  at, taken = at or 1, taken or 0
  if at > #events then return true end
  for _, mask in ipairs(events[at].placements) do
    if mask & taken == 0 and brute_fit(events, at + 1, taken | mask) then return true end
  end
  return #events[at].placements == 0 and brute_fit(events, at + 1, taken)
end

local function brute_registers(events)
  local values, n = {}, 0
  for _, e in ipairs(events) do
    for _, r in ipairs(e.registers) do
      if not values[r.value] then values[r.value], n = true, n + 1 end
    end
  end
  return n <= 2
end

local function random_event(name, counters)
  local placements, kind = {}, random(6)
  if kind == 1 and counters >= 2 then
    for i = 0, counters - 2, 2 do placements[#placements + 1] = 3 << i end
  elseif kind > 1 then
    for i = 0, counters - 1 do
      if kind > 4 or random(2) == 1 then placements[#placements + 1] = 1 << i end
    end
    if #placements == 0 then placements[1] = 1 << random(counters) - 1 end
  end
  local registers = random(5) == 1 and { { name = "R", value = tostring(random(4)), registers = 2 } } or {}
  return { short = name, placements = placements, registers = registers }
end

describe("On random problems,", function()
  it("matching has the same result as trying every placement", function()
    local yes, no = 0, 0
    for _ = 1, 3000 do
      local counters, events = random(6), {}
      for i = 1, random(7) do events[i] = random_event("E" .. i, counters) end
      local expected = brute_fit(events) and brute_registers(events)
      local where = place.fit(events)
      assert.equal(expected, where ~= nil)
      if where then yes = yes + 1 else no = no + 1 end
    end
    assert.is_true(yes > 500 and no > 500)
  end)

  it("a hundred events are planned within the permitted nodes, and the known bounds of the plan are printed", function()
    local calls = 0
    local function counted(events)
      calls = calls + 1
      return place.fit(events)
    end
    for _ = 1, 5 do
      local events, units = {}, {}
      for i = 1, 100 do
        events[i] = random_event("E" .. i, 8)
        if #events[i].placements > 0 or i % 2 == 0 then units[#units + 1] = { name = "U", events = { i } } end
      end
      for i = 1, 20 do units[#units + 1] = { name = "M", events = schedule.union({ 2 * i }, { 2 * i + 2 }) } end
      for i = #units, 1, -1 do
        local list = {}
        for n, e in ipairs(units[i].events) do list[n] = events[e] end
        if not place.fit(list) then table.remove(units, i) end
      end
      local plan = schedule.plan(units, events, {}, counted, 2000)
      assert.is_true(plan.nodes <= 2000 + #units)
      assert.is_true(plan.exact == (#plan.runs == plan.bound) and #plan.runs >= plan.bound)
    end
    assert.is_true(calls <= 5 * (2200 + 120 * 60), calls) -- no more than the search, and the first plan's tries of each run
  end)
end)
