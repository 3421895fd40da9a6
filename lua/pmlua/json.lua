-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/json.lua - JSON that a person can read and a diff can show: indented, keys in order.
--
-- Try:  print(require("pmlua.json").encode{ b = {1, 2}, a = 0/0 })
--
-- A NaN or an infinity is null, an empty table an object unless it is M.array{}. Encoding needs nothing beside Lua, so
-- that it works inside any application; reading needs lua-cjson.

local refuse = require "pmlua.core".failure.refuse

---@class pml.json
local M = {}

local array_mark = {}

--- Mark a table as an array, for when it is empty.
---@param t? table nil: a new one
---@return table t
function M.array(t) return setmetatable(t or {}, array_mark) end

local written = {}

--- Items of an array as JSON, with commas between them, which M.write() copies.
---@package
---@param text string
---@return table
function M.written(text) return setmetatable({ text }, written) end

local encode

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

-- JSON is UTF-8; bytes that are not (a script's name may hold any) become question marks.
local function text(s)
  if not utf8.len(s) then s = s:gsub("[\128-\255]", "?") end
  if not s:find('[%c"\\]') then return '"' .. s .. '"' end
  return '"' .. s:gsub('[%c"\\]', function(c) return escapes[c] or ("\\u%04x"):format(c:byte()) end) .. '"'
end

local function number(v)
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if v ~= v or v == math.huge or v == -math.huge then return "null" end
  local short = ("%.15g"):format(v)
  if tonumber(short) ~= v then short = ("%.17g"):format(v) end
  -- the application may have chosen a locale with a decimal comma
  return (short:gsub("[^%w+-]+", "."))
end

local function is_array(t) return #t > 0 or getmetatable(t) == array_mark end

local function encode_list(items, open, close, indent)
  if #items == 0 then return open .. close end
  local flat = open .. table.concat(items, ", ") .. close
  if not indent or #flat + #indent <= 100 and not flat:find("\n") then return flat end
  local inner = indent .. "  "
  return ("%s\n%s%s\n%s%s"):format(open, inner, table.concat(items, ",\n" .. inner), indent, close)
end

local function encode_table(t, indent)
  local items, inner = {}, indent and indent .. "  "
  if is_array(t) then
    for i = 1, #t do items[i] = encode(t[i], inner) end
    return encode_list(items, "[", "]", indent)
  end
  local keys, strings = {}, true
  for k in pairs(t) do keys[#keys + 1], strings = k, strings and type(k) == "string" end
  table.sort(keys, not strings and function(a, b) return tostring(a) < tostring(b) end or nil)
  for i, k in ipairs(keys) do items[i] = text(tostring(k)) .. ": " .. encode(t[k], inner) end
  return encode_list(items, "{", "}", indent)
end

function encode(v, indent)
  local kind = type(v)
  if kind == "table" then return encode_table(v, indent) end
  if kind == "string" then return text(v) end
  if kind == "boolean" then return tostring(v) end
  if kind == "number" then return number(v) end
  return "null"
end

--- A value as JSON text with a line feed at its end.
---@param value any
---@return string
function M.encode(value) return encode(value, "") .. "\n" end

-- --- piece by piece ---

local function has_stream(t)
  for _, v in pairs(t) do
    if type(v) == "function" then return true end
  end
  return false
end

local stream

--- Write the items of an iterator, each before requesting the next. The iterator gets the indent of its items.
local function stream_items(next_item, write, indent)
  local inner, first = indent .. "  ", true
  for item in next_item, inner do
    write(first and "[\n" or ",\n", inner)
    if getmetatable(item) == written then write(item[1]) else stream(item, write, inner) end
    first = false
  end
  write(first and "[]" or "\n" .. indent .. "]")
end

local function stream_table(t, write, indent)
  local keys, inner = {}, indent .. "  "
  for k in pairs(t) do keys[#keys + 1] = k end
  table.sort(keys)
  for i, k in ipairs(keys) do
    write(i == 1 and "{\n" or ",\n", inner, text(k), ": ")
    stream(t[k], write, inner)
  end
  write("\n", indent, "}")
end

function stream(v, write, indent)
  if type(v) == "function" then return stream_items(v, write, indent) end
  if type(v) == "table" and not is_array(v) and has_stream(v) then return stream_table(v, write, indent) end
  write(encode(v, indent))
end

--- The same text as M.encode() gives, in pieces: a function in an object is an iterator over the items of an array,
--- which need not be in memory together.
---@param value table
---@param write fun(...: string)
function M.write(value, write)
  stream(value, write, "")
  write "\n"
end

--- A value as JSON text in one line, without a line feed.
---@param value any
---@return string
function M.line(value) return encode(value) end

local function drop_null(v, null)
  if v == null then return nil end
  if type(v) ~= "table" then return v end
  for k, x in pairs(v) do v[k] = drop_null(x, null) end
  return v
end

--- Read JSON; null is nil.
---@param json string
---@return any? value, pmlua.Failure? failure
function M.decode(json)
  local found, cjson = pcall(require, "cjson")
  if not found then return refuse("ENOTSUP", "reading JSON needs lua-cjson", "apt-get install lua-cjson") end
  -- a new instance: cjson takes the decimal point of the locale in which its last one was made
  local ok, v = pcall(cjson.new().decode, json)
  if not ok then return refuse("EFORMAT", (tostring(v):gsub("^.-:%d+: ", ""))) end
  return drop_null(v, cjson.null)
end

return M
