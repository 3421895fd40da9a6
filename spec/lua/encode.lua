-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/encode.lua - encode every event of every group and preset through libpfm4.
--
-- Run by groups_spec.lua for each available build of libpfm4, which has the tables of one architecture only, and in the
-- emulated machines of make check-arm. Prints a line for each event: PMU, event, and its code or the error; compares the
-- codes in pmus/ with libpfm4's. The last line has the totals.

local core = require "pmlua.core"
local groups = require "pmlua.groups"
local pmus = require "pmlua.pmus"

local passed, failed, unknown = 0, 0, 0
local machines = { ["uncore_imc_*"] = "icelake", ["uncore_upi_*"] = "icelake", ["amd_umc_*"] = "zen5", uncore_imc = "client" }

--- The kernel's names are parsed on a machine of spec/data/sysfs that has such PMUs.
local function parse(name)
  local machine = machines[name:match "^([%w_*]+)/"]
  if not machine then return core.event.parse(name) end
  core.event.set_sysfs("spec/data/sysfs/" .. machine)
  local event, err, kind = core.event.parse(name)
  core.event.set_sysfs()
  return event, err, kind
end

local function check(pmu, name)
  if pmu.raw and pmu.events[name] then name = ("r%x"):format(pmu.events[name]) end
  local event, err, kind = parse((pmu.name == "generic" or name:find "^[%w_]+::" or name:find "^r%x+$" or name:find "/")
    and name or pmu.name .. "::" .. name)
  local code = event and (event.parts[1] and event.parts[1].config or 0)
  local own = pmu.events and pmu.events[name:match("^[%w_]+")]
  if kind == "ENOEVENT" and pmu.raw and name:find "^[%w_]+::" then -- another architecture's libpfm4
    unknown = unknown + 1
    print(("%s\t%s\tunknown to this libpfm4"):format(pmu.name, name))
  elseif code and (not own or own == code) then
    passed = passed + 1
    print(("%s\t%s\t0x%x"):format(pmu.name, name, code))
  else
    failed = failed + 1
    print(("%s\t%s\t%s"):format(pmu.name, name, err or ("pmus/ says 0x%x, libpfm4 0x%x"):format(own, code)))
  end
end

for _, name in ipairs(groups.pmus()) do
  local pmu = assert(pmus.get(name))
  if pmu.known or pmu.raw or name == "generic" then
    for _, list in ipairs { groups.of(name), groups.presets(name) } do
      for _, group in pairs(list) do
        for _, event in pairs(group.events) do check(pmu, event) end
      end
    end
    for event in pairs(pmu.events or {}) do check(pmu, event) end
  else
    unknown = unknown + 1
    print(name .. "\t-\tunknown to this libpfm4")
  end
end
print(("%d passed, %d failed, %d unknown"):format(passed, failed, unknown))
os.exit(failed == 0)
