-- SPDX-License-Identifier: BSD-3-Clause
--- The public Lua API from its annotations: in the Lua modules, and in meta/ for modules written in C.
--
--     pmlua -e 'print(require "pmlua.internal.reference.model".load().modules.eventset.class.functions[1].about)'

local annotations = require "pmlua.internal.reference.annotations"
local lfs = require "lfs"

local M = {}

---@class pmlua.reference.Module
---@field name string as in pml.NAME; "pml" is the table itself
---@field about string
---@field class pmlua.reference.Class its functions and fields
---@field classes pmlua.reference.Class[] what these take and give

---@class pmlua.reference.Model
---@field names string[] of the modules, sorted, "pml" first
---@field modules table<string, pmlua.reference.Module>
---@field of table<string, string> the module that explains a class

local function lua_files(dir, list)
  for name in lfs.dir(dir) do
    local path = dir .. "/" .. name
    if name:find "^%." then goto continue end
    if lfs.attributes(path, "mode") == "directory" then lua_files(path, list) end
    if name:find "%.lua$" then list[#list + 1] = path end
    ::continue::
  end
  return list
end

-- "Try:  CODE" at the head of a file is an example, as lines with four blanks are.
local function prose(head)
  local lines, example = {}, false
  for line in (head .. "\n"):gmatch "(.-)\n" do
    local code = line:match "^Try:%s+(.*)$"
    if code or line == "" then example = code ~= nil end
    if #lines == 0 then line = line:gsub("^%l", string.upper) end
    lines[#lines + 1] = code and "    " .. code or example and "    " .. line:gsub("^%s+", "") or line
  end
  return (table.concat(lines, "\n"):gsub("%s+$", ""))
end

local function merge(to, from)
  for _, key in ipairs { "fields", "functions", "overloads", "operators" } do
    table.move(from[key], 1, #from[key], #to[key] + 1, to[key])
  end
  if to.about == "" then to.about = from.about end
end

-- The annotations of a file become part of the module's page.
local function add(module, path)
  local read = assert(annotations.read(path, module.name))
  for _, class in ipairs(read.classes) do
    class.path = path
    if class.name ~= module.class.name then
      module.classes[#module.classes + 1] = class
    else
      merge(module.class, class)
    end
  end
  module.class.path = module.class.path or path
  if module.class.about ~= "" then module.about = module.class.about end
  if module.about == "" then module.about = prose(read.head) end
end

local function new_module(name)
  local class = name == "pml" and "pml" or "pml." .. name
  return { name = name, about = "", classes = {},
    class = { name = class, about = "", fields = {}, functions = {}, overloads = {}, operators = {}, line = 1 } }
end

--- Every type that a class mentions.
---@param visit fun(name: string, where: string)
function M.mentions(class, visit)
  local function each(text, where)
    for name in text:gmatch "%f[%w]pmlua?%.[%w_.]+" do visit(name, where) end
  end
  for _, field in ipairs(class.fields) do
    if not field.package then each(field.type, class.name .. "." .. field.name) end
  end
  for _, f in ipairs(class.functions) do
    if f.package then goto continue end
    local where = class.name .. (f.method and ":" or ".") .. f.name
    for _, p in ipairs(f.params) do each(p.type, where) end
    for _, r in ipairs(f.returns) do each(r.type, where) end
    ::continue::
  end
  for _, text in ipairs(class.overloads) do each(text, class.name) end
  if class.alias then each(class.alias, class.name) end
end

-- Classes of inner modules that public functions take or give are explained where they are first mentioned.
local function find_inner(model, lua)
  local inner, missing = {}, {}
  for _, path in ipairs(lua_files(lua .. "/pmlua/internal", {})) do
    for _, class in ipairs(assert(annotations.read(path, "")).classes) do
      class.path = path
      inner[class.name] = inner[class.name] or class
    end
  end
  for _, name in ipairs(model.names) do
    local module, i = model.modules[name], 0
    local class = module.class
    while class do
      M.mentions(class, function(mentioned, where)
        if model.of[mentioned] then return end
        if not inner[mentioned] then missing[#missing + 1] = ("%s: %s"):format(where, mentioned) end
        model.of[mentioned] = name
        module.classes[#module.classes + 1] = inner[mentioned]
      end)
      i = i + 1
      class = module.classes[i]
    end
  end
  model.missing = missing
end

--- Read the annotations of everything that is public.
---@param lua? string the folder that holds pmlua/
---@return pmlua.reference.Model
function M.load(lua)
  lua = lua or require "pmlua".paths.lua
  local model = { names = {}, modules = {}, of = {} }
  for _, folder in ipairs { "/pmlua/meta/", "/pmlua/" } do
    for name in lfs.dir(lua .. folder) do
      local module = name:match "^([%w_]+)%.lua$"
      if module and module ~= "init" then
        if not model.modules[module] then
          model.modules[module] = new_module(module)
          model.names[#model.names + 1] = module
        end
        add(model.modules[module], lua .. folder .. name)
      end
    end
  end
  table.sort(model.names, function(a, b) return a ~= b and (a == "pml" or b ~= "pml" and a < b) end)
  for _, name in ipairs(model.names) do
    model.of[model.modules[name].class.name] = name
    for _, class in ipairs(model.modules[name].classes) do model.of[class.name] = name end
  end
  find_inner(model, lua)
  return model
end

return M
