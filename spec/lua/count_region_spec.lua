-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_region_spec.lua - bytes of loads and stores by place: local variables, global variables,
-- unknown.

local counting = require "spec.lua.counting"

local it = counting.it

local head = [[
#include <stdlib.h>
static volatile double g[100];
volatile double common[100];
static _Thread_local volatile int own[10];
#define OUT __attribute__((noinline))
]]

--- Bytes that loads and stores of a program's main and functions move: of locals, of globals, of all.
local function bytes(functions, main, o)
  local n = counting.count(head .. functions .. "\nint main(int argc, char **argv) {\n(void)argv;\n" .. main .. "\n}\n", o)
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
