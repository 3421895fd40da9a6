-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_cells_spec.lua - each kind of operation has its cell, in each precision and width; bytes of loads and stores
-- have theirs by place: local variables, global variables, unknown.

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

local number, bodies = {}, {} -- per case, and per type for an empty body

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

--- A single program has all cases and runs the case that its argument names. A copy of it is kept, because specs remove the
--- programs that they build.
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

--- The operations of @text on a, b and c of a type, less the operations of an empty body: cells as text, and both counts.
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

  it("counts its lanes as flops and operations, its operands and result as bits; a fused one is two flops", function()
    local _, with, without = difference("d4", "a_ = a * b")
    assert.equal(4, with.flop_count_I - without.flop_count_I)
    assert.equal(3 * 256, with.fp_bits_count_I - without.fp_bits_count_I)
    assert.equal(3 * 256, with.op_bits_count_I - without.op_bits_count_I)
    _, with, without = difference("double", "a_ = fma(a, b, c)")
    assert.equal(2, with.flop_count_I - without.flop_count_I)
    assert.equal(4 * 64, with.fp_bits_count_I - without.fp_bits_count_I)
  end)

  it("that is contracted counts as two at source, and as the processor's instructions at the end", function()
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

  it("of the processor is the work of its instruction: sums of neighbours are as many as there are lanes", function()
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

  it("that is unknown is named, and the program still counts", function()
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

local regions = [[
#include <stdlib.h>
static volatile double g[100];
volatile double common[100];
static _Thread_local volatile int own[10];
#define OUT __attribute__((noinline))
]]

--- Bytes that loads and stores of a program's main and functions move: of locals, of globals, of all.
local function bytes(functions, main, o)
  local n = counting.count(regions .. functions .. "\nint main(int argc, char **argv) {\n(void)argv;\n" .. main .. "\n}\n", o)
  local copied = n.copy_bytes_stored + n.set_bytes
  return { n.local_bytes_loaded, n.local_bytes_stored, n.global_bytes_loaded, n.global_bytes_stored,
    n.load_count_I - n.copy_bytes_loaded, n.store_count_I - copied }
end

describe("bytes", function()
  for _, at in ipairs { "source", "final" } do
    local o = { at = at, flags = "-O1 -fno-builtin" }
    it("of global variables and of the thread's are known, at " .. at, function()
      local f = "OUT void f(int n) { for (int i = 0; i < n; i++) { g[i] = common[i]; if (i < 10) own[i] = i; } }"
      assert.same({ 0, 0, 800, 840, 800, 840 }, bytes(f, "f(argc * 100); return 0;", o))
    end)

    it("of local arrays are known where they are, and not where a pointer to them went, at " .. at, function()
      local f = [[
OUT void into(volatile int *a, int n) { for (int i = 0; i < n; i++) a[i] = i; }
OUT int from(int n) {
  volatile int a[20];
  into(a, n);
  int s = 0;
  for (int i = 0; i < n; i++) s += a[i];
  return s;
}]]
      assert.same({ 80, 0, 0, 0, 80, 80 }, bytes(f, "return from(20 * argc) != 190;", o))
    end)

    it("of the heap and of parameters are not, at " .. at, function()
      local f = [[
OUT double sum(const volatile double *p, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += p[i];
  return s;
}]]
      local main = [[
double *h = malloc(400);
if (h == NULL) return 1;
for (int i = 0; i < 50 * argc; i++) ((volatile double *)h)[i] = 1;
double s = sum(h, 50 * argc) + sum(g, 100 * argc);
free(h);
return s != 50;]]
      assert.same({ 0, 0, 0, 0, 1200, 400 }, bytes(f, main, o))
    end)

    it("through a pointer are known where all that it may point to is alike, at " .. at, function()
      local f = [[
OUT double walk(int n, int which, volatile double *p) {
  double s = 0;
  const volatile double *a = which ? g : common, *b = which ? p : common;
  for (int i = 0; i < n; i++, a++) s += *a;
  for (int i = 0; i < n; i++, b++) s += *b;
  return s;
}]]
      assert.same({ 0, 0, 160, 0, 320, 0 }, bytes(f, "return walk(20 * argc, argc > 1, g) != 0;", o))
    end)
  end

  it("of a read-modify-write are loaded and stored", function()
    local main = "__atomic_fetch_add(&own[argc], 1, __ATOMIC_RELAXED); return 0;"
    assert.same({ 0, 0, 4, 4, 4, 4 }, bytes("", main))
  end)

  it("of copies are in none of them", function()
    local f = [[
OUT void f(void *to, const void *from, size_t n) {
  __builtin_memcpy(to, from, n);
  __builtin_memset(to, 0, n);
}]]
    assert.same({ 0, 0, 0, 0, 0, 0 }, bytes(f, "f((void *)common, (const void *)g, 80 * (size_t)argc); return 0;"))
  end)
end)
