-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/until_certain_spec.lua - the experiment, run for real by its command.

local tables = require "spec.scripts.tables"

describe("scripts/until_certain.lua --quick", function()
  local text, dir, rows
  setup(function() text, dir, rows = tables.measure "until_certain" end)

  it("is wrong between equals in at most 5 % of the runs, and finds every effect", function()
    for _, r in ipairs(rows) do
      assert.is_true(r.wrong <= 0.05, text)
      if r.effect > 1 then assert.is_true(r.found > 0.9, text) end
    end
  end)

  it("takes half as many rounds as the fixed plan at an effect of 3 %", function()
    local rounds = {}
    for _, r in ipairs(rows) do rounds[("%s %d"):format(r.plan, r.effect)] = r.mean_rounds end
    -- (1.960 + 3.090)^2 (4 / 2.956)^2 pi / 3
    assert.equal(49, rounds["fixed 3"])
    assert.is_true(rounds["until a verdict 3"] <= 0.52 * 49, text)
    assert.is_true(tables.drawn(dir), text)
  end)
end)
