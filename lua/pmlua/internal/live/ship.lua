-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/ship.lua - a value of one Lua state as bytes, and back in another: how a rule gets to where it runs.
--
-- Try:  local ship = require "pmlua.internal.live.ship"
--       local n = 3;  print(ship.open(ship.pack(function(x) return n + x end))(4))
--
-- A function goes with its upvalues, as they are now, copied once: nil, booleans, numbers, strings, tables of these and
-- Lua functions; what is shared or refers to itself arrives so. pmlua's modules, Lua's own and the global environment
-- are those of the other state; events, counters, recorders and sets are found again by their names. What a copy
-- changes does not come back. Anything else (files, threads, C functions of others) cannot be shipped.

local core = require "pmlua.core"

local M = {}

-- --- what is there on both sides: by name ---

local standard = { "string", "table", "math", "utf8", "os", "io", "debug", "coroutine", "package" }

--- Value to the path that finds it, { "require", module, field ... }. Made anew for each package: modules come in late.
local function landmarks()
  local paths = {}
  local function add(value, ...)
    local kind = type(value)
    if (kind == "table" or kind == "function") and not paths[value] then paths[value] = { ... } end
  end
  local function add_module(name, module)
    add(module, name)
    if type(module) ~= "table" then return end
    for key, value in next, module do
      if type(key) == "string" and type(value) == "function" then add(value, name, key) end
    end
  end
  add(_G, "_G")
  for _, name in ipairs(standard) do add_module(name, package.loaded[name]) end
  for key, value in next, core do
    if type(key) == "string" and type(value) == "table" then
      add(value, "pmlua.core", key)
      for name, f in next, value do
        if type(f) == "function" then add(f, "pmlua.core", key, name) end
      end
    end
  end
  for name, module in next, package.loaded do
    if name == "pmlua" or name:find("^pmlua%.") then add_module(name, module) end
  end
  add_module("_G", _G)
  return paths
end

local function by_path(path)
  local value = path[1] == "_G" and _G or require(path[1])
  for i = 2, #path do value = value[path[i]] end
  return value
end

-- --- handles, by the name of their event ---

local handles = {
  ["pml.sdeevent"] = function(h) return assert(core.sde.find(h.name)) end,
  ["pml.sdecounter"] = function(h)
    local mode = { readonly = h.mode:find "r" ~= nil, instant = h.mode:find "i" ~= nil }
    return assert(assert(core.sde.library(h.library)):counter(h.event, mode))
  end,
  ["pml.recorder"] = function(h) return assert(assert(core.sde.find(h.name)):open()) end,
}
handles["pml.countingset"] = handles["pml.recorder"]

local handle_format = "<s4s4s4s4s4"

local function pack_handle(value)
  local meta = debug.getmetatable(value)
  local class = meta and meta.__name
  if not handles[class] then return nil end
  local good, info = pcall(value.info, value)
  if not good or not info then return nil end -- it is closed
  local mode = (info.writable and "" or "r") .. (info.instant and "i" or "")
  return "H" .. handle_format:pack(class, info.name, info.library, info.event, mode)
end

-- --- packing ---

local function refuse(path, what)
  error(("upvalue '%s' is %s: a rule runs in a state of its own and gets copies of plain values"):format(path, what), 0)
end

local function article(value)
  local kind = type(value)
  if kind == "function" then return "a C function" end
  if kind == "userdata" then
    local meta = debug.getmetatable(value)
    return "a userdata" .. (meta and type(meta.__name) == "string" and (" (%s)"):format(meta.__name) or "")
  end
  return "a " .. kind
end

-- The package is a list of objects, each written once; a reference is its number. Scalars stand where they are.
local Packer = {}
Packer.__index = Packer

local scalar = {
  ["nil"] = function() return "0" end,
  boolean = function(v) return v and "t" or "f" end,
  number = function(v)
    return math.type(v) == "integer" and string.pack("<c1i8", "i", v) or string.pack("<c1d", "d", v)
  end,
  string = function(v) return string.pack("<c1s8", "s", v) end,
}

local function texts(list)
  local out = { string.pack("<I4", #list) }
  for i, text in ipairs(list) do out[i + 1] = string.pack("<s4", text) end
  return table.concat(out)
end

function Packer:reserve(key)
  self.n = self.n + 1
  self.number[key] = self.n
  return self.n
end

local function reference(n) return string.pack("<c1I4", "r", n) end

function Packer:table(t, path)
  local n = self:reserve(t)
  local out, count = {}, 0
  for key, value in next, t do
    local name = type(key) == "string" and key:find("^[%a_][%w_]*$") and path .. "." .. key
      or ("%s[%s]"):format(path, tostring(key))
    out[#out + 1] = self:value(key, path .. "'s key") .. self:value(value, name)
    count = count + 1
  end
  local meta = debug.getmetatable(t)
  local text = self:value(meta, path .. "'s metatable")
  self.object[n] = string.pack("<c1I4", "T", count) .. table.concat(out) .. text
  return reference(n)
end

--- Upvalues that functions share are one cell.
function Packer:cell(f, i, name, value)
  local id = debug.upvalueid(f, i)
  local n = self.number[id]
  if not n then
    n = self:reserve(id)
    self.object[n] = "C" .. self:value(value, name)
  end
  return string.pack("<I4", n)
end

function Packer:closure(f, path)
  local n = self:reserve(f)
  local good, code = pcall(string.dump, f)
  if not good then refuse(path, "a C function") end
  local cells = {}
  for i = 1, debug.getinfo(f, "u").nups do
    local name, value = debug.getupvalue(f, i)
    cells[i] = self:cell(f, i, name, value)
  end
  self.object[n] = string.pack("<c1s8I4", "F", code, #cells) .. table.concat(cells)
  return reference(n)
end

function Packer:value(v, path)
  local kind = type(v)
  if scalar[kind] then return scalar[kind](v) end
  if self.number[v] then return reference(self.number[v]) end
  if self.landmark[v] then
    local n = self:reserve(v)
    self.object[n] = "P" .. texts(self.landmark[v])
    return reference(n)
  end
  self.depth = self.depth + 1
  if self.depth > 150 then refuse(path, "nested too deep") end
  local out
  if kind == "table" then out = self:table(v, path)
  elseif kind == "function" and debug.getinfo(v, "S").what ~= "C" then out = self:closure(v, path)
  else
    local handle = kind == "userdata" and pack_handle(v)
    if not handle then refuse(path, article(v)) end
    local n = self:reserve(v)
    self.object[n] = handle
    out = reference(n)
  end
  self.depth = self.depth - 1
  return out
end

--- A value as bytes. Raises for what cannot be shipped, naming the upvalue.
---@param value any
---@param what? string what it is called in errors
---@return string
function M.pack(value, what)
  local packer = setmetatable({ number = {}, object = {}, n = 0, depth = 0, landmark = landmarks() }, Packer)
  local root = packer:value(value, what or "value")
  return string.pack("<I4", packer.n) .. table.concat(packer.object) .. root
end

-- --- opening ---

local Opener = {}
Opener.__index = Opener

function Opener:take(format)
  local value
  value, self.at = string.unpack("<" .. format, self.text, self.at)
  return value
end

--- Skips over a value in the first pass, gives it in the second, when all objects exist.
function Opener:value()
  local tag = self:take "c1"
  if tag == "0" then return nil end
  if tag == "t" then return true end
  if tag == "f" then return false end
  if tag == "i" then return self:take "i8" end
  if tag == "d" then return self:take "d" end
  if tag == "s" then return self:take "s8" end
  return self.object[self:take "I4"]
end

-- First pass: every object exists, empty. Second: filled.
local make, fill = {}, {}

function make.T(self)
  for _ = 1, 2 * self:take "I4" do self:value() end
  self:value()
  return {}
end

function fill.T(self, t)
  for _ = 1, self:take "I4" do
    local key = self:value()
    t[key] = self:value()
  end
  local meta = self:value()
  if meta then self.metatables[t] = meta end
end

function make.C(self)
  self:value()
  return {}
end

function fill.C(self, cell) cell.value = self:value() end

function make.F(self)
  local code = self:take "s8"
  for _ = 1, self:take "I4" do self:take "I4" end
  return assert(load(code, "=(shipped)", "b"))
end

--- The first function that has a cell owns it; the others join.
function fill.F(self, f)
  self:take "s8"
  for i = 1, self:take "I4" do
    local cell = self.object[self:take "I4"]
    if cell.owner then debug.upvaluejoin(f, i, cell.owner, cell.place)
    else cell.owner, cell.place = f, i end
    self.cells[cell] = true
  end
end

function make.P(self)
  local path = {}
  for i = 1, self:take "I4" do path[i] = self:take "s4" end
  return by_path(path)
end

function fill.P(self)
  for _ = 1, self:take "I4" do self:take "s4" end
end

function make.H(self)
  local h = {}
  h.class, h.name, h.library, h.event, h.mode, self.at = handle_format:unpack(self.text, self.at)
  return handles[h.class](h)
end

function fill.H(self)
  for _ = 1, 5 do self:take "s4" end
end

--- The value that was packed.
---@param blob string from M.pack(), of the same build of pmlua
---@return any
function M.open(blob)
  local self = setmetatable({ text = blob, at = 1, object = {}, metatables = {}, cells = {} }, Opener)
  self.count = self:take "I4"
  local start = self.at
  for i = 1, self.count do self.object[i] = make[self:take "c1"](self) end
  self.at = start
  for i = 1, self.count do fill[self:take "c1"](self, self.object[i]) end
  local root = self:value()
  for t, meta in pairs(self.metatables) do setmetatable(t, meta) end
  for cell in pairs(self.cells) do debug.setupvalue(cell.owner, cell.place, cell.value) end
  return root
end

return M
