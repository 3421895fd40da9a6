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

--- Models are numbers, and pairs of the first and the last.
local function is_of_family(e, cpu)
  if e.vendor == nil or e.vendor ~= cpu.vendor or e.family ~= cpu.family or not cpu.model then return false end
  for _, model in ipairs(e.models) do
    local first, last = model, model
    if type(model) == "table" then first, last = model[1], model[2] end
    if cpu.model >= first and cpu.model <= last then return true end
  end
  return false
end

local function of(cpu)
  local list = {}
  for _, file in ipairs(literal.list "errata") do
    local data = assert(literal.read(file.path))
    for _, processors in ipairs(data.errata) do
      if is_of_family(processors, cpu) or processor.has_core(cpu, processors) then
        table.move(processors, 1, #processors, #list + 1, list)
      end
    end
  end
  return list
end

--- The errata of a processor.
---@param cpuinfo string the text of /proc/cpuinfo
---@return pmlua.Erratum[]
function M.of(cpuinfo) return of(processor.of(cpuinfo)) end

--- The errata of this machine.
---@return pmlua.Erratum[]
function M.here() return of(processor.here()) end

return M
