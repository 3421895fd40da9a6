-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/plugins/process.lua - plugin::process: memory, threads, processor time and input and output of a process.
--
-- Try:  pmlua -e 'pml.plugin.load { name = "process", metrics = { "resident" } }
--         print(pml.eventset { "plugin::process::resident" }:read())'
--
-- Options: metrics (globs), every ("100ms"), pid (this process unless said), root (where proc is, "/"). Formats: proc(5).

local core = require "pmlua.core"
local files_of = require "pmlua.internal.host.files"
local measure = require "pmlua.internal.host.measure"
local integer = files_of.integer

local M = {
  summary = "memory, threads, processor time, input and output of the process",
  scope = "process",
  default = { "resident", "threads", "cpus" },
}

local TICK_S = 0.01 -- USER_HZ, but on alpha and ia64
local LEAST_S = 5 * TICK_S -- a tick more or less is a fifth of a processor

local function parse_status(text)
  local numbers = {}
  for key, digits in text:gmatch("(%w+):%s+(%d+)") do numbers[key] = integer(digits) end
  return numbers
end

--- The name of the program is in parentheses and may hold any.
local function parse_stat(text)
  local field = {}
  for word in (text:match("^%d+ %(.*%) (.*)$") or ""):gmatch("%S+") do field[#field + 1] = word end
  local user, system = integer(field[12]), integer(field[13])
  return { cpu = user and system and user + system, minor = integer(field[8]), major = integer(field[10]) }
end

local function parse_io(text)
  return { read = integer(text:match("\nread_bytes: (%d+)")), written = integer(text:match("\nwrite_bytes: (%d+)")) }
end

local function listed()
  local function bytes(name, key, description)
    return { name = name, file = "status", parse = parse_status, key = key, description = description, unit = "B",
      type = "integer", factor = 1024, mode = "absolute_point" }
  end
  local function since(name, file, parse, key, unit, description)
    return { name = name, file = file, parse = parse, key = key, unit = unit, description = description, type = "integer",
      how = "since", mode = "accumulated_start" }
  end
  return {
    bytes("resident", "VmRSS", "resident memory"),
    bytes("virtual", "VmSize", "address space"),
    bytes("swapped", "VmSwap", "memory in swap space"),
    { name = "threads", file = "status", parse = parse_status, key = "Threads", description = "threads", unit = "#",
      type = "integer", mode = "absolute_point" },
    { name = "cpus", file = "stat", parse = parse_stat, key = "cpu", unit = "#", type = "float", how = "rate",
      factor = TICK_S, least_s = LEAST_S,
      description = "processors at work for it, mean since the previous value", mode = "absolute_last" },
    since("faults", "stat", parse_stat, "minor", "#", "page faults that needed no disk"),
    since("major_faults", "stat", parse_stat, "major", "#", "page faults that needed a disk"),
    since("read", "io", parse_io, "read", "B", "bytes read from disks"),
    since("written", "io", parse_io, "written", "B", "bytes written to disks"),
  }
end

--- The kernel's own clock of the process counts nanoseconds and all threads; the ticks in its files are coarse.
local function by_clock(m, pid)
  m.read = function()
    local ns, at_ns = core.sys.cpu_time(pid)
    return { cpu = ns, ns = ns and at_ns, cpus = core.sys.nprocs() }
  end
  m.factor, m.least_s, m.most = 1e-9, nil, "cpus"
end

---@param options { root?: string, pid?: integer }
function M.metrics(options)
  local files, metrics = files_of.new(options.root), {}
  for i, m in ipairs(listed()) do
    if m.name == "cpus" and files.root == "/" and core.sys.cpu_time(options.pid) then by_clock(m, options.pid) end
    m.path = ("proc/%s/%s"):format(options.pid or "self", m.file)
    local text, err = files:read(m.path)
    if text and not m.parse(text)[m.key] then err = ("%s%s does not have it"):format(files.root, m.path) end
    metrics[i] = err and { name = m.name, reason = err } or m
  end
  return metrics
end

function M.collector(options, metrics) return measure.collector(files_of.new(options.root), metrics) end

return M
