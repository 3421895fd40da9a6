-- SPDX-License-Identifier: BSD-3-Clause
--- A value as a person reads it at a prompt: tables with their contents, to a depth and a width that fit a screen.
--
-- Try:  print(require("pmlua.internal.prompt.show")(require("pmlua").clock.info()))

local DEPTH, ITEMS, WIDTH, STRING = 4, 64, 100, 200

local show

local function key_text(key)
  if type(key) == "string" and key:find "^[%a_][%w_]*$" then return key end
  return "[" .. (type(key) == "string" and ("%q"):format(key) or tostring(key)) .. "]"
end

local function order(a, b)
  local x, y = type(a), type(b)
  if x ~= y then return x < y end
  if x == "number" or x == "string" then return a < b end
  return tostring(a) < tostring(b)
end

-- The items of a table as text: the array first, then the rest by name.
local function items(t, depth, above)
  local out, keys, n = {}, {}, 0
  for i = 1, math.huge do
    local v = rawget(t, i)
    if v == nil then break end
    n = i
    if i <= ITEMS then out[i] = show(v, depth + 1, above) end
  end
  for key in next, t do
    if not (math.type(key) == "integer" and key >= 1 and key <= n) then keys[#keys + 1] = key end
  end
  table.sort(keys, order)
  for _, key in ipairs(keys) do
    if #out >= ITEMS then break end
    out[#out + 1] = key_text(key) .. " = " .. show(rawget(t, key), depth + 1, above)
  end
  local more = n + #keys - #out
  if more > 0 then out[#out + 1] = ("... %d more"):format(more) end
  return out
end

local function table_text(t, depth, above)
  if above[t] then return "(the table around it)" end
  if next(t) == nil then return "{}" end
  if depth > DEPTH then return "{...}" end
  above[t] = true
  local parts = items(t, depth, above)
  above[t] = nil
  local flat = "{ " .. table.concat(parts, ", ") .. " }"
  if #flat + 2 * depth <= WIDTH and not flat:find "\n" then return flat end
  local blanks = ("  "):rep(depth)
  return ("{\n%s  %s\n%s}"):format(blanks, table.concat(parts, ",\n" .. blanks .. "  "), blanks)
end

function show(value, depth, above)
  if type(value) == "string" then
    local text = #value > STRING and value:sub(1, STRING) .. "..." or value
    return (("%q"):format(text):gsub("\\\n", "\\n"))
  end
  local meta = debug.getmetatable(value)
  local named = type(meta) == "table" and (rawget(meta, "__tostring") or rawget(meta, "__name"))
  if type(value) ~= "table" or named then return tostring(value) end
  return table_text(value, depth, above)
end

--- A value as text; a string is returned unchanged.
return function(value)
  return type(value) == "string" and value or show(value, 0, {})
end
