-- SPDX-License-Identifier: BSD-3-Clause
--- LIKWID's group files: a line SHORT, the events of an EVENTSET with their counters, METRICS that name the counters.
--
--     for _, group in ipairs(likwid.parse(text, "MEM_DP", "MEM_DP.txt", "skx").groups) do print(group.name) end

local literal = require "pmlua.internal.literal"
local sorted = require "pmlua.internal.sorted"

local M = {}

-- libpfm4's or another PMU's names of what LIKWID counts on fixed counters and by registers that are no core's.
local NAMES <const> = {
  INSTR_RETIRED_ANY = { "INST_RETIRED:ANY_P", "INSTRUCTION_RETIRED", "INST_RETIRED:ANY" },
  CPU_CLK_UNHALTED_CORE = { "CPU_CLK_UNHALTED:THREAD_P", "CPU_CLK_THREAD_UNHALTED:THREAD_P", "UNHALTED_CORE_CYCLES" },
  CPU_CLK_UNHALTED_REF = { "CPU_CLK_UNHALTED:REF_TSC", "UNHALTED_REFERENCE_CYCLES" },
  TOPDOWN_SLOTS = { "TOPDOWN:SLOTS_P", "TOPDOWN:SLOTS" },
  ACTUAL_CPU_CLOCK = { "msr/aperf/", "CYCLES_NOT_IN_HALT" }, -- both count what APERF counts
  MAX_CPU_CLOCK = { "msr/mperf/", "P0_FREQ_CYCLES_NOT_IN_HALT:P0_FREQ_CYCLES" },
  CPU_CLOCKS_UNHALTED = { "CYCLES_NOT_IN_HALT" },
}

-- Counted by a PMU of the kernel, which libpfm4 has no names of.
local CLOCKS <const> = { ACTUAL_CPU_CLOCK = "msr/aperf/", MAX_CPU_CLOCK = "msr/mperf/" }

-- Energies come in joules there, and in 2^-32 J from the kernel.
local ENERGY <const> = 2.3283064365386963e-10
local DOMAINS <const> = {
  PWR_PKG_ENERGY = "PKG", RAPL_PKG_ENERGY = "PKG", PWR_DRAM_ENERGY = "DRAM", PWR_PP0_ENERGY = "CORES",
  RAPL_CORE_ENERGY = "CORES", PWR_PP1_ENERGY = "GPU", PWR_PLATFORM_ENERGY = "PSYS",
}

-- Boxes outside of the core: libpfm4's PMUs of a processor, and what its events' names begin with.
local UNCORE <const> = { skx = "skx", clx = "skx", icx = "icx", spr = "spr", hsw_ep = "hswep", bdw_ep = "bdx", ivb_ep = "ivbep",
  snb_ep = "snbep" }
local BOXES <const> = {
  MBOX = { { "imc", "UNC_M_" } }, CBOX = { { "cha", "UNC_CHA_" }, { "cbo", "UNC_C_" } },
  SBOX = { { "upi", "UNC_UPI_" }, { "upi", "UNC_UPI_L_" }, { "qpi", "UNC_Q_" } },
  QBOX = { { "qpi", "UNC_Q_" } }, BBOX = { { "ha", "UNC_H_" } },
}

-- The whole uncore is one PMU there.
local UNITS <const> = { nhm = "nhm_unc", wsm = "wsm_unc", wsm_dp = "wsm_unc" }

--- Names of an event of a unit: its unit mask may begin behind any of the underscores.
local function append_names(list, unit, name)
  list[#list + 1] = unit .. name
  for position in name:gmatch "()_" do
    list[#list + 1] = unit .. name:sub(1, position - 1) .. ":" .. name:sub(position + 1)
  end
end

--- LIKWID has the box in CBOX_CLOCKTICKS, and names states without the word.
local function names_of_box(name)
  local clock = name:match "^%uBOX_(CLOCKTICKS)$"
  local of, state = name:match "^(LLC_VICTIMS)_(%u)$"
  if not state then of, state = name:match "^(LLC_VICTIMS)_(%u)_STATE$" end
  if not state then return { clock or name } end
  return { name, ("%s:STATE_%s"):format(of, state), ("%s:%s_STATE"):format(of, state) }
end

--- The names that libpfm4 may have for an event of a box.
local function of_box(pmu, box, number, name)
  local family, list = UNCORE[pmu], {}
  for _, at in ipairs(family and BOXES[box] or {}) do
    local unit = ("%s_unc_%s%s::%s"):format(family, at[1], number, at[2])
    for _, spelt in ipairs(names_of_box(name)) do append_names(list, unit, spelt) end
  end
  return list
end

local function of_unit(pmu, name)
  local list = {}
  if UNITS[pmu] then append_names(list, UNITS[pmu] .. "::", name) end
  return list
end

local spellings

--- libpfm4's name of a core event that LIKWID spells differently.
local function spelling_of(pmu, name)
  if not spellings then
    local data = assert(literal.read(literal.shipped "spellings/likwid.lua"))
    spellings = data.spellings
  end
  for pmus, events in sorted(spellings) do
    if events[name] and (" " .. pmus .. " "):find(" " .. pmu .. " ", 1, true) then return { events[name] } end
  end
end

local OPTIONS <const> = { EDGEDETECT = "e=1", INVERT = "i=1", ANYTHREAD = "t=1", KERNEL = "k" }

--- PMC0:EDGEDETECT:THRESHOLD=0x1 gives the modifiers that libpfm4 has for them.
local function modifiers(options)
  local list = {}
  for option in options:gmatch "[^:]+" do
    local threshold = option:match "^THRESHOLD=(%w+)$"
    local n = threshold and math.tointeger(tonumber(threshold))
    local other = OPTIONS[option]
    if not n and not other then return nil, ("its counter has the option %s"):format(option:sub(1, 40)) end
    list[#list + 1] = n and ("c=%d"):format(n) or other
  end
  return #list > 0 and ":" .. table.concat(list, ":") or ""
end

local function event_of(counter, name, pmu)
  local key, options = counter:match "^([%a_][%w_]*)(.*)$"
  if not key then return nil, nil, "malformed counter" end
  local suffix, why = modifiers(options)
  if not suffix then return key, { why = why } end
  local box, number = key:match "^(%u+)(%d+)C%d+$"
  local candidates = key:find "^UPMC" and of_unit(pmu, name) or BOXES[box] and of_box(pmu, box, number, name)
  candidates = candidates or spelling_of(pmu, name) or NAMES[name]
  if DOMAINS[name] then
    local at = DOMAINS[name]
    return key, { name = name, candidates = { ("power/energy-%s/"):format(at:lower()), "rapl::RAPL_ENERGY_" .. at }, suffix = "",
      times = ENERGY, otherwise = ("power/energy-%s/ has no name on a machine without this PMU"):format(at:lower()) }
  end
  local clock = CLOCKS[name]
  return key, { name = name, candidates = candidates, suffix = suffix,
    otherwise = clock and clock .. " has no name on a machine without this PMU" or nil }
end

--- A counter that counts with options may be called with them, PMC3:EDGEDETECT; a group has each counter once.
local function without_options(formula)
  local n
  repeat formula, n = formula:gsub("(%u[%u%d]*):%u[%w_=]*", "%1") until n == 0
  return formula
end

--- "Memory bandwidth [MBytes/s] 1.0E-06*PMC0/time": the formula is what stands behind the last blank or the unit.
local function metric_of(line)
  local title, formula = line:match "^(.-)%s+(%S+)%s*$"
  local name, unit, behind = line:match "^(.-)%s*(%b[])%s*(.+)$"
  if behind and not behind:find "^%s*$" then title, formula = name .. " " .. unit, behind end
  if not formula then return nil end
  return { name = title:gsub("%s*%b[]", ""), unit = (title:match "%[(.-)%]" or ""), about = title,
    expression = without_options(formula) }
end

--- Parse the text of a group file.
---@param name string of the group: the file's without .txt
---@param path string for errors
---@param pmu string whose boxes are meant
---@return { groups: table[] }? description, string? why "file:line: what"
function M.parse(text, name, path, pmu)
  local group = { name = name, prose = "", events = {}, metrics = {} }
  local part, n = nil, 0
  for line in (text .. "\n"):gmatch "(.-)\r?\n" do
    n = n + 1
    local short = line:match "^SHORT%s+(.*)$"
    if short then group.prose = short
    elseif line:find "^EVENTSET" or line:find "^METRICS" then part = line:match "^%a+"
    elseif line:find "^LONG" then break
    elseif part and line:find "%S" and not line:find "^%s*#" then
      if part == "EVENTSET" then
        local counter, event = line:match "^%s*(%S+)%s+(%S+)"
        if not counter then return nil, ("%s:%d: a counter and an event are expected"):format(path, n) end
        local key, described, why = event_of(counter, event, pmu)
        if not key then return nil, ("%s:%d: %s"):format(path, n, why) end
        group.events[key] = described
      else
        local metric = metric_of(line)
        if not metric then return nil, ("%s:%d: a metric and its formula are expected"):format(path, n) end
        group.metrics[#group.metrics + 1] = metric
      end
    end
  end
  if not next(group.metrics) then return nil, ("%s:%d: the file has no METRICS"):format(path, n) end
  return { groups = { group } }
end

-- --- where Debian's package has them ---

local INSTALLED <const> = "/usr/share/likwid/perfgroups/"

local FOLDERS <const> = {
  skx = "skylakeX", clx = "CLX", icl = "ICL", icx = "ICX", spr = "SPR", skl = "skylake", hsw = "haswell", hsw_ep = "haswellEP",
  bdw = "broadwell", bdw_ep = "broadwellEP", ivb = "ivybridge", ivb_ep = "ivybridgeEP", snb = "sandybridge",
  snb_ep = "sandybridgeEP", nhm = "nehalem", nhm_ex = "nehalemEX", wsm = "westmere", wsm_dp = "westmere", slm = "silvermont",
  glm = "goldmont", knl = "knl", core = "core2", atom = "atom", amd64_k8_revf = "k8", amd64_fam10h_barcelona = "k10",
  amd64_fam15h_interlagos = "interlagos", amd64_fam16h = "kabini", amd64_fam17h_zen1 = "zen", amd64_fam17h_zen2 = "zen2",
  amd64_fam19h_zen3 = "zen3", amd64_fam19h_zen4 = "zen4", arm_n1 = "arm8_n1", arm_a64fx = "arm64fx", arm_thunderx2 = "arm8_tx2",
  power8 = "power8", power9 = "power9",
}

--- The folder of a PMU's group files where LIKWID is installed.
---@return string? folder, string? why
function M.folder(pmu)
  local folder = FOLDERS[pmu]
  if not folder then return nil, ("LIKWID has no groups for %s"):format(pmu) end
  if not require "pmlua.core".sys.realpath(INSTALLED .. folder) then
    return nil, ("%s%s does not exist; install LIKWID (Debian: likwid) or name a folder of its group files"):format(INSTALLED,
      folder)
  end
  return INSTALLED .. folder
end

return M
