-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/verdicts_spec.lua - intervals cover the true value as often as they claim, and verdicts are wrong as rarely.
-- Slow: hundreds of simulated comparisons for each case; lua5.4 spec/verdicts.lua prints them all
--
-- The seeds are fixed. The bounds allow three standard errors of a share of this many trials beyond the promised value.

require "spec.core.support"
local verdicts = require "spec.verdicts"

local function error_of(share, trials) return 3 * math.sqrt(share * (1 - share) / trials) end

describe("intervals of 95 %", function()
  local TRIALS = 500
  for _, name in ipairs(verdicts.shapes) do
    it("hold the truth in 94 to 97 of 100 cases, data " .. name, function()
      for _, n in ipairs { 5, 6, 10, 20, 50 } do
        local found = verdicts.coverage(name, n, TRIALS)
        for what, share in pairs(found) do
          -- Student's t of five to seven pairs holds it more often where the data are not normal, five values less often; chance
          -- makes some rounds resemble each other, and the widened intervals hold it a little more often
          local least, most = n == 5 and 0.9375 or 0.94, what == "pairs" and n < 8 and name ~= "normal" and 0.985 or 0.97
          assert.is_true(share >= least - error_of(least, TRIALS) and share <= most + error_of(most, TRIALS),
            ("%s of %d rounds: %.1f %%"):format(what, n, 100 * share))
        end
      end
    end)
  end
end)

describe("rounds that resemble the previous ones", function()
  local TRIALS = 400

  it("have intervals that hold the truth in 90 of 100 cases, and verdicts that are wrong in 10 at most", function()
    for _, r in ipairs { 0.3, 0.7 } do
      for _, n in ipairs { 20, 50, 100 } do
        local found = verdicts.dependent(r, n, TRIALS)
        for _, what in ipairs { "median", "pairs", "sets" } do
          assert.is_true(found[what] >= 0.90 - error_of(0.90, TRIALS),
            ("%s, %.1f, %d: %.1f %%"):format(what, r, n, 100 * found[what]))
        end
        assert.is_true(found.wrong <= 0.10 + error_of(0.10, TRIALS), ("%.1f, %d: %.1f %%"):format(r, n, 100 * found.wrong))
      end
    end
  end)

  it("of ten hold the truth in 80 of 100 cases, as the page about statistics says, and are wrong in 12 at most", function()
    local found = verdicts.dependent(0.7, 10, 400)
    for _, what in ipairs { "median", "pairs", "sets" } do
      assert.is_true(found[what] >= 0.80, ("%s: %.1f %%"):format(what, 100 * found[what]))
    end
    assert.is_true(found.wrong <= 0.12, ("%.1f %%"):format(100 * found.wrong))
  end)
end)

describe("verdicts on rounds that spread by 1 %", function()
  local TRIALS = 200

  it("call equals different in no more than 5 of 100 cases if a start has one of two modes 10 % apart", function()
    for starts = 2, 5 do
      local share = verdicts.told("starts", 10, 1, { data = "normal", modes = 1.1, starts = starts }, 3 * TRIALS)
      assert.is_true(share <= 0.05, ("%d starts: %.1f %%"):format(starts, 100 * share))
    end
  end)
  for _, trouble in ipairs(verdicts.trouble) do
    it("call equals different in no more than 5 of 100 cases: " .. trouble[1], function()
      for _, way in ipairs { "by", "single", "starts" } do
        for _, data in ipairs { "normal", "bimodal" } do
          local share = verdicts.told(way, 20, 1, verdicts.how(trouble[2], data), TRIALS)
          assert.is_true(share <= 0.05 + error_of(0.05, TRIALS), ("%s, %s: %.1f %%"):format(way, data, 100 * share))
        end
      end
    end)
  end

  it("call a difference of 0.9 % larger than 1 % in no more than 2.5 of 100 cases", function()
    for way, between_starts in pairs { by = 0.025, single = 0, starts = 0.025 } do
      for _, n in ipairs { 10, 50 } do
        local how = { data = "normal", threshold = 0.01, between_starts = between_starts }
        local share = verdicts.told(way, n, 1.009, how, TRIALS)
        assert.is_true(share <= 0.025 + error_of(0.025, TRIALS), ("%s, %d: %.1f %%"):format(way, n, 100 * share))
      end
    end
  end)

  it("find 2 % within a run in 95 of 100 cases with 20 rounds, under any load of the machine", function()
    for _, trouble in ipairs(verdicts.trouble) do
      local share = verdicts.told("by", 20, 1.02, verdicts.how(trouble[2], "normal"), TRIALS)
      assert.is_true(share >= 0.95, ("%s: %.1f %%"):format(trouble[1], 100 * share))
    end
  end)

  it("find 2 % between five starts of each side in 95 of 100 cases, if starts differ by a quarter of that", function()
    local share = verdicts.told("starts", 20, 1.02, { data = "normal", offset = 0.005 }, TRIALS)
    assert.is_true(share >= 0.95, ("%.1f %%"):format(100 * share))
  end)
end)
