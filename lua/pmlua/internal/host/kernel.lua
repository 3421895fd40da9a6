-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/host/kernel.lua - what the kernel counts of the host: memory, processors, network, disks, waiting.
--
-- Try:  for _, m in ipairs(require("pmlua.internal.host.kernel").memory(require("pmlua.internal.host.files").new())) do
--       print(m.name) end
--
-- Formats: proc(5), and Documentation/accounting/psi.rst of the kernel. Each function gives the metrics that the files
-- have, as pmlua.internal.host.measure says; one of them with a reason where they cannot.

local files_of = require "pmlua.internal.host.files"
local refuse = require "pmlua.core".failure.refuse
local integer = files_of.integer

local M = {}

local function lacking(name, reason) return { { name = name .. "_*", reason = reason } } end

--- Read a file and parse it; nil and the reason.
local function numbers_of(files, path, parse)
  local text, err = files:read(path)
  if not text then return nil, err end
  local numbers = parse(text)
  if next(numbers) then return numbers end
  return refuse("EFORMAT", ("%s%s: its format is not the kernel's"):format(files.root, path))
end

--- The metrics whose numbers the file contains.
local function present(files, path, parse, prefix, metrics)
  local numbers, err = numbers_of(files, path, parse)
  if not numbers then return lacking(prefix, err) end
  for _, m in ipairs(metrics) do
    local v
    if type(m.key) == "function" then v = m.key(numbers) else v = numbers[m.key] end
    if v then m.path, m.parse = path, parse
    else m.reason = ("%s%s does not have it"):format(files.root, path) end
  end
  return metrics
end

-- --- memory ---

local function parse_meminfo(text)
  local numbers = {}
  for key, value in text:gmatch("([%w_()]+):%s+(%d+) kB\n") do numbers[key] = integer(value) end
  return numbers
end

local function difference(a, b)
  return function(n) return n[a] and n[b] and n[a] - n[b] end
end

function M.memory(files)
  local function bytes(name, key, description)
    return { name = "memory_" .. name, key = key, description = description, unit = "B", type = "integer", factor = 1024,
      mode = "absolute_point" }
  end
  return present(files, "proc/meminfo", parse_meminfo, "memory", {
    bytes("available", "MemAvailable", "memory available to new programs without swapping"),
    bytes("used", difference("MemTotal", "MemAvailable"), "memory not available to new programs"),
    bytes("free", "MemFree", "unused memory"),
    bytes("cached", "Cached", "memory that caches files"),
    bytes("dirty", "Dirty", "memory waiting to be written to disk"),
    bytes("swapped", difference("SwapTotal", "SwapFree"), "swap space in use"),
  })
end

-- --- processors ---

-- USER_HZ, in which /proc/stat counts, is 100 on every architecture but alpha and ia64. A rate needs a time in which a
-- tick more or less does not matter much: a fifth of a processor.
local TICK_S = 0.01
local LEAST_S = 5 * TICK_S
local states = { "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal" }

local function parse_stat(text)
  local numbers = {}
  for cpu, line in text:gmatch("(cpu%d*)( [%d ]+)\n") do
    local i, sum = 0, 0
    for digits in line:gmatch("%d+") do
      i = i + 1
      local v = integer(digits)
      if not states[i] or not v then break end
      numbers[cpu .. " " .. states[i]] = v
      if states[i] ~= "idle" and states[i] ~= "iowait" and states[i] ~= "steal" then sum = sum + v end
    end
    if i >= 4 then numbers[cpu .. " busy"] = sum end
    if i >= 4 and cpu ~= "cpu" then numbers.cpus = (numbers.cpus or 0) + 1 end
  end
  for key, digits in text:gmatch("\n(%l[%l_]+) (%d+)") do numbers[key] = integer(digits) end
  return numbers
end

function M.processors(files)
  local function share(name, key, description, most)
    return { name = name, key = key, description = description, unit = "#", type = "float", how = "rate", factor = TICK_S,
      mode = "absolute_last", least_s = LEAST_S, most = most or "cpus" }
  end
  local function count(name, key, description)
    return { name = name, key = key, description = description, unit = "#", type = "integer", how = "since",
      mode = "accumulated_start" }
  end
  local metrics = {
    share("cpus_busy", "cpu busy", "processors at work, mean since the previous value"),
    share("cpus_user", "cpu user", "processors at work for programs"),
    share("cpus_system", "cpu system", "processors at work for the kernel"),
    share("cpus_waiting", "cpu iowait", "idle processors whose tasks wait for disks"),
    share("cpus_stolen", "cpu steal", "processors that the hypervisor gave to others"),
    count("context_switches", "ctxt", "switches from one task to another"),
    count("interrupts", "intr", "interrupts of devices and timers"),
    count("forks", "processes", "processes and threads that began"),
    { name = "tasks_running", key = "procs_running", description = "tasks running or ready to run", unit = "#", type = "integer",
      mode = "absolute_point" },
    { name = "tasks_blocked", key = "procs_blocked", description = "tasks that wait for disks", unit = "#", type = "integer",
      mode = "absolute_point" },
  }
  local numbers = numbers_of(files, "proc/stat", parse_stat) or {}
  local i = 0
  while numbers[("cpu%d busy"):format(i)] do
    metrics[#metrics + 1] = share(("cpu%d_busy"):format(i), ("cpu%d busy"):format(i), "share of time at work", 1)
    i = i + 1
  end
  return present(files, "proc/stat", parse_stat, "cpus", metrics)
end

local function parse_loadavg(text)
  local a, b, c = text:match("^([%d.]+) ([%d.]+) ([%d.]+) %d+/%d+")
  return { load_1 = tonumber(a), load_5 = tonumber(b), load_15 = tonumber(c) }
end

function M.load(files)
  local metrics = {}
  for i, minutes in ipairs { 1, 5, 15 } do
    metrics[i] = { name = "load_" .. minutes, key = "load_" .. minutes, unit = "#", type = "float", mode = "absolute_point",
      description = ("tasks running or waiting for disks, mean over about %d minutes"):format(minutes) }
  end
  return present(files, "proc/loadavg", parse_loadavg, "load", metrics)
end

-- --- network ---

local function parse_net(text)
  local numbers = {}
  for name, line in text:gmatch("\n%s*([^%s:]+):([%d ]+)") do
    local field = {}
    for digits in line:gmatch("%d+") do field[#field + 1] = integer(digits) end
    if #field >= 10 then
      numbers[name .. " received"], numbers[name .. " packets_received"] = field[1], field[2]
      numbers[name .. " sent"], numbers[name .. " packets_sent"] = field[9], field[10]
    end
  end
  return numbers
end

--- The sum over all interfaces but the loopback.
local function outside(what)
  return function(numbers)
    local sum
    for key, v in pairs(numbers) do
      local name, of = key:match("^(%S+) (.*)$")
      if of == what and name ~= "lo" then sum = (sum or 0) + v end
    end
    return sum
  end
end

function M.network(files)
  local metrics = {}
  local function add(prefix, key, whose)
    for _, what in ipairs { "received", "sent", "packets_received", "packets_sent" } do
      local packets = what:find "^packets"
      metrics[#metrics + 1] = { name = prefix .. what, key = key(what), unit = packets and "#" or "B", type = "integer",
        description = ("%s %s %s"):format(packets and "packets" or "bytes", what:gsub("packets_", ""), whose), how = "since",
        mode = "accumulated_start" }
    end
  end
  local numbers = numbers_of(files, "proc/net/dev", parse_net) or {}
  local interfaces = {}
  for key in pairs(numbers) do interfaces[#interfaces + 1] = key:match("^(%S+) sent$") end
  table.sort(interfaces)
  add("network_", outside, "over all interfaces but the loopback")
  for _, name in ipairs(interfaces) do
    add("network_" .. name .. "_", function(what) return name .. " " .. what end, "over " .. name)
  end
  return present(files, "proc/net/dev", parse_net, "network", metrics)
end

-- --- disks ---

local SECTOR = 512 -- bytes, for every disk

local function parse_disks(text)
  local numbers = {}
  for line in text:gmatch("[^\n]+") do
    local name, rest = line:match("^%s*%d+%s+%d+%s+(%S+)%s+([%d ]+)$")
    local field = {}
    for digits in (rest or ""):gmatch("%d+") do field[#field + 1] = integer(digits) end
    if #field >= 11 and not name:find("^loop%d") and not name:find("^ram%d") then
      numbers[name .. " read"], numbers[name .. " written"], numbers[name .. " busy"] = field[3], field[7], field[10]
    end
  end
  return numbers
end

function M.disks(files)
  local numbers, err = numbers_of(files, "proc/diskstats", parse_disks)
  if not numbers then return lacking("disk", err) end
  local names, metrics = {}, {}
  for key in pairs(numbers) do names[#names + 1] = key:match("^(%S+) read$") end
  table.sort(names)
  for _, name in ipairs(names) do
    local function add(what, unit, description, more)
      metrics[#metrics + 1] = { name = ("disk_%s_%s"):format(name, what), key = name .. " " .. what, unit = unit,
        description = ("%s %s"):format(description, name), type = "integer", how = "since", mode = "accumulated_start",
        factor = more.factor, exponent = more.exponent }
    end
    add("read", "B", "bytes read from", { factor = SECTOR })
    add("written", "B", "bytes written to", { factor = SECTOR })
    add("busy", "s", "time with requests at", { exponent = -3 })
  end
  return present(files, "proc/diskstats", parse_disks, "disk", metrics)
end

-- --- waiting: pressure stall information ---

local function parse_pressure(text)
  return { some = integer(text:match("some [^\n]*total=(%d+)")), full = integer(text:match("full [^\n]*total=(%d+)")) }
end

function M.pressure(files)
  local metrics = {}
  for _, resource in ipairs { "cpu", "memory", "io" } do
    local these = present(files, "proc/pressure/" .. resource, parse_pressure, "pressure_" .. resource, {
      { name = "pressure_" .. resource, key = "some", description = "time in which a task waited for it", unit = "s",
        type = "integer", exponent = -6, how = "since", mode = "accumulated_start" } })
    table.move(these, 1, #these, #metrics + 1, metrics)
  end
  return metrics
end

return M
