-- SPDX-License-Identifier: BSD-3-Clause
--- Groups of other tools: LIKWID's group files, perf's metrics, Intel's perfmon and Arm's telemetry JSON.
--
-- Their names of events become pmlua's, each event is checked against libpfm4 or the facts of the PMU, and what cannot be
-- taken is listed with the reason. Nothing of theirs is kept.
--
--     local chooser = assert(pml.chooser.open { pmu = "skx", groups = "likwid" })
--     for _, r in ipairs(chooser.refused) do print(r.group, r.metric, r.why) end

local core = require "pmlua.core"
local expression = require "pmlua.internal.groups.expression"
local file = require "pmlua.internal.file"
local formula = require "pmlua.formula"
local perf_text = require "pmlua.internal.groups.perf_text"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

local M = {}

local FILES_MAX, BYTES_MAX = 512, 64 << 20

-- --- names ---

--- FP_ARITH_INST_RETIRED.128B_PACKED_DOUBLE, ..._RETIRED:128B_... and LIKWID's ..._RETIRED_128B_... are one.
local function plain(name)
  return (name:upper():gsub("[^%w]", "_"))
end

local indices = setmetatable({}, { __mode = "k" })

--- Index the chooser's event names by their plain form. If several names have the same form, the shortest one counts.
local function index_of(chooser)
  if indices[chooser] then return indices[chooser] end
  local index = {}
  for _, name in ipairs(chooser:all_events()) do
    local key = plain(name)
    if not index[key] or #name < #index[key] then index[key] = name end
  end
  indices[chooser] = index
  return index
end

-- Events of fixed counters have other names in libpfm4.
local ALIASES <const> = {
  INST_RETIRED_ANY = { "INST_RETIRED:ANY_P", "INSTRUCTION_RETIRED" },
  CPU_CLK_UNHALTED_THREAD = { "CPU_CLK_UNHALTED:THREAD_P", "CPU_CLK_THREAD_UNHALTED:THREAD_P", "UNHALTED_CORE_CYCLES" },
  CPU_CLK_UNHALTED_CORE = { "CPU_CLK_UNHALTED:CORE_P", "UNHALTED_CORE_CYCLES" },
  CPU_CLK_UNHALTED_REF_TSC = { "CPU_CLK_UNHALTED:REF_TSC", "UNHALTED_REFERENCE_CYCLES" },
  TOPDOWN_SLOTS = { "TOPDOWN:SLOTS_P", "TOPDOWN:SLOTS" },
  MSR_TSC = { "msr/tsc/" }, TSC = { "msr/tsc/" }, MSR_APERF = { "msr/aperf/" }, MSR_MPERF = { "msr/mperf/" },
}

-- Intel's register of packed fractions of slots, of which the kernel makes counts: codes that only some PMUs have.
local SLOTS <const> = {
  TOPDOWN_SLOTS_PERF_METRICS = 0x400, PERF_METRICS_RETIRING = 0x8000, PERF_METRICS_BAD_SPECULATION = 0x8100,
  PERF_METRICS_FRONTEND_BOUND = 0x8200, PERF_METRICS_BACKEND_BOUND = 0x8300, PERF_METRICS_HEAVY_OPERATIONS = 0x8400,
  PERF_METRICS_BRANCH_MISPREDICTS = 0x8500, PERF_METRICS_FETCH_LATENCY = 0x8600, PERF_METRICS_MEMORY_BOUND = 0x8700,
}

--- The raw name of slots or of a fraction of them, where the PMU has the register.
local function slots_name(pmu, key)
  local code, has = SLOTS[key], false
  for _, metric in ipairs(code and pmu.metrics or {}) do has = has or metric == code or code == 0x400 end
  return has and ("r%x"):format(code) or nil
end

local MODE <const> = { SUP = "k", USER = "u" }
local MODIFIER <const> = { c = "c", cmask = "c", i = "i", inv = "i", e = "e", edge = "e" }

--- "NAME:c1:i1:k" of perfmon: the name, and modifiers in libpfm4's form.
local function split(name)
  local base, rest = name:match "^([^:]+):?(.*)$"
  if not base then return name, "" end
  local parts = {}
  for word in rest:gmatch "[^:]+" do
    local key, value = word:lower():match "^(%l+)=?(0?x?%x+)$"
    if MODIFIER[key] and tonumber(value) then parts[#parts + 1] = ("%s=%d"):format(MODIFIER[key], tonumber(value))
    elseif MODE[word:upper()] then parts[#parts + 1] = MODE[word:upper()]
    elseif word:find "^[ukUK]+$" then parts[#parts + 1] = word:lower()
    else base = base .. ":" .. word end
  end
  return base, #parts > 0 and ":" .. table.concat(parts, ":") or ""
end

local function first_that_opens(chooser, names, suffix)
  for _, name in ipairs(names) do
    local event = chooser:event(name .. suffix)
    if event then return name .. suffix, event end
  end
end

--- perfmon's "NAME:u0xfc" is the event of a name with another unit mask.
local function with_mask(builder, base, suffix)
  local name, mask = base:match "^(.-):u(0x%x+)$"
  local given = name and builder.events[name:upper()]
  mask = math.tointeger(tonumber(mask))
  if not given or not given.code or suffix ~= "" or mask > 0xff then return nil end
  local raw = ("r%x"):format(given.code & 0xff | mask << 8)
  return builder.chooser:event(raw) and raw or nil
end

--- pmlua's name of an event.
---@return string? name, string? why not
local function name_of(builder, name, candidates, suffix)
  local chooser = builder.chooser
  local base = name
  if not suffix then base, suffix = split(name) end
  local found = first_that_opens(chooser, candidates or {}, suffix)
  if found then return found end
  local key = plain(base)
  found = slots_name(chooser.pmu, key) or with_mask(builder, base, suffix)
  if found then return found end
  local known = builder.index[key] or builder.index[key:gsub("_CAUSES_A_WALK$", "_MISS_CAUSES_A_WALK")]
  found = first_that_opens(chooser, { known, table.unpack(ALIASES[key] or {}) }, suffix)
    or not known and first_that_opens(chooser, ALIASES[key] or {}, suffix)
  if found then return found end
  local given = builder.events[base:upper()]
  if given and given.sysfs and chooser:event(given.sysfs .. suffix) then return given.sysfs .. suffix end
  if given and given.config and given.msr == 0 and suffix == "" then
    local raw = ("r%x"):format(given.config)
    if chooser:event(raw) then return raw end
  end
  if base:find "/" and chooser:event(base) then return base end
  if given and given.msr ~= 0 then return nil, ("%s needs a register that only libpfm4 or sysfs can name"):format(base) end
  return nil, ("%s has no event %s"):format(chooser.pmu.name, name)
end

-- --- a group ---

local Builder = {}
Builder.__index = Builder

function Builder:refuse(group, metric, why)
  self.refused[#self.refused + 1] = { group = group.name, metric = metric.name or "?", why = why }
end

local function identifier(name, default)
  local id = name:gsub("%%", " percent "):gsub("[^%w]+", "_"):gsub("^_+", ""):gsub("_+$", "")
  if id == "" then id = default end
  return id:find "^%d" and "n" .. id or id
end

--- Ticks of the processor's time-stamp counter in a second, on the machine that is planned for.
function Builder:tsc()
  if self.chooser.here and core.clock.info().name == "tsc" then return "number", core.clock.rate() + 0.0 end
  return "unknown", "it needs the rate of the machine's time-stamp counter"
end

--- The names that every formula may use, and this machine's constants.
function Builder:known(name)
  local lower = name:lower()
  if lower == "duration_time" or lower == "durationtimeinseconds" or name == "time" then return "key", "time" end
  if lower == "#smt_on" or lower == "hyperthreading_on" then return "number", self.chooser:hyperthreads() and 1.0 or 0.0 end
  if lower == "threads_per_core" then return "number", self.chooser:hyperthreads() and 2.0 or 1.0 end
  if lower == "#core_wide" then return "number", 0.0 end
  if lower == "durationtimeinmilliseconds" then return "expression", assert(expression.parse "1000 * duration_time") end
  if tonumber(name) then return "number", tonumber(name) + 0.0 end
  if lower == "system_tsc_freq" then return self:tsc() end
  if self.slots and (name == "#slots" or name == "num_slots") then return "number", self.slots end
end

--- An event's key in a group's formulas.
function Builder:key_of(group, name)
  local found, why = name_of(self, name)
  if not found then return nil, why end
  local key = identifier(found:lower(), "event")
  while group.events[key] and group.events[key] ~= found do key = key .. "_" end
  group.events[key] = found
  return key
end

function Builder:resolver(group, metric)
  return function(name)
    local own = metric.alias and metric.alias[name] or name
    local kind, value = self:known(own)
    if kind then return kind, value end
    local other = self.metrics[own]
    if other and other ~= metric then
      local node, why = expression.parse(other.expression)
      if node then return "expression", node end
      return "unknown", why
    end
    if own:find "^#" or own:find "^system%." then return "unknown", ("it needs %s of the machine"):format(own) end
    local key, why = self:key_of(group, own)
    if key then return "key", key end
    return "unknown", why
  end
end

--- A formula and its events: LIKWID's names the counters, the others the events.
function Builder:formula_of(group, described, metric)
  if not described.events then
    local node, why = expression.parse(metric.expression)
    if not node then return nil, why end
    return expression.formula(node, self:resolver(group, metric))
  end
  local compiled, err = formula.compile(metric.expression)
  if not compiled then return nil, err.text end
  local text = metric.expression
  for _, name in ipairs(compiled.names) do
    local event = described.events[name]
    if event and event.why then return nil, event.why end
    if event then
      local found, why = name_of(self, event.name, event.candidates, event.suffix)
      if not found then return nil, event.otherwise or why end
      group.events[name] = found
      if event.times then text = text:gsub("%f[%w_]" .. name .. "%f[^%w_]", ("(%.17g * %s)"):format(event.times, name)) end
    elseif name == "inverseClock" then
      group.inputs[name] = "seconds for a cycle at the nominal frequency"
    elseif name ~= "time" then
      return nil, ("it names %s, which the EVENTSET has not"):format(name)
    end
  end
  return text
end

function Builder:add(group, described, metric)
  local text, why = self:formula_of(group, described, metric)
  if not text then return self:refuse(group, metric, why) end
  local compiled, err = formula.compile(text)
  if not compiled then return self:refuse(group, metric, err.text) end
  local made = { name = identifier(metric.name:lower(), "metric"), group = group.name, unit = metric.unit, about = metric.about,
    formula = compiled, events = {}, parts = {}, thresholds = {} }
  while group.by_name[made.name] do made.name = made.name .. "_" end
  for _, name in ipairs(compiled.names) do made.events[name] = group.events[name] end
  group.metrics[#group.metrics + 1], group.by_name[made.name] = made, made
end

function Builder:group(described)
  local group = { name = identifier(described.name, "GROUP"), prose = described.prose, source = self.source, events = {},
    inputs = {}, metrics = {}, by_name = {}, constants = {}, dimensions = {} }
  while self.groups[group.name] do group.name = group.name .. "_" end
  for _, metric in ipairs(described.metrics) do self:add(group, described, metric) end
  if #group.metrics > 0 then self.groups[group.name] = group end
end

-- --- files ---

local function is_folder(path)
  return require "lfs".attributes(path, "mode") == "directory"
end

local function paths_of(path)
  if not is_folder(path) then return { path } end
  local list = {}
  for _, name in ipairs(file.names(path)) do
    if name:find "%.txt$" or name:find "%.json$" then list[#list + 1] = path .. "/" .. name end
  end
  table.sort(list)
  return list
end

local function read_all(path)
  local paths, files, bytes = paths_of(path), {}, 0
  if #paths == 0 then return refuse("ENOENT", path .. ": contains no .txt (LIKWID) and no .json files") end
  if #paths > FILES_MAX then return refuse("EFBIG", ("%s: more than %d files"):format(path, FILES_MAX)) end
  for i, p in ipairs(paths) do
    local text = try(file.read(p, BYTES_MAX))
    bytes = bytes + #text
    if bytes > BYTES_MAX then return refuse("EFBIG", ("%s: more than %d MiB"):format(path, BYTES_MAX >> 20)) end
    files[i] = { path = p, text = text }
  end
  return files
end

--- Run a command and return its output; nil: it failed, or its output is not as expected.
local function printed(words, is)
  local temporary = os.tmpname()
  local ended, err = require "pmlua.internal.child".run(words, nil, { output = temporary, error = "/dev/null" })
  local text = file.read(temporary, BYTES_MAX)
  os.remove(temporary)
  if not ended then return nil, err end
  if ended.status ~= 0 or not text or not is(text) then return nil end
  return { { path = table.concat(words, " "), text = text } }
end

--- The metrics that perf has for this machine: as JSON, or of perf before 6.2 as text.
local function ask_perf()
  local files, err = printed({ "perf", "list", "--json" }, function(text) return text:find "^%s*%[" end)
  if not files and not err then files, err = printed({ "perf", "list", "--details", "metric" }, perf_text.is) end
  if files or err then return files, err end
  return refuse("ENOTSUP", "perf list: this perf prints no metrics for this machine", "name a file of its output")
end

local function files_of(chooser, path)
  if path == "perf" then return ask_perf() end
  if path ~= "likwid" then return read_all(path) end
  local folder, why = require "pmlua.internal.groups.likwid".folder(chooser.pmu.name)
  if not folder then return refuse("ENOENT", why) end
  return read_all(folder)
end

--- The groups of files, all LIKWID's or all JSON.
local function describe(files, pmu)
  local texts, jsons = { groups = {} }, {}
  for _, f in ipairs(files) do
    local name = f.path:match "([^/]*)%.txt$"
    if name and not perf_text.is(f.text) then
      local described, why = require "pmlua.internal.groups.likwid".parse(f.text, name, f.path, pmu)
      if not described then return refuse("EFORMAT", why) end
      texts.groups[#texts.groups + 1] = described.groups[1]
    else
      jsons[#jsons + 1] = f
    end
  end
  if #jsons == 0 then return texts end
  local described, why = require "pmlua.internal.groups.catalogue".parse(jsons)
  if not described then return refuse("EFORMAT", why) end
  table.move(texts.groups, 1, #texts.groups, #described.groups + 1, described.groups)
  return described
end

--- Which counters an event may use, of Intel's Counter column: behind what the facts say.
local function rules_of(chooser, events)
  local lists = { table.unpack(chooser.pmu.lists) }
  local names = require "pmlua.internal.keys"(events)
  for _, name in ipairs(names) do
    local e = events[name]
    if e.counters and not e.counters.fixed and #e.counters < chooser.counters.general then
      lists[#lists + 1] = { code = e.code, counters = e.counters, why = "perfmon's Counter column says so" }
    end
  end
  return lists
end

--- Does a path stand for groups of another tool?
function M.is(path)
  return path == "likwid" or path == "perf" or path:find "%.txt$" ~= nil or path:find "%.json$" ~= nil or is_folder(path)
end

--- Read the groups of another tool for a chooser, which gets them, and the rules that come with them.
---@param path string "likwid" (installed), "perf" (the running machine's), a file or a folder
---@return { groups: table<string, pmlua.Group>, refused: { group: string, metric: string, why: string }[] }? read
---@return pmlua.Failure? failure
M.read = try.catching(function(chooser, path)
  local described = try(describe(try(files_of(chooser, path)), chooser.pmu.name))
  local lists = rules_of(chooser, described.events or {})
  local pmu = chooser.pmu
  chooser.pmu = setmetatable({ lists = lists }, { __index = pmu })
  local builder = setmetatable({ chooser = chooser, index = index_of(chooser), events = described.events or {},
    metrics = described.metrics or {}, groups = {}, refused = {}, source = path }, Builder)
  for _, group in ipairs(described.groups) do builder:group(group) end
  return { groups = builder.groups, refused = builder.refused }
end)

return M
