-- SPDX-License-Identifier: BSD-3-Clause
--- lua/pmlua/internal/temporary.lua - temporary folders for the files of a run, in TMPDIR or /tmp.
--
-- Try:  local t = require "pmlua.internal.temporary"; local dir = t.folder "try"; print(dir); t.remove(dir)

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local lfs = require "lfs"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

local M = {}

--- A new folder that only this user may enter. Its name is as long as any other of that purpose: in the environment of a
--- program, its size is seen.
---@param purpose string a word
---@return string? path, pmlua.Failure? failure
function M.folder(purpose)
  local base = os.getenv("TMPDIR") or "/tmp"
  local prefix = ("%s/pmlua-%s-"):format(base, purpose)
  local path, why = disk.temporary(prefix)
  if path then return core.sys.realpath(path) end
  return refuse(why.code, base .. why.text:sub(#prefix + 1), "set TMPDIR to a folder that you can write to")
end

--- A file without a name, for writing and reading, which is gone when it is closed.
---@param purpose string a word
---@return file*? file, pmlua.Failure? failure
function M.file(purpose)
  local dir, why = M.folder(purpose)
  if not dir then return nil, why end
  local file, err = io.open(dir .. "/rows", "w+b")
  M.remove(dir)
  if file then return file end
  return refuse("EIO", tostring(err))
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

--- Call a function with a folder that is gone afterwards; its two results, or what try() raised in it.
---@param purpose string a word
---@param f fun(folder: string): any, any
M.with = try.catching(function(purpose, f)
  local folder = try(M.folder(purpose))
  local done, result, err = pcall(f, folder)
  M.remove(folder)
  if not done then error(result, 0) end
  return result, err
end)

return M
