-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/recorded.lua - for specs that compare what an analysis says with the events that a trace has.

local M = {}

--- The calls of each location by region, in the order of their begin: { enter, leave } in seconds.
---@return table<integer, table<string, { enter: number, leave: number }[]>> by number of location
---@return table<integer, integer> first the first location of each rank
function M.calls(t)
  local of, open, first = {}, {}, {}
  assert(t:each(function(e)
    local regions, stack = of[e.location] or {}, open[e.location] or {}
    of[e.location], open[e.location] = regions, stack
    if e.rank and (not first[e.rank] or e.location < first[e.rank]) then first[e.rank] = e.location end
    if e.kind == "enter" then
      local call = { enter = e.time_s }
      regions[e.region] = regions[e.region] or {}
      table.insert(regions[e.region], call)
      stack[#stack + 1] = call
    else
      table.remove(stack).leave = e.time_s
    end
  end, { where = { kinds = { "enter", "leave" } } }))
  return of, first
end

--- A new trace of planted calls, each { location, "+" or "-", region, time }: the path of its archive. @at converts a time to
--- ticks after the first one; with @metrics each event has its time as their value.
function M.planted(dir, calls, at, metrics)
  local pml = require "pmlua"
  require "lfs".mkdir(dir)
  local t, of, first = assert(pml.trace.create(dir, { metrics = metrics })), {}, pml.clock.ticks()
  for i, c in ipairs(calls) do
    if i % 60000 == 0 then t:flush() end
    local when, region = first + (at and at(c[4]) or c[4]), pml.region.intern(c[3])
    of[c[1]] = of[c[1]] or assert(t:location(c[1]))
    if metrics and c[2] == "-" then assert(of[c[1]]:metric({ c[4] }, when)) end
    assert(of[c[1]][c[2] == "+" and "enter" or "leave"](of[c[1]], region, when))
    if metrics and c[2] == "+" then assert(of[c[1]]:metric({ c[4] }, when)) end
  end
  assert(t:close())
  return dir .. "/traces.otf2"
end

--- Microseconds as ticks.
function M.us(us) return math.floor(us * require "pmlua".clock.info().ticks_per_second / 1e6 + 0.5) end

--- How long a call lies between two times.
function M.overlap(call, from_s, to_s) return math.max(0, math.min(call.leave, to_s) - math.max(call.enter, from_s)) end

--- Fails unless two times are the same, to the microsecond.
function M.same(seconds, known, what)
  local assert = require "luassert"
  assert.is_true(math.abs(seconds - known) < 1e-6, ("%s: %.9f s, not %.9f"):format(what, seconds, known))
end

return M
