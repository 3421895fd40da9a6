-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/check.lua - every declared function against the libraries: those that no library has, those that link
-- without one, and the entries of the filter that would leave them out.
--
-- Try:  pmlua wrap check --fix

local shell = require "pmlua.internal.wrap.shell"

local M = {}

--- A backslash takes the meaning from what a filter would read as its own.
local function escaped(symbol) return (symbol:gsub("[%*%?%[%]\\#]", "\\%0")) end

--- A block of the filter that excludes the functions.
---@param functions pmlua.wrap.function[]
function M.block(functions, why)
  local lines = { "", "# " .. why, "SCOREP_REGION_NAMES_BEGIN" }
  for _, f in ipairs(functions) do
    lines[#lines + 1] = ("  EXCLUDE MANGLED %s"):format(escaped(f.symbol)) .. (f.title ~= f.symbol and "  # " .. f.title or "")
  end
  lines[#lines + 1] = "SCOREP_REGION_NAMES_END\n"
  return table.concat(lines, "\n")
end

--- The text that a filter needs to leave out what cannot be wrapped, and what can be linked without the libraries.
---@param p pmlua.wrap.plan
function M.entries(p)
  local text = ""
  if #p.missing > 0 then text = text .. M.block(p.missing, "in no library") end
  if #p.foreign > 0 then text = text .. M.block(p.foreign, "link without the libraries, too") end
  return text
end

--- Append them to the folder's filter; nil and why.
---@param cfg pmlua.wrap.folder
---@param p pmlua.wrap.plan
function M.fix(cfg, p)
  local old = shell.slurp(cfg.filter) or ""
  return shell.spit(cfg.filter, old .. M.entries(p))
end

return M
