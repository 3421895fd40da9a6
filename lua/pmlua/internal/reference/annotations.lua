-- SPDX-License-Identifier: BSD-3-Clause
--- The annotations of a Lua file (those of LuaLS), as tables: classes with their fields and functions.
--
-- The text is read line by line and never executed, so that it works on files that only describe (---@meta).
--
--     pmlua -e 'for _, c in ipairs(require "pmlua.internal.reference.annotations".read("lua/pmlua/json.lua", "json").classes)
--               do print(c.name, #c.functions) end'

local file = require "pmlua.internal.file"

local M = {}

---@class pmlua.reference.Value a parameter, a result or a field
---@field name? string
---@field type string
---@field optional? boolean
---@field about string
---@field package? boolean not for users

---@class pmlua.reference.Function
---@field name string
---@field method boolean called with a colon
---@field parameters string[] names, as the definition has them
---@field params pmlua.reference.Value[] the same, as annotated
---@field returns pmlua.reference.Value[]
---@field about string prose, paragraphs parted by empty lines
---@field overloads string[]
---@field package? boolean
---@field line integer

---@class pmlua.reference.Class
---@field name string
---@field about string
---@field fields pmlua.reference.Value[]
---@field overloads string[]
---@field operators string[]
---@field parent? string the class whose fields and functions it has, too
---@field alias? string the type that it is another name of
---@field functions pmlua.reference.Function[]
---@field line integer

-- --- types and what stands behind them ---

local CLOSING = { ["("] = ")", ["{"] = "}", ["["] = "]", ["<"] = ">" }

--- Where the type that begins at `at` ends: at a blank or comma outside of all brackets.
local function one_type(text, at)
  local open, i = {}, at
  while i <= #text do
    local c = text:sub(i, i)
    if c == '"' then
      i = text:find('"', i + 1, true) or #text
    elseif CLOSING[c] then
      open[#open + 1] = CLOSING[c]
    elseif c == open[#open] then
      open[#open] = nil
    elseif #open == 0 and c:find "[%s,:]" then
      break
    end
    i = i + 1
  end
  return i
end

--- The type at the beginning of a text, and the rest. A function's results, "fun(): a, b", are part of it.
local function take_type(text)
  local stop = one_type(text, 1)
  while text:find("^:%s*%S", stop) and text:sub(1, stop - 1):find "%f[%w]fun%b()$" do
    stop = one_type(text, text:match("^:%s*()", stop))
    while text:find("^,%s*%S", stop) do stop = one_type(text, text:match("^,%s*()", stop)) end
  end
  return text:sub(1, stop - 1), (text:sub(stop):gsub("^%s+", ""))
end

local function value(kind, name, optional, about)
  if kind:find "%?$" and not kind:find "%f[%w]fun%(" then kind, optional = kind:sub(1, -2), true end
  return { name = name, type = kind, optional = optional or nil, about = about }
end

local TAGS = {}

function TAGS.param(item, text)
  local name, optional, rest = text:match "^([%w_.]+)(%??)%s+(.*)$"
  if not name then return end
  local kind, about = take_type(rest)
  item.params[#item.params + 1] = value(kind, name, optional == "?", about)
end

-- "type name, type name": several results; else what follows the name is about it.
TAGS["return"] = function(item, text)
  repeat
    local kind, rest = take_type(text)
    local name, more = rest:match "^([%a_.][%w_.]*)(.*)$"
    local another = (name and more or rest):match "^,%s*(.*)$"
    item.returns[#item.returns + 1] = value(kind, name, nil, another and "" or (more or rest):gsub("^%s+", ""))
    text = another
  until not text
end

function TAGS.field(item, text)
  local hidden, rest = text:match "^(%l+)%s+(.*)$"
  if hidden == "package" or hidden == "private" then text = rest else hidden = nil end
  local name, optional, more = text:match "^([%w_]+)(%??)%s+(.*)$"
  if not name then name, optional, more = text:match '^%["?([^%]"]+)"?%](%??)%s+(.*)$' end
  if not name then return end
  local kind, about = take_type(more)
  local field = value(kind, name, optional == "?", about)
  field.package = hidden and true or nil
  item.fields[#item.fields + 1] = field
end

function TAGS.class(item, text)
  item.class = text:match "^%b()%s*([%w_.]+)" or text:match "^([%w_.]+)"
  item.parent = text:match "^[%w_.]+%s*:%s*([%w_.]+)"
  local about = text:match "^[%w_.]+%s+([^:%s].*)$"
  if about then item.about[#item.about + 1] = about end
end

function TAGS.alias(item, text)
  item.class, item.alias = text:match "^([%w_.]+)%s+(.*)$"
end

function TAGS.overload(item, text) item.overloads[#item.overloads + 1] = text end
function TAGS.operator(item, text) item.operators[#item.operators + 1] = text end
function TAGS.type(item, text) item.type = text end
function TAGS.package(item) item.package = true end
TAGS.private = TAGS.package

-- --- comments ---

--- Parse a block of "---" lines. A line without a tag continues the previous tag.
local function block(lines)
  local item = { about = {}, params = {}, returns = {}, fields = {}, overloads = {}, operators = {} }
  local tags = {}
  for _, line in ipairs(lines) do
    local tag, text = line:match "^@(%l+)%s*(.*)$"
    if tag then
      tags[#tags + 1] = { tag, text }
    elseif #tags > 0 then
      tags[#tags][2] = tags[#tags][2] .. " " .. line:gsub("^%s+", "")
    else
      item.about[#item.about + 1] = line
    end
  end
  for _, tag in ipairs(tags) do
    if TAGS[tag[1]] then TAGS[tag[1]](item, tag[2]) end
  end
  item.about = table.concat(item.about, "\n"):gsub("%s+$", "")
  return item
end

local function new_class(name, item, line)
  return { name = name, about = item and item.about or "", fields = item and item.fields or {}, functions = {},
    overloads = item and item.overloads or {}, operators = item and item.operators or {}, alias = item and item.alias,
    parent = item and item.parent, line = line }
end

-- --- definitions ---

local function names_of(text)
  local names = {}
  for name in text:gmatch "[%w_.]+" do names[#names + 1] = name end
  return names
end

local function define(self, owner, method, name, parameters, item, line)
  local class = self.of[owner]
  if not class then return end
  class.functions[#class.functions + 1] = { name = name, method = method, parameters = names_of(parameters), line = line,
    params = item.params, returns = item.returns, about = item.about, overloads = item.overloads,
    package = item.package or name:find "^__" ~= nil or nil }
end

--- A line of code, below the comment about it (or an empty one).
local function code(self, line, item, at)
  local owner, mark, name, parameters = line:match "^function%s+([%a_][%w_]*)([.:])([%a_][%w_]*)%s*(%b())"
  if owner then return define(self, owner, mark == ":", name, parameters, item, at) end
  local variable = line:match "^local%s+([%a_][%w_]*)%s*="
  if variable and item.class then
    self.of[variable] = self.last
  elseif variable == "M" and not self.of.M then
    self.of.M = new_class("pml." .. self.module, item, at)
    self.classes[#self.classes + 1] = self.of.M
  end
  owner, name = line:match "^([%a_][%w_]*)%.([%a_][%w_]*)%s*=%s*[^%s=]"
  if owner and self.of[owner] and not name:find "^__" and not line:find "=%s*nil%f[%W]" then
    local class = self.of[owner]
    if item.type or #item.params + #item.returns == 0 then
      class.fields[#class.fields + 1] = { name = name, type = item.type or "any", about = item.about }
    else
      local names = {}
      for i, p in ipairs(item.params) do names[i] = p.name end
      define(self, owner, false, name, table.concat(names, ", "), item, at)
    end
  end
end

--- The head of a file: from its second line to the first that is not a comment.
local function head(lines)
  local text = {}
  for i = 1, #lines do
    local line = lines[i]:match "^%-%-%-?%s?(.*)$"
    if not line or line:find "^@" then break end
    if not (i == 1 and line:find "^SPDX") then text[#text + 1] = line end
  end
  if text[1] then text[1] = text[1]:gsub("^lua/[%w_/]+%.lua %- ", "") end
  return (table.concat(text, "\n"):gsub("%s+$", ""))
end

--- Read the annotations of a text.
---@param module string the name of the module, whose table the variable M has
---@return { head: string, classes: pmlua.reference.Class[] }
function M.parse(text, module)
  local self, lines, comment = { of = {}, classes = {}, module = module }, {}, {}
  for line in (text .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
  for at, line in ipairs(lines) do
    local said = line:match "^%-%-%-%s?(.*)$"
    if said and not said:find "^%-" then
      comment[#comment + 1] = said
    elseif not line:find "^%-%- " and not line:find "^%-%-$" or #comment == 0 then
      local item = block(comment)
      if item.class then
        self.last = new_class(item.class, item, at)
        self.classes[#self.classes + 1] = self.last
      end
      if line ~= "" and not line:find "^%-%-" then code(self, line, item, at) end
      comment = {}
    end
  end
  return { head = head(lines), classes = self.classes }
end

--- Read the annotations of a file.
---@return { head: string, classes: pmlua.reference.Class[] }? annotations, string? err
function M.read(path, module)
  local text, err = file.read(path)
  if not text then return nil, err end
  return M.parse(text, module)
end

return M
