-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_kernels_spec.lua - counts of kernels, a matrix product, STREAM and LU equal counts by hand.

local counting = require "spec.lua.counting"
local support = require "spec.core.support"

local it = counting.it

-- Per element: flops, loads, stores, as in kernels.h; asm: flops in inline assembly of the scalar build.
local hand = {
  add = { 1, 2, 1 }, mult = { 1, 2, 1 }, fma = { 2, 2, 1 }, divide = { 1, 2, 1 }, sqrt = { 1, 1, 1, asm = 1 },
  mix = { 5, 2, 1, asm = 1 }, copy = { 0, 1, 1 }, load = { 0, 1, 0 },
}
local lanes = { scalar = { [0] = 1, 1 }, ["128"] = { [0] = 2, 4 }, ["256"] = { [0] = 4, 8 } }

local function kernels(at)
  local dir, root = support.folder(), support.root
  local k = root .. "/scripts/workloads/kernels"
  local flags = ("-O2 -std=c11 -D_GNU_SOURCE -I%s/core -I%s -I%s/spec/lua/count"):format(root, k, root)
  local counted = ("for f in scalar vectors; do %s clang-14 %s -c %s/$f.c || exit; done"):format(
    counting.cc("--quiet --at=" .. at), flags, k)
  local plain = ("clang-14 %s -c %s/spec/lua/count/kernels.c %s/core/source/compiler/pml_count_cells.c"):format(flags, root, root)
  local build = ("cd %s && %s && %s && %s clang-14 *.o -o kernels"):format(dir, counted, plain, counting.cc())
  local status, _, err = support.shell(build)
  assert.equal(0, status, err)
  local out
  status, out, err = support.shell(dir .. "/kernels")
  assert.equal(0, status, err)
  return out
end

--- Call check(width, precision, kernel, n, flops, loaded, stored, size) for each line; the number of lines.
local function each(out, check)
  local rows = 0
  for width, precision, kernel, n, flops, loaded, stored in out:gmatch("(%w+) (%d) (%w+) (%d+) (%d+) (%d+) (%d+)\n") do
    rows = rows + 1
    check(width, tonumber(precision), kernel, tonumber(n), tonumber(flops), tonumber(loaded), tonumber(stored),
      precision == "0" and 8 or 4)
  end
  return rows
end

describe("counts of the paper's kernels", function()
  -- every kernel but load loads the factor once at source, whether it uses it or not; unused results go later
  for at, factor in pairs { source = function(kernel) return kernel ~= "load" end,
    final = function(kernel) return kernel == "fma" end } do
    it("are what the source asks for, for 1 to 50 elements, in every width and precision, at " .. at, function()
      local rows = each(kernels(at), function(width, precision, kernel, n, flops, loaded, stored, size)
        local name = ("%s %d %s n = %d"):format(width, precision, kernel, n)
        if kernel == "peak" then return assert.equal(2 * n, flops, name) end
        local h, single = hand[kernel], n % lanes[width][precision]
        assert.equal(h[1] * n - (h.asm or 0) * (width == "scalar" and n or single), flops, name)
        assert.equal((h[2] * n + (factor(kernel) and 1 or 0)) * size, loaded, name)
        assert.equal(h[3] * n * size, stored, name)
      end)
      assert.truthy(rows >= 2 * (8 * 50 + 1), "kernels ran")
    end)
  end
end)

--- For each program of size n: the flags, the sizes, and its counts at source.
local programs = {
  { name = "a matrix product", flags = { "-O0", "-Os", "-O3 -march=native" }, sizes = { 1, 2, 7, 40 }, text = [[
double a[40][40], b[40][40], c[40][40];
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double s = 0;
      for (int k = 0; k < n; k++) s += a[i][k] * b[k][j];
      c[i][j] = s;
    }
  return c[0][0] != 0;
}
]], counts = function(n) -- two elements a turn, c[0][0] and argv[1]
      return { flop_count_I = 2 * n ^ 3, fp_add_double = n ^ 3, fp_mul_double = n ^ 3, fp_bits_count_I = 3 * 64 * 2 * n ^ 3,
        load_count_I = 8 * 2 * n ^ 3 + 8 + 8, store_count_I = 8 * n ^ 2, load_ins_count_I = 2 * n ^ 3 + 2 }
    end },
  { name = "STREAM", flags = { "-O0", "-O3 -march=native" }, sizes = { 1, 3, 1000 }, text = [[
int main(int argc, char **argv) {
  size_t n = argc > 1 ? (size_t)atoi(argv[1]) : 1;
  double *a = malloc(n * 8), *b = malloc(n * 8), *c = malloc(n * 8), q = argc + 1;
  for (size_t j = 0; j < n; j++) a[j] = 2, b[j] = 2, c[j] = 0;
  for (size_t j = 0; j < n; j++) c[j] = a[j];
  for (size_t j = 0; j < n; j++) b[j] = q * c[j];
  for (size_t j = 0; j < n; j++) c[j] = a[j] + b[j];
  for (size_t j = 0; j < n; j++) a[j] = b[j] + q * c[j];
  return a[n - 1] < 0;
}
]], counts = function(n) -- with a[n - 1] and argv[1]
      return { flop_count_I = 4 * n, load_count_I = 8 * 6 * n + 8 + 8, store_count_I = 8 * 7 * n, fp_convert_double = 1 }
    end },
  { name = "an LU factorisation", flags = { "-O2" }, sizes = { 1, 2, 10, 64 }, text = [[
#include <math.h>
static double a[64][64];
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) a[i][j] = i == j ? 2 * n : 1;
  for (int k = 0; k < n; k++) {
    int p = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(a[i][k]) > fabs(a[p][k])) p = i;
    for (int j = 0; j < n && p != k; j++) { double t = a[k][j]; a[k][j] = a[p][j]; a[p][j] = t; }
    for (int i = k + 1; i < n; i++) {
      a[i][k] /= a[k][k];
      for (int j = k + 1; j < n; j++) a[i][j] -= a[i][k] * a[k][j];
    }
  }
  return isnan(a[n - 1][n - 1]);
}
]], counts = function(n) return { flop_count_I = (4 * n ^ 3 - 3 * n ^ 2 - n) / 6, fp_div_double = n * (n - 1) // 2 } end },
}

describe("counts of", function()
  for _, p in ipairs(programs) do
    for _, flags in ipairs(p.flags) do
      it(("%s are those by hand at source, and as many flops in vectors at the end, with %s"):format(p.name, flags), function()
        local text = { ["program.c"] = "#include <stdlib.h>\n" .. p.text }
        local source, final = counting.build(text, { flags = flags }), counting.build(text, { flags = flags, at = "final" })
        for _, n in ipairs(p.sizes) do
          local c = counting.run(source, tostring(n))
          for name, expected in pairs(p.counts(n)) do assert.equal(expected, c[name], name) end
          assert.equal(p.counts(n).flop_count_I, counting.run(final, tostring(n)).flop_count_I)
        end
      end)
    end
  end

  it("STREAM are in vectors, fused where the processor can", function()
    if support.shell("grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo") ~= 0 then
      return pending "this cpu has no AVX2 with FMA" -- luacheck: ignore 113
    end
    local c = counting.count("#include <stdlib.h>\n" .. programs[2].text, { at = "final", flags = "-O3 -mavx2 -mfma" }, "1000")
    assert.truthy(c.fp_add_double_256 > 0 and c.fp_mul_double_256 > 0)
    assert.equal(250, c.fp_fma_double_256 + c.fp_fma_double // 4)
  end)
end)

local loops = [[
#include <stdio.h>
#include <stdlib.h>
static double a[4000];
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1, last = 0, many = 0;
  double s = 0, m = -1;
#pragma omp parallel for reduction(+ : s)
  for (int i = 0; i < n; i++) s += a[i];
#pragma omp parallel for reduction(max : m) reduction(+ : many) schedule(dynamic, 16)
  for (int i = 0; i < n; i++) {
    m = a[i] > m ? a[i] : m;
    many += a[i] > 0;
  }
#pragma omp parallel
  {
#pragma omp for lastprivate(last) collapse(2)
    for (int i = 0; i < n; i++)
      for (int k = 0; k < 2; k++) last = i + k;
  }
  return s + m + many + last < 0;
}
]]

local shared = [[
#include <stdlib.h>
static double a[4000];
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1;
  double s = 0;
#pragma omp parallel for
  for (int i = 0; i < n; i++)
#pragma omp critical
    s += a[i];
  return s < 0;
}
]]

describe("counts of OpenMP's loops at source", function()
  local function more_of(text, flags) -- bytes loaded and stored by 2000 turns more
    local program = counting.build({ ["loops.c"] = text }, { flags = flags })
    local few, many = counting.run(program, "1000"), counting.run(program, "3000")
    return many.load_count_I - few.load_count_I, many.store_count_I - few.store_count_I, few.load_count_I
  end

  for _, level in ipairs { "-O0", "-O2" } do
    it("equal the counts of the serial loops: bounds and private copies are no memory, with " .. level, function()
      local loaded, stored, few = more_of(loops, level .. " -fopenmp")
      local serial_loaded, serial_stored, serial_few = more_of(loops, level)
      local chunks = (3000 + 15) // 16 - (1000 + 15) // 16 -- at each, the thread's number is loaded
      -- A thread that merges its result beside another may have to try again: some bytes a thread, far from one a turn.
      assert.is_true(math.abs(loaded - serial_loaded - 4 * chunks) < 2000, loaded .. " bytes, serial " .. serial_loaded)
      assert.is_true(math.abs(stored - serial_stored) < 2000, stored .. " bytes, serial " .. serial_stored)
      assert.is_true(few - serial_few < 1000 * 8, "each thread has some of its own, not each turn")
    end)

    it("have shared variables of threads as memory, with " .. level, function()
      local loaded, stored = more_of(shared, level .. " -fopenmp")
      assert.same({ (2 * 8 + 4) * 2000, 8 * 2000 }, { loaded, stored }, "a[i], s and the thread's number; s")
    end)
  end
end)
