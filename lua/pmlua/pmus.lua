-- SPDX-License-Identifier: BSD-3-Clause
--- Facts about each PMU: the number of its counters, which event fits on which counter, and what events share.
--
-- The facts are data, one file per family in pmus/, each with its source. A PMU has libpfm4's name (skx,
-- amd64_fam19h_zen4, arm_n1); intel_skx is accepted as well. libpfm4 has tables only for PMUs of the architecture that
-- it was built for; for other PMUs the facts contain the event numbers.
--
--     pmlua -e 'print(pml.pmus.get("intel_skx").title)'

local core = require "pmlua.core"
local literal = require "pmlua.internal.literal"
local overlay = require "pmlua.internal.overlay"
local processor = require "pmlua.internal.processor"
local refuse = core.failure.refuse

---@class pml.pmus
local M = {}

---@class pmlua.Pmu
---@field name string libpfm4's
---@field title string
---@field source string
---@field general { smt: integer, single: integer } general counters of a hardware thread, with SMT on and off
---@field fixed { code: integer, counter: integer, general: boolean }[]
---@field lists table[] which counters an event may use; the first that matches holds
---@field shared table[] registers that events share
---@field metrics? integer[] codes of Intel's topdown metrics, which take no counter
---@field generic table<integer, integer|false> codes of perf's generic hardware events
---@field watchdog? integer code of the event that the NMI watchdog counts
---@field events? table<string, integer> numbers of events, where libpfm4 may have no table
---@field raw? boolean events are opened by these numbers
---@field cpu? { vendor: string, family: integer, models: integer[][] } where libpfm4 may not recognise it; of Arm
---{ implementer: integer, part: integer }
---@field known boolean libpfm4 has its table

local facts -- by name

local function load_facts()
  facts = {}
  for _, file in ipairs(literal.list("pmus")) do
    local data, said = assert(literal.read(file.path))
    data = assert(overlay.whole(data, said, file.path))
    for _, name in ipairs(data.names) do facts[name] = data end
  end
end

local function of_libpfm4(name)
  for _, pmu in ipairs(core.event.pmus()) do
    if pmu.name == name then return pmu end
  end
end

--- The name libpfm4 uses: some tools say intel_skx for its skx, people say zen4 for amd64_fam19h_zen4.
local function canonical(name)
  name = name:lower()
  local short = name:gsub("^intel_", "")
  if facts[name] or facts[short] then return facts[name] and name or short end
  for known in pairs(facts) do
    if known:sub(-#name - 1) == "_" .. name then return known end
  end
  return name
end

--- Every PMU that there are facts of, sorted.
---@return string[]
function M.names()
  if not facts then load_facts() end
  return require "pmlua.internal.keys"(facts)
end

--- A PMU that only libpfm4 knows: how many counters it has, not which event may sit on which.
local function bare(pmu)
  return { name = pmu.name, title = pmu.description, known = true, fixed = {}, lists = {}, shared = {}, generic = {},
    general = { smt = pmu.counters, single = pmu.counters }, source = "libpfm4's number of general counters; it does " ..
    "not tell which event can use which counter: a plan may need more runs, or fail to open" }
end

--- The facts of a PMU.
---@param name string
---@return pmlua.Pmu? pmu, pmlua.Failure? failure
function M.get(name)
  if not facts then load_facts() end
  local found = canonical(name)
  local other = of_libpfm4(found)
  if facts[found] then return setmetatable({ name = found, known = other ~= nil }, { __index = facts[found] }) end
  if other and other.kind == "core" and other.counters > 0 then return bare(other) end
  local nearest = require "pmlua.internal.nearest"(found, M.names())
  return refuse("ENOENT", name .. ": no such core PMU", nearest and "did you mean " .. nearest .. "?"
    or "choose one of " .. table.concat(M.names(), ", "))
end

local function is_of(cpu, here)
  if cpu and cpu.part then return processor.has_core(here, cpu) end
  if not cpu or cpu.vendor ~= here.vendor or cpu.family ~= here.family or not here.model then return false end
  for _, models in ipairs(cpu.models) do
    if here.model >= models[1] and here.model <= models[2] then return true end
  end
  return false
end

--- The PMU whose facts say that it is of this processor.
---@param here pmlua.Processor
---@return string? name
function M.recognise(here)
  for _, name in ipairs(M.names()) do
    if is_of(facts[name].cpu, here) then return name end
  end
end

--- The core PMU of this machine, as libpfm4 or its facts recognise its CPU, whether the kernel exposes it or not.
---@return string name "generic" where neither recognises it
---@return string? note then: why
function M.here()
  if not facts then load_facts() end
  for _, pmu in ipairs(core.event.pmus()) do
    if pmu.here and pmu.kind == "core" then return pmu.name end
  end
  local known = M.recognise(processor.here())
  if known then return known end
  return "generic", "libpfm4 does not recognise this CPU: perf's generic names are used"
end

--- Whether SMT and the NMI watchdog are on; nil if this machine does not report it.
---@return boolean? smt, boolean? watchdog
function M.conditions()
  local text_of = require "pmlua.internal.file".text
  local smt, watchdog = text_of "/sys/devices/system/cpu/smt/active", text_of "/proc/sys/kernel/nmi_watchdog"
  local function truth(text) if text then return text:match("%d") == "1" end end
  return truth(smt), truth(watchdog)
end

return M
