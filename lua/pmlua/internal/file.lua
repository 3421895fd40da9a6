-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/file.lua - access to untrusted paths: reading never blocks, writing follows no link.
--
-- Try:  print(require("pmlua.internal.file").read "/dev/zero")
--
-- Only regular files are read: a FIFO, a device or a folder is an error, and nothing waits for one. A file is written under
-- a random name beside its final name and renamed when complete, which replaces an existing file or link without opening it.

local core = require "pmlua.core"

local M = {}

--- The core's function; a failure's text begins with the path, so that its string is "PATH: why", without a place.
local function plain(name)
  local f = core.file[name]
  return function(...)
    local result, err, code = f(...)
    if result then return result end
    err.place = nil
    return nil, err, code
  end
end

local names, output = plain "names", plain "output"

--- The names in a folder, unordered. If it cannot be read: no names, and the reason.
---@return string[] names, pmlua.Failure? failure
function M.names(folder)
  local list, err = names(folder)
  return list or {}, err
end

--- "file", "directory" or "other", and whether somebody may execute it; nil: it is not there.
---@type fun(path: string): string?, boolean?
M.kind = core.file.kind

--- Make a folder.
---@type fun(path: string): boolean?, pmlua.Failure?, string?
M.folder = plain "folder"

--- Make a folder for results, unless it exists; nil and a sentence.
---@return boolean? ok, string? err
function M.results(name)
  local made, err = M.folder(name)
  if made or M.kind(name) == "directory" then return true end -- another process may have made it just now
  return nil, (M.kind(name) and name .. ": not a folder" or core.failure.sentence(err)) .. "; name another with -o"
end

--- Make a folder that only this user may enter: six characters that nobody can foresee are added to the prefix.
---@type fun(prefix: string): string?, pmlua.Failure?, string?
M.temporary = plain "temporary"

--- A file of Lua that reads.
---@type fun(path: string): file*?, pmlua.Failure?, string?
M.open = plain "open"

--- The text of a file of at most max_bytes (256 MiB).
---@type fun(path: string, max_bytes?: integer): string?, pmlua.Failure?, string?
M.read = plain "read"

--- The text of a file of the kernel or of pmlua; nil if it cannot be read, which is no failure.
---@return string?
function M.text(path)
  local f <close> = io.open(path, "rb")
  return f and f:read "a" or nil
end

--- The table in a JSON file that pmlua wrote; nil: no such file, or, with a reason, a file that `accepts` refuses.
---@param accepts fun(data: table): any
---@return table? data, string? err
function M.read_json(path, accepts)
  local text, err, code = M.read(path)
  if not text then return nil, code ~= "ENOENT" and tostring(err) or nil end
  local data = require "pmlua.json".decode(text)
  if type(data) == "table" and accepts(data) then return data end
  return nil, path .. ": damaged"
end

--- Write a whole file, or none.
---@type fun(path: string, text: string): boolean?, pmlua.Failure?, string?
M.write = plain "write"

--- A file of Lua that gets its name when it is closed.
---@type fun(path: string): file*?, pmlua.Failure?, string?
M.create = plain "create"

--- The same where the user named the path: an existing FIFO or device is written to.
---@type fun(path: string): file*?, pmlua.Failure?, string?
function M.output(path)
  local file, err, code = output(path)
  if code == "ENOENT" then err.remedy = "make its folder first" end
  return file, err, code
end

--- A file of Lua where nothing was before.
---@type fun(path: string): file*?, pmlua.Failure?, string?
M.new = plain "new"

return M
