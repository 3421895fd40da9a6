-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/groups_spec.lua - tests of event groups, presets and PMU data: libpfm4 encodes every name, and every formula is
-- evaluated.

local lfs = require "lfs"
local support = require "spec.core.support"
local literal = require "pmlua.internal.literal"
local groups = require "pmlua.groups"
local pmus = require "pmlua.pmus"
local rng = require "pmlua.internal.rng"
local core = support.core

local function encoded(out)
  local passed, failed, unknown = out:match("(%d+) passed, (%d+) failed, (%d+) unknown%s*$")
  return tonumber(passed), tonumber(failed), tonumber(unknown)
end

describe("Every event of every group and preset is encoded by libpfm4, on any machine:", function()
  it("belong to the architecture of this libpfm4", function()
    local status, out, err = support.shell(support.build .. "/pmlua spec/lua/encode.lua")
    assert.equal("", err)
    local passed, failed = encoded(out)
    assert.equal(0, failed, out)
    assert.equal(0, status)
    assert.is_true(passed > 100, out)
  end)

  it("belong to Arm, in the arm64 build", function()
    if core.sys.uname().machine == "aarch64" then return end -- they were encoded above
    local arm = "qemu-aarch64-static -L build/arm/sys -E LD_LIBRARY_PATH=" ..
      "build/arm/out:build/arm/sys/usr/lib/aarch64-linux-gnu build/arm/out/pmlua "
    if support.shell(arm .. "-e 'os.exit(pml.event.pmus ~= nil)'") ~= 0 then
      pending("a libpfm4 for x86 knows no Arm PMU, and there is no arm64 build of this version (make check-arm makes one)")
      return
    end
    local status, out, err = support.shell(arm .. "spec/lua/encode.lua", 300)
    local passed, failed = encoded(out)
    assert.equal(0, failed, out .. err)
    assert.equal(0, status, err)
    assert.is_true(passed > 500, out)
  end)

  it("and without a table, the facts have the numbers", function()
    for _, name in ipairs(groups.pmus()) do
      local pmu = assert(pmus.get(name))
      for _, list in ipairs { pmu.events and groups.of(name) or {}, pmu.events and groups.presets(name) or {} } do
        for _, group in pairs(list) do
          for _, event in pairs(group.events) do
            assert.is_truthy(pmu.events[event] or event:find "::" or event:find "/", name .. "::" .. event)
          end
        end
      end
    end
  end)
end)

describe("Every supported PMU", function()
  for _, name in ipairs { "skx", "clx", "skl", "snb", "snb_ep", "ivb", "ivb_ep", "bdw", "bdw_ep", "icx", "icl", "spr",
                          "amd64_fam17h_zen1", "amd64_fam17h_zen2", "amd64_fam19h_zen3", "amd64_fam19h_zen4",
                          "amd64_fam1ah_zen5", "arm_n1",
                          "arm_v1", "arm_a64fx", "generic" } do
    it(name .. " has every group with prose and source, and presets", function()
      local list = groups.of(name)
      for _, group in ipairs(groups.NAMES) do
        assert.is_truthy(list[group], group)
        assert.is_true(#list[group].prose > 20 and #list[group].source > 20 and #list[group].metrics > 0)
      end
      assert.is_truthy(groups.presets(name).PAPI_TOT_CYC)
      local pmu = assert(pmus.get(name))
      assert.is_true(pmu.general.smt > 0 and pmu.general.single >= pmu.general.smt and #pmu.source > 20)
    end)
  end

  -- The topics that a processor has no group for, because it cannot count the events.
  local LACKS <const> = {
    zen1 = "L3 UPI TOPDOWN2 TOPDOWN3", zen2 = "UPI TOPDOWN2 TOPDOWN3", zen3 = "UPI TOPDOWN2 TOPDOWN3",
    zen4 = "UPI TOPDOWN3", zen5 = "UPI TOPDOWN3", a64fx = "L3 DIVIDE NUMA UPI ENERGY TOPDOWN2 TOPDOWN3",
    ac53 = "FLOPS L3 STALLS UOPS DIVIDE NUMA UPI ENERGY TOPDOWN TOPDOWN2 TOPDOWN3",
    ac57 = "L3 STALLS UOPS DIVIDE NUMA UPI ENERGY TOPDOWN TOPDOWN2 TOPDOWN3",
    ac72 = "L3 STALLS UOPS DIVIDE NUMA UPI ENERGY TOPDOWN TOPDOWN2 TOPDOWN3",
    n1 = "UOPS DIVIDE UPI ENERGY TOPDOWN2 TOPDOWN3", n2 = "DIVIDE UPI ENERGY TOPDOWN3", v1 = "DIVIDE UPI ENERGY TOPDOWN3",
    v2 = "DIVIDE UPI ENERGY TOPDOWN3", hsw = "FLOPS NUMA UPI", hsw_ep = "FLOPS", snb = "NUMA UPI", ivb = "NUMA UPI",
    bdw = "NUMA UPI", skl = "NUMA UPI", icl = "NUMA UPI",
    generic = "L2 UOPS DIVIDE NUMA UPI ENERGY TOPDOWN TOPDOWN2 TOPDOWN3",
  }
  local TOPICS <const> = { "FLOPS", "BANDWIDTH", "L2", "L3", "TLB", "BRANCH", "STALLS", "UOPS", "DIVIDE", "NUMA", "UPI", "ENERGY",
    "TOPDOWN", "TOPDOWN2", "TOPDOWN3" }

  --- Older ones without rules have what all of their vendor count by the same numbers.
  local function is_older(pmu) return pmus.get(pmu).source:find "^libpfm4's number of general counters" ~= nil end

  it("has a group for each topic that it can count", function()
    local older = 0
    for _, pmu in ipairs(groups.pmus()) do
      local missing, of = {}, groups.of(pmu)
      for _, topic in ipairs(TOPICS) do
        if not of[topic] then missing[#missing + 1] = topic end
      end
      if is_older(pmu) then
        older = older + 1
        assert.is_truthy(of.CYCLE.by_name.ipc and of.BRANCH and of.CACHE, pmu)
      else
        assert.equal(LACKS[pmu:match "[^_]+$"] or LACKS[pmu] or "", table.concat(missing, " "), pmu)
      end
    end
    assert.is_true(older == 0 or older == 24, older) -- libpfm4 has tables of one architecture only
    assert.is_truthy(groups.of("spr").HALF and groups.of("arm_a64fx").HALF)
  end)

  -- PAPI's list of presets, as of August 2026, has so many for each.
  local PAPI <const> = { amd64_fam17h_zen1 = 23, amd64_fam17h_zen2 = 17, amd64_fam19h_zen3 = 27, amd64_fam19h_zen4 = 30,
    amd64_fam1ah_zen5 = 30, arm_a64fx = 40, arm_ac53 = 14, arm_ac57 = 21, arm_ac72 = 21, arm_n1 = 28, arm_n2 = 28, arm_v1 = 28,
    arm_v2 = 47, snb = 50, snb_ep = 50, ivb = 50, ivb_ep = 50, hsw = 56, hsw_ep = 56, bdw = 60, bdw_ep = 60, skl = 59, skx = 59,
    clx = 59, icl = 42, icx = 42, spr = 43 }

  it("has as many presets as PAPI", function()
    for _, pmu in ipairs(groups.pmus()) do
      local n = 0
      for _ in pairs(groups.presets(pmu)) do n = n + 1 end
      if pmu ~= "generic" and not is_older(pmu) then assert.is_true(n >= PAPI[pmu], ("%s: %d"):format(pmu, n)) end
    end
  end)

  it("accepts the common names of PMUs", function()
    assert.equal("skx", pmus.get("intel_skx").name)
    assert.equal("amd64_fam19h_zen4", pmus.get("Zen4").name)
    assert.equal("arm_n1", pmus.get("n1").name)
    assert.equal("sqx: no such core PMU; did you mean skx?", tostring(select(2, pmus.get("sqx"))))
  end)

  it("has a number of counters in libpfm4, or only in its facts", function()
    local list, here = core.event.pmus(), 0
    assert.is_true(#list > 3)
    for _, pmu in ipairs(list) do
      assert.is_true(#pmu.name > 0 and math.type(pmu.counters) == "integer" and math.type(pmu.events) == "integer")
      assert.is_truthy(({ core = 1, uncore = 1, os = 1, unknown = 1 })[pmu.kind])
      if pmu.here then here = here + 1 end
    end
    assert.is_true(here > 0) -- perf's own at least
    assert.equal(list[1].name, core.event.pmus()[1].name)
  end)
end)

-- --- formulas ---

--- The value that Lua computes from the text of a formula, from counts, and from constants and metrics of the group.
local function by_lua(group, metric, counts)
  local env = setmetatable({ max = math.max, min = math.min, sqrt = math.sqrt, abs = math.abs }, { __index = function(_, name)
    return group.constants[name] or counts[name]
  end })
  for _, part in ipairs(metric.parts) do env[part] = by_lua(group, group.by_name[part], counts) end
  return assert(load("return " .. metric.formula.text, metric.name, "t", env))()
end

describe("Presets of branches", function()
  -- A program of 100 branches, of which 60 are conditional: 40 of these are taken, 7 guessed wrong, of all 9.
  local counted = { { "MISP.*COND", 7 }, { "MISP", 9 }, { "COND_NTAKEN", 20 }, { "NOT_TAKEN", 20 }, { "COND_TAKEN", 40 },
    { "COND", 60 }, { "TAKEN", 80 }, { "", 100 } }
  local expected = { PAPI_BR_CN = 60, PAPI_BR_UCN = 40, PAPI_BR_INS = 100, PAPI_BR_MSP = 7, PAPI_BR_PRC = 53, PAPI_BR_TKN = 40,
    PAPI_BR_NTK = 20 }

  local function count_of(event)
    for _, c in ipairs(counted) do
      if event:find(c[1]) then return c[2] end
    end
  end

  it("count conditional ones like PAPI's, or report that the PMU does not distinguish kinds", function()
    local checked = 0
    for _, pmu in ipairs(groups.pmus()) do
      for name, value in pairs(expected) do
        local preset = groups.presets(pmu)[name]
        local metric, counts = preset and preset.metrics[1], {}
        for key, event in pairs(metric and metric.events or {}) do counts[key] = count_of(event) end
        local one_kind = name == "PAPI_BR_INS" or metric and not metric.about:find "of all kinds"
        if metric and one_kind and not pmu:find "^arm" and not metric.about:find "with a prediction" then
          assert.equal(value, (groups.value(preset, metric, counts)), pmu .. " " .. name)
          checked = checked + 1
        end
      end
    end
    assert.is_true(checked > 14 * 7)
  end)
end)

describe("Every formula", function()
  it("has the value that Lua computes from its text, on random counts", function()
    local random, seen = rng(11), 0
    local counts = setmetatable({}, { __index = function(all, name)
      all[name] = random(1000000)
      return all[name]
    end })
    for _, pmu in ipairs(groups.pmus()) do
      for _, list in ipairs { groups.of(pmu), groups.presets(pmu) } do
        for name, group in pairs(list) do
          for _, metric in ipairs(group.metrics) do
            local what = ("%s %s %s: %s"):format(pmu, name, metric.name, metric.formula.text)
            local value, why = groups.value(group, metric, counts)
            local expected = by_lua(group, metric, counts)
            assert.is_nil(why, what)
            assert.is_true(math.abs(value - expected) <= 1e-12 * math.abs(expected), ("%s is %.17g"):format(what, value))
            seen = seen + 1
          end
        end
      end
    end
    assert.is_true(seen > 400)
  end)

  it("of a common metric has the value that its name promises, on every processor", function()
    local counts = { time = 2, cycles = 300, instructions = 600, branches = 100, mispredicted = 6, misses = 12, references = 48,
      loads = 90, stores = 30, flop = 1500, ref = 200, faults = 8 }
    local expected = { ipc = 2, branch_rate = 1 / 6, branch_mpki = 10, ll_mpki = 20, ll_miss_ratio = 25, loads_per_store = 3,
      loads_per_instruction = 0.15 }
    local seen = {}
    for _, pmu in ipairs(groups.pmus()) do
      for _, group in pairs(groups.of(pmu)) do
        for _, metric in ipairs(group.metrics) do
          local value, why = groups.value(group, metric, counts)
          if expected[metric.name] and not why then
            assert.near(expected[metric.name], value, 1e-9, pmu .. " " .. metric.name)
            seen[metric.name] = true
          end
        end
      end
    end
    for name in pairs(expected) do assert.is_true(seen[name], name) end
  end)

  it("of events that need no PMU also has the calculated value", function()
    local counts = { time = 2, work = 100, flops = 200, operations = 1000, loaded = 600, stored = 200, bits = 38400, loads = 75,
      stores = 25, instructions = 4000, conditional = 300, mispredicted = 10, indirect = 100, mistaken = 6, reads = 800,
      writes = 200, read_misses = 30, write_misses = 20, ll_read_misses = 10, ll_write_misses = 5 }
    local expected = {
      compiler = { FLOPS = { flop = 200, flop_rate = 100, flop_per_op = 0.2 },
        BANDWIDTH = { load_rate = 300, store_rate = 100, bandwidth = 400, intensity = 0.25 }, VECTOR = { bits_per_flop = 192 },
        LOADSTORE = { loads_per_store = 3, bytes_per_load = 8, bytes_per_store = 8 }, USER = { user_rate = 50, ratio = 2 } },
      simulation = { CYCLE = { instruction_count = 4000, branch_share = 10, mispredict_ratio = 4 },
        CACHE = { l1_miss_ratio = 5, ll_miss_ratio = 30, ll_mpki = 3.75 }, BANDWIDTH = { memory_volume = 64 * (30 + 20 + 4000) },
        LOADSTORE = { loads_per_instruction = 75 / 4000, stores_per_instruction = 25 / 4000, loads_per_store = 3 } },
    }
    local known = {}
    for _, kind in ipairs(core.count.kinds()) do known["sde:::BYFL::" .. kind.name] = true end
    for _, name in ipairs(require "pmlua.internal.simulation.run".events) do known["sim::" .. name] = true end
    for way, of in pairs(expected) do
      local got = {}
      for name, group in pairs(groups.counted(way)) do
        got[name] = {}
        for _, event in pairs(group.events) do assert.is_true(known[event], event) end
        for _, metric in ipairs(group.metrics) do got[name][metric.name] = (groups.value(group, metric, counts)) end
      end
      assert.same(of, got, way)
    end
  end)

  it("of top-down divides what there was: the shares add up to 100 %, of a section as of a run", function()
    local random = rng(7)
    local seen = 0
    for _, pmu in ipairs(groups.pmus()) do
      local g = groups.of(pmu).TOPDOWN
      local before, after = { time = 1 }, { time = 2 }
      for key in pairs(g and g.events or {}) do
        before[key] = random(1000)
        after[key] = before[key] + random(100000)
      end
      local difference = {}
      for key, v in pairs(after) do difference[key] = v - before[key] end
      for _, counts in ipairs(g and { before, after, difference } or {}) do
        local sum = 0
        for _, metric in ipairs(g.metrics) do sum = sum + assert(groups.value(g, metric, counts)) end
        assert.is_true(math.abs(sum - 100) < 1e-9, pmu .. " " .. sum)
        seen = seen + 1
      end
    end
    assert.is_true(seen >= 3 * 21, seen)
  end)

  it("of a revision of a core have its constants: excess counts of Neoverse N2 before r0p3 are subtracted", function()
    local processor = require "pmlua.internal.processor"
    local here = processor.here
    local path
    for _, file in ipairs(require "pmlua.internal.literal".list "groups") do
      if file.path:find "neoverse_n2" then path = file.path end
    end
    local function shares(revision, surplus)
      local n2 = { implementer = 0x41, part = 0xd49, variant = 0, revision = revision }
      processor.here = function() return { cores = { n2 } } end
      local file = groups.read(path)
      processor.here = here
      local g = assert(file).groups.TOPDOWN
      -- 1000 cycles of 5 slots: 1500 of the frontend, 1000 of the backend, and 2500 of which four in five retire
      local counts = { time = 1, cycles = 1000, frontend_slots = 1500 + surplus, backend_slots = 1000, ops = 2000,
        speculated = 2500 }
      local found = {}
      for i, m in ipairs(g.metrics) do found[i] = groups.value(g, m, counts) end
      return found
    end
    assert.same({ 30.0, 20.0, 40.0, 10.0 }, shares(0, 1000))
    assert.same({ 30.0, 20.0, 40.0, 10.0 }, shares(3, 0))
  end)

  it("of PERF_METRICS takes differences of fractions times slots, so that a section's shares are its own", function()
    local phases = { { 4e6, 128, 32, 64, 31 }, { 1020, 0, 51, 153, 51 }, { 9e9, 255, 0, 0, 0 }, { 2550000, 102, 51, 51, 51 } }
    local keys, names = { "slots", "retired_slots", "wasted_slots", "starved_slots", "backend_slots" },
      { "retiring", "bad_speculation", "frontend_bound", "backend_bound" }
    for _, pmu in ipairs { "icl", "icx", "spr" } do
      local g = groups.of(pmu).TOPDOWN_METRICS
      local total = { 0, 0, 0, 0, 0 }
      for _, phase in ipairs(phases) do
        local before = { table.unpack(total) }
        total[1] = total[1] + phase[1]
        for k = 2, 5 do total[k] = total[k] + phase[1] * phase[k] // 255 end -- as the kernel makes counts
        local counts = {}
        for k, key in ipairs(keys) do counts[key] = total[k] - before[k] end
        local sum = 0
        for k, name in ipairs(names) do
          local share = groups.value(g, g.by_name[name], counts)
          assert.is_true(math.abs(share - 100 * phase[k + 1] / 255) < 0.2, name)
          sum = sum + share
        end
        assert.is_true(math.abs(sum - 100) < 1e-9)
        assert.is_true(math.abs(groups.value(g, g.by_name.counted, counts) - 100) < 0.5)
      end
    end
  end)

  it("says what its thresholds mean, and why it has no value", function()
    local group = groups.of("skx").CYCLE
    assert.equal("most issue slots are empty", groups.judge(group.by_name.ipc, 0.5))
    for _, operator in ipairs { "<", "<=", ">", ">=" } do
      for value = 0, 2 do
        local holds = load(("return %d %s 1"):format(value, operator))()
        assert.equal(holds and "so" or nil, (groups.judge({ thresholds = { { operator .. " 1", "so" } } }, value)))
      end
    end
    local value, why = groups.value(group, group.by_name.ipc, { instructions = 5, cycles = 0 })
    assert.is_true(value ~= value)
    assert.equal("division by zero: cycles is 0", why)
    local user = groups.of("skx").USER
    assert.same("work was not counted", select(2, groups.value(user, user.by_name.user_rate, { time = 1 })))
  end)
end)

-- --- bad files ---

local good = [[
return {
  pmus = { "skx" },
  constants = { line = { 64, "byte" } },
  groups = {
    MINE = {
      prose = "p",
      events = { cycles = "CPU_CLK_UNHALTED" },
      metrics = {
        { name = "rate", unit = "1/s", formula = "cycles / time", thresholds = { { "< 1", "slow" } } },
      },
    },
  },
}
]]

describe("A file of groups", function()
  it("written by the user is read", function()
    local file = assert(groups.parse(good, "mine.lua"))
    assert.equal(0.5, (groups.value(file.groups.MINE, file.groups.MINE.by_name.rate, { cycles = 1, time = 2 })))
  end)

  for what, case in pairs {
    ["has a syntax error"] = { '"skx" }', '"skx" = }', "^mine%.lua:2: '}' expected near '='$" },
    ["has a formula with an error"] = { "cycles / time", "cycles / ",
      "^mine%.lua:9: metric rate: formula: column 10: the formula ends where" },
    ["has an unknown name in a formula"] = { "cycles / time", "cycle / time",
      "^mine%.lua:9: metric rate: unknown event or metric cycle; did you mean cycles%?$" },
    ["has a formula in another unit"] = { '"1/s"', '"byte/s"',
      "^mine%.lua:9: metric rate: formula: column 1: the formula's unit is s%^%-1, not byte/s$" },
    ["has an invalid threshold"] = { '"< 1"', '"below"', "^mine%.lua:9: metric rate: write a threshold" },
    ["names a metric that is not known everywhere"] = { '{ name = "rate", unit = "1/s"', '"ipcs", { name = "rate", unit = "1/s"',
      "^mine%.lua:9: group MINE: pmlua has no formula for a metric called ipcs; did you mean ipc%?$" },
    ["names a metric whose events it lacks"] = { '{ name = "rate", unit = "1/s"', '"ipc", { name = "rate", unit = "1/s"',
      "^mine%.lua:9: metric ipc: unknown event or metric instructions" },
    ["has a metric that is called like an event"] = { '"rate"', '"cycles"', "^mine%.lua:7: metric cycles: group MINE already" },
    ["has constants that are no table"] = { '{ line = { 64, "byte" } }', "5", "^mine%.lua:3: constants: must be a table" },
    ["has a revision without its part"] = { "groups = {", "revisions = { { implementer = 1 } }, groups = {",
      "^mine%.lua:4: revisions: write { implementer" },
    ["has a revision without its implementer"] = { "groups = {", "revisions = { 5 }, groups = {",
      "^mine%.lua:4: revisions: write { implementer" },
    ["has no PMU"] = { '"skx"', "", "^mine%.lua:1: pmus" },
    ["has a constant without a unit"] = { '64, "byte"', "64", "^mine%.lua:3: constant line: must have a number and a unit" },
    ["never ends"] = { "return", "while true do end return", "^mine%.lua:1: runs too long for a data file$" },
    ["reaches for the system"] = { "return", "os.exit() return", "^mine%.lua:1: attempt to index a nil value %(global 'os'%)" },
    ["reaches for the methods of strings"] = { '"p"', '("p"):rep(1e9)', "^mine%.lua:6: attempt to" },
    ["holds functions"] = { '"p"', "function() end", "^mine%.lua:1: the table%.groups%.MINE%.prose is a function, not data$" },
  } do
    it("that " .. what .. " is refused with its line", function()
      local first, last = good:find(case[1], 1, true)
      local file, err = groups.parse(good:sub(1, first - 1) .. case[2] .. good:sub(last + 1), "mine.lua")
      assert.is_nil(file)
      assert.matches(case[3], err)
    end)
  end

  it("takes a common metric by its name, or only the fields that it leaves out", function()
    local mine = assert(groups.parse([[return { pmus = { "skx" }, groups = { MINE = {
      events = { dp_flop = "A", cycles = "B" },
      metrics = { "dp_rate", { name = "ipc", formula = "2 / cycles", thresholds = {} } } } } }]], "mine.lua")).groups.MINE
    local rate, ipc, shipped = mine.by_name.dp_rate, mine.by_name.ipc, groups.of("skx").CYCLE.by_name.ipc
    assert.same({ "flop/s", "dp_flop / time" }, { rate.unit, rate.formula.text })
    assert.equal(3, (groups.value(mine, rate, { dp_flop = 6, time = 2 })))
    assert.same({ shipped.unit, "2 / cycles", {} }, { ipc.unit, ipc.formula.text, ipc.thresholds })
    assert.equal(1, #shipped.thresholds)
  end)

  it("has metrics as text, with an explanation and thresholds, in the group itself", function()
    local mine = assert(groups.parse([[return { pmus = { "skx" }, groups = { MINE = { events = { a = "A" },
      "rate [1/s] = a / time; of a; or b; < 1: slow; too slow; >= 2.5: fast", "half = a / 2" } } }]], "mine.lua")).groups.MINE
    local rate, half = mine.by_name.rate, mine.by_name.half
    assert.same({ "1/s", "a / time", "of a; or b" }, { rate.unit, rate.formula.text, rate.about })
    assert.same({ { "< 1", "slow; too slow" }, { ">= 2.5", "fast" } }, rate.thresholds)
    assert.same({ "", "", {} }, { half.unit, half.about, half.thresholds })
  end)

  it("defines metrics that no other group has: each common metric is named twice or more", function()
    local named = {}
    for _, folder in ipairs { "groups", "groups/part", "without_pmu" } do
      for _, file in ipairs(literal.list(folder)) do
        local text = file.path:find "/part/metrics%.lua$" and "" or support.slurp(file.path)
        for name in text:gmatch '"([%l%d_]+)[" ]' do named[name] = (named[name] or 0) + 1 end
      end
    end
    for _, m in ipairs(assert(literal.read(literal.shipped "groups/part/metrics.lua")).metrics) do
      local name = (type(m) == "table" and m.name or m):match "^[%w_]+"
      assert.is_true((named[name] or 0) >= 2, name)
    end
  end)

  it("that is refused leaves strings unchanged", function()
    groups.parse("return ('x'):rep(2)", "mine.lua")
    assert.equal("xx", ("x"):rep(2))
  end)
end)

describe("A file that inherits from another", function()
  local dir

  local function write(name, text)
    support.spit(("%s/%s.lua"):format(dir, name), text)
  end

  local function read(name)
    return groups.read(("%s/%s.lua"):format(dir, name))
  end

  before_each(function()
    dir = support.folder()
    write("base", good)
  end)

  it("has the other's groups, with its own events in them", function()
    write("mine", 'return { like = "base", pmus = { "icx" }, groups = { MINE = { events = { cycles = "OTHER" } } } }')
    local file = assert(read "mine")
    assert.same({ "icx" }, file.pmus)
    assert.same({ cycles = "OTHER" }, file.groups.MINE.by_name.rate.events)
    assert.same({ cycles = "CPU_CLK_UNHALTED" }, read("base").groups.MINE.events)
  end)

  it("replaces a group as a whole if it gives metrics for it", function()
    write("mine", 'return { like = "base", pmus = { "icx" }, groups = { MINE = { events = { a = "A" },\n' ..
      'metrics = { { name = "a_rate", formula = "a / time", unit = "1/s" } } } } }')
    local mine = assert(read "mine").groups.MINE
    assert.same({ { a = "A" }, 1, "a_rate" }, { mine.events, #mine.metrics, mine.metrics[1].name })
  end)

  it("has the other's presets, with its own events in them, and without those that it takes away", function()
    local one = '{ name = "PAPI_%s", formula = "a + b", about = "x", events = { a = "%s", b = "B" } }'
    write("presets", ('return { pmus = { "skx" }, presets = { %s, %s } }'):format(one:format("A", "A"), one:format("B", "A")))
    write("mine", 'return { like = "presets", pmus = { "icx" }, presets = { { name = "PAPI_A", events = { a = "OTHER" } },\n' ..
      '{ name = "PAPI_B", events = false }, { name = "PAPI_C", formula = "c", events = { c = "C" } } } }')
    local mine = assert(read "mine").groups
    assert.same({ a = "OTHER", b = "B" }, mine.PAPI_A.metrics[1].events)
    assert.same({ "x", nil, "C" }, { mine.PAPI_A.metrics[1].about, mine.PAPI_B, mine.PAPI_C.metrics[1].events.c })
    assert.same({ a = "A", b = "B" }, assert(read "presets").groups.PAPI_A.events)
  end)

  it("has presets of common names, for the events beside them", function()
    write("presets", 'return { pmus = { "skx" }, events = { cycles = "A", ref = "B" }, presets = { "PAPI_TOT_CYC",\n' ..
      '{ name = "PAPI_REF_CYC", formula = "ref + cycles" } } }')
    write("mine", 'return { like = "presets", pmus = { "icx" }, events = { cycles = "C" }, presets = { "PAPI_REF_CYC" } }')
    local base, mine = assert(read "presets").groups, assert(read "mine").groups
    assert.same({ { cycles = "A" }, { ref = "B", cycles = "A" } }, { base.PAPI_TOT_CYC.events, base.PAPI_REF_CYC.events })
    assert.same({ { cycles = "C" }, { ref = "B" } }, { mine.PAPI_TOT_CYC.events, mine.PAPI_REF_CYC.events })
  end)

  it("inherits from each of a list, the later over the earlier, and its own over all", function()
    local part = [[return { groups = {
      MINE = { prose = "of the part", events = { cycles = "PART" } }, GONE = false,
      OTHER = { events = { a = "A", b = "B" }, metrics = { { name = "both", formula = "a + b" } } } } }]]
    lfs.mkdir(dir .. "/part")
    write("part/extra", part)
    write("second", 'return { like = "base", pmus = { "skx" }, groups = { GONE = { events = { g = "G" },\n' ..
      'metrics = { { name = "g_too", formula = "g" } } } } }')
    write("mine", 'return { like = { "second", "part/extra" }, pmus = { "icx" },\n' ..
      'groups = { OTHER = { events = { b = "MINE" } } } }')
    local file = assert(read "mine")
    assert.same({ cycles = "PART" }, file.groups.MINE.by_name.rate.events)
    assert.same({ "of the part", nil }, { file.groups.MINE.prose, file.groups.GONE })
    assert.same({ a = "A", b = "MINE" }, file.groups.OTHER.events)
    assert.is_truthy(read("second").groups.GONE)
    write("mine", 'return { like = { "part/extra", "base" }, pmus = { "icx" } }')
    assert.same({ cycles = "CPU_CLK_UNHALTED" }, assert(read "mine").groups.MINE.events)
  end)

  for what, case in pairs {
    ["is like nothing that is there"] = { '"nosuch"', "mine%.lua:2: like: .*nosuch%.lua: No such file" },
    ["is like itself"] = { '"mine"', "mine%.lua:2: like: leads back to this file, or is nested more than %d+ deep" },
    ["is like a path"] = { '"../base"', "mine%.lua:2: like: not the name of a file beside this one" },
    ["is like an empty list"] = { "{}", "mine%.lua:2: like: not the name of a file beside this one" },
    ["is like a number of groups"] = { '"number"', "mine%.lua:1: groups are missing" },
    ["lacks an event of a formula"] = { '"base", groups = { MINE = { events = { cycles = false } } }',
      "mine%.lua:1: metric rate: unknown event or metric cycles" },
    ["is like a file with an error"] = { '"broken"', "mine%.lua:2: like: .*broken%.lua:1: " },
  } do
    it("and " .. what .. " is refused with its line", function()
      write("broken", "return {")
      write("number", 'return { pmus = { "skx" }, groups = 5 }')
      write("mine", "return {\n  like = " .. case[1] .. ',\n  pmus = { "icx" } }')
      local file, err = read "mine"
      assert.is_nil(file)
      assert.matches(case[2], err)
    end)
  end
end)
