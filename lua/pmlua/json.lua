-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/json.lua - JSON that a person can read and a diff can show: indented, keys in order.
--
-- Try:  print(require("pmlua.json").encode{ b = {1, 2}, a = 0/0 })
--
-- lua-cjson writes keys in the order of a hash and refuses NaN. Here a NaN or an infinity is null, an empty table an
-- object unless it is M.array{}.

local cjson = require "cjson"

local M = {}

local array_mark = {}

--- Mark a table as an array, for when it is empty.
function M.array(t)
  return setmetatable(t or {}, array_mark)
end

local encode

local function is_array(t)
  return #t > 0 or getmetatable(t) == array_mark
end

local function encode_list(items, open, close, indent)
  if #items == 0 then return open .. close end
  local flat = open .. table.concat(items, ", ") .. close
  if #flat + #indent <= 100 and not flat:find("\n") then return flat end
  local inner = indent .. "  "
  return ("%s\n%s%s\n%s%s"):format(open, inner, table.concat(items, ",\n" .. inner), indent, close)
end

local function encode_table(t, indent)
  local items = {}
  if is_array(t) then
    for i = 1, #t do items[i] = encode(t[i], indent .. "  ") end
    return encode_list(items, "[", "]", indent)
  end
  local keys = {}
  for k in pairs(t) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for i, k in ipairs(keys) do
    items[i] = cjson.encode(tostring(k)) .. ": " .. encode(t[k], indent .. "  ")
  end
  return encode_list(items, "{", "}", indent)
end

-- JSON is UTF-8; bytes that are not (a script's name may hold any) become question marks.
local function utf8_text(s)
  if utf8.len(s) then return s end
  return (s:gsub("[\128-\255]", "?"))
end

function encode(v, indent)
  local kind = type(v)
  if kind == "table" then return encode_table(v, indent) end
  if kind == "string" then return (cjson.encode(utf8_text(v)):gsub("\\/", "/")) end
  if kind == "boolean" then return tostring(v) end
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if kind == "number" and v == v and v ~= math.huge and v ~= -math.huge then
    local text = ("%.15g"):format(v)
    return tonumber(text) == v and text or ("%.17g"):format(v)
  end
  return "null"
end

--- A value as JSON text with a line feed at its end.
---@param value any
---@return string
function M.encode(value)
  return encode(value, "") .. "\n"
end

local function drop_null(v)
  if v == cjson.null then return nil end
  if type(v) ~= "table" then return v end
  for k, x in pairs(v) do v[k] = drop_null(x) end
  return v
end

--- Read JSON; null is nil.
---@param text string
---@return any? value
---@return string? err
function M.decode(text)
  local ok, v = pcall(cjson.decode, text)
  if not ok then return nil, (tostring(v):gsub("^.-:%d+: ", "")) end
  return drop_null(v)
end

return M
