-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/growth_spec.lua - tests of linear growth: counted instructions and memory grow no faster than the size of the input.
--
-- Slow: each row runs three times under callgrind.

local growth = require "spec.growth"
local support = require "spec.core.support"

describe("growth", function()
  local dir, lacks

  setup(function()
    lacks = support.shell "command -v valgrind" ~= 0 and "valgrind is not installed" or nil
    dir = support.folder()
    for name, text in pairs(growth.files) do support.spit(dir .. "/" .. name, text) end
    support.done(support.shell(("cd %s && %s"):format(dir, growth.build)))
  end)

  local function run(row, n, with)
    local pmlua = support.build .. "/pmlua"
    local command, prepare = growth.at(row, n, pmlua)
    local _, err = support.done(support.shell(("cd %s && %s && ulimit -s unlimited && timeout 300 %s %s %s"):format(dir, prepare,
      with, pmlua, command)))
    return err
  end

  --- Instructions of pmlua itself, without the programs that it starts.
  local function instructions(row, n)
    return tonumber(run(row, n, "valgrind --tool=callgrind --callgrind-out-file=/dev/null"):match "Collected : (%d+)")
  end

  --- The most memory that the command had at once.
  local function bytes(row, n)
    run(row, n, ("%s/pmlua stat --json --out %s/stat.json --"):format(support.build, dir))
    local f <close> = assert(io.open(dir .. "/stat.json"))
    return tonumber(f:read "a":match '"maxrss_bytes": (%d+)')
  end

  for _, row in ipairs(growth.rows) do
    it(("of %s is linear"):format(row[1]), function()
      if lacks then return pending(lacks) end
      local least, n = instructions(row, 1), row.spec
      local few, many = instructions(row, n) - least, instructions(row, 10 * n) - least
      local exponent = math.log(many / few, 10)
      assert(exponent <= 1.1, ("%d: %d instructions, %d: %d; the exponent is %.2f"):format(n, few, 10 * n, many, exponent))
    end)

    if row.bytes then
      it(("of %s takes at most %d bytes each"):format(row[1], row.bytes), function()
        local n = row.bench
        local each = (bytes(row, 10 * n) - bytes(row, n)) / (9 * n)
        assert(each <= row.bytes, ("%.0f bytes"):format(each))
      end)
    end
  end
end)
