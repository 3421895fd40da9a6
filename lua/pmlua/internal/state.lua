-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/state.lua - where pmlua keeps what it learns about a user's machine, as the XDG base directories say.

local M = {}

--- The path of a file of the user's state; nil: the user has no folder.
---@param name string
---@return string?
function M.path(name)
  local state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
  if state and state:sub(1, 1) == "/" then return state .. "/pmlua/" .. name end
  return home and home ~= "" and home .. "/.local/state/pmlua/" .. name or nil
end

return M
