-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/headers.lua - what the headers of a wrapper declare, read by libclang with the wrapper's own flags.
--
-- Try:  pmlua -e 'print(#require("pmlua.internal.wrap.headers").read("headers.h", "c", "").declarations)'

local paths = require "pmlua.internal.wrap.paths"
local shell = require "pmlua.internal.wrap.shell"
local refuse = require "pmlua.core".failure.refuse
local try = require "pmlua.internal.try"

local M = {}

--- The line of the header list whose include brought the file in.
local function line_of(unit, file)
  for _, i in ipairs(unit.includes) do
    if i.file == file then return i.line end
  end
end

--- Format each error in a line: the line in the header list, the line in the header, the compiler's message. Unknown flags,
--- which are another compiler's, are not errors.
local function errors_of(unit, list)
  local lines = {}
  for _, e in ipairs(unit.errors) do
    if e.file == list then
      lines[#lines + 1] = ("%s:%d: %s"):format(list, e.line, e.text)
    elseif e.file then
      lines[#lines + 1] = ("%s:%s: %s:%d: %s"):format(list, line_of(unit, e.file) or "?", e.file, e.line, e.text)
    elseif not e.text:find("^unknown argument") and not e.text:find("^unsupported ") then
      lines[#lines + 1] = e.text
    end
  end
  return lines
end

--- The flags for libclang; optimising ones would define functions in the C library's headers.
local function flags(language, words)
  local list = { "-x", language }
  for _, word in ipairs(words) do
    if not word:find("^%-O") then list[#list + 1] = word end
  end
  return list
end

---@class pmlua.wrap.unit
---@field declarations table[]
---@field includes { file: string, line: integer, direct: boolean? }[]

--- The declarations of @list, a file of includes. On failure nil, the reason, and all errors of the compiler.
---@param language string "c" or "c++"
---@return pmlua.wrap.unit? unit, pmlua.Failure? failure, string[]? errors
M.read = try.catching(function(list, language, cflags)
  local clang = try(paths.clang())
  local words = try(shell.words(cflags))
  local unit, refused, code = clang.parse(list, flags(language, words))
  if not unit then
    if code == "EINVAL" then refused.text = ("%s: %s %s"):format(refused.text, list, cflags) end
    return refuse(refused)
  end
  local errors = errors_of(unit, list)
  if #errors > 0 then
    local _, failure = refuse("EINVAL", "the headers do not compile: " .. errors[1])
    return nil, failure, errors
  end
  return unit
end)

-- Where many libraries have their headers: a header there does not stand for its folder.
local shared = { "^/usr/include$", "^/usr/local/include$", "^/usr/include/[%w_]+%-linux%-gnu$" }

local function folder_of(file) return file:match("^(.*)/[^/]*$") or "." end

--- Whether a file belongs to the library whose headers are listed: it is listed, or is in or below the folder of a listed
--- header, unless other libraries share that folder.
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
