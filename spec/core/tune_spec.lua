-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/tune_spec.lua - tests of pml.tune: rules from Lua, their functions, the permission, and the state after a script that
-- ends inside a region.

local support = require "spec.core.support"
local folder = require "spec.core.cpus_folder"
local it = support.it
local pml = require "pmlua"

local max = "cpufreq/scaling_max_freq"

local function region(label, f)
  pml.section.start(label)
  if f then f() end
  pml.section.stop(label)
end

describe("A dry run", function()
  it("reports the writes of rules with place and time, and writes nothing", function()
    local cpus = folder.new(2)
    local t <close> = assert(pml.tune { root = cpus.root, cpus = "all", dry_run = true, rules = {
      ["dry*"] = { frequency_max = 1.2e9 },
      ["dry inner"] = { idle = { C6 = false }, threads = 2, enter = function() error "not called" end },
    } })
    region("dry run", function() region "dry inner" end)
    local said = {}
    for _, e in ipairs(t:log()) do
      local what = e.what:gsub("^.*/cpu(%d)/", "%1 ")
      said[#said + 1] = ("%s %s %s"):format(e.region, what, e.value)
    end
    assert.same({
      "dry run 0 cpufreq/scaling_max_freq 1200000", "dry run 1 cpufreq/scaling_max_freq 1200000",
      "dry inner 0 cpuidle/state2/disable 1", "dry inner 1 cpuidle/state2/disable 1",
      "dry inner omp_set_num_threads 2", "dry inner call enter", "dry inner call leave",
      "dry inner omp_set_num_threads as before",
      "dry inner 0 cpuidle/state2/disable 0", "dry inner 1 cpuidle/state2/disable 0",
      "dry run 0 cpufreq/scaling_max_freq 3500000", "dry run 1 cpufreq/scaling_max_freq 3500000",
    }, said)
    assert.same(2, t:stats().entered)
    assert.same(0, t:stats().writes)
    assert.is_true(cpus:is_back(2))
    cpus:remove()
  end)

  it("prefers a region's name to patterns, and a longer pattern to a shorter", function()
    local cpus = folder.new(1)
    local t <close> = assert(pml.tune { root = cpus.root, cpus = "all", dry_run = true, rules = {
      ["*"] = { frequency_max = 1e9 }, ["pref*"] = { frequency_max = 2e9 }, ["pref"] = { frequency_max = 3e9 } } })
    region "pref"
    region "prefer"
    region "else"
    local values = {}
    for _, e in ipairs(t:log()) do values[#values + 1] = e.value end
    assert.same({ "3000000", "3500000", "2000000", "3500000", "1000000", "3500000" }, values)
    cpus:remove()
  end)
end)

describe("Functions of a rule", function()
  it("are called on enter and leave with the region's name, with no further permission", function()
    local t <close> = assert(pml.tune { rules = { called = {
      enter = function(name) seen = name end, -- luacheck: ignore
      leave = function(name) error(("%s, then %s"):format(seen, name)) end, -- luacheck: ignore
    } } })
    region "called"
    assert.matches("called, then called", t:lines()[1], 1, true)
    assert.same(1, t:stats().entered)
  end)

  it("that raise an error drop their rule, are named once, and undo their changes", function()
    local t <close> = assert(pml.tune { rules = { raising = { enter = function() error "enough" end } } })
    region "raising"
    region "raising"
    local lines = t:lines()
    assert.same(1, #lines)
    local what = "its settings are undone and the rule is dropped"
    assert.matches("^rule 'raising': enter: .*tune_spec.lua:%d+: enough; " .. what .. "$", lines[1])
    assert.same(1, t:stats().entered)
  end)
end)

describe("The end of a tuner", function()
  it("names rules whose region was never entered, with the nearest existing names", function()
    region "tune spec"
    local t <close> = assert(pml.tune { rules = { ["tune spce"] = { enter = function() end } } })
    t:stop()
    assert.same({ "rule 'tune spce': no such region was entered; nearest: tune spec" }, t:lines())
  end)

  it("says of an existing region only that it was not entered", function()
    region "tune later"
    local t <close> = assert(pml.tune { rules = { ["tune later"] = { enter = function() end } } })
    t:stop()
    assert.same({ "rule 'tune later': the region was not entered" }, t:lines())
  end)
end)

describe("pml.tune", function()
  it("reports errors in its options and rules", function()
    for text, options in pairs {
      ["unknown option 'rule'"] = { rule = {} },
      ["rules must be a table"] = {},
      ["option 'rules' must be a table, not a number"] = { rules = 1 },
      ["option 'cpus' must be \"thread\", \"current\" or \"all\""] = { rules = {}, cpus = "mine" },
      ["rule 'x': unknown setting 'freq'"] = { rules = { x = { freq = 1 } } },
      ["rule 'x': frequency must be a number, not a string"] = { rules = { x = { frequency = "1 GHz" } } },
      ["rule 'x': idle must be a table of booleans by states"] = { rules = { x = { idle = { "C6" } } } },
      ["threads must be an integer from 1 to 65536"] = { rules = { x = { threads = 0 } } },
      ["a function in C cannot be called at each event"] = { rules = { x = { enter = print } } },
      ["without 'pml' of the script"] = { rules = { x = { enter = function() pml.section.start "y" end } } },
      ["the key of a rule must be the name of a region, not a number"] = { rules = { { threads = 1 } } },
    } do
      local ok, err = pcall(function() local t = pml.tune(options) return t end)
      assert.is_false(ok)
      assert.matches(text, err, 1, true)
      assert.matches("tune_spec.lua:%d+: tune: ", err)
    end
  end)

  it("reports missing features of the machine, and missing permission", function()
    local cpus = folder.new(1)
    for text, rule in pairs {
      ["tune: EINVAL: rule 'x': sets nothing"] = {},
      ["tune: EPERM: rule 'x': tuning is not allowed to write below " .. cpus.root] = { frequency = 1e9 },
    } do
      local t, err = pml.tune { root = cpus.root, rules = { x = rule } }
      assert.is_nil(t)
      assert.matches(text, err, 1, true)
    end
    for text, rule in pairs {
      ["tune: EINVAL: rule 'x': 5 GHz is outside the 0.8 to 3.5 GHz of these cpus"] = { frequency = 5e9 },
      ["tune: EINVAL: rule 'x': unknown governor 'ondemnd'; nearest: ondemand"] = { governor = "ondemnd" },
      ["tune: EINVAL: rule 'x': unknown idle state 'C7'; these cpus have POLL, C1, C6"] = { idle = { C7 = true } },
    } do
      local t, err, code = pml.tune { root = cpus.root, dry_run = true, rules = { x = rule } }
      assert.is_nil(t)
      assert.same("EINVAL", code)
      assert.matches(text, err, 1, true)
    end
    cpus:remove()
  end)
end)

describe("A script that tunes", function()
  local ends = {
    ["returns"] = "",
    ["raises"] = "error 'no more'",
    ["calls os.exit"] = "os.exit(3)",
  }
  for how, code in pairs(ends) do
    it("and " .. how .. " in a region leaves all as it was", function()
      local cpus = folder.new(2)
      local script = support.spit(os.tmpname(), ([[
        local pml = require "pmlua"
        t = assert(pml.tune { root = "%s", cpus = "all", rules = { solve = { frequency = 1.2e9, governor = "powersave" } } })
        pml.section.start "solve"
        local f = io.open "%s/cpu1/%s"
        print(f:read "a")
        io.stdout:flush()
        %s]]):format(cpus.root, cpus.root, max, code))
      local _, out, err = support.shell(("%s/pmlua --allow-tuning %s"):format(support.build, script), 60)
      assert.matches("^1200000\n", out, nil, err)
      assert.is_true(cpus:is_back(2))
      os.remove(script)
      cpus:remove()
    end)
  end

  it("is refused without --allow-tuning", function()
    local cpus = folder.new(1)
    local code = ("assert(pml.tune { root = [[%s]], rules = { x = { frequency = 1.2e9 } } })"):format(cpus.root)
    local status, _, err = support.shell(("%s/pmlua -e '%s'"):format(support.build, code), 60)
    assert.same(1, status)
    assert.matches("run pmlua --allow-tuning SCRIPT", err, 1, true)
    status = support.shell(("%s/pmlua --allow-tuning -e '%s'"):format(support.build, code), 60)
    assert.same(0, status)
    cpus:remove()
  end)
end)
