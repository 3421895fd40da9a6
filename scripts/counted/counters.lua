-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/counted/counters.lua - the counters available on this machine, and their counts of each kernel.
--
-- Try:  local lab = require("counted.counters").new(require "pmlua", { length = 100, order = 12 })
--       for kernel, calls in pairs(lab:count("source", 1)) do print(kernel, calls[1].flops) end
--
-- One program is built three times by one compiler with one set of flags: with counts at source, with counts at final, and
-- without. The build without counts is simulated, and counted by the hardware. All read event sets around a call of each kernel;
-- the counts of an empty call, which only include calling and reading, are subtracted.

local build = require "programs.build"
local groups = require "pmlua.groups"
local kernels = require "counted.kernels"
local lists = require "pmlua.internal.lists"
local llvm = require "pmlua.internal.cc.llvm"
local paths = require "pmlua.internal.wrap.paths"
local pmus = require "pmlua.pmus"
local simulation = require "pmlua.internal.simulation.run"

local M = {}

local Lab = {}
Lab.__index = Lab

M.ORDER = { "source", "final", "simulation", "hardware" }
M.TITLES = {
  source = "compiler, at source", final = "compiler, at final", simulation = "simulation", hardware = "hardware",
}

local LIMIT_S = 120
local LIBRARY = "sde:::BYFL::"

--- The quantities to compare; "operations" are the compiler's operations and the other counters' instructions.
M.QUANTITIES = {
  flops = "flop_count_I", loaded = "load_count_I", stored = "store_count_I", loads = "load_ins_count_I",
  stores = "store_ins_count_I", operations = "op_count_I",
}
local simulated = { { "operations", "sim::Ir" }, { "loads", "sim::Dr" }, { "stores", "sim::Dw" }, { "indirect", "sim::Bi" } }
local presets = {
  operations = { "PAPI_TOT_INS" }, loads = { "PAPI_LD_INS" }, stores = { "PAPI_SR_INS" },
  flops = { "PAPI_DP_OPS", "PAPI_FP_OPS" },
}

-- Elements of a vector of doubles by the end of a cell's name.
M.LANES = { double = 1, double_128 = 2, double_256 = 4, double_512 = 8 }
M.ARITHMETIC = { "add", "sub", "mul", "div", "fma", "sqrt" }
M.VECTOR_BYTES = { 16, 32, 64 }

-- The cells that explain differences.
local function cells()
  local out = {
    "address", "branch", "branch_switch", "branch_indirect", "call_direct", "call_indirect", "set", "set_bytes", "copy",
    "copy_bytes_loaded", "copy_bytes_stored", "int_add", "int_logic", "int_shift", "int_compare", "int_convert",
  }
  for form in pairs(M.LANES) do
    for _, kind in ipairs(M.ARITHMETIC) do out[#out + 1] = ("fp_%s_%s"):format(kind, form) end
  end
  for _, bytes in ipairs(M.VECTOR_BYTES) do
    out[#out + 1], out[#out + 2] = "load_vector_" .. bytes, "store_vector_" .. bytes
  end
  table.sort(out)
  return out
end

-- --- building ---

local function compiler()
  for _, version in ipairs(llvm.built()) do
    if build.is_here("clang-" .. version) then return "clang-" .. version end
  end
  if build.is_here "clang" then return "clang" end
  for _, name in ipairs { "gcc", "cc" } do
    if build.is_here(name) then return name, "clang is not installed" end
  end
  return nil, "no C compiler found; apt-get install clang"
end

--- Flags for 256-bit vectors and fused multiply-adds, if the processor has them; valgrind supports no wider vectors.
function M.flags()
  local f <close> = io.open "/proc/cpuinfo"
  local words = (f and f:read "a" or ""):match "\nflags%s*:([^\n]*\n)" or ""
  words = words:gsub("%s", " ")
  local wide = words:find " avx2 " and words:find " fma "
  return "-O2 -fno-math-errno" .. (wide and " -mavx2 -mfma" or "")
end

--- Compile one of the three programs: its path, or nil and why.
function Lab:build(name, at)
  local quote = build.quote
  local flags = ("%s -std=c11 -D_GNU_SOURCE -I%s"):format(self.flags, quote(self.include))
  local count = at and ("%s cc --count --quiet --at=%s -- "):format(quote(self.pml.paths.command), at) or ""
  local main, subject = quote(build.sources .. "/counted.c"), quote(build.sources .. "/counted_kernels.c")
  local where = quote(self.library)
  local steps = {
    ("%s %s -c %s -o main.o"):format(self.compiler, flags, main),
    ("%s%s %s -c %s -o %s.o"):format(count, self.compiler, flags, subject, name),
    ("%s%s main.o %s.o -L%s -lpmlua -lm -Wl,-rpath,%s -o %s"):format(count, self.compiler, name, where, where, name),
  }
  for _, step in ipairs(steps) do
    local done, err = self.folder:run(step .. " 2>said || { grep -m1 -E 'error|undefined|pmlua' said >&2; false; }", LIMIT_S)
    if not done then return nil, ("the kernels cannot be built: %s"):format(err) end
  end
  return self.folder.path .. "/" .. name
end

-- --- running ---

-- Lines of the program's file: kernel -> calls -> counts in the order of the events.
local function read(path, events)
  local out = {}
  local f <close>, err = io.open(path)
  if not f then return nil, err end
  for line in f:lines() do
    local name, counts = line:match "^%w+", {}
    for number in line:gmatch " (%d+)" do counts[#counts + 1] = math.tointeger(tonumber(number)) end
    if not name or #counts ~= events then return nil, ("the program left an invalid line: %s"):format(line) end
    out[name] = out[name] or {}
    table.insert(out[name], counts)
  end
  return out
end

-- Subtract the counts of an empty call.
local function net(all)
  local least = {}
  for _, counts in ipairs(all.nothing) do
    for i, v in ipairs(counts) do least[i] = math.min(least[i] or v, v) end
  end
  all.nothing = nil
  for _, calls in pairs(all) do
    for _, counts in ipairs(calls) do
      for i, v in ipairs(counts) do counts[i] = v - least[i] end
    end
  end
  return all
end

function Lab:words(program, repeats, events)
  local words = { program, self.folder.path .. "/counts", tostring(self.length), tostring(self.order), tostring(repeats) }
  return table.move(events, 1, #events, #words + 1, words)
end

--- Count by events: kernel -> calls -> counts in their order.
function Lab:run(program, repeats, events)
  local quoted = lists.map(self:words(program, repeats, events), build.quote)
  local done, err = self.folder:run(table.concat(quoted, " "), LIMIT_S)
  local all
  if done then all, err = read(self.folder.path .. "/counts", #events) end
  return all and net(all), err
end

-- Names for counts: calls of each kernel as tables by name.
local function named(all, names)
  for _, calls in pairs(all) do
    for k, counts in ipairs(calls) do
      local by = {}
      for i, name in ipairs(names) do by[name] = counts[i] end
      calls[k] = by
    end
  end
  return all
end

local function by_compiler(at)
  return function(self, repeats)
    local names, events = cells(), {}
    for name in pairs(M.QUANTITIES) do names[#names + 1] = name end
    for i, name in ipairs(names) do events[i] = LIBRARY .. (M.QUANTITIES[name] or name) end
    local all, err = self:run(self.program[at], repeats, events)
    return all and named(all, names), err
  end
end

local function by_simulation(self, repeats)
  local names, events = {}, {}
  for i, e in ipairs(simulated) do names[i], events[i] = e[1], e[2] end
  local told, err = simulation.count(self:words(self.program.plain, repeats, events))
  if not told then return nil, err end
  if told.ended.signal or told.ended.status ~= 0 then
    return nil, "the program failed under valgrind: " .. (told.warnings[1] or "it said why above")
  end
  self.model = told.model
  local all, why = read(self.folder.path .. "/counts", #events)
  return all and named(net(all), names), why
end

-- One event per run, so that nothing is multiplexed or scaled.
local function by_hardware(self, repeats)
  local out = {}
  for quantity, way in pairs(self.hardware) do
    local counts = {}
    for key, event in pairs(way.metric.events) do
      local all, err = self:run(self.program.plain, repeats, { event .. ":u" })
      if not all then return nil, err end
      counts[key] = all
    end
    for _, kernel in ipairs(kernels.names) do
      out[kernel] = out[kernel] or {}
      for r = 1, repeats do
        local values = {}
        for key, all in pairs(counts) do values[key] = all[kernel][r][1] end
        out[kernel][r] = out[kernel][r] or {}
        out[kernel][r][quantity] = groups.value(way.group, way.metric, values)
      end
    end
  end
  return out
end

local ways = {
  source = by_compiler "source", final = by_compiler "final", simulation = by_simulation, hardware = by_hardware,
}

-- --- available counters ---

local function can_open(pml, metric)
  for _, event in pairs(metric.events) do
    local set <close> = pml.eventset.open { event .. ":u" }
    if not set then return false end
  end
  return true
end

--- The presets that this PMU can count, by quantity; nil and the reason without any.
local function hardware(pml)
  local has, why = pml.event.has_pmu()
  if not has then return nil, why end
  local known, out = groups.presets(pmus.here() or "generic"), {}
  local generic = groups.presets "generic"
  for quantity, names in pairs(presets) do
    for _, name in ipairs(names) do
      local group = known[name] or generic[name]
      if not out[quantity] and group and can_open(pml, group.metrics[1]) then
        out[quantity] = { group = group, metric = group.metrics[1] }
      end
    end
  end
  if not next(out) then return nil, "no event that counts instructions, loads, stores or flops can be opened" end
  return out
end

--- Build what counters need; unavailable ones are in lab.absent, with the reason.
---@param options { length: integer, order: integer, flags: string? }
---@return table? lab, string? err
function M.new(pml, options)
  local self = setmetatable({ pml = pml, length = options.length, order = options.order, flags = options.flags or M.flags(),
    absent = {}, program = {}, present = {} }, Lab)
  local err, no_clang
  self.include, err = paths.include()
  if not self.include then return nil, err end
  self.library, err = paths.library()
  if not self.library then return nil, err end
  self.compiler, no_clang = compiler()
  if not self.compiler then return nil, no_clang end
  self.folder, err = build.folder()
  if not self.folder then return nil, err end
  self.program.plain, err = self:build "plain"
  if not self.program.plain then return nil, err end
  self:find(no_clang)
  for _, name in ipairs(M.ORDER) do
    if not self.absent[name] then self.present[#self.present + 1] = name end
  end
  if #self.present > 0 then return self end
  local reasons = lists.map(self:lacking(), function(a) return ("%s: %s"):format(a.who, a.why) end)
  return nil, "no counter is available; " .. table.concat(reasons, "; ")
end

function Lab:find(no_clang)
  local module, reason = llvm.instrumenter()
  local lacking = no_clang or not module and reason or not self.pml.paths.command and "the pmlua command is not found"
  for _, at in ipairs { "source", "final" } do
    local why = lacking
    if not why then self.program[at], why = self:build(at, at) end
    self.absent[at] = not self.program[at] and why or nil
  end
  local valgrind, version = simulation.available()
  self.valgrind = valgrind and version
  self.absent.simulation = not valgrind and version or nil
  self.hardware, self.absent.hardware = hardware(self.pml)
end

--- The unavailable counters and the reasons; counters with the same reason share an entry.
---@return { who: string, why: string }[]
function Lab:lacking()
  local out = {}
  for _, name in ipairs(M.ORDER) do
    local why, last = self.absent[name], out[#out]
    if why and last and last.why == why then
      last.who = last.who .. " and " .. name
    elseif why then
      out[#out + 1] = { who = name, why = why }
    end
  end
  return out
end

--- The counts of a counter in @repeats calls of each kernel; measured once.
---@return table<string, table<string, number>[]>? calls by kernel
---@return string? err
function Lab:count(counter, repeats)
  self.counts = self.counts or {}
  local known = self.counts[counter]
  if not known or known.repeats < repeats then
    local all, err = ways[counter](self, repeats)
    known = { all = all, err = err, repeats = repeats }
    self.counts[counter] = known
  end
  return known.all, known.err
end

--- The problem size of a kernel.
function Lab:size(kernel) return kernels.is_matrix(kernel) and self.order or self.length end

function Lab:close()
  self.folder:close()
end

return M
