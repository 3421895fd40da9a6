-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/scans.lua - the user's cache of scan results for the code of large files.
--
-- Try:  pmlua record -- chromium --version; ls ~/.cache/pmlua/scans
--
-- Recorded processes write its files, each of some hundred bytes (core/adapter/intercept/pml_intercept_kept.h); removed
-- entries are determined again.

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local state = require "pmlua.internal.state"

local M = {}

local TAG <const> = "CACHEDIR.TAG" -- by which programs that make backups know such a folder
local SIGNATURE <const> = "Signature: 8a477f597d28d172789f06886806bc55\n"
local MOST <const> = 256 -- files, of as many programs and libraries, in each of their versions

--- The folder, which is made if need be; nil: this user can have none.
---@return string?
function M.folder()
  local path = state.cached "scans"
  local tag = path and path .. "/" .. TAG
  if not path or path:find "[\r\n]" then return nil end
  if disk.kind(tag) == "file" then return path end
  if not core.sys.private_file(tag) or not disk.write(tag, SIGNATURE) then return nil end
  return path
end

--- Limit the cache after a recording, so that entries of programs no longer in use do not accumulate.
function M.prune()
  local path = state.cached "scans"
  local names = path and disk.names(path) or {}
  if #names <= MOST then return end
  for _, name in ipairs(names) do
    if name:find "^%x+%.?%d*$" then os.remove(path .. "/" .. name) end
  end
end

return M
