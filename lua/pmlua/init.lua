-- SPDX-License-Identifier: BSD-3-Clause
--- pmlua - a laboratory for performance measurement.
--
-- require "pmlua" returns one table: the modules of the C core (clock, event, counter, group, eventset, region, samples,
-- workload, trace, sys, sde, section, profile, watchpoint, plugin, count) and, loaded at their first use, the Lua modules
-- beside this file (experiment, stats, plot, ...). internal/ contains their implementation and is not in the table.
-- Operations that the system refuses return nil, a failure and its code; misuse raises an error.
--
--     pmlua -e 'local s <close> = assert(pml.eventset { "task-clock", "clock::ns" }); print(s:read())'

-- An application may have opened only some of Lua's libraries; without these nothing here works.
for _, name in ipairs { "string", "table", "os" } do
  if not package.loaded[name] then
    error("pmlua needs Lua's library '" .. name .. "': open it, or all by luaL_openlibs(), before require \"pmlua\"", 0)
  end
end

local core = require "pmlua.core"

local _, file = ...

---@class pmlua.Failure: string its string is "place: code: text; remedy", which string operations use
---@field code string "EACCES"; failure:is "EACCES" compares it
---@field place? string "eventset.open"; nil: the text names the place
---@field text string what happened
---@field remedy? string what to do about it
---@field is fun(self: pmlua.Failure, code: string): boolean
---@field sentence fun(self: pmlua.Failure): string "text; remedy"

---@class pml
---@field version string
---@field paths { lua: string?, scripts: string?, plots: string?, workloads: string?, preload: string?, programs: string?,
---plugins: string?, command: string? }
local pml = { paths = {} }

local function parent(path, levels)
  for _ = 1, levels or 1 do path = path:match("^(.*)/[^/]*$") or "" end
  return path
end

--- The first of the folders that is there.
local function folder(...)
  for _, path in ipairs { ... } do
    local real = core.sys.realpath(path)
    if real then return real end
  end
end

-- Workloads and preloaded libraries are built code, so they are found relative to the running code: build/pmlua,
-- build/lua/pmlua/core.so, PREFIX/bin/pmlua or PREFIX/lib/lua/5.4/pmlua/core.so.
local origin = parent(core.origin)
local function built(name)
  return folder(origin .. "/" .. name, parent(origin) .. "/lib/pmlua/" .. name, parent(origin, 2) .. "/" .. name,
    parent(origin, 3) .. "/pmlua/" .. name)
end

--- The checkout and an installation (PREFIX/share/pmlua) keep scripts and plots beside lua.
local here = file or debug.getinfo(1, "S").source:sub(2)
if here:sub(1, 1) ~= "/" then here = core.sys.realpath(here) or here end
local function beside(name)
  local lua = pml.paths.lua
  return lua and folder(parent(lua) .. "/" .. name)
end

-- Each is looked for when it is first asked for: most programs need none.
local place = {
  lua = function()
    local real = core.sys.realpath(here)
    return real and parent(real, 2)
  end,
  scripts = beside, plots = beside, workloads = built, preload = built, programs = built, plugins = built,
  -- The command is the code that runs, or beside it.
  command = function()
    return core.origin:find "/pmlua$" and core.sys.realpath(core.origin)
      or folder(parent(origin, 2) .. "/pmlua", parent(origin, 4) .. "/bin/pmlua")
  end,
}
setmetatable(pml.paths, {
  __index = function(self, name)
    local path = place[name] and place[name](name)
    self[name] = path
    return path
  end,
  __pairs = function(self)
    for name in next, place do local _ = self[name] end
    return next, self, nil
  end,
})

--- Where the Lua module pmlua.NAME is, if there is one.
local function find(name)
  return name ~= "init" and name:find("^[%a_][%w_]*$") and package.searchpath("pmlua." .. name, package.path)
end

-- Lua modules that build on the core's table of their name and stand for it.
local built_on = { balance = true, command = true, flow = true, intercept = true, live = true, plugin = true,
  sampler = true, sde = true, substrate = true, trace = true, tune = true, watchpoint = true }

-- Modules of the core that only pmlua's modules use.
local inner = { data = true, file = true, link = true, log = true, metatables = true, metrics = true, origin = true,
  recording = true, samples_log = true, rows = true, statistics = true, summary = true, tool = true }

for name, value in pairs(core) do
  if not inner[name] and not built_on[name] then pml[name] = value end
end

-- Names of the Lua modules beside this file.
local function module_names()
  local names = {}
  for name in next, pml do names[#names + 1] = name end
  for entry in require "lfs".dir(pml.paths.lua .. "/pmlua") do names[#names + 1] = entry:match "^(%a[%w_]*)%.lua$" end
  return names
end

setmetatable(pml, {
  __index = function(self, name)
    if type(name) ~= "string" or not find(name) then
      local near = require "pmlua.internal.nearest"(tostring(name), module_names())
      local hint = near and ("did you mean %s?"):format(near) or "pmlua help api lists its fields"
      error(("pml has no '%s'; %s"):format(name, hint), 2)
    end
    local module = require "pmlua.internal.fields".strict(require("pmlua." .. name), "pml." .. name)
    rawset(self, name, module)
    return module
  end,
})

if (os.getenv "SCOREP_METRIC_PLUGINS" or "") ~= "" then require("pmlua.internal.own_plugins").environment() end
if (os.getenv "SCOREP_SUBSTRATE_PLUGINS" or "") ~= "" then pml.substrate.environment() end

return pml
