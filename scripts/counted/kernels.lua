-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/counted/kernels.lua - the operations of each kernel of scripts/programs/counted_kernels.c, counted by hand.
--
-- Try:  print(require("counted.kernels").by_hand("product", 10).flops)
--
-- Counted as in the source: a value named twice is loaded twice, and every value is a double.

local M = {}

local DOUBLE = 8 -- bytes

--- Flops, loads and stores per element; for a matrix, functions of its order.
local list = {
  { "add", 1, 2, 1 }, { "mult", 1, 2, 1 }, { "fma", 2, 2, 1 }, { "divide", 1, 2, 1 }, { "sqrt", 1, 1, 1 },
  { "mix", 5, 2, 1 }, { "copy", 0, 1, 1 }, { "scale", 1, 1, 1 }, { "triad", 2, 2, 1 }, { "clear", 0, 0, 1 },
  { "sum", 1, 2, 1 },
}

-- Divisions, and turns of the innermost loop, of a factorisation.
local function lu(n) return n * (n - 1) // 2, (n - 1) * n * (2 * n - 1) // 6 end

local matrices = {
  product = function(n) return 2 * n * n * n, 3 * n * n * n, n * n * n end,
  lu = function(n)
    local divisions, turns = lu(n)
    return divisions + 2 * turns, 2 * divisions + 3 * turns, divisions + turns
  end,
}

M.names, M.formulas = {}, {}
for i, k in ipairs(list) do
  M.names[i] = k[1]
  M.formulas[k[1]] = function(n) return k[2] * n, k[3] * n, k[4] * n end
end
for _, name in ipairs { "product", "lu" } do
  M.names[#M.names + 1], M.formulas[name] = name, matrices[name]
end

function M.is_matrix(name) return matrices[name] ~= nil end

--- The counts of a call.
---@param n integer elements, or the order of a matrix
---@return { flops: integer, loaded: integer, stored: integer, loads: integer, stores: integer }
function M.by_hand(name, n)
  local flops, loads, stores = M.formulas[name](n)
  return { flops = flops, loads = loads, stores = stores, loaded = DOUBLE * loads, stored = DOUBLE * stores }
end

return M
