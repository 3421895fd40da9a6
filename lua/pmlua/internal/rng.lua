-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/rng.lua - random numbers that a recorded seed gives again, on any machine.
--
-- Try:  local random = require "pmlua.internal.rng" (42);  print(random(6))
--
-- SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). math.random would do,
-- but its state is global: a script that calls it in `measure` would change the order of the cells.

--- A random generator with separate state.
---@return fun(n: integer): integer random in 1..n
return function(seed)
  local state = math.tointeger(seed) or error("rng: the seed must be an integer", 2)
  return function(n)
    state = state + 0x9e3779b97f4a7c15
    local z = state
    z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
    z = (z ~ (z >> 27)) * 0x94d049bb133111eb
    z = z ~ (z >> 31)
    return (z >> 1) % n + 1
  end
end
