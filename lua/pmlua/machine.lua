-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/machine.lua - what the laboratory found on this machine: latencies, bandwidths, noise, costs of instructions.
--
-- Try:  for _, l in ipairs(pml.machine.latency().levels) do print(l.bytes, l.ns) end
--
-- Each function runs the experiment of its subject once, with --quick unless asked otherwise, and keeps the result in
-- $XDG_STATE_HOME/pmlua/machine/NAME (or ~/.local/state), a folder for each machine: later calls, also of other processes,
-- read it in microseconds. NAME is the host's name and a hash of its processor, so a home that several machines share, or a
-- virtual machine that was moved, has a folder for each. Measuring takes seconds and the processor: ask beforehand, not
-- in the middle of a measurement.

local core = require "pmlua.core"
local dat = require "pmlua.internal.dat"
local disk = require "pmlua.internal.file"
local fields = require "pmlua.internal.fields"
local json = require "pmlua.json"
local lfs = require "lfs"
local provenance = require "pmlua.internal.experiment.provenance"
local state = require "pmlua.internal.state"
local temporary = require "pmlua.internal.temporary"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

---@class pml.machine
local M = {}

---@class pmlua.MachineOptions
---@field quick? boolean true; false: the whole experiment, which takes up to minutes
---@field again? boolean measure even if a result is stored
---@field kept? boolean return stored results only, never measure

---@class pmlua.MachineResult
---@field measured string when, in UTC
---@field quick boolean
---@field version string of pmlua

local MOST_BYTES = 1 << 20 -- largest file of a stored result
local OPTIONS = { quick = true, again = true, kept = true, init = true }

-- --- where results are stored ---

-- FNV-1a of 32 bits: it distinguishes machines and is not a protection.
local function hash(text)
  local h = 2166136261
  for i = 1, #text do h = ((h ~ text:byte(i)) * 16777619) & 0xffffffff end
  return ("%08x"):format(h)
end

local folder -- caches M.folder()

--- The folder of this machine's results; it may not exist yet.
---@return string? path, pmlua.Failure? failure neither HOME nor XDG_STATE_HOME is set
function M.folder()
  local m = provenance.machine()
  local name = core.sys.uname().nodename:gsub("[^%w.-]", "_"):gsub("^%.+", ""):sub(1, 64)
  local facts = ("%s|%s|%s|%s"):format(m.cpu, core.sys.nprocs(), m.virtual, m.virtual_product)
  folder = folder or ("machine/%s-%s"):format(name, hash(facts))
  local path = state.path(folder)
  if path then return path end
  return refuse("ENOENT", "nowhere to keep results: neither HOME nor XDG_STATE_HOME is set", "set one of them")
end

local function path_of(subject)
  local dir = M.folder()
  return dir and ("%s/%s.json"):format(dir, subject)
end

-- The stored result for a subject with the same options; nil: no usable one.
local function kept(subject, given)
  local path = path_of(subject)
  local text = path and disk.read(path, MOST_BYTES)
  local done, data = pcall(json.decode, text or "")
  if not done or type(data) ~= "table" or data.subject ~= subject or type(data.measured) ~= "string" then return nil end
  local result = data.result
  if type(result) ~= "table" or result.code ~= given.code or result.init ~= given.init then return nil end
  return data
end

-- The file is the user's own and no link; it is replaced when the new one is whole.
local function keep(subject, data)
  local path = path_of(subject)
  if not path then return end
  if not core.sys.private_file(path) then return end
  disk.write(path, json.encode(data))
end

-- --- running an experiment ---

-- The script of an experiment requires its parts, which lie beside it: package.path finds them until it ends.
local function experiment(name)
  local pml = require "pmlua"
  if not pml.paths.scripts then return refuse("ENOENT", "the experiments are not installed", "set up pmlua with its scripts") end
  package.path = pml.paths.scripts .. "/?.lua;" .. package.path
  local load, err = loadfile(("%s/%s.lua"):format(pml.paths.scripts, name), "t")
  if not load then return refuse("ENOENT", err) end
  return load()
end

-- Run an experiment in a temporary folder and return the distilled result.
local function measured(name, given, distill)
  local path = package.path
  local done, result, why = pcall(temporary.with, "machine", function(dir)
    local exp = try(experiment(name))
    given.out, given.no_plot, given.quiet, given.json = dir, true, true, true
    local run = try(exp:run(given, { "pml.machine", name }))
    if run.status ~= "complete" then return refuse("EINTR", ("%s: %s"):format(name, run.meta.error or run.status)) end
    return distill(run)
  end)
  package.path = path
  if not done then return refuse("EINVAL", tostring(result)) end
  return result, why
end

-- The kept result of a subject, or a new one.
local function ask(subject, name, o, given, distill)
  local wrong = fields.unknown(o or {}, OPTIONS)
  if wrong then error("machine." .. subject:match "^%a+" .. ": " .. wrong, 3) end
  o = o or {}
  local quick = o.quick ~= false
  local old = not o.again and kept(subject, given)
  if old and (quick or not old.quick) then return old.result end
  if o.kept then return refuse("ENOENT", ("%s was not measured on this machine"):format(name), "call it without `kept`") end
  if os.getenv "PMLUA_SIM" then
    return refuse("ENOTSUP", name .. " was not measured: times of a simulation mean nothing", "call it without --sim first")
  end
  given.quick = quick
  local result, err = measured(name, given, distill)
  if not result then return nil, err end
  result.measured, result.quick, result.version = os.date("!%Y-%m-%dT%H:%M:%SZ"), quick, core.version
  keep(subject, { subject = subject, measured = result.measured, quick = quick, result = result })
  return result
end

-- The rows of a table of the run, by column name.
local function rows_of(run, name)
  local t = dat.read(run:path(name))
  return json.array(t and t.rows)
end

-- --- subjects ---

-- The latency of a load in each cache and in memory, and all measured points.
local function levels_of(run)
  local levels = json.array()
  for i, row in ipairs(rows_of(run, "levels.dat")) do levels[i] = { bytes = row.bytes > 0 and row.bytes or nil, ns = row.ns } end
  local points = json.array()
  for _, cell in ipairs(run.cells) do
    if cell.summary then
      points[#points + 1] = { bytes = cell.p.bytes, stride = cell.p.stride, pages = cell.p.pages, ns = cell.summary.median }
    end
  end
  return levels, points
end

---@class pmlua.MachineLatency: pmlua.MachineResult
---@field levels { bytes: integer?, ns: number }[] caches from the nearest: the working set that fits, and a load's time; the
---last has no size: it is what lies beyond
---@field knees { stride: integer, pages: string, fits: number, exceeds: number, before: number, after: number }[]
---@field points { bytes: integer, stride: integer, pages: string, ns: number }[]

--- Measure the latency of a load by working set (`scripts/memory_latency.lua`).
---@param options? pmlua.MachineOptions
---@return pmlua.MachineLatency? latency, pmlua.Failure? failure
function M.latency(options)
  return ask("latency", "memory_latency", options, {}, function(run)
    local levels, points = levels_of(run)
    return { levels = levels, knees = rows_of(run, "knees.dat"), points = points }
  end)
end

---@class pmlua.MachineBandwidth: pmlua.MachineResult
---@field mixes { threads: integer, writes: integer, best: number, median: number }[] writes in percent, GB/s

--- Bytes a second that threads read and write (`scripts/memory_bandwidth.lua`).
---@param options? pmlua.MachineOptions
---@return pmlua.MachineBandwidth? bandwidth, pmlua.Failure? failure
function M.bandwidth(options)
  return ask("bandwidth", "memory_bandwidth", options, {}, function(run)
    local mixes = json.array()
    for i, row in ipairs(rows_of(run, "data.dat")) do
      mixes[i] = { threads = row.threads, writes = row.writes, best = row.best, median = row.gbytes }
    end
    return { mixes = mixes }
  end)
end

---@class pmlua.MachineExchange: pmlua.MachineResult
---@field pairs { pair: string, latency: number, low: number?, high: number? }[] ns one way, nearest first

--- Measure the latency of a cache line between each pair of cpus (`scripts/core_to_core.lua`).
---@param options? pmlua.MachineOptions
---@return pmlua.MachineExchange? exchange, pmlua.Failure? failure
function M.exchange(options)
  return ask("exchange", "core_to_core", options, {}, function(run)
    local list = json.array()
    for i, row in ipairs(rows_of(run, "order.dat")) do
      list[i] = { pair = row.pair, latency = row.latency, low = row.low, high = row.high }
    end
    return { pairs = list }
  end)
end

---@class pmlua.MachineNoise: pmlua.MachineResult
---@field cpus { cpu: integer, lost: number, waited: number?, steal: number?, detours: number, grain: number }[] percent of the
---time, detours a second, ns
---@field periods { cpu: integer, length: number, period: number?, times: integer, regular: number }[] us, percent

--- Measure the noise of the system: the time during which other activity occupies the cpus (`scripts/noise.lua`).
---@param options? pmlua.MachineOptions
---@return pmlua.MachineNoise? noise, pmlua.Failure? failure
function M.noise(options)
  return ask("noise", "noise", options, {}, function(run)
    return { cpus = rows_of(run, "kernel.dat"), periods = rows_of(run, "periods.dat") }
  end)
end

---@class pmlua.InstructionOptions: pmlua.MachineOptions
---@field init? string instructions before the loop

---@class pmlua.MachineInstruction: pmlua.MachineResult
---@field code string
---@field init string?
---@field latency number? cycles of a copy in a chain; nil: it could not be measured
---@field throughput number? cycles of a copy when copies overlap
---@field frequency number? GHz; nil where cycles are counted

--- Cycles of a sequence of instructions (`scripts/instruction.lua`).
---@param code string statements separated by `;`
---@param options? pmlua.InstructionOptions
---@return pmlua.MachineInstruction? instruction, pmlua.Failure? failure the assembler's message, or how the sequence ended
function M.instruction(code, options)
  if type(code) ~= "string" then error("machine.instruction: the code must be a string", 2) end
  if code:find("||", 1, true) then error("machine.instruction: pass one sequence at a time", 2) end
  local init = options and options.init
  local subject = "instruction-" .. hash(code .. "|" .. (init or ""))
  return ask(subject, "instruction", options, { code = code, init = init }, function(run)
    local row = { code = code, init = init }
    for _, cell in ipairs(run.cells) do
      local name = cell.p.way == "chain" and "latency" or "throughput"
      row[name] = cell.summary and cell.summary.median
      local last = cell.rounds[#cell.rounds]
      row.frequency = row.frequency or last and last.extra.frequency
    end
    return row
  end)
end

--- Delete the stored results of this machine.
function M.forget()
  local dir = M.folder()
  if dir and lfs.symlinkattributes(dir, "mode") == "directory" then temporary.remove(dir) end
end

return M
