-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_cells_spec.lua - each kind of operation has its cell, in each precision and width.

local counting = require "spec.lua.counting"
local support = require "spec.core.support"

local it = counting.it

local head = [[
#include <math.h>
#include <stdint.h>
typedef double d2 __attribute__((vector_size(16)));
typedef double d4 __attribute__((vector_size(32)));
typedef double d8 __attribute__((vector_size(64)));
typedef double d16 __attribute__((vector_size(128)));
typedef double d3 __attribute__((ext_vector_type(3)));
typedef float f2 __attribute__((vector_size(8)));
typedef float f4 __attribute__((vector_size(16)));
typedef float f8 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));
typedef float f7 __attribute__((ext_vector_type(7)));
typedef int i4 __attribute__((vector_size(16)));
typedef long double ld;
typedef __float128 quad;
typedef _Complex double cd;
#define USE(T, text) { volatile T a_ = (T){0}, b_ = (T){0}, c_ = (T){0}; T a = a_, b = b_, c = c_; text; }
]]

local cases = {
  { "double", "a_ = a + b", "fp_add_double 1" }, { "double", "a_ = a - b", "fp_sub_double 1" },
  { "double", "a_ = a * b", "fp_mul_double 1" }, { "double", "a_ = a / b", "fp_div_double 1" },
  { "double", "a_ = fmod(a, b)", "call_direct 1" }, { "double", "a_ = fma(a, b, c)", "fp_fma_double 1" },
  { "double", "a_ = sqrt(a)", "fp_sqrt_double 1" }, { "float", "a_ = sqrtf(a)", "fp_sqrt_float 1" },
  { "double", "a_ = fmin(a, b)", "fp_min_double 1" }, { "float", "a_ = fmaxf(a, b)", "fp_max_float 1" },
  { "double", "a_ = -a", "fp_sign_double 1" }, { "double", "a_ = fabs(a)", "fp_sign_double 1" },
  { "double", "a_ = floor(a)", "fp_round_double 1" }, { "double", "a_ = (float)a", "fp_convert_double 2" },
  { "ld", "a_ = a * b", "fp_mul_extended 1" }, { "ld", "a_ = sqrtl(a)", "fp_sqrt_extended 1" },
  { "quad", "a_ = a + b", "fp_add_quad 1" }, { "float", "a_ = a / b", "fp_div_float 1" },
  { "f2", "a_ = a + b", "fp_add_float_64 1" }, { "f4", "a_ = a - b", "fp_sub_float_128 1" },
  { "f8", "a_ = a * b", "fp_mul_float_256 1" }, { "f16", "a_ = a / b", "fp_div_float_512 1" },
  { "d2", "a_ = a + b", "fp_add_double_128 1" }, { "d4", "a_ = a * b", "fp_mul_double_256 1" },
  { "d8", "a_ = -a", "fp_sign_double_512 1" }, { "d16", "a_ = a + b", "fp_add_double_512 2" },
  { "d3", "a_ = a * b", "fp_mul_double 1, fp_mul_double_128 1, vector_move 3" },
  { "f7", "a_ = a + b", "fp_add_float 1, fp_add_float_128 1, fp_add_float_64 1" },
  { "cd", "a_ = a + b", "fp_add_double 2" },
  { "int", "a_ = a + b", "int_add 1" }, { "int", "a_ = a * b", "int_mul 1" },
  { "int", "a_ = (a - b) ^ c", "int_add 1, int_logic 1" },
  { "unsigned", "a_ = a >> (b & 31)", "int_logic 1, int_shift 1" }, { "long", "a_ = (int)a", "int_convert 2" },
  { "i4", "a_ = a + b", "int_add_vector 4" }, { "i4", "a_ = a * b & c", "int_logic_vector 4, int_mul_vector 4" },
  { "unsigned", "a_ = __builtin_popcount(a)", "int_logic 1" },
  { "int", "__atomic_fetch_add(&a_, 1, __ATOMIC_SEQ_CST)", "atomic 1, load_int_4 1, store_int_4 1" },
  { "int", "__atomic_thread_fence(__ATOMIC_SEQ_CST)", "fence 1" },
}

local number, bodies = {}, {} -- of each case, and of a type's variables alone

local function add(type, text)
  local key = type .. " " .. text
  if number[key] then return end
  bodies[#bodies + 1] = ("static __attribute__((noinline)) void case%d(void) { USE(%s, %s) }\n"):format(#bodies, type, text)
  number[key] = #bodies - 1
end
for _, case in ipairs(cases) do
  add(case[1], "")
  add(case[1], case[2])
end

local program

--- One program has all cases and runs the one that its argument names. It is kept, because specs remove what they build.
local function count(type, text)
  if not program then
    local names = {}
    for i = 1, #bodies do names[i] = "case" .. i - 1 end
    local built = counting.build({ ["program.c"] = ("%s#include <stdlib.h>\n%svoid (*const cases[])(void) = { %s };\n" ..
      "int main(int n, char **word) { cases[atoi(word[n - 1])](); return 0; }\n"):format(head, table.concat(bodies),
      table.concat(names, ", ")) }, { flags = "-O1 -w -ffp-contract=off" })
    program = os.tmpname()
    assert.equal(0, (support.shell(("cp %s %s && chmod 700 %s"):format(built, program, program))))
  end
  return (counting.run(program, number[type .. " " .. text]))
end

--- The operations of @text on a, b and c of a type, less those of an empty body: cells as text, and both counts.
local function difference(type, text)
  local with, without, more = count(type, text), count(type, ""), {}
  for name, n in pairs(with) do
    local event = name:find("_I$") or name == "op_bits" or name:find("^local_bytes_")
    event = event or name:find("^store_") and not text:find("atomic", 1, true)
    if n ~= without[name] and not event then more[#more + 1] = name .. " " .. n - without[name] end
  end
  table.sort(more)
  return table.concat(more, ", "), with, without
end

describe("an operation", function()
  teardown(function() if program then os.remove(program) end end)

  for _, case in ipairs(cases) do
    it(("of type %s, %s, counts as %s"):format(table.unpack(case)), function()
      assert.equal(case[3], (difference(case[1], case[2])))
    end)
  end

  it("is worth its lanes in flops and operations, its operands and result in bits; a fused one is two flops", function()
    local _, with, without = difference("d4", "a_ = a * b")
    assert.equal(4, with.flop_count_I - without.flop_count_I)
    assert.equal(3 * 256, with.fp_bits_count_I - without.fp_bits_count_I)
    assert.equal(3 * 256, with.op_bits_count_I - without.op_bits_count_I)
    _, with, without = difference("double", "a_ = fma(a, b, c)")
    assert.equal(2, with.flop_count_I - without.flop_count_I)
    assert.equal(4 * 64, with.fp_bits_count_I - without.fp_bits_count_I)
  end)

  it("that is contracted counts as two at source, and as what the processor has at the end", function()
    local text = head .. "int main(void) { USE(double, a_ = a * b + c) return 0; }"
    if support.shell("grep -qw fma /proc/cpuinfo") == 0 then
      local source = counting.count(text, { flags = "-O1 -w -mfma" })
      assert.equal(1, source.fp_mul_double)
      assert.equal(1, source.fp_add_double)
    end
    local without = counting.count(text, { flags = "-O1 -w", at = "final" })
    assert.equal(1, without.fp_mul_double)
    assert.equal(2, without.flop_count_I)
  end)

  it("of the processor is what its instruction does: sums of neighbours are as many as there are lanes", function()
    if io.popen("uname -m"):read("l") ~= "x86_64" then return pending "SSE3 is x86's" end -- luacheck: ignore 113
    local c = counting.count([=[
#include <immintrin.h>
__attribute__((target("sse3"))) int main(void) {
  volatile __m128d v = _mm_hadd_pd(_mm_set1_pd(1), _mm_set1_pd(2));
  return v[0] == 0;
}
]=], { flags = "-O0 -w" })
    assert.equal(1, c.fp_add_double_128)
  end)

  it("that is not known is named, and the program still counts", function()
    local _, _, said = counting.build({ ["product.c"] = [[
typedef double matrix __attribute__((matrix_type(2, 2)));
int main(void) {
  volatile double one = 1;
  matrix m;
  m[0][0] = m[0][1] = m[1][0] = m[1][1] = one;
  m = m * m;
  return m[1][1] != 2;
}
]] }, { flags = "-O1 -w -fenable-matrix" })
    assert.truthy(said:find("an unknown operation: matrix.multiply.v4f64.v4f64.v4f64, not counted", 1, true), said)
  end)
end)
