-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/trace/window.lua - the option --window FROM:TO of verbs that read traces.
--
-- Try:  pmlua trace out/traces.otf2 --window 1.5:2

local M = {}

--- Parse the two times of a window, in seconds; nil and the error.
local function read(text)
  local from, to = text:match "^([%d.eE+-]*):([%d.eE+-]*)$"
  local least, most = from == "" and 0 or tonumber(from), to == "" and math.huge or tonumber(to)
  if not least or not most or least > most then return nil, "two times in seconds, such as 1.5:2 or :3" end
  return { least, most }
end

--- The option, with its help.
---@return pmlua.cli.Option
function M.option(help)
  return { name = "window", kind = "text", value = "FROM:TO", read = read, help = help }
end

return M
