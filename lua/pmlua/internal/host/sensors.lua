-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/host/sensors.lua - what the hardware tells through the kernel: temperatures, frequencies, energy and power.
--
-- Try:  local files = require("pmlua.internal.host.files").new()
--       for _, m in ipairs(require("pmlua.internal.host.sensors").temperature(files)) do print(m.name) end
--
-- Formats: Documentation/hwmon/sysfs-interface, driver-api/thermal, admin-guide/pm/cpufreq and power/powercap of the
-- kernel. Few virtual machines have any of it.

local files_of = require "pmlua.internal.host.files"

local M = {}

--- Replace characters that a name must not contain.
local function plain(text) return (text:gsub("[^%w.]+", "_"):gsub("^_+", ""):gsub("_+$", "")) end

--- Names that are taken get a number.
local function unique(taken, name)
  local n = taken[name] or 0
  taken[name] = n + 1
  return n == 0 and name or ("%s_%d"):format(name, n + 1)
end

--- A metric whose file has one number, or why it cannot have it.
local function single(files, path, metric)
  local text, err = files:read(path)
  if text and not files_of.number(text).value then err = ("%s%s: not a number"):format(files.root, path) end
  if err then return { name = metric.name, reason = err } end
  metric.path, metric.parse = path, files_of.number
  return metric
end

local function or_none(metrics, name, reason)
  return #metrics > 0 and metrics or { { name = name .. "_*", reason = reason } }
end

-- --- temperatures, and power that sensors measure ---

local function hwmon(files, pattern, build)
  local metrics = {}
  for _, chip in ipairs(files:list "sys/class/hwmon") do
    local folder = "sys/class/hwmon/" .. chip
    local name = files:line(folder .. "/name") or chip
    for _, file in ipairs(files:list(folder)) do
      local input = file:match(pattern)
      if input then
        local label = files:line(("%s/%s_label"):format(folder, input)) or input
        metrics[#metrics + 1] = build(folder .. "/" .. file, plain(name .. "_" .. label), ("%s of %s"):format(label, name))
      end
    end
  end
  return metrics
end

function M.temperature(files)
  local taken = {}
  local function build(path, name, description)
    return single(files, path, { name = unique(taken, "temperature_" .. name), description = "temperature: " .. description,
      unit = "degC", type = "integer", exponent = -3, mode = "absolute_point" })
  end
  local metrics = hwmon(files, "^(temp%d+)_input$", build)
  for _, zone in ipairs(files:list "sys/class/thermal") do
    if zone:find "^thermal_zone%d+$" then
      local folder = "sys/class/thermal/" .. zone
      local kind = files:line(folder .. "/type") or zone
      metrics[#metrics + 1] = build(folder .. "/temp", plain(kind), ("%s (%s)"):format(kind, zone))
    end
  end
  return or_none(metrics, "temperature",
    ("no sensor in %ssys/class/hwmon or thermal, as in most virtual machines"):format(files.root))
end

-- --- frequencies ---

function M.frequency(files)
  local metrics = {}
  for _, cpu in ipairs(files:list "sys/devices/system/cpu") do
    local path = ("sys/devices/system/cpu/%s/cpufreq/scaling_cur_freq"):format(cpu)
    if cpu:find "^cpu%d+$" and files:read(path) then
      metrics[#metrics + 1] = single(files, path, { name = "frequency_" .. cpu, description = "frequency that the kernel set",
        unit = "Hz", type = "integer", exponent = 3, mode = "absolute_point" })
    end
  end
  return or_none(metrics, "frequency", ("%ssys/devices/system/cpu/cpu*/cpufreq does not exist: the hypervisor or the firmware "
    .. "chooses the frequency"):format(files.root))
end

-- --- energy and power ---

local ROOT_ONLY = "; only root may read it since Linux 5.10; run as root, or count power/energy-pkg/ with CAP_PERFMON"

--- The RAPL zones, each named after its parent zone and itself: package_0, package_0_dram.
local function zones(files)
  local found = {}
  local function add(folder, prefix)
    local name = files:line(folder .. "/name")
    if name then found[#found + 1] = { folder = folder, name = prefix .. plain(name) } end
    return name and prefix .. plain(name) .. "_" or prefix
  end
  for _, zone in ipairs(files:list "sys/class/powercap") do
    if zone:find "^intel%-rapl:%d+$" or zone:find "^intel%-rapl%-mmio:%d+$" then
      local prefix = add("sys/class/powercap/" .. zone, zone:find "mmio" and "mmio_" or "")
      local folder = "sys/class/powercap/" .. zone
      for _, inner in ipairs(files:list(folder)) do
        if inner:find("^intel%-rapl[%w%-]*:%d+:%d+$") then add(folder .. "/" .. inner, prefix) end
      end
    end
  end
  return found
end

local function add_zone(files, zone, metrics)
  local path = zone.folder .. "/energy_uj"
  local range = files_of.integer(files:line(zone.folder .. "/max_energy_range_uj"))
  local function add(metric)
    metric.wrap = range
    metric = single(files, path, metric)
    if metric.reason and metric.reason:find "Permission denied" then metric.reason = metric.reason .. ROOT_ONLY end
    metrics[#metrics + 1] = metric
  end
  add { name = "energy_" .. zone.name, description = "energy consumed", unit = "J", type = "integer", exponent = -6,
    how = "since", mode = "accumulated_start" }
  add { name = "power_" .. zone.name, description = "power, mean since the previous value", unit = "W", type = "float",
    how = "rate", factor = 1e-6, mode = "absolute_last" }
end

function M.power(files)
  local metrics, taken = {}, {}
  for _, zone in ipairs(zones(files)) do
    zone.name = unique(taken, zone.name)
    add_zone(files, zone, metrics)
  end
  for _, pattern in ipairs { "^(power%d+)_input$", "^(power%d+)_average$" } do
    local measured = hwmon(files, pattern, function(path, name, description)
      return single(files, path, { name = unique(taken, "power_" .. name), description = "power: " .. description, unit = "W",
        type = "integer", exponent = -6, mode = "absolute_point" })
    end)
    table.move(measured, 1, #measured, #metrics + 1, metrics)
  end
  return or_none(metrics, "power", ("no meter in %ssys/class/powercap or hwmon, as in most virtual machines"):format(
    files.root))
end

return M
