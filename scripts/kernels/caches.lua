-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/kernels/caches.lua - the data caches of a core, and a working set that fits into each.
--
-- Try:  for _, l in ipairs(require("kernels.caches").levels(2)) do print(l.name, l.bytes, l.source) end

local M = {}

local folder = "/sys/devices/system/cpu/cpu%d/cache/index%d/%s"

local function read(cpu, index, name)
  local f <close> = io.open(folder:format(cpu, index, name))
  return f and f:read "l"
end

-- "0-3,8" are five cpus.
local function count(list)
  local n = 0
  for first, last in list:gmatch "(%d+)%-?(%d*)" do
    n = n + (last ~= "" and tonumber(last) - tonumber(first) + 1 or 1)
  end
  return n
end

local unit = { K = 1 << 10, M = 1 << 20, G = 1 << 30, [""] = 1 }

local function told(cpu)
  local out = {}
  for index = 0, 9 do
    local kind, size, level = read(cpu, index, "type"), read(cpu, index, "size"), read(cpu, index, "level")
    local number, letter = (size or ""):match "^(%d+)([KMG]?)$"
    if kind and kind ~= "Instruction" and number and level then
      out[#out + 1] = {
        name = "L" .. level, bytes = tonumber(number) * unit[letter],
        shared = math.max(1, count(read(cpu, index, "shared_cpu_list") or "0")), source = "sysfs",
      }
    end
  end
  table.sort(out, function(a, b) return a.name < b.name end)
  return out
end

--- Levels from the nearest to memory, each with the bytes of a working set per core that lies in it: half of a core's
-- share of a cache, so that stacks and tables have room; for memory four times the largest cache, for all cores.
---@param cores integer how many run at once
---@param cpu integer? whose caches, 0
---@return {name: string, bytes: integer, set: integer, shared: integer, source: string}[] set: bytes per core
function M.levels(cores, cpu)
  local out = told(cpu or 0)
  if #out == 0 then
    -- the least that cores of the last ten years have
    for i, bytes in ipairs { 32 << 10, 256 << 10, 8 << 20 } do
      out[i] = { name = "L" .. i, bytes = bytes, shared = i == 3 and cores or 1, source = "assumed: sysfs has no caches" }
    end
  end
  for _, level in ipairs(out) do level.set = level.bytes // math.min(level.shared, cores) // 2 end
  local last = out[#out]
  out[#out + 1] = {
    name = "memory", bytes = 0, shared = cores, source = last.source,
    set = math.max(64 << 20, 4 * last.bytes) // math.min(last.shared, cores),
  }
  return out
end

--- The level that a working set of so many bytes per core lies in; nil where it is between two, and may be in either.
function M.level_of(levels, bytes)
  local below = 0
  for i, level in ipairs(levels) do
    if i == #levels then return bytes >= level.set and level.name or nil end
    if bytes > below and bytes <= level.set * 1.5 then return bytes >= 1.2 * below and level.name or nil end
    below = level.set * 2
  end
end

return M
