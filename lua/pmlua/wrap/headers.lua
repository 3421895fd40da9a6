-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/wrap/headers.lua - what the headers of a wrapper declare, read by libclang with the wrapper's own flags.
--
-- Try:  pmlua -e 'print(#require("pmlua.wrap.headers").read("headers.h", "c", "").declarations)'

local paths = require "pmlua.wrap.paths"
local shell = require "pmlua.wrap.shell"

local M = {}

--- The line of the header list whose include brought the file in.
local function line_of(unit, file)
  for _, i in ipairs(unit.includes) do
    if i.file == file then return i.line end
  end
end

--- One line per error: where in the header list, where in the header, what the compiler says.
local function errors_of(unit, list)
  local lines = {}
  for i, e in ipairs(unit.errors) do
    local line = line_of(unit, e.file)
    lines[i] = e.file == list and ("%s:%d: %s"):format(list, e.line, e.text)
      or ("%s:%s: %s:%d: %s"):format(list, line or "?", e.file or "?", e.line, e.text)
  end
  return lines
end

---@class pmlua.wrap.unit
---@field declarations table[]
---@field includes { file: string, line: integer, direct: boolean? }[]

--- What @list, a file of includes, declares. nil, why, and all that the compiler said.
---@param list string
---@param language string "c" or "c++"
---@param cflags string
---@return pmlua.wrap.unit? unit
---@return string? err
---@return string[]? errors
function M.read(list, language, cflags)
  local clang, missing = paths.clang()
  if not clang then return nil, missing end
  local words, wrong = shell.words(cflags)
  if not words then return nil, wrong end
  local unit, refused = clang.parse(list, { "-x", language, table.unpack(words) })
  if not unit then return nil, (refused:gsub("^[%w_.]+: E%w+: ", "")) end
  local errors = errors_of(unit, list)
  if #errors > 0 then return nil, "the headers do not compile: " .. errors[1], errors end
  return unit
end

-- Where many libraries have their headers: a header there does not stand for its folder.
local shared = { "^/usr/include$", "^/usr/local/include$", "^/usr/include/[%w_]+%-linux%-gnu$" }

local function folder_of(file)
  return file:match("^(.*)/[^/]*$") or "."
end

--- Whether a file belongs to the library whose headers are listed: it is listed, or beside a listed one in a folder of
--- their own.
---@param unit pmlua.wrap.unit
---@return fun(file: string): boolean
function M.own(unit)
  local files, folders = {}, {}
  for _, i in ipairs(unit.includes) do
    if i.direct then
      local folder = folder_of(i.file)
      local common = false
      for _, pattern in ipairs(shared) do common = common or folder:find(pattern) ~= nil end
      files[i.file] = true
      if not common then folders[folder] = true end
    end
  end
  return function(file)
    if files[file] then return true end
    local folder = folder_of(file)
    while folder ~= "" and folder ~= "." do
      if folders[folder] then return true end
      folder = folder:match("^(.*)/[^/]*$") or ""
    end
    return folders[folder] == true
  end
end

return M
