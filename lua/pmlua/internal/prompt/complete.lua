-- SPDX-License-Identifier: BSD-3-Clause
--- What a word at the prompt may become: members of tables and handles, globals, keywords, and inside of a string names
-- of events.
--
-- Try:  print(table.concat(require("pmlua.internal.prompt.complete")("pml.clock."), " "))

local open_string = require "pmlua.internal.prompt.openstring"

local MOST = 500

local keywords = {
  "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil", "not",
  "or", "repeat", "return", "then", "true", "until", "while",
}

--- A member without running anything of the script's: __index is followed where it is a table. pml loads its modules
--- when they are named, which is pmlua's own code.
local function member(t, key)
  for _ = 1, 8 do
    if type(t) == "table" and rawget(t, key) ~= nil then return rawget(t, key) end
    if t == package.loaded.pmlua then
      local there, value = pcall(function() return t[key] end)
      return there and value or nil
    end
    local meta = debug.getmetatable(t)
    t = type(meta) == "table" and rawget(meta, "__index")
    if type(t) ~= "table" then return nil end
  end
end

local function add_keys(found, t)
  for _ = 1, 8 do
    for key in next, type(t) == "table" and t or {} do
      if type(key) == "string" and key:find "^[%a_][%w_]*$" then found[key] = true end
    end
    local meta = debug.getmetatable(t)
    t = type(meta) == "table" and rawget(meta, "__index")
    if type(t) ~= "table" then return end
  end
end

--- pml's own modules that were not named yet.
local function add_modules(found)
  local pml = package.loaded.pmlua
  local lfs_found, lfs = pcall(require, "lfs")
  if not (lfs_found and pml and pml.paths.lua) then return end
  for entry in lfs.dir(pml.paths.lua .. "/pmlua") do
    local name = entry:match "^([%a_][%w_]*)%.lua$"
    if name and name ~= "init" then found[name] = true end
  end
end

local function sorted(found, prefix, start)
  local words = {}
  for key in pairs(found) do
    if key:sub(1, #start) == start then words[#words + 1] = prefix .. key end
  end
  table.sort(words)
  return words
end

local function names(left)
  local path, start = left:match "([%a_][%w_%.]*[%.:])([%w_]*)$"
  if not path then
    start = left:match "[%a_][%w_]*$" or ""
    local found = {}
    add_keys(found, _G)
    for _, word in ipairs(keywords) do found[word] = true end
    return start ~= "" and sorted(found, "", start) or {}
  end
  local value = _G
  for name in path:gmatch "[%a_][%w_]*" do value = member(value, name) end
  local found = {}
  if value ~= nil then add_keys(found, value) end
  if value == package.loaded.pmlua then add_modules(found) end
  return sorted(found, path, start)
end

local function events(text)
  local start = text:match "[^%s,]*$"
  local words = {}
  if #start < 2 then return words end
  local core = require "pmlua.core"
  for _, row in ipairs(core.event.list(start .. "*") or {}) do
    if row.name:sub(1, #start) == start then words[#words + 1] = row.name end
    if #words == MOST then break end
  end
  return words
end

--- The completions of the word at the end of `left`.
---@param left string the line up to the cursor
local function complete(left)
  local text, comment = open_string(left)
  if comment then return {} end
  return text and events(text) or names(left)
end

return complete
