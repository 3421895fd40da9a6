-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/readjson.lua - a reader of JSON in Lua, for states without lua-cjson, such as a live service has.
--
-- Try:  print(require "pmlua.internal.readjson" '{"a": [1, 2.5, null, "\\u00e9"]}'.a[4])

local DEPTH <const> = 200

local match, sub, find, format = string.match, string.sub, string.find, string.format -- strings may have other methods

local value

local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }
local words = { ["true"] = true, ["false"] = false }

local function fail(at, expected)
  error(format("JSON: %s expected at byte %d", expected, at), 0)
end

local function skip(text, at) return match(text, "^[ \t\r\n]*()", at) end

--- The letters of \uXXXX at `at`; two of them are one character beyond 16 bits.
local function unicode(text, at)
  local high = tonumber(match(text, "^%x%x%x%x", at) or fail(at, "four hexadecimal digits"), 16)
  local low = high >= 0xD800 and high < 0xDC00 and tonumber(match(text, "^\\u(%x%x%x%x)", at + 4) or "0", 16) or 0
  if low >= 0xDC00 and low < 0xE000 then return utf8.char(0x10000 + (high - 0xD800) * 1024 + low - 0xDC00), at + 10 end
  return utf8.char(high), at + 4
end

--- The string whose first byte is at `at`, and the place behind its quote.
local function string_at(text, at)
  local parts = {}
  while true do
    local plain, mark, after = match(text, '^([^"\\%c]*)(["\\])()', at)
    if not plain then fail(at, "the end of a string") end
    parts[#parts + 1] = plain
    if mark == '"' then return table.concat(parts), after end
    local letter = sub(text, after, after)
    if letter == "u" then parts[#parts + 1], at = unicode(text, after + 1)
    else parts[#parts + 1], at = escapes[letter] or fail(after, "an escape"), after + 1 end
  end
end

--- The items of an array or object from `at` to `close`; `item` reads one into the table.
local function items(text, at, close, item)
  local t, n = {}, 0
  at = skip(text, at)
  if sub(text, at, at) == close then return t, at + 1 end
  while true do
    n = n + 1
    at = skip(text, item(t, n, skip(text, at)))
    local mark = sub(text, at, at)
    if mark == close then return t, at + 1 end
    if mark ~= "," then fail(at, ", or " .. close) end
    at = at + 1
  end
end

local function number_at(text, at)
  local digits, after = match(text, "^(%-?%d+%.?%d*[eE]?[-+]?%d*)()", at)
  local v = digits and not find(digits, "^%-?0%d") and not find(digits .. "e", "%.[eE]") and tonumber(digits)
  return v or fail(at, "a value"), after
end

function value(text, at, depth)
  if depth > DEPTH then fail(at, format("at most %d levels", DEPTH)) end
  local first = sub(text, at, at)
  if first == '"' then return string_at(text, at + 1) end
  if first == "[" then
    return items(text, at + 1, "]", function(t, n, place)
      local after
      t[n], after = value(text, place, depth + 1)
      return after
    end)
  elseif first == "{" then
    return items(text, at + 1, "}", function(t, _, place)
      if sub(text, place, place) ~= '"' then fail(place, "a key") end
      local key, after = string_at(text, place + 1)
      after = skip(text, after)
      if sub(text, after, after) ~= ":" then fail(after, ":") end
      t[key], after = value(text, skip(text, after + 1), depth + 1)
      return after
    end)
  end
  local word = match(text, "^%l+", at)
  if word == "null" then return nil, at + 4 end
  if word and words[word] ~= nil then return words[word], at + #word end
  return number_at(text, at)
end

--- Read JSON; null is nil. Raises for anything else than one value.
---@param text string
---@return any
return function(text)
  local v, after = value(text, skip(text, 1), 1)
  after = skip(text, after)
  if after <= #text then fail(after, "the end") end
  return v
end
