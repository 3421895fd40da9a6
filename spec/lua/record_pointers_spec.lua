-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_pointers_spec.lua - tests of functions whose address the program takes, under pmlua record: their calls are
-- counted, and functions with possibly missing calls are named.

local support = require "spec.core.support"
local json = require "pmlua.json"

local command = support.build .. "/pmlua"
local dir = support.folder()
local shell = support.shell_of(dir)

--- 1000 calls of crc32 and adler32; the program also takes the address of crc32, in the way that a macro selects.
local taken = [[
#include <stdio.h>
#include <zlib.h>
typedef unsigned long sum(unsigned long, const unsigned char *, unsigned);
static sum *kept;
int main(int n, char **v) {
  unsigned long s = 0;
  const unsigned char *text = (const unsigned char *)"pmlua";
#ifdef STORED
  if (n > 1) kept = crc32;
#endif
#ifdef COMPARED
  sum *volatile is = crc32;
  if (is == NULL) return 1;
#endif
#ifdef TABLE
  static sum *const table[] = {crc32, adler32};
  sum *const *volatile t = table;
  if (t[n] == NULL) return 1;
#endif
#ifdef POINTERS
  sum *volatile by = crc32;
  for (int i = 0; i < 50; i++) s += by(0, text, 5);
#endif
  for (int i = 0; i < 1000; i++) {
    s += crc32(0, text, 5);
    s += adler32(0, text, 5);
  }
  if (kept != NULL) s += kept(0, text, 5);
  printf("%lu %d\n", s, v != NULL);
  return 0;
}
]]

--- Calls through a register across an exception.
local thrown = [[
#include <cstdio>
#include <zlib.h>
struct end { ~end() { crc32(0, (const unsigned char *)"a", 1); } };
__attribute__((noinline)) void may_throw(int i) { if (i % 2 == 0) throw i; }
int main() {
  int caught = 0;
  for (int i = 0; i < 1000; i++)
    try {
      end e;
      adler32(0, (const unsigned char *)"a", 1);
      may_throw(i);
    } catch (int) {
      caught++;
      adler32(1, (const unsigned char *)"b", 1);
    }
  std::printf("%d\n", caught);
}
]]

local function built(name, compiler, source, ending)
  support.compile(dir, { [name .. ending] = source }, ("%s %s%s -o %s -lz"):format(compiler, name, ending, name))
end

---@return table<string, integer> calls by name
---@return string said
---@return table all
local function recorded(name, options)
  local line = "rm -rf r; %s record --json --lib 'libz*' %s -o r -- ./%s"
  local out, err = support.done(shell(line:format(command, options or "", name)))
  local all, calls = json.decode(out:match "{\n.*"), {}
  for _, f in ipairs(all.functions) do calls[f.name] = f.calls end
  return calls, err, all
end

describe("pmlua record of functions whose address is taken", function()
  local x86 = support.shell("test $(uname -m) = x86_64") == 0

  for _, way in ipairs { "STORED", "COMPARED", "TABLE" } do
    for _, how in ipairs { "gcc -O0", "gcc -O2", "gcc -O2 -fcf-protection", "gcc -O2 -no-pie", "gcc -O2 -Wl,-z,now",
      "gcc -O2 -fno-plt", "clang -O2", "clang -O2 -fno-plt" } do
      it(("counts all calls: %s with %s"):format(way:lower(), how), function()
        if not x86 and how:find "no%-plt" then pending("calls without a PLT are told apart on x86-64") return end
        built("taken", how .. " -D" .. way, taken, ".c")
        local calls, said = recorded "taken"
        assert.equal(1000, calls.adler32)
        if how == "clang -O2 -fno-plt" and way == "COMPARED" then -- one register is stored and called
          assert.truthy(said:find("code or data contain the address of crc32", 1, true), said)
        else
          assert.equal(1000, calls.crc32)
        end
      end)
    end
  end

  it("names functions whose calls through pointers are not seen", function()
    built("taken", "gcc -O1 -DPOINTERS", taken, ".c")
    local calls, said, all = recorded("taken", "--sym crc32")
    assert.same({ crc32 = 1000 }, calls)
    assert.truthy(said:find("calls through pointers are not recorded; code or data contain the address of crc32", 1, true), said)
    assert.same({ { name = "crc32", library = "libz.so.1", missing = "pointers" } }, all.processes[1].left_functions)
  end)

  it("counts or names functions that are called through a table in data", function()
    support.spit(dir .. "/table.c", [[
#include <zlib.h>
unsigned long (*table[])(unsigned long, const unsigned char *, unsigned) = {crc32, adler32};
int main(void) { return table[0](0, (const unsigned char *)"a", 1) == table[1](0, (const unsigned char *)"a", 1); }]])
    support.spit(dir .. "/plugin.c", [[
#include <dlfcn.h>
#include <stddef.h>
int main(void) {
  void *h = dlopen("./table.so", RTLD_NOW);
  int (*run)(void) = NULL;
  if (h != NULL) *(void **)&run = dlsym(h, "main");
  return run == NULL || run();
}]])
    for _, how in ipairs { "table.c -o table", "-no-pie table.c -o table",
      "-fPIC -shared table.c -o table.so -lz && cc plugin.c -o table" } do
      for _, compiler in ipairs { "gcc -O2 ", "gcc -O2 -fno-plt ", "clang -O1 " } do
        assert.equal(0, (shell(compiler .. how .. " -lz")))
        local calls, said, all = recorded "table"
        local named = {}
        for _, left in ipairs(all.processes[1].left_functions) do named[left.name] = left.missing end
        for _, name in ipairs { "crc32", "adler32" } do
          assert.is_true(calls[name] == 1 or named[name] == "pointers", compiler .. how .. ": " .. name)
          assert.equal(named[name] ~= nil, said:find("data contain the address of .*" .. name) ~= nil, said)
        end
      end
    end
  end)

  it("counts calls through the program's PLT of functions that the loader chooses", function()
    support.spit(dir .. "/chosen.c", [[
#include <math.h>
#include <stddef.h>
double (*volatile by)(double);
int main(int n, char **v) {
  volatile double x = n;
  double s = 0;
  by = n > 5 ? cos : exp; /* exp: two versions; sin: IFUNC on x86-64 */
  s += by(x);
  by = n > 5 ? tan : sin;
  s += by(x);
  for (int i = 0; i < 3; i++) s += sin(x) + exp(x) + cbrt(x);
  return s < 0 || v == NULL;
}]])
    for _, how in ipairs { "gcc -O1 -Wl,-z,lazy", "gcc -O1 -Wl,-z,now", "clang -O1 -Wl,-z,lazy" } do
      assert.equal(0, (shell(how .. " -fno-pie -no-pie chosen.c -o chosen -lm")))
      local out = support.done(shell("rm -rf r; " .. command .. " record --json --lib libm -o r -- ./chosen"))
      local calls = {}
      for _, f in ipairs(json.decode(out:match "{\n.*").functions) do calls[f.name] = f.calls end
      assert.same({ exp = 4, sin = 4, cbrt = 3 }, calls, how)
    end
  end)

  --- Each function counts its calls. The library's own code and data have the addresses of some; `called` is called by name only.
  it("counts or names functions whose address their own library stores", function()
    support.spit(dir .. "/own.c", [[
#include <stdio.h>
#include <stdlib.h>
static int n[5];
void own_end(void) { n[0]++; }
void own_table(void) { n[1]++; }
__attribute__((visibility("protected"))) void own_protected(void) { n[2]++; }
int own_order(const void *a, const void *b) { n[3]++; return *(const char *)a - *(const char *)b; }
void own_called(void) { n[4]++; }
static void report(void) {
  FILE *f = fopen("truth", "w");
  for (int i = 0; f != NULL && i < 5; i++) fprintf(f, "%d ", n[i]);
}
static void (*const table[])(void) = {own_table, own_protected};
void own_begin(int k) {
  char text[4] = "dcb";
  atexit(report);
  atexit(own_end);
  qsort(text, 3, 1, own_order);
  table[k % 2]();
  table[(k + 1) % 2]();
}]])
    support.spit(dir .. "/owner.c", [[
void own_begin(int), own_end(void), own_table(void), own_protected(void), own_called(void);
int main(int n, char **v) {
  own_begin(n);
  if (v == 0) return 1;
  for (int i = 0; i < 7; i++) own_end(), own_table(), own_protected(), own_called();
  return 0;
}]])
    local names = { "own_end", "own_table", "own_protected", "own_order", "own_called" }
    for _, how in ipairs { "-Wl,-Bsymbolic", "-Wl,-Bsymbolic-functions", "-Wl,-Bsymbolic,-z,now -fno-plt", "" } do
      local line = "gcc -O2 -fPIC -shared %s own.c -o libown.so && gcc -O1 owner.c -o owner -L. -lown -Wl,-rpath,$PWD"
      assert.equal(0, (shell(line:format(how))))
      for _, options in ipairs { "--lib 'libown*'", "--sym 'own_*'", "" } do
        local out = support.done(shell(("rm -rf r; %s record --json %s -o r -- ./owner"):format(command, options)))
        local all, calls, named = json.decode(out:match "{\n.*"), {}, {}
        for _, f in ipairs(all.functions) do calls[f.name] = f.calls end
        for _, left in ipairs(all.processes[1].left_functions) do named[left.name] = left.missing end
        local i = 0
        for truth in support.slurp(dir .. "/truth"):gmatch "%d+" do
          i = i + 1
          local have, name = calls[names[i]] or 0, names[i]
          local hidden = not x86 and (name == "own_end" or name == "own_order") or (options == "" and name == "own_order")
          assert.is_true(have == tonumber(truth) or (have < tonumber(truth) and named[name] == "pointers") or hidden,
            ("%s %s: %s: %d of %s"):format(how, options, name, have, truth))
        end
        assert.same({ 5, 7 }, { i, calls.own_called })
        assert.is_nil(named.own_called)
      end
    end
  end)

  it("names all functions, however many they are", function()
    local declared, names = {}, {}
    for i = 1, 300 do
      declared[i] = ("void function_with_a_long_name_%03d(void) {}"):format(i)
      names[i] = ("function_with_a_long_name_%03d"):format(i)
    end
    support.spit(dir .. "/long.c", table.concat(declared, "\n"))
    local source = "void %s(void);\nvoid (*volatile table[])(void) = {%s};\nint main(void) { table[0](); return 0; }"
    support.spit(dir .. "/longer.c", source:format(table.concat(names, "(void), "), table.concat(names, ", ")))
    assert.equal(0, (shell "gcc -fPIC -shared long.c -o liblong.so && gcc longer.c -o longer -L. -llong -Wl,-rpath,$PWD"))
    local out, err = support.done(shell(("rm -rf r; %s record --json --lib 'liblong*' -o r -- ./longer"):format(command)))
    local named = {}
    for _, left in ipairs(json.decode(out:match "{\n.*").processes[1].left_functions) do named[left.name] = true end
    for _, name in ipairs(names) do assert.is_true(named[name], name) end
    assert.truthy(err:find("and 296 more", 1, true), err)
  end)

  it("does not claim that a function was not called if it cannot be sure", function()
    support.compile(dir, { ["only.c"] = [[
#include <zlib.h>
int main(void) {
  unsigned long (*volatile by)(unsigned long, const unsigned char *, unsigned) = crc32;
  return by(0, (const unsigned char *)"a", 1) == 0;
}]] }, "gcc -O1 only.c -o only -lz")
    local calls, said = recorded("only", "--sym crc32")
    assert.same({}, calls)
    local why = "no call of the 1 selected library functions was recorded; calls through pointers are not seen"
    assert.truthy(said:find(why, 1, true), said)
  end)

  it("names libraries of another namespace, whose calls are not seen", function()
    support.compile(dir, { ["inside.c"] = [[
#include <zlib.h>
long inside(void) { return (long)crc32(0, (const unsigned char *)"a", 1); }]], ["space.c"] = support.C .. [[
int main(void) {
  long (*f)(void);
  void *h = dlmopen(LM_ID_NEWLM, "./inside.so", RTLD_NOW);
  if (h == NULL) return 1;
  *(void **)&f = dlsym(h, "inside");
  return f == NULL || f() == 0;
}]] }, "gcc -fPIC -shared inside.c -o inside.so -lz && gcc space.c -o space")
    local calls, said, all = recorded("space", "--sym crc32")
    assert.same({}, calls)
    assert.equal(1, all.processes[1].elsewhere)
    assert.truthy(said:find("libraries opened by dlmopen in another namespace: 1; calls there are not recorded", 1, true), said)
    assert.falsy(said:find("crc32", 1, true) or said:find("no call", 1, true), said)
  end)

  it("has one name for a library that is opened under several names", function()
    support.spit(dir .. "/named.c", "long named(void) { return 1; }")
    support.spit(dir .. "/opens.c", [[
#include <dlfcn.h>
#include <stddef.h>
int main(int n, char **v) {
  for (int i = 1; i < n; i++) {
    long (*f)(void);
    void *h = dlopen(v[i], RTLD_NOW);
    if (h == NULL) return 1;
    *(void **)&f = dlsym(h, "named");
    if (f() != 1) return 1;
    dlclose(h);
  }
  return 0;
}]])
    for _, how in ipairs { "", "-Wl,-soname,libnamed.so.1" } do
      local line = "cc -fPIC -shared named.c -o libnamed.so.1.0 %s && ln -sf libnamed.so.1.0 libnamed.so.1 && "
        .. "ln -sf libnamed.so.1 libother.so && mkdir -p sub && ln -sf ../libother.so sub/libnamed.so && cc opens.c -o opens"
      assert.equal(0, (shell(line:format(how))))
      line = "rm -rf r; %s record --json --dlsym --sym named -o r -- ./opens ./libother.so ./sub/../libnamed.so.1 "
        .. "sub/libnamed.so $PWD/libnamed.so.1.0"
      local out = support.done(shell(line:format(command)))
      local functions = json.decode(out:match "{\n.*").functions
      assert.same({ 1, how == "" and "libnamed.so.1.0" or "libnamed.so.1", 4 },
        { #functions, functions[1].library, functions[1].calls })
    end
  end)

  it("counts calls through a register across exceptions", function()
    if not x86 then pending("calls through registers are followed on x86-64") return end
    for _, how in ipairs { "g++ -O2 -fno-plt", "clang++ -O2 -fno-plt" } do
      built("thrown", how, thrown, ".cc")
      local calls = recorded "thrown"
      assert.same({ 1000, 1500 }, { calls.crc32, calls.adler32 })
    end
  end)
end)
