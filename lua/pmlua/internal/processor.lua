-- SPDX-License-Identifier: BSD-3-Clause
--- Which processor this is, as /proc/cpuinfo says: vendor, family and model on x86, implementer and part of each kind on Arm.
--
--     pmlua -e 'print(require("pmlua.internal.processor").here().vendor)'

local M = {}

local function number(text) return math.tointeger(tonumber(text)) end

---@class pmlua.Processor
---@field vendor? string
---@field family? integer
---@field model? integer
---@field cores { implementer: integer, part: integer, variant: integer, revision: integer }[] of Arm, each kind once

--- @text as /proc/cpuinfo has it.
---@return pmlua.Processor
function M.of(text)
  text = "\n" .. text
  local function field(name) return text:match("\n" .. name .. "%s*:%s*([^\n]*)") end
  local cores, seen = {}, {}
  for block in text:gmatch "CPU implementer.-CPU revision[^\n]*" do
    local function of(name) return number(block:match("CPU " .. name .. "%s*:%s*(%S+)")) end
    local core = { implementer = of "implementer", part = of "part", variant = of "variant", revision = of "revision" }
    local key = ("%s %s %s %s"):format(core.implementer, core.part, core.variant, core.revision)
    if core.implementer and core.part and core.variant and core.revision and not seen[key] then
      cores[#cores + 1], seen[key] = core, true
    end
  end
  return { vendor = field "vendor_id", family = number(field "cpu family"), model = number(field "model"), cores = cores }
end

--- Whether a core is of this implementer and part, in a revision before that one; one such core is enough.
---@param cpu pmlua.Processor
---@param of { implementer: integer, part: integer, before?: integer[] } before: variant and revision (rVpR)
function M.has_core(cpu, of)
  for _, core in ipairs(cpu.cores) do
    local before = of.before
    local older = not before or core.variant < before[1] or core.variant == before[1] and core.revision < before[2]
    if of.part == core.part and of.implementer == core.implementer and older then return true end
  end
  return false
end

local this

--- This machine's.
---@return pmlua.Processor
function M.here()
  if not this then
    local f <close> = io.open "/proc/cpuinfo"
    this = M.of(f and f:read(1 << 20) or "")
  end
  return this
end

return M
