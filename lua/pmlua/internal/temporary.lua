-- SPDX-License-Identifier: BSD-3-Clause
--- lua/pmlua/internal/temporary.lua - folders of our own for what a run leaves, in TMPDIR or /tmp.
--
-- Try:  local t = require "pmlua.internal.temporary"; local dir = t.folder "try"; print(dir); t.remove(dir)

local core = require "pmlua.core"
local lfs = require "lfs"
local refuse = core.failure.refuse

local M = {}

local TRIES = 99

--- A new folder. Its name is as long as any other of that purpose: in the environment of a program, its size is seen.
---@param purpose string a word
---@return string? path
---@return pmlua.Failure? failure
function M.folder(purpose)
  local base, why = os.getenv("TMPDIR") or "/tmp", nil
  for i = 0, TRIES do
    local path = ("%s/pmlua-%s-%010d-%02d"):format(base, purpose, core.sys.pid(), i)
    local made, err = lfs.mkdir(path)
    if made then return core.sys.realpath(path) end
    why = err
  end
  return refuse("EACCES", ("%s: %s"):format(base, why), "set TMPDIR to a folder that you can write to")
end

--- It and all that is in it; links are removed, not followed.
function M.remove(dir)
  for entry in lfs.dir(dir) do
    local path = dir .. "/" .. entry
    if entry ~= "." and entry ~= ".." and lfs.symlinkattributes(path, "mode") == "directory" then M.remove(path)
    elseif entry ~= "." and entry ~= ".." then os.remove(path) end
  end
  lfs.rmdir(dir)
end

return M
