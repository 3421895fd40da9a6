-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/compiled_spec.lua - tests of the modules that the command carries in compiled form: equal to their sources, and used
-- only for these.

local support = require "spec.core.support"

local command = support.build .. "/pmlua"
local dir

before_each(function() dir = support.folder() end)

local function run(code, before)
  support.spit(dir .. "/code.lua", code)
  local out = support.quiet(support.shell(("cd %s && %s %s code.lua"):format(dir, before or "", command)))
  return out
end

--- A copy of the Lua modules, which the command uses by PMLUA_LUA; the text of one is changed.
local function copy(module, change)
  assert.equal(0, (support.shell(("cp -r lua %s/lua"):format(dir))))
  local path = ("%s/lua/pmlua/%s.lua"):format(dir, module)
  local f <close> = assert(io.open(path))
  support.spit(path, change and change(f:read "a") or f:read "a")
  return "PMLUA_LUA=" .. dir .. "/lua"
end

describe("Compiled modules", function()
  it("are complete, and equal Lua's compilation of the sources, with lines and names", function()
    local out = run [[
      local n, lua = 0, pml and pml.paths.lua or require "pmlua".paths.lua
      for path in io.popen("cd '" .. lua .. "' && find pmlua -name '*.lua' ! -path 'pmlua/meta/*'"):lines() do
        local name = path:gsub("%.lua$", ""):gsub("^pmlua/init$", "pmlua"):gsub("/", ".")
        local f, found = package.searchers[2](name)
        assert(type(f) == "function", name .. " is not compiled")
        assert(found == lua .. "/" .. path, found)
        assert(string.dump(f) == string.dump(loadfile(found)), name .. " differs")
        assert(debug.getinfo(f, "S").source == "@" .. found)
        n = n + 1
      end
      print(n)]]
    assert.is_true(tonumber(out) > 200)
  end)

  it("have the same text in another folder, with that folder's names", function()
    local before = copy("stats")
    assert.equal(dir .. "/lua/pmlua/stats.lua\n", run([[print((select(2, package.searchers[2]("pmlua.stats"))))]], before))
    local message = run([[print(select(2, pcall(require "pmlua.stats".median, 1)))]], before)
    local where = message:match("^(.-):%d+: "):gsub("^%.%.%.", "") -- Lua cuts the beginning of long chunk names
    assert.equal(where, (dir .. "/lua/pmlua/stats.lua"):sub(-#where), message)
    assert.truthy(where:find("/stats.lua", 1, true))
  end)

  it("are overridden by an edited source at once", function()
    for _, change in ipairs { function(t) return t .. "\n" end, function(t) return (t:gsub("%-%- SPDX", "-- SPDx", 1)) end,
      function(t) return t:sub(1, #t - 1) end } do
      local before = copy("stats", change)
      assert.equal("0\n", run([[print(select("#", package.searchers[2] "pmlua.stats"))]], before))
      assert.equal("true\n", run([[print(require "pmlua.stats".median ~= nil)]], before))
      support.shell("rm -r " .. dir .. "/lua")
    end
    local before = copy("stats", function() return "return { answer = 42 }" end)
    assert.equal("42\n", run([[print(require "pmlua".stats.answer)]], before))
  end)

  it("are overridden by a missing or wrong source, with Lua's messages", function()
    local before = copy("stats", function() return "return {" end)
    assert.matches("^error loading module 'pmlua%.stats' from file '[^\n]*/lua/pmlua/stats%.lua':\n\t[^\n]*stats%.lua:1: ",
      run([[print(select(2, pcall(require, "pmlua.stats")))]], before))
    os.remove(dir .. "/lua/pmlua/stats.lua")
    assert.matches("^module 'pmlua%.stats' not found:\n", run([[print(select(2, pcall(require, "pmlua.stats")))]], before))
  end)

  it("are overridden by a folder that a script puts first", function()
    support.shell(("mkdir -p %s/first/pmlua"):format(dir))
    support.spit(dir .. "/first/pmlua/stats.lua", "return 42")
    assert.equal("42\n", run(([[package.path = "%s/first/?.lua;" .. package.path print((require "pmlua.stats"))]]):format(dir)))
  end)

  it("are not used with another release of Lua", function()
    if support.sanitized then return pending("a sanitizer must come before what is preloaded") end
    support.spit(dir .. "/other.c", 'const char lua_ident[] = "$LuaVersion: Lua 5.4.99  Copyright (C) $";\n')
    assert.equal(0, (support.shell(("cc -shared -fPIC %s/other.c -o %s/other.so"):format(dir, dir))))
    local code = [[print(#package.searchers, require "pmlua".stats ~= nil)]]
    local n = math.tointeger(tonumber(run(code):match "%d+"))
    assert.equal(("%d\ttrue\n"):format(n - 1), run(code, ("LD_PRELOAD=%s/other.so"):format(dir)))
  end)
end)

describe("pml", function()
  it("has the core's tables except where a Lua module has the same name", function()
    local out = run [[
      local pml, core, lfs = require "pmlua", require "pmlua.core", require "lfs"
      for name, value in pairs(core) do
        local beside = lfs.attributes(pml.paths.lua .. "/pmlua/" .. name .. ".lua", "mode") ~= nil
        assert(not (beside and rawget(pml, name)), name .. " is the core's, and not the module's")
        if beside then assert(type(pml[name]) == "table" and pml[name] ~= value, name) end
      end
      local places = {}
      for name, path in pairs(pml.paths) do places[#places + 1] = name assert(path:sub(1, 1) == "/") end
      table.sort(places)
      print(table.concat(places, " "))]]
    assert.equal("command lua plots plugins preload programs scripts workloads\n", out)
  end)
end)
