-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/plugin_overhead/subjects.lua - the subjects: a program without plugins, and with each kind of plugin.
--
-- Try:  for _, s in ipairs(require("plugin_overhead.subjects").all) do print(s.name, s.title) end
--
-- Each is measured in a separate process (child.lua), because a loaded plugin stays loaded. A subject's `new` makes a
-- function of the number of calls or values that returns two times in ns: of everything, and before draining and
-- collecting. Both are processor time, which excludes other programs.

local M = {}

---@class plugin_overhead.Subject
---@field name string
---@field title string
---@field group "metrics"|"lua"|"substrate"|"values"
---@field count integer calls or values per step
---@field metrics integer? number of metrics
---@field new fun(lab: plugin_overhead.Lab): fun(count: integer): number, number

---@class plugin_overhead.Lab
---@field pml table
---@field workload table scripts/workloads/sections.c
---@field plugins string folder of pmlua's plugins
---@field folder string for traces

local function processor_ns() return os.clock() * 1e9 end

local letters = { "a", "b", "c", "d" }

-- Call the section LABEL; 1: with a consumer that does nothing.
local function calls(lab, label, consumer)
  return function(count)
    local run = assert(lab.workload:run { samples = {}, options = { calls = count, section = label, consumer = consumer } })
    local ns = run.results[1].value
    return ns, ns
  end
end

local function metrics(plugin, n)
  local events = {}
  for i = 1, n do events[i] = ("plugin::%s::%s"):format(plugin, letters[i]) end
  return events
end

local function section(lab, plugin, n)
  if n > 0 then assert(lab.pml.section.define { label = "function", events = metrics(plugin, n) }) end
  return calls(lab, "function", 0)
end

local function in_c(n)
  return function(lab)
    assert(lab.pml.plugin.load { name = "zero", path = lab.plugins, metrics = table.move(letters, 1, n, 1, {}) })
    return section(lab, "zero", n)
  end
end

local function in_lua(n)
  return function(lab)
    assert(lab.pml.plugin.define { name = "zero", events = letters, read = function() return 0 end })
    return section(lab, "zero", n)
  end
end

local function substrate_in_c(lab)
  assert(lab.pml.substrate.load("nothing", { path = lab.plugins }))
  return calls(lab, "function", 0)
end

-- Each event is a record in a buffer: the program runs until the buffer has its share of records, drains it, and repeats.
local function substrate_in_lua(lab)
  local most = 50000
  local substrate = assert(lab.pml.substrate { enter = function() end, leave = function() end, records = 4 * most })
  local call = calls(lab, "function", 0)
  return function(count)
    local all, hot = 0.0, 0.0
    for done = 0, count - 1, most do
      local ns = call(math.min(most, count - done))
      local start = processor_ns()
      substrate:drain()
      all, hot = all + ns + processor_ns() - start, hot + ns
    end
    local lost = substrate:stats().lost
    if lost and lost > 0 then error(("%d events did not fit into the buffer"):format(lost), 0) end
    return all, hot
  end
end

local function substrate_at_once(lab)
  assert(lab.pml.substrate { enter = function() end, leave = function() end, synchronous = true })
  return calls(lab, "function", 0)
end

-- The plugin ends and delivers its values, and TAKE consumes them, after the program's own time.
local function values(take)
  return function(lab)
    return function(count)
      local plugin = assert(lab.pml.plugin.load { name = "many", path = lab.plugins, metrics = { tostring(count) } })
      assert(plugin:start())
      os.execute(("rm -rf '%s'/*"):format(lab.folder))
      local start = lab.pml.clock.ns() + 20000000
      repeat until lab.pml.clock.ns() > start -- time in which the values are
      start = processor_ns()
      assert(plugin:stop())
      local got = take(lab, plugin)
      if got ~= count then error(("%d of %d values arrived"):format(got, count), 0) end
      return processor_ns() - start, 0
    end
  end
end

local function to_trace(lab, plugin)
  local trace <close> = assert(lab.pml.trace.create(lab.folder))
  local written = assert(trace:plugin(plugin))
  assert(trace:close())
  return written
end

local function to_lua(_, plugin) return #plugin:series()[1].value end

M.all = {
  { name = "none", title = "no plugin", group = "metrics", count = 500000,
    new = function(lab) return calls(lab, "function", 0) end },
}
local function add(subject) M.all[#M.all + 1] = subject end

for n = 0, #letters do
  add { name = "metrics_" .. n, title = n .. (n == 1 and " metric" or " metrics"), group = "metrics", count = 500000,
    metrics = n, new = in_c(n) }
end
for n = 1, #letters do
  add { name = "lua_" .. n, title = n .. (n == 1 and " metric" or " metrics") .. " in Lua", group = "lua", count = 20000,
    metrics = n, new = in_lua(n) }
end
add { name = "consumer", title = "consumer in C", group = "substrate", count = 500000,
  new = function(lab) return calls(lab, "function", 1) end }
add { name = "substrate", title = "substrate plugin", group = "substrate", count = 500000, new = substrate_in_c }
add { name = "lua_batched", title = "substrate in Lua, batches", group = "substrate", count = 200000, new = substrate_in_lua }
add { name = "lua_at_once", title = "substrate in Lua, each event", group = "substrate", count = 200000, new = substrate_at_once }
add { name = "to_trace", title = "into an OTF2 trace", group = "values", count = 1000000, new = values(to_trace) }
add { name = "to_lua", title = "into Lua tables", group = "values", count = 1000000, new = values(to_lua) }

M.named = {}
for _, subject in ipairs(M.all) do M.named[subject.name] = subject end

return M
