-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/multiplex/model.lua - a simulation of multiplexing: turns and phases by arithmetic, nothing is measured.
--
-- Try:  print(require("multiplex.model").error { events = 8, counters = 4, turn = 4000, phase = 1000, time = 2e5,
--         begin = 0, first = 0 })

local rng = require "pmlua.internal.rng"

local M = {}

local SEED, FINE = 19, 1 << 20 -- the same simulation each time

local Model = {}
Model.__index = Model

-- Time of much in [0, t), where much and little take turns of `phase`, much first.
local function much(t, phase)
  local whole, rest = t // (2 * phase), t % (2 * phase)
  return whole * phase + math.min(rest, phase)
end

---@class multiplex.Modelled
---@field events integer
---@field counters integer
---@field turn number us, after which the next events get the counters
---@field phase number us
---@field time number us
---@field begin number us from the beginning of a phase of much
---@field first integer which event's turn it is at the beginning, from 0

--- The error of event 0's scaled count, and the share of the time that it was counted. Counts are the time of much phases.
---@param m multiplex.Modelled
---@return number percent, number running percent
function M.error(m)
  local counted, running, at, first = 0, 0, 0, m.first
  local all = m.events <= m.counters
  while at < m.time do
    local to = math.min(m.time, at + m.turn)
    -- the kernel rotates its list by one event at each turn
    if all or (m.events - first) % m.events < m.counters then
      counted = counted + much(m.begin + to, m.phase) - much(m.begin + at, m.phase)
      running = running + to - at
    end
    at, first = to, (first + 1) % m.events
  end
  local truth = much(m.begin + m.time, m.phase) - much(m.begin, m.phase)
  local scaled = running > 0 and counted * m.time / running or 0
  return truth > 0 and 100 * (scaled / truth - 1) or 0, 100 * running / m.time
end

---@param options { counters: integer, turn_us: integer }
function M.new(options)
  return setmetatable({ random = rng(SEED), counters = options.counters, turn = options.turn_us,
    simulated = ("this is a simulation of %d counters that change after %d us; nothing was counted"):format(options.counters,
      options.turn_us) }, Model)
end

function Model:measure(p, n)
  local out, worst, share, random = {}, 0, 0, self.random
  for i = 1, n do
    local percent, running = M.error { events = p.events, counters = self.counters, turn = self.turn, phase = p.phase,
      time = self.seconds * 1e6, begin = random(FINE) / FINE * 2 * p.phase, first = random(p.events) - 1 }
    out[i], worst, share = percent, math.max(worst, math.abs(percent)), share + running
  end
  return out, { worst = worst, running = share / n }
end

return M
