-- SPDX-License-Identifier: BSD-3-Clause
--- Errata of this processor that concern its counters, by vendor, family and model; the facts are data in errata/.
--
-- Try:  for _, e in ipairs(require("pmlua.internal.errata").here()) do print(e.number, e.events, e.what) end

local literal = require "pmlua.internal.literal"

local M = {}

---@class pmlua.Erratum
---@field number string the maker's; "" where it has none
---@field events string
---@field what string

--- A processor as /proc/cpuinfo describes it.
---@param text string
---@return string? vendor
---@return integer? family
---@return integer? model
local function identity(text)
  local function field(name) return ("\n" .. text):match("\n" .. name .. "%s*:%s*([^\n]*)") end
  return field "vendor_id", math.tointeger(tonumber(field "cpu family")), math.tointeger(tonumber(field "model"))
end

--- The errata of a processor.
---@param cpuinfo string the text of /proc/cpuinfo
---@return pmlua.Erratum[]
function M.of(cpuinfo)
  local vendor, family, model = identity(cpuinfo)
  local list = {}
  for _, file in ipairs(literal.list "errata") do
    local data, err = literal.read(file.path)
    if not data then error(err, 0) end
    for _, e in ipairs(data.errata) do
      local same = e.vendor == vendor and e.family == family and model
      if same and model >= e.models[1] and model <= e.models[2] then list[#list + 1] = e end
    end
  end
  return list
end

--- Those of this machine.
---@return pmlua.Erratum[]
function M.here()
  local f <close> = io.open "/proc/cpuinfo"
  return M.of(f and f:read(65536) or "")
end

return M
