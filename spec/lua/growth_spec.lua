-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/growth_spec.lua - what grows with a size grows no faster than the size, by counted instructions.
--
-- Slow: each row runs three times under callgrind.

local helper = require "spec.lua.helper"

-- A library's function and the program's call each other, as deep as asked.
local library = "void down(int n, void (*back)(int)) { if (n > 0) back(n); }\n"
local deep = [[
#include <stdlib.h>
void down(int n, void (*back)(int));
static void back(int n) { down(n - 1, back); }
int main(int n, char **arg) { down(atoi(arg[n - 1]), back); return 0; }
]]

local experiment = [[
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
]]

local recorders = [[
local n = math.tointeger(tonumber(arg[1]))
local library, open = assert(pml.sde.library "GROWTH"), {}
for i = 1, n do open[i] = assert(library:recorder("r" .. i)) end
]]

-- All are open before the first is stopped.
local crossed = [[
local section, n = require "pmlua".section, math.tointeger(tonumber(arg[1]))
for i = 1, n do assert(section.start("s" .. i)) end
for i = 1, n do assert(section.stop("s" .. i)) end
]]

describe("growth", function()
  local dir, lacks

  setup(function()
    lacks = helper.shell "command -v valgrind" ~= 0 and "valgrind is not installed" or nil
    dir = helper.folder()
    for name, text in pairs { ["library.c"] = library, ["deep.c"] = deep, ["experiment.lua"] = experiment,
      ["crossed.lua"] = crossed, ["recorders.lua"] = "local pml = require 'pmlua'\n" .. recorders } do
      helper.write(dir .. "/" .. name, text)
    end
    local code, _, err = helper.shell(("cd %s && gcc -O0 -shared -fPIC library.c -o libgrowth.so && "
      .. "gcc -O0 deep.c -o deep -L. -lgrowth -Wl,-rpath,'$ORIGIN'"):format(dir))
    assert(code == 0, err)
  end)
  teardown(helper.clean)

  --- Instructions of pmlua itself; of a program that it starts, none.
  local function instructions(command, n)
    local code, _, err = helper.shell(("cd %s && rm -rf out && ulimit -s unlimited && timeout 300 valgrind --tool=callgrind "
      .. "--callgrind-out-file=/dev/null %s/pmlua %s"):format(dir, helper.build, command:gsub("%%N", ("%d"):format(n))))
    assert(code == 0, err)
    return tonumber(err:match "Collected : (%d+)")
  end

  for _, row in ipairs {
    { "call depth in the tables of pmlua record", "record --lib 'libgrowth*' -o out -- ./deep %N", 3000 },
    { "rounds of an experiment", "experiment.lua --rounds %N --iterations %N0 --no-plot --quiet -o out", 100 },
    { "cells of an experiment", "experiment.lua --cells %N --rounds 1 --iterations 1 --no-plot --quiet -o out", 100 },
    { "sections that end in the order of their starts", "crossed.lua %N", 1000 },
    { "recorders that are open", "recorders.lua %N", 1000 },
  } do
    it(("of %s is linear"):format(row[1]), function()
      if lacks then return pending(lacks) end
      local least, n = instructions(row[2], 1), row[3]
      local few, many = instructions(row[2], n) - least, instructions(row[2], 10 * n) - least
      local exponent = math.log(many / few, 10)
      assert(exponent <= 1.1, ("%d: %d instructions, %d: %d; the exponent is %.2f"):format(n, few, 10 * n, many, exponent))
    end)
  end
end)
