-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/reference_spec.lua - check of the public API's annotations against the modules: every public name is annotated, and
-- every annotated name exists. reference_values_spec.lua calls the functions, and compares the fields of their results.

local support = require "spec.core.support"
local build = os.getenv("PMLUA_BUILD") or "build"

local HANDLES = require "spec.core.handle_classes"
local shell = require "spec.shell"
local sh, write = shell.sh, shell.write
local model, annotations, core, pml

-- Those that only pmlua's own modules hold, and those that hold memory while tables are built.
local INNER_HANDLES = { flow = true, interception = true, link = true, log = true, recording = true, ["data file"] = true,
  rowsofbytes = true, summary = true, summarybytes = true, summaryreading = true, rows = true, guard = true,
  sectioncache = true, numbers = true, tallykeys = true,
  pluginseries = true, sectionreport = true,
  metricslines = true, traceeach = true, traceresults = true }
-- Tables with methods that no function hands out.
local INNER_TABLES = { Parser = true, Reader = true, evaluator = true }

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = tostring(name) end
  table.sort(list)
  return list
end

local read = support.slurp

--- The names that a script can reach in a module: keys of the module, and keys of the core's table behind it.
local function reached(name)
  local module, keys = pml[name], {}
  for key in pairs(module) do keys[key] = module[key] end
  for key in pairs(rawget(core, name) or {}) do
    local there, value = pcall(function() return module[key] end)
    keys[key] = there and value or nil
  end
  return keys
end

local class_named, functions_of

function functions_of(class)
  local set = class.parent == "pmlua.Handle" and functions_of(class_named(class.parent)) or {}
  for _, f in ipairs(class.functions) do set[f.name] = f end
  return set
end

local function fields_of(class)
  local set = {}
  for _, f in ipairs(class.fields) do set[f.name] = f end
  return set
end

--- The classes of the whole model.
local function classes()
  local list = {}
  for _, name in ipairs(model.names) do
    list[#list + 1] = model.modules[name].class
    table.move(model.modules[name].classes, 1, #model.modules[name].classes, #list + 1, list)
  end
  return list
end

function class_named(name)
  for _, class in ipairs(classes()) do
    if class.name == name then return class end
  end
end

-- The metatables of handles, by name.
local function handles()
  local list = {}
  for name, value in pairs(require "pmlua.core".metatables()) do
    local methods, short = value.__index, name:match "^pml%.(.*)$"
    if type(methods) == "function" then methods = select(2, debug.getupvalue(methods, 1)) end
    if short then list[short] = { methods = methods, meta = value } end
  end
  return list
end

-- The functions of tables with methods that a function refers to, directly or by a function of the same file.
local function methods_behind(f, visit, seen)
  if seen[f] then return end
  seen[f] = true
  local file = debug.getinfo(f, "S").source
  for i = 1, 255 do
    local name, value = debug.getupvalue(f, i)
    if not name then break end
    if type(value) == "function" and debug.getinfo(value, "S").source == file then methods_behind(value, visit, seen) end
    if type(value) == "table" and rawget(value, "__index") and not INNER_TABLES[name] and not seen[value] then
      seen[value] = true
      for key, method in pairs(value) do
        if type(method) == "function" and not key:find "^__" then visit(name, key, method) end
      end
    end
  end
end

-- The lines of code in prose: those with four blanks.
local function example(prose)
  local code = {}
  for line in prose:gmatch "[^\n]+" do
    if line:find "^    " then code[#code + 1] = line .. "\n" end
  end
  return table.concat(code)
end

-- The C files whose handles and tables a page describes.
local function sources_of(name)
  local more = name == "sde" and " -o -name lset.c -o -name 'lsde_*.c' -o -name lrecorder.c"
    or name == "trace" and " -o -name 'ltrace_*.c'" or ""
  local paths = {}
  for path in io.popen(("find bindings -name l%s.c%s"):format(name, more)):lines() do paths[#paths + 1] = path end
  if #paths == 0 then paths[1] = ("bindings/%s.c"):format(name) end
  return paths
end

local function text_of(paths)
  local all = {}
  for _, path in ipairs(paths) do
    local f = io.open(path, "rb")
    if f then
      all[#all + 1] = f:read("a")
      f:close()
    end
  end
  return table.concat(all)
end

-- The names in the descriptions of a C file (bindings/fields.h): those in quotes, and members under their own names. Macros
-- of the file that stand for several are replaced by what they are.
local function expanded(c)
  for name, body in c:gmatch "#define ([%u_]+_OPTIONS)%b()(.-[^\\])\n" do c = c:gsub("%f[%w_]" .. name .. "%b()", body) end
  return (c:gsub("OPTIONS_TARGET%b()", '"pid", "cpu", "inherit"'))
end

local function described_names(list)
  local names = {}
  for key in list:gmatch '"([%a_][%w_]*)"' do names[#names + 1] = key end
  for macro, members in list:gmatch "([%u_]+)%(struct [%w_]+,%s*([%w_,%s]+)%)" do
    for key in (macro:find "^OPTIONS?$" or macro:find "^FIELDS?$") and members:gmatch "[%w_]+" or function() end do
      names[#names + 1] = key
    end
  end
  return names
end

-- The modules that meta/ describes.
local function described()
  local names = {}
  for path in io.popen "ls lua/pmlua/meta":lines() do
    local name = path:match "^(%w+)%.lua$"
    if name ~= "pml" then names[#names + 1] = name end
  end
  return names
end

-- The field names in one file of meta/, from types of the form { name: type, ... } and from classes.
local function named_fields(name)
  local set, text = {}, read(("lua/pmlua/meta/%s.lua"):format(name))
  for field in text:gmatch "%-%-%-@field ([%w_]+)" do set[field] = true end
  for group in text:gmatch "%b{}" do
    for field in group:gmatch "([%a_][%w_]*)%s*:" do set[field] = true end
  end
  return set
end

describe("The annotations of the public API", function()
  setup(function()
    pml = require "pmlua"
    core = require "pmlua.core"
    annotations = require "pmlua.internal.reference.annotations"
    model = require "pmlua.internal.reference.model".load "lua"
  end)

  it("cover the modules that a script reaches, and no others", function()
    local there, said = {}, {}
    for key, value in pairs(pml) do there[key] = type(value) end
    for path in io.popen "ls lua/pmlua/*.lua":lines() do
      local name = path:match "([%w_]+)%.lua$"
      if name ~= "init" then there[name] = type(pml[name]) end
    end
    for _, field in ipairs(class_named "pml".fields) do said[field.name] = true end
    assert.same(sorted(there), sorted(said))
    said.version, said.paths = nil, nil
    local pages = {}
    for _, name in ipairs(model.names) do pages[name] = name ~= "pml" or nil end
    assert.same(sorted(said), sorted(pages))
  end)

  it("cover every function and value of the modules, and nothing else", function()
    local without, nothing = {}, {}
    for _, name in ipairs(model.names) do
      if name == "pml" then goto continue end
      local class = model.modules[name].class
      local functions, fields, there = functions_of(class), fields_of(class), reached(name)
      for key, value in pairs(there) do
        local known = type(value) == "function" and functions[key] or type(value) ~= "function" and fields[key]
        if not known then without[#without + 1] = ("pml.%s.%s"):format(name, key) end
      end
      for key, f in pairs(functions) do
        if type(there[key]) ~= "function" and not f.package then nothing[#nothing + 1] = ("pml.%s.%s"):format(name, key) end
      end
      for key in pairs(fields) do
        if there[key] == nil then nothing[#nothing + 1] = ("pml.%s.%s"):format(name, key) end
      end
      local meta = getmetatable(pml[name]) or {}
      if (meta.__call ~= nil) ~= (#class.overloads > 0) then without[#without + 1] = ("pml.%s(...)"):format(name) end
      ::continue::
    end
    table.sort(without)
    assert.same({ {}, {} }, { without, nothing })
  end)

  it("cover every method of the handles of C, and nothing else", function()
    local wrong, seen = {}, 0
    for name, handle in pairs(handles()) do
      local class = HANDLES[name] and class_named(HANDLES[name])
      if not class and not INNER_HANDLES[name] then wrong[#wrong + 1] = "handle without a class: " .. name end
      if class then
        seen = seen + 1
        local functions = functions_of(class)
        for key in pairs(handle.methods) do
          if not functions[key] then wrong[#wrong + 1] = ("%s:%s has no annotation"):format(name, key) end
        end
        for key in pairs(functions) do
          if not handle.methods[key] then wrong[#wrong + 1] = ("%s:%s is not there"):format(class.name, key) end
        end
        if (handle.meta.__len ~= nil) ~= (#class.operators > 0) then wrong[#wrong + 1] = "#" .. name end
      end
    end
    assert.same({}, wrong)
    assert.equal(#sorted(HANDLES), seen)
  end)

  it("cover every method of objects that are written in Lua", function()
    local at, without, found = {}, {}, 0
    for _, class in ipairs(classes()) do
      for _, f in ipairs(class.functions) do at[("%s:%d"):format(class.path, f.line)] = true end
    end
    local function visit(object, key, method)
      local info = debug.getinfo(method, "S")
      local path = info.source:match "^@.-(lua/pmlua/[%w_]+%.lua)$"
      if not path then return end
      found = found + 1
      if not at[("%s:%d"):format(path, info.linedefined)] then
        without[#without + 1] = ("%s:%d: %s:%s"):format(path, info.linedefined, object, key)
      end
    end
    local seen = {}
    for _, name in ipairs(model.names) do
      for _, f in pairs(name ~= "pml" and reached(name) or {}) do
        if type(f) == "function" then methods_behind(f, visit, seen) end
      end
      local meta = name ~= "pml" and getmetatable(pml[name])
      if meta and type(meta.__call) == "function" then methods_behind(meta.__call, visit, seen) end
    end
    table.sort(without)
    assert.same({}, without)
    assert.is_true(found > 30)
  end)

  it("describe each function, and name its parameters correctly", function()
    local wrong = {}
    for _, class in ipairs(classes()) do
      for _, f in ipairs(class.functions) do
        if not f.package then
          local where = ("%s:%d: %s%s%s"):format(class.path, f.line, class.name, f.method and ":" or ".", f.name)
          local names = {}
          for i, p in ipairs(f.params) do names[i] = p.name end
          if f.about == "" then wrong[#wrong + 1] = where .. ": no prose" end
          if table.concat(names, ", ") ~= table.concat(f.parameters, ", ") then
            wrong[#wrong + 1] = ("%s(%s): annotated are (%s)"):format(where, table.concat(f.parameters, ", "),
              table.concat(names, ", "))
          end
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("explain every type that they mention", function() assert.same({}, model.missing) end)

  it("have the options that the C code takes, and no others", function()
    local wrong = {}
    for _, name in ipairs(described()) do
      local sets, said = {}, named_fields(name)
      for list in expanded(text_of(sources_of(name))):gmatch 'known%[%] = (%b{})' do
        if not list:find '"kind"' then -- pml.plugin.define's own way into C
          for _, key in ipairs(described_names(list)) do
            sets[key] = true
            if not said[key] then wrong[#wrong + 1] = ("%s: option %s has no annotation"):format(name, key) end
          end
        end
      end
      for _, class in ipairs(annotations.read(("lua/pmlua/meta/%s.lua"):format(name), name).classes) do
        for _, field in ipairs(class.name:find "Options$" and class.fields or {}) do
          if not sets[field.name] then wrong[#wrong + 1] = ("%s: there is no option %s"):format(class.name, field.name) end
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("are found by editors: .luarc.json names existing folders", function()
    local settings = assert(require "pmlua.json".decode(read ".luarc.json"))
    assert.equal("Lua 5.4", settings["runtime.version"])
    for _, folder in ipairs(settings["workspace.library"]) do
      assert.truthy(sh("ls " .. folder .. "/pmlua/meta"):find("eventset.lua", 1, true))
    end
    assert.truthy(read "lua/pmlua/meta/pml.lua":find("\n---@meta", 1, true))
  end)

  it("have examples that run", function()
    local dir = support.folder()
    sh(("mkdir %s/trace-folder"):format(dir))
    write(dir .. "/scorep.filter", "SCOREP_REGION_NAMES_BEGIN\nEXCLUDE a*\nSCOREP_REGION_NAMES_END\n")
    local root, n = sh("pwd"):gsub("%s+$", ""), 0
    local command = build:find "^/" and build or root .. "/" .. build
    for _, name in ipairs(described()) do
      for _, class in ipairs(annotations.read(("lua/pmlua/meta/%s.lua"):format(name), name).classes) do
        local code = example(class.about)
        if code ~= "" then
          n = n + 1
          write(dir .. "/example.lua", "local function work() for _ = 1, 1e4 do end end\n" .. code .. "work()\n")
          local out, status = sh(("cd %s && XDG_RUNTIME_DIR=%s timeout 60 %s/pmlua -e 'pml = require \"pmlua\"' example.lua 2>&1")
            :format(dir, dir, command))
          assert.equal(0, status, name .. ": " .. out)
        end
      end
    end
    sh("rm -rf " .. dir)
    assert.is_true(n > 15)
  end)
end)
