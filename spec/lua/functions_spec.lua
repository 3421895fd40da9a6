-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/functions_spec.lua - tests of recording the functions of a program: each way that compilers offer, against the
-- program's own counts.

local recording = require "spec.lua.recording"
local support = require "spec.core.support"

local at = recording.place()

--- Each function counts its calls in memory that children share; the process prints them at its end, by name. A library that it
--- opens, closes and opens again has one of them.
local program = [[
#include <alloca.h>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>
#define KEEP __attribute__((noinline))
static const char *names[32];
static long *counts;
static void count(const char *name) __attribute__((no_instrument_function, noinline));
static void count(const char *name) {
  int i = 0;
  while (names[i] != nullptr && strcmp(names[i], name) != 0) i++;
  names[i] = name;
  __atomic_fetch_add(&counts[i], 1, __ATOMIC_RELAXED);
}
static int sink;
namespace app {
template <class T> KEEP T twice(T x) { count("twice"); return x + x; }
struct solver {
  KEEP int step(int i) { count("step"); if (i % 7 == 0) throw std::runtime_error("seven"); return twice(i); }
  KEEP int run(int n) {
    count("run");
    int sum = 0;
    for (int i = 0; i < n; i++) try { sum += step(i); } catch (const std::exception &) { sum--; }
    return sum;
  }
};
}
extern "C" {
KEEP int deep(int n) { count("deep"); int below = n == 0 ? 0 : deep(n - 1); sink += below; return below + 1; }
KEEP void last(int n) { count("last"); sink += n; }
KEEP void tail(int n) { count("tail"); last(n); }
KEEP int sixth(int a, int b, int c, int d, int e, int f, int g, int h) { count("sixth"); return a + b + c + d + e + f + g * h; }
KEEP double many(int n, ...) { count("many"); return n * 0.5; }
KEEP void room(int n) { count("room"); char *p = (char *)alloca((size_t)n); memset(p, 1, (size_t)n); sink += p[n / 2]; last(n); }
KEEP void unused(void) { sink++; }
}
static jmp_buf back;
extern "C" KEEP void leaps(int n) { count("leaps"); if (n % 2) longjmp(back, 1); last(n); }
static ucontext_t host, guest;
extern "C" KEEP void yields(int n) { count("yields"); last(n); swapcontext(&guest, &host); last(n); }
extern "C" KEEP void fiber(void) { count("fiber"); for (int i = 0; i < 5; i++) yields(i); }
static void fibers(void) {
  static char stack[1 << 16];
  getcontext(&guest);
  guest.uc_stack.ss_sp = stack, guest.uc_stack.ss_size = sizeof stack, guest.uc_link = &host;
  makecontext(&guest, fiber, 0);
  for (int i = 0; i < 6; i++) { swapcontext(&host, &guest); last(i); }
}
int main(int argc, char **argv) {
  counts = (long *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (auto name : {"twice", "step", "run", "deep", "last", "tail", "sixth", "many", "room", "leaps", "yields", "fiber"})
    count(name);
  memset(counts, 0, 4096);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) threads.emplace_back([] { app::solver().run(700); });
  for (auto &t : threads) t.join();
  app::solver().run(70);
  deep(2000);
  for (int i = 1; i < 100; i++) { tail(i); room(16 * i); sink += sixth(1, 2, 3, 4, 5, 6, 7, i) + (int)many(2, 1.0, i); }
  for (volatile int i = 0; i < 10; i = i + 1) if (setjmp(back) == 0) leaps(i);
  fibers();
  if (fork() == 0) { tail(1); app::solver().run(7); exit(0); }
  wait(nullptr);
  for (int i = 1; i < argc; i++) { /* a library's: its function returns how often it was called */
    void *library = dlopen(argv[i], RTLD_NOW);
    auto f = (long (*)(int))dlsym(library, "plugged");
    for (int k = 0; k < 5 * i; k++) f(k);
    dlclose(library);
  }
  for (int i = 0; names[i] != nullptr; i++) printf("%s\t%ld\n", names[i], counts[i]);
  fflush(stdout);
  return sink == 12345;
}
]]
local plugin = "static long n;\nstatic __attribute__((noinline)) void inner(int i) { n += i; }\n"
  .. "long plugged(int i) { inner(i); return n; }\n"

--- Every way: a compiler and its options. The program's counts are the truth.
local O2 <const> = " -O2 -pthread -ldl"
local ways = {
  ["-finstrument-functions of gcc"] = "g++ -finstrument-functions -finstrument-functions-exclude-file-list=/usr/" .. O2,
  ["-finstrument-functions of gcc without optimisation"] = "g++ -O0 -pthread -ldl -finstrument-functions",
  ["-finstrument-functions of clang"] = "clang++ -finstrument-functions-after-inlining" .. O2,
  ["room at the entries by gcc"] = "g++ -fpatchable-function-entry=5 -fno-ipa-ra" .. O2,
  ["room before and behind the entries"] = "g++ -fcf-protection=full -fpatchable-function-entry=9,4 -fno-ipa-ra" .. O2,
  ["room at the entries by clang"] = "clang++ -fpatchable-function-entry=8" .. O2,
  ["room at a fixed address, in a stripped table"] = "g++ -no-pie -fno-pie -fpatchable-function-entry=6 -fno-ipa-ra" .. O2,
  ["calls of a profiler"] = "g++ -pg -mfentry -mrecord-mcount -no-pie -fno-pie" .. O2,
  ["XRay"] = "clang++ -fxray-instrument -fxray-instruction-threshold=1" .. O2,
}
local TWICE <const>, STEP <const>, RUN <const> = "int app::twice<int>(int)", "app::solver::step(int)", "app::solver::run(int)"
local symbols = { twice = TWICE, step = STEP, run = RUN }

--- Counts of the program, by function.
local function truth_of(out)
  local truth = {}
  for name, n in out:gmatch "(%l+)\t(%d+)" do truth[symbols[name] or name] = tonumber(n) end
  return truth
end

local function counts_of(by_name, truth)
  local found = {}
  for name in pairs(truth) do found[name] = by_name[name] and by_name[name].calls or 0 end
  return found
end

local number = 0
--- Build the program one way and record it: functions by name, the recording, the program's counts, standard error, its file.
local function record(way, arguments, words)
  number = number + 1
  local name = "p" .. number
  support.compile(at.dir, { [name .. ".cpp"] = program }, ("%s %s.cpp -o %s"):format(way, name, name))
  local _, all, status, said, out = at.recorded(("-o r%d %s -- ./%s %s"):format(number, arguments, name, words or ""))
  assert.equal(0, status, said)
  local by_name = {}
  for _, f in ipairs(all.functions) do by_name[f.name:gsub(" %[clone .*", "")] = f end -- gcc specialises functions
  return by_name, all, truth_of(out), said, name
end

describe("pmlua record of functions of the program", function()
  teardown(support.cleanup)

  for what, way in pairs(ways) do
    support.with(way:match "^%S+")("counts them as they count themselves: " .. what, function()
      local by_name, all, truth, _, name = record(way, "--func '*'")
      assert.same({ 2877, 2001, 10 }, { truth[STEP], truth.deep, truth.leaps })
      assert.same(truth, counts_of(by_name, truth))
      assert.same({ 5, name, 2 }, { by_name.leaps.unreturned, by_name.deep.library, #all.processes })
    end)
  end

  it("records those that are chosen, by symbol or by name, and no others", function()
    local by_name, _, truth = record(ways["room at the entries by gcc"],
      "--func 'app::solver::*:tail:int app::twice<int>(int)' --not '*step*'")
    assert.same({ truth[RUN], truth.tail, truth[TWICE] }, { by_name[RUN].calls, by_name.tail.calls, by_name[TWICE].calls })
    assert.same({}, { by_name[STEP], by_name.deep, by_name.main })
    by_name, _, truth = record("g++ -fno-ipa-ra -finstrument-functions" .. O2, "--sym '*step*'")
    assert.same({ truth[STEP] }, { by_name[STEP].calls, by_name.tail, by_name.deep, by_name.main })
  end)

  for what, option in pairs { ["have room"] = "-fpatchable-function-entry=5", ["report calls"] = "-finstrument-functions" } do
    it("records functions of libraries that are opened again and again, which " .. what, function()
      support.compile(at.dir, { ["plug.c"] = plugin }, "gcc -O1 -fPIC -shared " .. option .. " plug.c -o plug.so")
      local by_name = record(("g++ -fno-ipa-ra %s%s"):format(option, O2), "--func inner:plugged:main",
        "./plug.so ./plug.so ./plug.so")
      assert.same({ 30, 30, 0 }, { by_name.inner.calls, by_name.plugged.calls, by_name.main.unreturned })
    end)
  end

  it("records a call of a prepared function through a slot once", function()
    local caller = "extern long plugged(int); int main(void) { for (int i = 0; i < 9; i++) plugged(i); }\n"
    support.compile(at.dir, { ["slot.c"] = caller, ["plug.c"] = plugin },
      "gcc -O1 -fPIC -shared -fpatchable-function-entry=5 plug.c -o libplug.so && gcc slot.c -o slot -L. -lplug -Wl,-rpath,$PWD")
    local by_name = at.recorded "-o once --lib libplug --func plugged -- ./slot"
    assert.equal(9, by_name.plugged.calls)
  end)

  it("ends a section that is stopped inside calls, few or 100,000, with exact counts of them", function()
    local c = "#include \"adapter/section/pml_section.h\"\n#include <stdlib.h>\nstatic struct pml_section *outer;\n"
      .. "__attribute__((noinline)) int down(int n) {\n  int below = n == 0 ? pml_section_stop(outer) : down(n - 1);\n"
      .. "  __asm__ volatile(\"\");\n  return below + 1;\n}\nint main(int argc, char **argv) {\n  PML_SECTION(\"outer\", s);\n"
      .. "  outer = s;\n  pml_section_start(s);\n  return down(atoi(argv[argc - 1])) < 0;\n}\n"
    support.compile(at.dir, { ["inside.c"] = c }, ("gcc -O1 -fno-optimize-sibling-calls -fpatchable-function-entry=5 -fno-ipa-ra "
      .. "-I%s/core inside.c -o inside -L%s -lpmlua -Wl,-rpath,%s"):format(support.root, support.build, support.build))
    for _, how in ipairs { "", " --trace", " --flow" } do
      for unreturned, depth in pairs { [0] = 20, [1] = 100000 } do
        local by_name = at.recorded(("-o in%d%s --func down%s -- ./inside %d"):format(depth, how:gsub("%W", ""), how, depth))
        assert.same({ depth + 1, 0, 1, unreturned }, { by_name.down.calls, by_name.down.unreturned, by_name.outer.calls,
          by_name.outer.unreturned })
      end
    end
  end)

  describe("of a place", function()
    local one = "int x;\n__attribute__((noinline)) static void step(int i) { x += i; }\n"
      .. "__attribute__((noinline)) static void large(int i) {\n"
      .. "  for (int k = 0; k < i; k++) { x ^= k * 77; x += x >> 3; x *= 5; x -= k / (i + 1); }\n  step(i);\n}\n"
      .. "void two(int n);\nint main(void) { for (int i = 0; i < 5; i++) { large(i); two(i); } return 0; }\n"
    local two = "int y;\n__attribute__((noinline)) static void step(int i) { y += i; }\n"
      .. "void two(int n) { step(n); step(n + 1); }\n"

    --- Calls by LIBRARY.NAME.
    local function calls(arguments)
      number = number + 1
      local _, all, status, said = at.recorded(("-o at%d %s"):format(number, arguments))
      local found = {}
      for _, f in ipairs(all.functions) do found[f.library .. "." .. f.name] = f.calls end
      return found, said, status
    end

    for how, option in pairs { prepared = "-fpatchable-function-entry=5 -fno-ipa-ra", reporting = "-finstrument-functions" } do
      it("are recorded by source file, library and size: " .. how, function()
        support.compile(at.dir, { ["one.c"] = one, ["two.c"] = two }, ("gcc -g -O1 %s one.c two.c -o whole && "
          .. "gcc -g -O1 -fPIC -shared %s two.c -o libtwo.so && gcc -g -O1 %s one.c -o parts -L. -ltwo -Wl,-rpath,$PWD")
          :format(option, option, option))
        assert.same({ ["whole.two"] = 5, ["whole.step"] = 10 }, (calls "--func '*@two.c' -- ./whole"))
        assert.same({ ["whole.step"] = 5 }, (calls "--func 'step@*/one.c' -- ./whole"))
        assert.same({ ["libtwo.so.step"] = 10 }, (calls "--func 'step@libtwo' --not two -- ./parts"))
        assert.same({ ["parts.step"] = 5, ["libtwo.so.two"] = 5 }, (calls "--func '*tep@parts:two' -- ./parts"))
        local _, said = calls "--func 'main@other.c' -- ./whole"
        assert.truthy(said:find("--func 'main@other.c' matches no function", 1, true), said)
        local size = {}
        for bytes, name in support.done(at.shell "nm -S whole"):gmatch "%x+ 0*(%x+) [tT] (%l+)" do
          size[name] = math.max(size[name] or 0, tonumber(bytes, 16))
        end
        local least, expected = math.max(size.step, size.two) + 1, { ["whole.large"] = 5 }
        if size.main >= least then expected["whole.main"] = 1 end
        local found, small = calls(("--func '*' --min-size %d -- ./whole"):format(least))
        assert.same(expected, found)
        assert.truthy(small:find("functions have less code than --min-size", 1, true), small)
      end)
    end

    it("are printed as deep as --depth allows, and have the time of deeper ones", function()
      support.compile(at.dir, { ["one.c"] = one, ["two.c"] = two },
        "gcc -O1 -fpatchable-function-entry=5 -fno-ipa-ra one.c two.c -o deep")
      local found = calls "--func '*' --depth 2 -- ./deep"
      assert.same({ ["deep.main"] = 1, ["deep.large"] = 5, ["deep.two"] = 5 }, found)
      local _, all = at.recorded "-o depth --depth 1 --func '*' -- ./deep"
      local main = all.functions[1]
      -- each of the four paths is rounded
      assert.same({ 1, "main", true }, { #all.functions, main.name, math.abs(main.inclusive_ns - main.exclusive_ns) <= 5 })
    end)
  end)

  it("says which pattern matches nothing, and what a program needs", function()
    local _, _, _, said = record("g++ -O2 -pthread -ldl", "--func deep")
    local wanted = "--func 'deep' matches no function that is compiled for recording, as by pmlua cc --functions"
    assert.truthy(said:find(wanted, 1, true))
  end)

  it("are recorded in programs that pmlua cc compiles", function()
    local c = "void add_(volatile int *n) { ++*n; }\nint main(void) { volatile int i = 0; while (i < 7) add_(&i); }\n"
    support.spit(at.dir .. "/sum.c", c)
    support.spit(at.dir .. "/sum.f90", "subroutine add(n)\n integer :: n\n n = n + 1\nend\n"
      .. "program p\n integer :: i = 0\n do while (i < 7)\n  call add(i)\n end do\nend\n")
    for compiler, file in pairs { gcc = "sum.c", clang = "sum.c", gfortran = "sum.f90" } do
      if support.has(compiler) then
        at.shell(("%s cc --functions -- %s -O1 -fno-inline %s -o %s-sum"):format(recording.command, compiler, file, compiler))
        assert.equal(7, at.recorded(("-o %s-r --func add_ -- ./%s-sum"):format(compiler, compiler)).add_.calls)
      end
    end
  end)

  for _, linker in ipairs { "bfd", "gold" } do
    it("are recorded in templates and inline functions that two files have, linked with " .. linker, function()
      support.spit(at.dir .. "/twice.h", "template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }\n"
        .. "struct base { virtual ~base() {} virtual int run(int n) { return twice<int>(n); } };\n"
        .. "__attribute__((noinline)) inline base *made() { return new base; }\n")
      support.spit(at.dir .. "/first.cc", "#include \"twice.h\"\nint second(int n);\n"
        .. "int main() { int n = 0; for (int i = 0; i < 5; i++) n += made()->run(i) + second(i); return n < 0; }\n")
      support.spit(at.dir .. "/second.cc",
        "#include \"twice.h\"\nint second(int n) { return made()->run(n) + twice<int>(n); }\n")
      local said = support.done(support.shell_in(at.dir, ("%s cc --functions -- g++ -O1 -fuse-ld=%s first.cc second.cc "
        .. "-o by-%s 2>&1"):format(recording.command, linker, linker)))
      local by_name = at.recorded(("-o in-%s --func '*' -- ./by-%s"):format(linker, linker))
      assert.same({ 10, 10, 15 }, { by_name["made()"].calls, by_name["base::run(int)"].calls,
        by_name["int twice<int>(int)"].calls })
      assert.equal(linker == "gold", said:find("-fuse-ld=bfd", 1, true) ~= nil, said)
    end)
  end
end)
