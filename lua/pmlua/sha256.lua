-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/sha256.lua - SHA-256 (FIPS 180-4) of a string, so that a record can name the exact script it came from.
--
-- Try:  print(require("pmlua.sha256")("abc"))

-- The constants are the first 32 bits of the fractional parts of the cube and square roots of the first primes.
local round_constant, initial = {}, {}
do
  local function fraction(x) return math.floor((x - math.floor(x)) * 2.0 ^ 32) end
  local candidate, found = 2, 0
  while found < 64 do
    local prime = true
    for d = 2, math.floor(math.sqrt(candidate)) do
      if candidate % d == 0 then
        prime = false
        break
      end
    end
    if prime then
      found = found + 1
      if found <= 8 then initial[found] = fraction(math.sqrt(candidate)) end
      -- one Newton step: the power function alone may be an ulp off
      local root = candidate ^ (1 / 3)
      root = root - (root * root * root - candidate) / (3 * root * root)
      round_constant[found] = fraction(root)
    end
    candidate = candidate + 1
  end
end

local function rotate(x, n)
  return ((x >> n) | (x << (32 - n))) & 0xffffffff
end

local function schedule(text, at)
  local w = { (">I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4"):unpack(text, at) }
  for i = 17, 64 do
    local x, y = w[i - 15], w[i - 2]
    local s0 = rotate(x, 7) ~ rotate(x, 18) ~ (x >> 3)
    local s1 = rotate(y, 17) ~ rotate(y, 19) ~ (y >> 10)
    w[i] = (w[i - 16] + s0 + w[i - 7] + s1) & 0xffffffff
  end
  return w
end

local function block(state, w)
  local a, b, c, d, e, f, g, h = table.unpack(state)
  for i = 1, 64 do
    local s1 = rotate(e, 6) ~ rotate(e, 11) ~ rotate(e, 25)
    local choice = (e & f) ~ (~e & g)
    local t1 = h + s1 + choice + round_constant[i] + w[i]
    local s0 = rotate(a, 2) ~ rotate(a, 13) ~ rotate(a, 22)
    local majority = (a & b) ~ (a & c) ~ (b & c)
    h, g, f, e, d, c, b, a = g, f, e, (d + t1) & 0xffffffff, c, b, a, (t1 + s0 + majority) & 0xffffffff
  end
  for i, v in ipairs { a, b, c, d, e, f, g, h } do state[i] = (state[i] + v) & 0xffffffff end
end

--- The digest in hexadecimal.
---@param text string
---@return string
return function(text)
  local padded = text .. "\128" .. ("\0"):rep((55 - #text) % 64) .. (">I8"):pack(#text * 8)
  local state = table.move(initial, 1, 8, 1, {})
  for at = 1, #padded, 64 do block(state, schedule(padded, at)) end
  return ("%08x"):rep(8):format(table.unpack(state))
end
