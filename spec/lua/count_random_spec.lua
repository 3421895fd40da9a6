-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_random_spec.lua - random programs count the operations they report, and behave as without counts.
--
-- Slow: builds 70 programs.

local counting = require "spec.lua.counting"
local support = require "spec.core.support"
local programs = require "spec.lua.count.programs"

local it = counting.it

local PROGRAMS = math.tointeger(tonumber(os.getenv("PMLUA_COUNT_PROGRAMS") or 4))

--- The output of the same program without counts.
local function plain(dir, flags)
  return support.done(support.shell(("cd %s && clang-14 -w %s program.c -o plain -lm && ./plain"):format(dir, flags)))
end

local function check(seed, at, flags)
  local what = ("seed %d, --at=%s %s"):format(seed, at, flags)
  local program, dir = counting.build({ ["program.c"] = programs.text(seed) }, { at = at, flags = "-w " .. flags })
  local c, out, status = counting.run(program)
  assert.equal(0, status, what)
  assert.equal(plain(dir, flags), out, what)
  local adds, subs, muls, divs = out:match("^(%d+) (%d+) (%d+) (%d+) ")
  if at == "source" then -- later, x - 0.75 is x + -0.75
    assert.equal(adds, tostring(c.fp_add_double), what)
    assert.equal(subs, tostring(c.fp_sub_double), what)
  end
  assert.equal(muls, tostring(c.fp_mul_double), what)
  assert.equal(divs, tostring(c.fp_div_double), what)
  assert.equal(adds + subs + muls + divs, c.flop_count_I, what)
  assert.equal(c.flop_count_I, c.store_fp_8, what)
  return c
end

describe("a program at random", function()
  for _, flags in ipairs { "-O0", "-O2", "-O3" } do
    it("counts what it does, before and after optimisation, with " .. flags, function()
      for seed = 1, PROGRAMS do
        check(seed, "source", flags)
        check(seed, "final", flags)
      end
    end)
  end

  it("counts the same at source whatever the optimiser does later", function()
    for seed = 100, 100 + PROGRAMS do
      local without, with = check(seed, "source", "-O0"), check(seed, "source", "-O2")
      for name, n in pairs(without) do assert.equal(n, with[name], ("seed %d: %s"):format(seed, name)) end
      for name, n in pairs(with) do assert.equal(n, without[name], ("seed %d: %s"):format(seed, name)) end
    end
  end)
end)
