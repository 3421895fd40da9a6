-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/verdicts_spec.lua - intervals cover the true value as often as they claim, and verdicts are wrong as rarely.
-- Slow: hundreds of simulated comparisons for each case; lua5.4 spec/verdicts.lua prints them all
--
-- The seeds are fixed. The bounds allow three standard errors of a share of this many trials beyond the promised value.

package.path = "spec/?.lua;" .. package.path
local helper = require "spec.lua.helper"
if not helper.has_core then
  describe("verdicts", function() pending(helper.no_core) end)
  return
end

local verdicts = require "spec.verdicts"

local function error_of(share, trials) return 3 * math.sqrt(share * (1 - share) / trials) end

describe("intervals of 95 %", function()
  local TRIALS = 500
  for _, name in ipairs(verdicts.shapes) do
    it("hold the truth in 94 to 96 of 100 cases, data " .. name, function()
      for _, n in ipairs { 5, 6, 10, 20, 50 } do
        local found = verdicts.coverage(name, n, TRIALS)
        for what, share in pairs(found) do
          -- Student's t of five to seven pairs holds it more often where the data are not normal, five values less often
          local least, most = n == 5 and 0.9375 or 0.94, what == "pairs" and n < 8 and name ~= "normal" and 0.985 or 0.96
          assert.is_true(share >= least - error_of(least, TRIALS) and share <= most + error_of(most, TRIALS),
            ("%s of %d rounds: %.1f %%"):format(what, n, 100 * share))
        end
      end
    end)
  end
end)

describe("verdicts on rounds that spread by 1 %", function()
  local TRIALS = 200
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

  it("call 0.9 % more than 1 % in no more than 2.5 of 100 cases", function()
    for way, between_starts in pairs { by = 0.025, single = 0, starts = 0.025 } do
      for _, n in ipairs { 10, 50 } do
        local how = { data = "normal", threshold = 0.01, between_starts = between_starts }
        local share = verdicts.told(way, n, 1.009, how, TRIALS)
        assert.is_true(share <= 0.025 + error_of(0.025, TRIALS), ("%s, %d: %.1f %%"):format(way, n, 100 * share))
      end
    end
  end)

  it("find 2 % within a run in 95 of 100 cases with 20 rounds, whatever moves the machine", function()
    for _, trouble in ipairs(verdicts.trouble) do
      local share = verdicts.told("by", 20, 1.02, verdicts.how(trouble[2], "normal"), TRIALS)
      assert.is_true(share >= 0.95, ("%s: %.1f %%"):format(trouble[1], 100 * share))
    end
  end)

  it("find 2 % between five starts of each side in 95 of 100 cases, where starts differ by a quarter of that", function()
    local share = verdicts.told("starts", 20, 1.02, { data = "normal", offset = 0.005 }, TRIALS)
    assert.is_true(share >= 0.95, ("%.1f %%"):format(100 * share))
  end)
end)
