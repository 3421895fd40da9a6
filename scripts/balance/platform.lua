-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/balance/platform.lua - simulated ranks with unequal work that wait for each other, and their energy.
--
--   time    t(f) = w (b f_ref / f + 1 - b)    b: share of the work whose speed depends on the frequency; the rest is memory
--   power   P(f) = P_static + P_dynamic (f / f_ref)^3    while computing; a waiting rank draws a share of P_dynamic
--
-- The first is the time model of C. Hsu, W. Feng, A power-aware run-time system for high-performance computing, SC 2005;
-- the second is C V^2 f with a voltage proportional to the frequency, as in T. Mudge, Power: a first-class architectural
-- design constraint, IEEE Computer 34 (2001). An iteration lasts as long as the slowest rank computes, plus one
-- communication and the time of frequency changes. Noise multiplies each rank's work in each iteration.
--
-- Try:  local p = require("balance.platform").new { noise = 0.02, seed = 1 }
--       for _ = 1, 10 do print(p:iterate().seconds) end

local generator = require "pmlua.internal.rng"

local M = {}
M.__index = M

local defaults = {
  ranks = 8, work = 10e-3, -- seconds of the rank with the most work, at the reference
  least = 0.5, -- share of that for the rank with the least
  bound = 0.8, reference = 3e9, min = 1e9, step = 0.1e9, -- Hz; frequencies are multiples of step
  static = 4, dynamic = 8, wait = 0.6, -- W, W, and the share of the dynamic power that a waiting rank draws
  communication = 0.2e-3, change = 20e-6, -- s
  noise = 0, -- standard deviation of the work, as a share of it
  seed = 1,
}

--- @param options table fields of the defaults
function M.new(options)
  local self = setmetatable({ iteration = 0, order = {} }, M)
  for k, v in pairs(defaults) do self[k] = v end
  for k, v in pairs(options) do self[k] = v end
  self.random = generator(self.seed)
  self.hz = {}
  for i = 1, self.ranks do self.hz[i], self.order[i] = self.reference, i end
  return self
end

local top = 1 << 53

-- Box and Muller; frequencies do not affect the draws.
function M:gauss()
  local u, v = self.random(top) / top, self.random(top) / top
  return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)
end

--- From now on, the rank with the most work has the least, and so on.
function M:reverse()
  for i = 1, self.ranks // 2 do
    local j = self.ranks + 1 - i
    self.order[i], self.order[j] = self.order[j], self.order[i]
  end
end

function M:work_of(rank)
  local share = 1 - (1 - self.least) * (self.order[rank] - 1) / (self.ranks - 1)
  return self.work * share * math.max(0.1, 1 + self.noise * self:gauss())
end

function M:watts(hz, share) return self.static + share * self.dynamic * (hz / self.reference) ^ 3 end

--- Set a rank's next frequency, rounded to a supported one; true if it changed.
function M:set(rank, hz)
  local can = math.ceil(hz / self.step - 1e-9) * self.step
  can = math.min(self.reference, math.max(self.min, can))
  local changed = can ~= self.hz[rank]
  self.hz[rank], self.changed = can, self.changed or {}
  self.changed[rank] = changed
  return changed
end

--- Simulate one iteration: the seconds each rank computes, the seconds the iteration takes, and the energy of all in J.
function M:iterate()
  local compute, longest = {}, 0
  for i = 1, self.ranks do
    local w, f = self:work_of(i), self.hz[i]
    compute[i] = w * (self.bound * self.reference / f + 1 - self.bound)
    if self.changed and self.changed[i] then compute[i] = compute[i] + self.change end
    longest = math.max(longest, compute[i])
  end
  local seconds, joules = longest + self.communication, 0
  for i = 1, self.ranks do
    joules = joules + self:watts(self.hz[i], 1) * compute[i] + self:watts(self.hz[i], self.wait) * (seconds - compute[i])
  end
  self.iteration, self.changed = self.iteration + 1, nil
  return { compute = compute, seconds = seconds, joules = joules }
end

return M
