-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_text_spec.lua - tests of the size of counting code: little is added to a program, and shared code once.

local counting = require "spec.lua.counting"
local support = require "spec.core.support"

local it = counting.it

local x86 = io.popen("uname -m"):read("l") == "x86_64" -- luacheck: ignore 113

--- Source text of functions with branches and calls, each with different constants.
local function branches(functions)
  local text = { "struct node { struct node *next; long key; int kind; }; long other(struct node *, long);\n" }
  for i = 1, functions do
    text[#text + 1] = ([[
      long f%d(struct node *p, long n) {
        if (!p || n > %d) return -1;
        switch (p->kind) {
        case 0: p->key += n; break;
        case %d: return other(p, n + %d);
        case 200: p->key = p->next ? p->next->key : n * %d;
        }
        if (p->key & %d) n -= other(p->next, n);
        return p->next && p->next->key == n ? other(p, 1) + p->key : n;
      }
]]):format(i, 100 + i, i, i, i, i)
  end
  return table.concat(text)
end

--- The bytes of code in an object that @compiler makes.
local function bytes(compiler, dir)
  local command = ("cd %s && %s -O2 -w -c branches.c -o out.o && size -A out.o"):format(support.quote(dir), compiler)
  local out = support.done(support.shell(command))
  local n = 0
  for section in out:gmatch "%.text[^%s]*%s+(%d+)" do n = n + section end
  return n
end

describe("the code of a program that counts", function()
  it("is at most 2.4 times as large", function()
    if not x86 then return pending "additions are one instruction on x86-64" end -- luacheck: ignore 113
    local dir = support.folder()
    support.spit(dir .. "/branches.c", branches(50))
    local plain = bytes("clang-14", dir)
    for _, at in ipairs { "source", "final" } do
      local ratio = bytes(counting.cc("--at=" .. at) .. " clang-14", dir) / plain
      assert.is_true(ratio < 2.4, ("%s: %.2f"):format(at, ratio))
    end
  end)

  it("has functions for code that is added in several places, and counts by them exactly", function()
    local calls = {}
    for i = 1, 40 do
      calls[i] = ("  if (n == %d) { other(%d); a[%d] = a[%d] * 2 + 1; b[%d]++; }\n"):format(i, i, i, 40 - i, i)
    end
    local program, dir = counting.build({ ["program.c"] = ([[
      #include <stdlib.h>
      double a[64]; int b[64], sum;
      __attribute__((noinline)) void other(int n) { if (n > 1000) exit(1); sum += n; }
      __attribute__((noinline)) void work(int n) {
      %s
      }
      int main(void) { for (int i = 0; i < 50; i++) work(i); return sum != 820; }
    ]]):format(table.concat(calls)) })
    local c, _, status = counting.run(program)
    assert.equal(0, status)
    assert.same({ 40, 40, 90 }, { c.fp_mul_double, c.fp_add_double, c.call_direct })
    assert.same({ 40, 40 }, { c.load_fp_8, c.store_fp_8 })
    if x86 then
      local _, names = support.shell("nm " .. support.quote(dir .. "/program"))
      assert.truthy(names:find("pml_count.add", 1, true), "a function that adds")
    end
  end)

  it("leaves arguments in all registers when a thread's first counted function requests its cells", function()
    local wide = support.shell "grep -qw avx /proc/cpuinfo" == 0
    local dir = support.folder()
    support.spit(dir .. "/args.h", [[
      typedef double four __attribute__((vector_size(32)));
      #ifdef __AVX__
      #define WIDE(x) , four v0, four v1
      #else
      #define WIDE(x)
      #endif
      double counted(long a, long b, long c, long d, long e, long f, double p, double q, double r, double s, double t,
                     double u WIDE(x));
    ]])
    support.spit(dir .. "/counted.c", [[
      #include "args.h"
      double counted(long a, long b, long c, long d, long e, long f, double p, double q, double r, double s, double t,
                     double u WIDE(x)) {
        double sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * p + 8 * q + 9 * r + 10 * s + 11 * t + 12 * u;
      #ifdef __AVX__
        for (int i = 0; i < 4; i++) sum += (i + 1) * (v0[i] + 10 * v1[i]);
      #endif
        return sum;
      }
    ]])
    support.spit(dir .. "/main.c", [[
      #include "args.h"
      #include <pthread.h>
      #include <stdio.h>
      static void *run(void *unused) {
        double sum = counted(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6
      #ifdef __AVX__
        , (four){1, 2, 3, 4}, (four){5, 6, 7, 8}
      #endif
        );
        if (sum != 91 + 217
      #ifdef __AVX__
        + 30 + 700
      #endif
        ) printf("%g\n", sum);
        return unused;
      }
      int main(void) {
        pthread_t t;
        run(0);
        if (pthread_create(&t, 0, run, 0) == 0) pthread_join(t, 0);
        return 0;
      }
    ]])
    local flags = "-O1 -w" .. (wide and " -mavx" or "")
    local command = "cd %s && clang-14 %s -c main.c && %s clang-14 %s counted.c main.o -lpthread -o program"
    support.done(support.shell(command:format(support.quote(dir), flags, counting.cc(), flags)))
    local c, out = counting.run(dir .. "/program")
    assert.equal("", out)
    assert.is_true(c.fp_mul_double >= 10)
  end)
end)
