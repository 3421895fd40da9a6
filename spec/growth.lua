-- SPDX-License-Identifier: BSD-3-Clause
-- spec/growth.lua - programs, commands and sizes for the spec and the bench of growth.

local M = {}

M.files = {
  -- A library's function and the program's call each other, as deep as asked.
  ["library.c"] = "void down(int n, void (*back)(int)) { if (n > 0) back(n); }\n",
  ["deep.c"] = [[
#include <stdlib.h>
void down(int n, void (*back)(int));
static void back(int n) { down(n - 1, back); }
int main(int n, char **arg) { down(atoi(arg[n - 1]), back); return 0; }
]],
  ["experiment.lua"] = [[
local pml = require "pmlua"
local function xs(options)
  local x = {}
  for i = 1, options.cells do x[i] = i end
  return { { "x", x } }
end
local seed = 1
local function sample()
  seed = seed * 1103515245 + 12345 & 0x7fffffff
  return seed
end
return pml.experiment {
  name = "growth", factors = xs, options = { { name = "cells", type = "integer", default = 1 } },
  measure = function() return sample() end,
}
]],
  -- Sections that are started and stopped, or all open before the first is stopped.
  ["labels.lua"] = [[
local section, n = require "pmlua".section, math.tointeger(tonumber(arg[1]))
for i = 1, n do assert(section.start("s" .. i)) assert(section.stop("s" .. i)) end
]],
  ["crossed.lua"] = [[
local section, n = require "pmlua".section, math.tointeger(tonumber(arg[1]))
for i = 1, n do assert(section.start("s" .. i)) end
for i = 1, n do assert(section.stop("s" .. i)) end
]],
  ["recorders.lua"] = [[
local pml, n = require "pmlua", math.tointeger(tonumber(arg[1]))
local library, open = assert(pml.sde.library "GROWTH"), {}
for i = 1, n do open[i] = assert(library:recorder("r" .. i)) end
]],
  -- As many event sets as events; each set has an event that no library has registered.
  ["unregistered.lua"] = [[
local pml, n = require "pmlua", math.tointeger(tonumber(arg[1]))
local library = assert(pml.sde.library "GROWTH")
for i = 1, n do assert(library:counter("c" .. i)) end
for i = 1, n do local set <close> = assert(pml.eventset { "sde:::LATER::e" .. i }) end
]],
  -- Questions of a client: one of the events, as often as there are events; all of them.
  ["ask.lua"] = [[
local pml, n = require "pmlua", math.tointeger(tonumber(arg[1]))
local library = assert(pml.sde.library "GROWTH")
for i = 1, n do assert(library:counter("c" .. i)) end
assert(pml.live.start { name = "growth" })
local app <close> = assert(pml.live.connect(pml.sys.pid()))
for i = 1, n do assert(app:read("GROWTH::c" .. i, 60)[1].value) end
assert(#app:read("c*", 60) == n)
]],
  ["regions.lua"] = [[
local region, n = require "pmlua".region, math.tointeger(tonumber(arg[1]))
for i = 1, n do assert(region.intern("r" .. i)) end
]],
  ["distinct.lua"] = [[
local tally, n = require "pmlua.internal.tally", math.tointeger(tonumber(arg[1]))
local values = {}
for i = 1, n do values[i] = (i * 0x9E3779B97F4A7C15 & 0xffffffffffff) + 0.0 end
local t = tally.of(values)
for i = 1, n do values[i] = values[i] + 0.5 end
assert(#tally.merge(t, tally.of(values)).value == 2 * n)
]],
  ["locations.lua"] = [[
local pml, n = require "pmlua", math.tointeger(tonumber(arg[1]))
os.execute "rm -rf locations && mkdir locations"
local trace, region = assert(pml.trace.create "locations"), assert(pml.region.intern "x")
for i = 1, n do
  local l = assert(trace:location("l" .. i))
  for _ = 1, 10 do l:enter(region) l:leave(region) end
end
trace:close()
]],
}

M.build = "gcc -O0 -shared -fPIC library.c -o libgrowth.so && gcc -O0 deep.c -o deep -L. -lgrowth -Wl,-rpath,'$ORIGIN'"

--- Each with the size from which the spec and the bench start, the largest size, and the most bytes that a unit may take.
---@type { [1]: string, command: string, prepare: string?, spec: integer, bench: integer, most: integer?, bytes: integer? }[]
M.rows = {
  { "call depth in the tables of pmlua record", command = "record --lib 'libgrowth*' -o out -- ./deep %N", spec = 1000,
    bench = 300, most = 30000, bytes = 2048 }, -- a thread's calls are followed 32,768 deep
  { "rounds of an experiment", command = "experiment.lua --rounds %N --iterations %N0 --no-plot --quiet -o out", spec = 100,
    bench = 100 },
  { "cells of an experiment", command = "experiment.lua --cells %N --rounds 1 --iterations 1 --no-plot --quiet -o out",
    spec = 100, bench = 1000, bytes = 8192 },
  { "sections that end in the order of their starts", command = "crossed.lua %N", spec = 1000, bench = 10000, bytes = 1024 },
  { "sections, one after the other", command = "labels.lua %N", spec = 500, bench = 10000, bytes = 1024 },
  { "labels in a report as JSON", prepare = "PMLUA_REPORT=logs %P labels.lua %N", command = "report --json logs", spec = 100,
    bench = 1000, bytes = 5120 },
  { "labels in a report", prepare = "PMLUA_REPORT=logs %P labels.lua %N", command = "report logs", spec = 100, bench = 1000,
    bytes = 5120 },
  { "recorders that are open", command = "recorders.lua %N", spec = 1000, bench = 10000, bytes = 5120 },
  { "events that no library has registered", command = "unregistered.lua %N", spec = 100, bench = 10000, bytes = 2048 },
  { "live questions for one event of many, and for all", command = "ask.lua %N", spec = 100, bench = 3000, bytes = 2048 },
  { "regions", command = "regions.lua %N", spec = 1000, bench = 10000, bytes = 210 },
  { "distinct samples of a tally", command = "distinct.lua %N", spec = 3000, bench = 100000, bytes = 128 },
  { "locations of an OTF2 archive", command = "locations.lua %N", spec = 20, bench = 30, bytes = 65536 },
}

--- A row's command and its preparation in a shell.
---@param row table
---@param n integer
---@param pmlua string path
---@return string command without pmlua
---@return string prepare
function M.at(row, n, pmlua)
  local function filled(text)
    return (text:gsub("%%N", ("%d"):format(n)):gsub("%%P", (pmlua:gsub("%%", "%%%%"))))
  end
  return filled(row.command), filled("rm -rf out logs" .. (row.prepare and " && " .. row.prepare or ""))
end

return M
