-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/model_counted_spec.lua - pml.model finds the known growth of kernels from the operations that the compiler counted.

local counting = require "spec.lua.counting"
local pml = require "pmlua"

local SOURCE <const> = [[
#include <stdlib.h>
static double total;
static void add(double *x, long n) { for (long i = 0; i < n; i++) total += x[i]; }
static void halves(double *x, long n) { if (n > 1) { add(x, n); halves(x, n / 2); halves(x + n / 2, n / 2); } }
int main(int argc, char **argv) {
  long n = atol(argv[2]), times = *argv[1] == 'p' ? n * n : *argv[1] == 's' ? n : 1;
  double *x = calloc(n, sizeof *x);
  if (*argv[1] == 'h') halves(x, n);
  else for (long i = 0; i < times; i++) add(x, n);
  free(x);
  return argc < 3 || total > 0;
}
]]

local function operations(program, kernel, n)
  local sum = 0
  for name, count in pairs((counting.run(program, kernel .. " " .. n))) do
    if name:find "^fp_add" then sum = sum + count end
  end
  return sum
end

describe("pml.model.fit of counts by the compiler", function()
  counting.it("has the exponents of kernels of known growth", function()
    local program = counting.build { ["kernels.c"] = SOURCE }
    for kernel, growth in pairs { line = "n", square = "n^2", product = "n^3", halves = "n log2(n)" } do
      local points = {}
      for i, n in ipairs { 8, 16, 32, 64, 128 } do points[i] = { n, operations(program, kernel, n) } end
      assert.equal(growth, assert(pml.model.fit(points)):growth())
    end
  end)
end)
