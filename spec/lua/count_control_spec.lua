-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_control_spec.lua - counts are exact for every kind of control flow, also in random programs, which behave as
-- without counts.
--
-- The programs also count by themselves: M multiplies and increments muls. The variable is volatile, so that the optimiser
-- keeps the number of multiplications.
--
-- Slow: compiles and runs more than a hundred programs at both stages.

local counting = require "spec.lua.counting"
local support = require "spec.core.support"
local countfile = require "pmlua.countfile"
local programs = require "spec.lua.count.programs"

local it = counting.it

local head = [[
#include <stdio.h>
#include <stdlib.h>
static volatile double x = 1;
static volatile long muls;
#define M (x = x * 1.0625, muls++)
]]
local tail = "\nint main(int argc, char **argv) { work(argc > 1 ? atoi(argv[1]) : 10); printf(\"%ld\\n\", muls); return 0; }\n"

--- Count a program with a function work(n) at both stages and each level; the count must equal the program's own.
local function exact(name, body)
  for _, how in ipairs { { "source", "-O0" }, { "source", "-O2" }, { "final", "-O0" }, { "final", "-O1" },
    { "final", "-O3 -g" }, { "source", "-O1 -g" } } do
    local program, _, said = counting.build({ [name] = head .. body .. tail }, { at = how[1], flags = how[2] .. " -w" })
    assert.equal("", said)
    for _, n in ipairs { 0, 1, 13 } do
      local c, out = counting.run(program, tostring(n))
      assert.equal(out, c.fp_mul_double .. "\n", ("%s %s, n = %d"):format(how[1], how[2], n))
    end
  end
end

--- Beside the loops, jumps, switches, recursion and longjmp of random programs.
local cases = {
  ["computed.c"] = [[
      static int work(int n) {
        static void *at[] = {&&a, &&b, &&c};
        int i = 0;
        next: if (i >= n) return 0;
        goto *at[i++ % 3];
        a: M; goto next;
        b: M; M;
        c: M; goto next;
      }]],
  ["last_call_without_a_stack.c"] = [[
      static int down(int n) { if (n == 0) return 0; M; return down(n - 1); }
      static int work(int n) { return down(n * 100); }]],
  ["throw.cpp"] = [[
      struct guard { ~guard() { M; } };
      static char from[64], to[64];
      static inline void some(int n) { __builtin_memcpy(to, from, (unsigned long)(n & 31)); M; }
      __attribute__((noinline)) static void deep(int n) { guard g; for (int i = 0; i < n; i++) M; if (n % 3 == 1) throw n; M; }
      static int work(int n) {
        int caught = 0;
        for (int i = 0; i < n; i++) {
          try { guard g; for (int j = 0; j < 4; j++) { M; some(i); deep(i + j); M; } }
          catch (int v) { M; caught += v; if (v == 10) { try { deep(1); } catch (...) { M; } } }
        }
        return caught;
      }]],
  ["locals.c"] = [[
      struct three { double v[3]; };
      static struct three twice(struct three t) { for (int i = 0; i < 3; i++) t.v[i] = i; M; return t; }
      static int work(int n) {
        char room[n + 1];
        struct three t = {{1, 2, 3}};
        for (int i = 0; i < n; i++) { room[i] = 1; M; }
        return room[0] == twice(t).v[1];
      }]],
}

describe("counts are exact", function()
  for name, body in pairs(cases) do
    it("in " .. name, function() exact(name, body) end)
  end
end)

describe("a program that counts", function()
  it("counts its libraries, linked, loaded, and unloaded", function()
    local dir = support.folder()
    support.spit(dir .. "/part.c", "double part(double v, int n) { for (int i = 0; i < n; i++) v = v * 1.5; return v; }\n")
    support.spit(dir .. "/main.c", [[
      #include <dlfcn.h>
      double part(double v, int n);
      int main(void) {
        double v = part(1, 10);
        void *so = dlopen("./libloaded.so", RTLD_NOW);
        double (*f)(double, int) = (double (*)(double, int))dlsym(so, "part");
        v = f(v, 100) + 1;
        return dlclose(so) != 0 || v < 0;
      }]])
    local cc = counting.cc()
    local shared, main = cc .. " clang-14 -O1 -fPIC -shared part.c -o ", cc .. " clang-14 -O1 main.c -o program "
    local status, _, err = support.shell(("cd %s && %s libpart.so && %s libloaded.so && %s -L. -lpart -ldl -Wl,-rpath,$PWD")
      :format(dir, shared, shared, main))
    assert.equal(0, status, err)
    local out
    status, out, err = support.shell(("cd %s && PMLUA_COUNT=- ./program"):format(dir))
    assert.equal(0, status, out .. err)
    assert.equal("110", err:match("(%d+)%s+fp_mul_double"))
    assert.equal("1", err:match("(%d+)%s+fp_add_double"))
  end)

  it("counts an endless loop that a signal's handler ends, except for the current iteration", function()
    for _, at in ipairs { "source", "final" } do
      local c, out = counting.count(head .. [[
        #include <signal.h>
        #include <unistd.h>
        static void end(int s) { (void)s; printf("%ld\n", muls); exit(0); }
        int main(void) { signal(SIGALRM, end); ualarm(20000, 0); for (;;) M; }]], { at = at, flags = "-O2 -w" })
      local own = math.tointeger(tonumber(out))
      assert.truthy(own > 0 and math.abs(c.fp_mul_double - own) <= 1, ("%s: %d, %d"):format(at, own, c.fp_mul_double))
    end
  end)

  -- The handler prints the number of outer iterations; each has 1000 multiplications and additions.
  local nest = head .. [[
      #include <signal.h>
      #include <unistd.h>
      static double a[1000];
      static volatile long done;
      static void end(int s) { (void)s; printf("%ld\n", done); fflush(stdout); if (done > 0) kill(getpid(), HOW); }
      int main(int argc, char **argv) {
        long n = argc > 1 ? atol(argv[1]) : 1L << 50;
        signal(SIGALRM, end);
        if (argc == 1) ualarm(20000, 20000);
        for (long r = 0; r < n; r++) {
          for (int i = 0; i < 1000; i++) a[i] = a[i] * 0.5 + 1;
          done++;
        }
        return 0;
      }]]

  --- Run it until it is killed: its counts, and the number of outer iterations.
  local function killed(at, flags, how)
    flags = flags .. " -w -ffp-contract=off -DHOW=" .. how
    local program, dir = counting.build({ ["nest.c"] = nest }, { at = at, flags = flags })
    local _, out = support.shell(("cd %s && PMLUA_COUNT=counts %s"):format(support.quote(dir), support.quote(program)))
    return assert(countfile.read_all(dir .. "/counts")), math.tointeger(out:match("(%d+)\n$")), program
  end

  it("keeps the counts of nested loops when the process is killed, except for a bounded rest, and reports that", function()
    for _, how in ipairs { { "source", "-O0" }, { "source", "-O2" }, { "final", "-O2" } } do
      local c, turns = killed(how[1], how[2], "SIGKILL")
      local missing = 2000 * turns - c.events.flop_count_I
      -- the current iteration may or may not be counted; an unrolled one has up to 32 operations
      assert.truthy(missing >= -2000 and missing <= 32 * (65536 + 2000), ("%s %s: %d"):format(how[1], how[2], missing))
      assert.is_true(c.at_least)
      assert.matches("^at least: 1 thread of 1 process was inside a loop", c.notes[#c.notes])
    end
  end)

  it("keeps the counts of an endless loop that the optimiser could have kept in a register", function()
    local c = counting.build({ ["endless.c"] = [[
      double a[1000];
      int main(void) {
        double s = 0;
        for (;;)
          for (int i = 0; i < 1000; i++) s += a[i] * 2.0;
        return s > 0;
      }]] }, { flags = "-O1" })
    local _, _, err = support.shell(("timeout -s KILL 0.2 env PMLUA_COUNT=%s.counts %s"):format(c, c))
    assert.truthy(assert(countfile.read_all(c .. ".counts"), err).events.flop_count_I > 0)
  end)

  it("reports that a thread was inside a loop at the exit, and not otherwise", function()
    local program = counting.build({ ["exit.c"] = (nest:gsub("kill%(getpid%(%), HOW%)", "exit(0)")) }, { flags = "-O2 -w" })
    local _, _, handled = support.shell("PMLUA_COUNT=- " .. program)
    local _, _, plain = support.shell("PMLUA_COUNT=- " .. program .. " 100")
    assert.matches("\nat least: 1 thread was inside a loop that counts in registers; its newest iterations are missing\n",
      handled)
    assert.falsy(plain:find("at least", 1, true))
  end)

  it("says \"at least\" in pmlua stat's table and JSON, of a program that is killed, and not of one that ends", function()
    local _, _, program = killed("source", "-O2", "SIGTERM")
    local stat = support.quote(support.build .. "/pmlua") .. " stat %s -e sde:::BYFL::flop_count_I -- %s %s"
    local _, _, err = support.shell(stat:format("", support.quote(program), ""))
    assert.matches("\nsde:::BYFL::flop_count_I +%d+ +flop +compiler, at source +at least\n", err)
    assert.matches("\nat least: 1 thread of 1 process was inside a loop", err)
    local _, out = support.shell(stat:format("--json", support.quote(program), ""))
    local counts = require("pmlua.json").decode(out:match("{.*}")).counts
    assert.equal("sde:::BYFL::flop_count_I", counts[#counts].event)
    assert.is_true(counts[#counts].at_least)
    _, _, err = support.shell(stat:format("", support.quote(program), "100"))
    assert.matches("\nsde:::BYFL::flop_count_I +200000 +flop +compiler, at source\n", err)
    assert.falsy(err:find("at least", 1, true))
  end)

  it("names places where a handler may jump out of a loop that is counted in registers", function()
    local _, _, said = counting.build({ ["jump.c"] = [[
#include <setjmp.h>
#include <signal.h>
sigjmp_buf env;
static void handler(int s) { siglongjmp(env, s); }
int main(void) { return signal(SIGINT, handler) == SIG_ERR; }
]] }, { flags = "-g" })
    assert.equal("pmlua cc: jump.c:4: in handler: a loop that a signal handler leaves by siglongjmp, not counted\n", said)
  end)

  it("counts constructors, destructors and functions given to atexit", function()
    local c = counting.count(head .. [[
      __attribute__((constructor)) static void before(void) { M; M; }
      __attribute__((destructor)) static void after(void) { M; }
      static void last(void) { M; }
      int main(void) { return atexit(last); }]], { flags = "-O2 -w" })
    assert.equal(4, c.fp_mul_double)
  end)

  it("counts bytes that memcpy and memset move, of constant and variable length", function()
    for _, level in ipairs { "-O0", "-O2", "-O1 -fno-builtin" } do
      local c = counting.count([[
        #include <string.h>
        static char a[4096], b[4096];
        int main(int argc, char **argv) {
          (void)argv;
          memcpy(a, b, 100);
          for (int i = 0; i < 5; i++) memmove(a, b, (size_t)(argc * 10 + i));
          memset(b, argc, (size_t)(argc * 7));
          return a[3];
        }]], { flags = level })
      assert.equal(6, c.copy)
      assert.equal(100 + 50 + 10, c.copy_bytes_loaded)
      assert.equal(100 + 50 + 10, c.copy_bytes_stored)
      assert.equal(7, c.set_bytes)
      assert.equal(160 + 1, c.load_count_I)
      assert.equal(160 + 7, c.store_count_I)
    end
  end)

  it("estimates the lines of memory that it touches, each once, if requested", function()
    local text = [[
      #include <stdlib.h>
      #include <string.h>
      int main(int argc, char **argv) {
        size_t n = argc > 1 ? (size_t)atoi(argv[1]) : 1;
        volatile char *a = malloc(n), *b = malloc(n);
        for (int turn = 0; turn < 3; turn++)
          for (size_t i = 0; i < n; i++) a[i] = (char)(i + (size_t)turn);
        memcpy((char *)b, (char *)a, n);
        return b[n / 2] == 1;
      }]]
    for _, at in ipairs { "source", "final" } do
      local program = counting.build({ ["lines.c"] = text }, { count = "lines", at = at })
      for _, lines in ipairs { 10, 1000, 30000 } do
        local c = counting.run(program, tostring(32 * lines)) -- two vectors; five standard errors and what else there is
        assert.truthy(math.abs(c.lines - lines) <= 0.13 * lines + 6, ("%s: %d of %d"):format(at, c.lines, lines))
      end
    end
  end)

  it("names inline assembly with its line, and counts the rest", function()
    local _, dir, err = counting.build({ ["asm.c"] = [[
int main(void) {
  double v = 2, w = 3;
  __asm__ volatile("" : "+r"(v));
  __asm__("addsd %1, %0" : "+x"(v) : "x"(w));
  __asm__("mulsd %1, %0" : "+x"(v) : "x"(w));
  return v * w != 15;
}
]] }, { flags = "-g -O1" })
    assert.truthy(err:find("asm.c:4: in main: inline assembly, not counted, in 2 places\n", 1, true), err)
    local c = counting.run(dir .. "/program")
    assert.equal(1, c.fp_mul_double)
  end)
end)

local PROGRAMS = math.tointeger(tonumber(os.getenv("PMLUA_COUNT_PROGRAMS") or 4))

--- The output of the same program without counts.
local function plain(dir, flags)
  return support.done(support.shell(("cd %s && clang-14 -w %s program.c -o plain -lm && ./plain"):format(dir, flags)))
end

local function check(seed, at, flags)
  local what = ("seed %d, --at=%s %s"):format(seed, at, flags)
  local program, dir = counting.build({ ["program.c"] = programs.text(seed) }, { at = at, flags = "-w " .. flags })
  local c, out, status = counting.run(program)
  assert.equal(0, status, what)
  assert.equal(plain(dir, flags), out, what)
  local adds, subs, muls, divs = out:match("^(%d+) (%d+) (%d+) (%d+) ")
  if at == "source" then -- later, x - 0.75 is x + -0.75
    assert.equal(adds, tostring(c.fp_add_double), what)
    assert.equal(subs, tostring(c.fp_sub_double), what)
  end
  assert.equal(muls, tostring(c.fp_mul_double), what)
  assert.equal(divs, tostring(c.fp_div_double), what)
  assert.equal(adds + subs + muls + divs, c.flop_count_I, what)
  assert.equal(c.flop_count_I, c.store_fp_8, what)
  return c
end

describe("a program at random", function()
  it("counts what it does, before and after optimisation, and at source the same whatever the optimiser does later", function()
    for seed = 1, PROGRAMS do
      local without = check(seed, "source", "-O0")
      check(seed, "final", "-O0")
      for _, flags in ipairs { "-O2", "-O3" } do
        assert.same(without, check(seed, "source", flags), ("seed %d %s"):format(seed, flags))
        check(seed, "final", flags)
      end
    end
  end)
end)
