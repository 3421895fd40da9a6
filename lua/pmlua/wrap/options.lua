-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/wrap/options.lua - the options of pmlua wrap's verbs.
--
-- Try:  print(require("pmlua.wrap.options").parse({ "--name", "zlib", "dir" }, { name = "value" }).name)

local M = {}

--- How options are given: a flag, one value, one value at each of several times, or all words up to the next option.
---@alias pmlua.wrap.kind "flag"|"value"|"many"|"list"

local function take(o, key, kind, args, i, value)
  if kind == "flag" then
    if value then return nil, "--" .. key .. " takes no value" end
    o[key] = true
    return i
  end
  if kind == "list" then
    o[key] = o[key] or {}
    if value then table.insert(o[key], value) end
    while args[i] and not args[i]:find("^%-%-") do
      for word in args[i]:gmatch("%S+") do table.insert(o[key], word) end
      i = i + 1
    end
    if #o[key] == 0 then return nil, "--" .. key .. " needs a value" end
    return i
  end
  if not value then value, i = args[i], i + 1 end
  if not value then return nil, "--" .. key .. " needs a value" end
  if kind == "many" then
    o[key] = o[key] or {}
    table.insert(o[key], value)
  else
    o[key] = value
  end
  return i
end

--- The options by name ('-' as '_'), other words in the array part; nil and what is wrong.
---@param args string[]
---@param kinds table<string, pmlua.wrap.kind>
---@param words integer? other words at most; 1 if nil
---@return table?
---@return string? misuse
function M.parse(args, kinds, words)
  local o, i = {}, 1
  while i <= #args do
    local word = args[i]
    local key, value = word:match("^%-%-([%a-]+)=?(.*)$")
    if not word:find("^%-") or word == "-" then
      if #o == (words or 1) then return nil, "what is " .. word .. "?" end
      o[#o + 1] = word
      i = i + 1
    elseif not key or not kinds[key] then
      return nil, "no such option: " .. word
    else
      local field = key:gsub("-", "_")
      local given = { [key] = o[field] }
      local following, misuse = take(given, key, kinds[key], args, i + 1, word:find("=", 1, true) and value or nil)
      if not following then return nil, misuse end
      o[field], i = given[key], following
    end
  end
  return o
end

return M
