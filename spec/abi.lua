-- SPDX-License-Identifier: BSD-3-Clause
-- spec/abi.lua - a library's binary interface as a short list, from what abidw writes: symbols with their types, and sizes and
-- offsets of public types. Try: lua5.4 spec/abi.lua build/abi/pmlua.xml

local function attributes_of(text)
  local of = {}
  for key, value in text:gmatch "([%w-]+)='([^']*)'" do of[key] = value end
  return of
end

--- Elements as tables: tag, attributes by name, children in order.
local function parse(xml)
  local stack = { {} }
  for close, tag, rest, empty in xml:gmatch "<(/?)([%w-]+)(.-)(/?)>" do
    if close == "/" then
      stack[#stack] = nil
    else
      local element = attributes_of(rest)
      element.tag = tag
      table.insert(stack[#stack], element)
      if empty == "" then stack[#stack + 1] = element end
    end
  end
  return stack[1]
end

local types = {} -- by id

local function index(element)
  if element.id and element.tag ~= "subrange" and (not types[element.id] or element["size-in-bits"]) then
    types[element.id] = element
  end
  for _, child in ipairs(element) do index(child) end
end

local show

--- A function's type: its result and its parameters.
local function signature(f)
  local result, list = "void", {}
  for _, child in ipairs(f) do
    if child.tag == "return" then result = show(child["type-id"]) end
    if child.tag == "parameter" then list[#list + 1] = child["is-variadic"] and "..." or show(child["type-id"]) end
  end
  return ("%s (%s)"):format(result, #list > 0 and table.concat(list, ", ") or "void")
end

local function members_of(t)
  local list = {}
  for _, child in ipairs(t) do
    local member = child.tag == "data-member" and child[1]
    local at = tonumber(child["layout-offset-in-bits"] or 0)
    local place = at % 8 == 0 and ("%d"):format(at // 8) or ("%d.%d"):format(at // 8, at % 8)
    if member then list[#list + 1] = ("%s %s %s"):format(place, show(member["type-id"]), member.name) end
  end
  return list
end

local shows = {
  ["pointer-type-def"] = function(t) return show(t["type-id"]) .. " *" end,
  ["qualified-type-def"] = function(t)
    return show(t["type-id"]) .. (t.const and " const" or "") .. (t.volatile and " volatile" or "")
  end,
  ["array-type-def"] = function(t)
    local bounds = ""
    for _, range in ipairs(t) do bounds = ("%s[%s]"):format(bounds, range.length) end
    return show(t["type-id"]) .. bounds
  end,
  ["function-type"] = signature,
}

function show(id)
  local t = types[id]
  if not t then return "?" end
  if shows[t.tag] then return shows[t.tag](t) end
  if not t["is-anonymous"] then return t.name end
  return ("%s { %s }"):format(t.tag:gsub("%-decl", ""), table.concat(members_of(t), "; "))
end

--- The size of a structure. A structure whose first field is its size may grow within a major version.
local function size_of(t)
  local members = members_of(t)
  if (members[1] or ""):find "^0 size_t size$" then return "begins with its size" end
  return ("%d bytes"):format(t["size-in-bits"] // 8)
end

local definitions = {
  ["class-decl"] = function(t)
    return not t["is-declaration-only"] and ("struct %s: %s\n  %s"):format(t.name, size_of(t),
      table.concat(members_of(t), "\n  "))
  end,
  ["union-decl"] = function(t) return ("union %s { %s }"):format(t.name, table.concat(members_of(t), "; ")) end,
  ["enum-decl"] = function(t)
    local list = {}
    for _, child in ipairs(t) do
      if child.tag == "enumerator" then list[#list + 1] = ("  %s %s"):format(child.name, child.value) end
    end
    return ("enum %s\n%s"):format(t.name, table.concat(list, "\n"))
  end,
  ["typedef-decl"] = function(t) return t.name:find "^pml" and ("typedef %s: %s"):format(t.name, show(t["type-id"])) end,
}

local symbols, lines, seen = {}, {}, {}

local function collect(element)
  if element.tag == "elf-symbol" then
    local id = ("%s@@%s"):format(element.name, element.version or "")
    symbols[id] = symbols[id] or (element.type == "object-type" and ("object of %s bytes"):format(element.size) or "function")
  elseif element["elf-symbol-id"] then
    symbols[element["elf-symbol-id"]] = element.tag == "function-decl" and signature(element) or show(element["type-id"])
  end
  local define = not element["is-anonymous"] and definitions[element.tag]
  local line = define and types[element.id] == element and define(element)
  if line and not seen[line] then lines[#lines + 1], seen[line] = line, true end
  for _, child in ipairs(element) do collect(child) end
end

local file <close> = assert(io.open(arg[1]))
local root = parse(file:read "a")
index(root)
collect(root)
for id, type_of in pairs(symbols) do lines[#lines + 1] = ("%s %s"):format(id, type_of) end
table.sort(lines)
print(table.concat(lines, "\n"))
