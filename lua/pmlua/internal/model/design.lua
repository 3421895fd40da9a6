-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/model/design.lua - least squares of given columns: coefficients, errors with each point left out.
--
-- Try:  local d = require "pmlua.internal.model.design" { { 1, 1, 1 }, { 1, 2, 4 } }; print(d:coefficients { 3, 5, 9 })
--
-- The columns are made orthonormal by Gram-Schmidt, each twice (Å. Björck, Numerical Methods for Least Squares Problems,
-- 1996, chapter 2.4). The error of a point that the fit did not see is its residual over one minus its leverage.

local Design = {}
Design.__index = Design

local function dot(a, b)
  local sum = 0.0
  for i = 1, #a do sum = sum + a[i] * b[i] end
  return sum
end

local function orthogonal(q, r, column)
  local v, size = table.move(column, 1, #column, 1, {}), math.sqrt(dot(column, column))
  for _ = 1, 2 do
    for k, other in ipairs(q) do
      local c = dot(other, v)
      r[k] = (r[k] or 0) + c
      for i = 1, #v do v[i] = v[i] - c * other[i] end
    end
  end
  local left = math.sqrt(dot(v, v))
  if left <= 1e-9 * size or left == math.huge or left ~= left then return nil end
  for i = 1, #v do v[i] = v[i] / left end
  r[#q + 1] = left
  return v
end

--- The residuals of values.
function Design:residuals(y)
  local e = table.move(y, 1, #y, 1, {})
  for _, q in ipairs(self.q) do
    local c = dot(q, e)
    for i = 1, #e do e[i] = e[i] - c * q[i] end
  end
  return e
end

--- Sum of the squared errors of points that were left out, one at a time.
function Design:left_out(y)
  local sum = 0.0
  for i, e in ipairs(self:residuals(y)) do sum = sum + (e / (1 - self.leverage[i])) ^ 2 end
  return sum
end

--- One coefficient for each column.
function Design:coefficients(y)
  local c = {}
  for k = #self.q, 1, -1 do
    local sum = dot(self.q[k], y)
    for j = k + 1, #self.q do sum = sum - self.r[j][k] * c[j] end
    c[k] = sum / self.r[k][k]
  end
  return c
end

--- Variance of the fit at a row of the columns, in units of the points' variance.
function Design:variance(row)
  local sum, z = 0.0, {}
  for k = 1, #self.q do
    local v = row[k]
    for j = 1, k - 1 do v = v - self.r[k][j] * z[j] end
    z[k] = v / self.r[k][k]
    sum = sum + z[k] ^ 2
  end
  return sum
end

--- nil: columns depend on each other, or a point alone determines a coefficient.
return function(columns)
  local d = setmetatable({ q = {}, r = {}, leverage = {} }, Design)
  for k, column in ipairs(columns) do
    d.r[k] = {}
    d.q[k] = orthogonal(d.q, d.r[k], column)
    if not d.q[k] then return nil end
  end
  for i = 1, #columns[1] do
    local h = 0.0
    for _, q in ipairs(d.q) do h = h + q[i] ^ 2 end
    if h > 1 - 1e-6 then return nil end
    d.leverage[i] = h
  end
  return d
end
