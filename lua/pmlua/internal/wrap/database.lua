-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/database.lua - compile flags and language from a compile_commands.json, as CMake and Meson write it.
--
-- Try:  pmlua wrap init --name solver --compile-commands build/compile_commands.json --headers solver.h --libs -lsolver

local shell = require "pmlua.internal.wrap.shell"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local pairs_of_words = { ["-I"] = true, ["-D"] = true, ["-U"] = true, ["-isystem"] = true, ["-iquote"] = true,
  ["-idirafter"] = true, ["-include"] = true }
local folders = { ["-I"] = true, ["-isystem"] = true, ["-iquote"] = true, ["-idirafter"] = true, ["-include"] = true }

local function absolute(path, dir) return path:sub(1, 1) == "/" and path or dir .. "/" .. path end

--- The flags of one command that say what headers mean.
local function flags_of(words, dir, add)
  local i = 1
  while i <= #words do
    local word = words[i]
    local flag = pairs_of_words[word] and word or word:match("^%-[IDU]")
    if flag then
      local value = pairs_of_words[word] and words[i + 1] or word:sub(3)
      if value and folders[flag] then value = absolute(value, dir) end
      if value then add(#flag > 2 and flag .. " " .. shell.quote(value) or flag .. shell.quote(value)) end
      i = i + (pairs_of_words[word] and 2 or 1)
    else
      if word:find("^%-std=") or word:find("^%-f[%w-]*abi") or word == "-pthread" or word == "-fopenmp" then add(word) end
      i = i + 1
    end
  end
end

--- Whether an entry is a valid compile command. Without `arguments`, the words are parsed from `command`.
local function is_command(entry)
  if type(entry) ~= "table" or entry.arguments == nil then return type(entry) == "table" end
  for _, word in ipairs(type(entry.arguments) == "table" and entry.arguments or {}) do
    if type(word) ~= "string" then return false end
  end
  return type(entry.arguments) == "table"
end

local function are_commands(list)
  for _, entry in ipairs(list) do
    if not is_command(entry) then return false end
  end
  return #list > 0
end

--- { cflags, language }: the flags that all commands share; nil and the reason.
---@return { cflags: string, language: string }?, pmlua.Failure? failure
function M.read(file)
  local text, missing = shell.slurp(file)
  if not text then return nil, missing end
  local fine, list = pcall(require("pmlua.json").decode, text)
  if not fine or type(list) ~= "table" or not are_commands(list) then
    return refuse("EFORMAT", file .. " is not a list of compile commands")
  end
  local flags, seen, language = {}, {}, "c"
  for _, entry in ipairs(list) do
    local words = entry.arguments or shell.words(tostring(entry.command or "")) or {}
    flags_of(words, tostring(entry.directory or "."), function(flag)
      if not seen[flag] then
        seen[flag] = true
        flags[#flags + 1] = flag
      end
    end)
    local source = tostring(entry.file or "")
    if source:find("%.c[cpx+]+$") or source:find("%.C$") then language = "c++" end
  end
  return { cflags = table.concat(flags, " "), language = language }
end

return M
