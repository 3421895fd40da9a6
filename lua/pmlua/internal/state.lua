-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/state.lua - where pmlua keeps what it learns about a user's machine, as the XDG base directories say.

local M = {}

local function below(variable, usual, name)
  local folder, home = os.getenv(variable), os.getenv "HOME"
  if folder and folder:sub(1, 1) == "/" then return folder .. "/pmlua/" .. name end
  return home and home ~= "" and ("%s/%s/pmlua/%s"):format(home, usual, name) or nil
end

--- The path of a file of the user's state; nil: the user has no folder.
---@return string?
function M.path(name) return below("XDG_STATE_HOME", ".local/state", name) end

--- The same of what can be found again, and takes time.
---@return string?
function M.cached(name) return below("XDG_CACHE_HOME", ".cache", name) end

return M
