-- SPDX-License-Identifier: BSD-3-Clause
--- Errata of this processor that concern its counters, by vendor, family and model, of Arm's cores by implementer, part
--- and revision; the facts are data in errata/.
--
-- Try:  for _, e in ipairs(require("pmlua.internal.errata").here()) do print(e.number, e.events, e.what) end

local literal = require "pmlua.internal.literal"
local processor = require "pmlua.internal.processor"

local M = {}

---@class pmlua.Erratum
---@field number string the maker's; "" where it has none
---@field events string
---@field what string

--- Models are a range, from the first to the last, or a list.
local function is_of_family(e, cpu)
  if e.vendor == nil or e.vendor ~= cpu.vendor or e.family ~= cpu.family or not cpu.model then return false end
  if e.models then return cpu.model >= e.models[1] and cpu.model <= e.models[2] end
  for _, model in ipairs(e.model) do
    if model == cpu.model then return true end
  end
  return false
end

--- The errata of a processor.
---@param cpuinfo string the text of /proc/cpuinfo
---@return pmlua.Erratum[]
function M.of(cpuinfo)
  local cpu = processor.of(cpuinfo)
  local list = {}
  for _, file in ipairs(literal.list "errata") do
    local data, err = literal.read(file.path)
    if not data then error(err, 0) end
    for _, e in ipairs(data.errata) do
      if is_of_family(e, cpu) or processor.has_core(cpu, e) then list[#list + 1] = e end
    end
  end
  return list
end

--- Those of this machine.
---@return pmlua.Erratum[]
function M.here()
  local f <close> = io.open "/proc/cpuinfo"
  return M.of(f and f:read(1 << 20) or "")
end

return M
