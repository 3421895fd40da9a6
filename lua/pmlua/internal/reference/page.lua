-- SPDX-License-Identifier: BSD-3-Clause
--- The page of a module, a class or a function as blocks: headings, prose, code and tables; markdown and text print them.
--
--     pmlua help api pml.clock

local M = {}

---@class pmlua.reference.Block
---@field kind "heading"|"prose"|"code"|"rows"
---@field level? integer of a heading
---@field text? string
---@field anchor? string of a heading
---@field title? string of rows: what they are
---@field rows? pmlua.reference.Value[]

local function add(blocks, block) blocks[#blocks + 1] = block end

-- Code stands in prose as lines with four blanks.
local function add_prose(blocks, text)
  local lines, code = {}, nil
  local function finish()
    local joined = table.concat(lines, "\n"):gsub("^\n+", ""):gsub("%s+$", "")
    if joined ~= "" then add(blocks, { kind = code and "code" or "prose", text = joined }) end
    lines = {}
  end
  for line in ((text or "") .. "\n"):gmatch "(.-)\n" do
    local indented = line:find "^    " ~= nil
    if line ~= "" and indented ~= code then
      finish()
      code = indented
    end
    lines[#lines + 1] = indented and line:sub(5) or line
  end
  finish()
end

local function shown(fields)
  local rows = {}
  for _, field in ipairs(fields) do
    if not field.package then rows[#rows + 1] = field end
  end
  return rows
end

local function parameters(f)
  local words = {}
  for i, name in ipairs(f.parameters) do
    local p = f.params[i]
    words[i] = p and p.optional and name ~= "..." and "[" .. name .. "]" or name
  end
  return table.concat(words, ", ")
end

-- The results nil, failure, code get no rows.
local function results(f)
  local returns = f.returns
  local failure = returns[2]
  if not (failure and failure.type == "pmlua.Failure" and returns[3]) then return returns, false end
  return { returns[1] }, true
end

local function add_returns(blocks, f)
  local rows, refused = results(f)
  if #rows > 0 then add(blocks, { kind = "rows", title = "returns", rows = rows }) end
  if refused then add(blocks, { kind = "prose", text = "Refused: `nil, failure, code`." }) end
end

--- How a function is called: "pml.clock.ns()", "Counter:read()".
---@param f pmlua.reference.Function
function M.name(class, f)
  local owner = class.name:find "^pml%." and class.name or class.name:match "[^.]+$"
  return owner .. (f.method and ":" or ".") .. f.name
end

--- A type with its "?", as one reads it.
---@param row pmlua.reference.Value
function M.type(row)
  if not row.optional then return row.type end
  return row.type:find "^fun%(" and ("(%s)?"):format(row.type) or row.type .. "?"
end

--- The blocks of a function.
---@param f pmlua.reference.Function
---@param blocks? pmlua.reference.Block[]
---@return pmlua.reference.Block[]
function M.of_function(class, f, level, blocks)
  blocks = blocks or {}
  add(blocks, { kind = "heading", level = level, text = ("%s(%s)"):format(M.name(class, f), parameters(f)),
    anchor = ("%s%s%s"):format(class.name, f.method and ":" or ".", f.name) })
  add_prose(blocks, f.about)
  if #f.params > 0 then add(blocks, { kind = "rows", title = "parameters", rows = f.params }) end
  add_returns(blocks, f)
  return blocks
end

local function add_functions(blocks, class, level)
  for _, f in ipairs(class.functions) do
    if not f.package then M.of_function(class, f, level, blocks) end
  end
end

--- The blocks of a class: an object, or a table that functions take or give.
---@param blocks? pmlua.reference.Block[]
---@return pmlua.reference.Block[]
function M.of_class(class, level, blocks)
  blocks = blocks or {}
  add(blocks, { kind = "heading", level = level, text = class.name, anchor = class.name })
  add_prose(blocks, class.about)
  if class.alias then add(blocks, { kind = "code", text = class.alias }) end
  if class.parent then add(blocks, { kind = "prose", text = ("It has all of `%s`, and:"):format(class.parent) }) end
  local fields = shown(class.fields)
  if #fields > 0 then add(blocks, { kind = "rows", title = "fields", rows = fields }) end
  add_functions(blocks, class, level + 1)
  return blocks
end

--- The blocks of a module's page.
---@return pmlua.reference.Block[]
function M.of_module(module)
  local class, blocks = module.class, {}
  add(blocks, { kind = "heading", level = 1, text = class.name, anchor = class.name })
  add_prose(blocks, module.about)
  local calls = {}
  for i, overload in ipairs(class.overloads) do calls[i] = overload:gsub("^fun%f[^%w]", class.name) end
  if #calls > 0 then add(blocks, { kind = "code", text = table.concat(calls, "\n") }) end
  local fields = shown(class.fields)
  if #fields > 0 then add(blocks, { kind = "rows", title = "fields", rows = fields }) end
  add_functions(blocks, class, 2)
  for _, other in ipairs(module.classes) do M.of_class(other, 2, blocks) end
  return blocks
end

--- The blocks of what a name stands for: "pml.eventset", "eventset", "pml.eventset.open", "pmlua.Eventset", "Eventset:read".
---@return pmlua.reference.Block[]? blocks nil if the name is unknown
function M.find(model, name)
  local module = model.modules[name:match "^pml%.(%w+)$" or name]
  if module then return M.of_module(module) end
  local wanted = name:lower():gsub("^pmlua?%.", ""):gsub(":", ".")
  for _, page in ipairs(model.names) do
    local classes = { model.modules[page].class, table.unpack(model.modules[page].classes) }
    for _, class in ipairs(classes) do
      local own = class.name:lower():gsub("^pmlua?%.", "")
      if own == wanted then return M.of_class(class, 1) end
      for _, f in ipairs(class.functions) do
        if not f.package and ("%s.%s"):format(own, f.name) == wanted then return M.of_function(class, f, 1) end
      end
    end
  end
end

--- Every name that find() knows, to suggest the nearest.
function M.names(model)
  local names = {}
  for _, page in ipairs(model.names) do
    local classes = { model.modules[page].class, table.unpack(model.modules[page].classes) }
    for _, class in ipairs(classes) do
      names[#names + 1] = class.name
      for _, f in ipairs(class.functions) do
        if not f.package then names[#names + 1] = class.name .. (f.method and ":" or ".") .. f.name end
      end
    end
  end
  return names
end

--- The first sentence of a module's prose.
function M.summary(module)
  local first = module.about:gsub("\n\n.*$", ""):gsub("%s+", " ")
  first = first:match "^(.-%.)%s%u" or first
  return first:sub(1, 1):upper() .. first:sub(2)
end

return M
