-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_spec.lua - tests of pmlua record: exact calls, filters, helpful errors, the end of a long run, large programs,
-- sums by function.

local permission = require "spec.permission"
local recording = require "spec.lua.recording"
local support = require "spec.core.support"
local functions = require "pmlua.internal.record.functions"

local at, command = recording.place(), recording.command
local dir, shell, recorded = at.dir, at.shell, at.recorded

--- Calls what dlsym() finds seven times, also through a dlsym() that needs its own return address.
local finder = [[
#include <dlfcn.h>
#include <stddef.h>
#include <zlib.h>
int main(void) {
  void *(*volatile find)(void *, const char *) = dlsym;
  uLong (*sum)(uLong, const Bytef *, uInt) = NULL;
  *(void **)&sum = find(dlopen("libz.so.1", RTLD_LAZY), "adler32");
  for (int i = 0; i < 7; i++) sum(0, (const Bytef *)"pmlua", 5);
  return 0;
}
]]

--- Two sections: only one of them touches 50 new pages.
local toucher = support.C .. [[
#include <pml.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
  size_t page = sysconf(_SC_PAGESIZE);
  volatile char *m = mmap(NULL, 50 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise((void *)m, 50 * page, MADV_NOHUGEPAGE);
  const char *event = "clock::ns";
  struct pml_section_options o = {.events = &event, .nevents = argc > 1};
  struct pml_section *touch, *nothing;
  pml_section_define("touch", &o, &touch);
  pml_section_define("nothing", &o, &nothing);
  pml_section_start(nothing), pml_section_stop(nothing);
  pml_section_start(touch);
  for (int i = 0; i < 50; i++) m[i * page] = 1;
  pml_section_stop(touch);
  return 0;
}
]]

--- Opens and closes the library in argv[1] argv[2] times, and makes nine sums with it each time.
local reopener = [[
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  for (int n = atoi(argv[argc - 1]); n > 0; n--) {
    void (*sums)(void) = NULL, *library = dlopen(argv[1], RTLD_LAZY);
    if (library == NULL || (*(void **)&sums = dlsym(library, "sums")) == NULL) return 1;
    sums();
    if (dlclose(library) != 0) return 1;
  }
  return 0;
}
]]

--- Whether what it finds is what it was linked to, wherever it looks, and who has it.
local identity = support.C .. [[
#include <zlib.h>
int main(void) {
  void *library = dlopen("libz.so.1", RTLD_NOW), *own = (void *)crc32, *found = dlsym(library, "crc32");
  Dl_info info;
  int known = dladdr(found, &info) && info.dli_sname;
  printf("%d %d %d %s\n", found == own, dlsym(RTLD_DEFAULT, "crc32") == own, dlsym(RTLD_NEXT, "crc32") == own,
         known ? info.dli_sname : "-");
  return crc32(0, (const Bytef *)"pmlua", 5) == 0;
}
]]

describe("pmlua record", function()
  it("counts the calls of a program and of its children exactly", function()
    local by_name, calls, status = recorded("-o exact -- ./calls fork crc32:1000 wait exit:3")
    assert.equal(3, status)
    assert.equal(2, #calls.processes)
    local f = by_name.crc32
    assert.same({ 2000, 0, true }, { f.calls, f.unreturned, f.library:find("^libz%.so") ~= nil })
    assert.is_true(0 < f.min_ns and f.min_ns <= f.median_ns and f.median_ns <= f.max_ns and f.exclusive_ns <= f.inclusive_ns)
    local in_buckets = 0
    for _, n in pairs(f.bucket) do in_buckets = in_buckets + n end
    assert.equal(2000, in_buckets)
  end)

  it("sees the lookups of a program that has its own addresses for functions of the loader", function()
    support.compile(dir, { ["finder.c"] = finder }, "gcc -O1 -fno-pie -no-pie finder.c -o finder -lz")
    assert.equal(7, recorded("-o found --dlsym --sym adler32 -- ./finder").adler32.calls)
    local by_name, _, status, said = recorded("-o plain --sym adler32 -- ./finder")
    assert.same({ 0 }, { status, by_name.adler32 })
    assert.truthy(said:find("selected functions looked up by dlsym: 1; calls by these pointers", 1, true))
  end)

  it("reads a library once, for any number of openings", function()
    support.spit(dir .. "/reopener.c", reopener)
    support.spit(dir .. "/nine.c", [[#include <zlib.h>
      void sums(void) { for (int i = 0; i < 9; i++) adler32(0, (const Bytef *)"pmlua", 5); } ]])
    assert.equal(0, (shell("gcc -O1 reopener.c -o reopener -Wl,--no-as-needed -lz && " ..
      "gcc -O1 -fPIC -shared nine.c -o libnine.so -lz")))
    local read = {}
    for i, n in ipairs { 1, 50 } do
      local by_name, all = recorded(("-o reopened%d -- ./reopener ./libnine.so %d"):format(n, n))
      assert.equal(9 * n, by_name.adler32.calls)
      read[i] = all.processes[1].scans
    end
    assert.equal(read[1], read[2])
    assert.is_true(read[1] > 1)
  end)

  it("leaves every pointer that a program can compare or look up unchanged", function()
    support.compile(dir, { ["identity.c"] = identity }, "gcc -O1 -fPIE -pie identity.c -o identity -lz")
    local _, plain = shell("./identity")
    assert.equal("1 1 1 crc32\n", plain)
    for i, options in ipairs { "", "--trace" } do
      local status, out = shell(("%s record %s -o same%d -- ./identity 2>/dev/null"):format(command, options, i))
      assert.same({ 0, plain }, { status, out })
    end
  end)

  it("records the chosen libraries and functions alone", function()
    local by_name = recorded("-o chosen --lib libz --sym 'crc*' -- ./calls fork crc32:3 wait exit:3")
    assert.equal(6, by_name.crc32.calls)
    by_name = recorded("-o other --lib libnone -- ./calls fork crc32:3 wait exit:3")
    assert.same({}, by_name)
    by_name = recorded("-o but --not crc32 -- ./calls fork crc32:3 wait exit:3")
    assert.is_nil(by_name.crc32)
  end)

  support.with "otf2-print" ("writes a trace that can be read of processes that call nothing", function()
    shell(command .. " record -o silent --trace --sym crc32 -- ./calls fork crc32:0 wait exit:3")
    local _, out, complaints = shell("otf2-print -G silent/traces.otf2; otf2-print silent/traces.otf2")
    assert.equal(2, select(2, out:gsub('\nLOCATION +%d +Name: "thread %d+"[^\n]*# Events: 0', "")), out)
    assert.equal("", complaints)
  end)

  it("counts events at each enter and leave, of every thread and child", function()
    local by_name, calls = recorded("-o counted --trace --sym crc32 --event clock::ns --event perf::TASK-CLOCK "
      .. "-- ./calls fork crc32:100 wait exit:3")
    local f = by_name.crc32
    assert.equal(200, f.calls)
    local clock = permission.name "perf::TASK-CLOCK"
    assert.same({ "clock::ns", clock }, calls.processes[1].events)
    assert.is_true(f.events["clock::ns"] > 0 and f.events[clock] > 0)
    assert.is_true(f.events["clock::ns"] >= f.exclusive_ns) -- it is read outside of the clock
    if not support.has("otf2-print") then return end
    local _, out = shell("otf2-print counted/traces.otf2")
    assert.same({ 400, 200 }, { select(2, out:gsub("\nMETRIC", "")), (select(2, out:gsub("\nENTER", ""))) })
  end)

  it("records functions of the C library that are in the kernel's object", function()
    support.compile(dir, { ["now.c"] = support.C .. [[
      #include <sys/time.h>
      #include <time.h>
      int main(void) {
        struct timeval t;
        for (int i = 0; i < 5; i++) time(NULL);
        for (int i = 0; i < 7; i++) gettimeofday(&t, NULL);
        return 0;
      }]] }, "gcc -O0 now.c -o now")
    local by_name = recorded "-o now-calls --lib 'libc*' -- ./now"
    assert.same({ 5, 7 }, { by_name.time.calls, by_name.gettimeofday.calls })
  end)

  it("counts events in sections, also in those with events of their own", function()
    support.compile(dir, { ["touch.c"] = toucher }, ("gcc -O1 touch.c -I%s/core -L%s -lpmlua -Wl,-rpath,%s -o touch"):format(
      os.getenv "PWD", support.build, support.build))
    for _, own in ipairs { "", "own" } do
      local by_name, all = recorded(("-o touched%s --event page-faults:u -- ./touch %s"):format(own, own))
      local event = all.processes[1].events[1]
      assert.is_true(by_name.touch.events[event] >= 50, own)
      assert.is_true(by_name.nothing.events[event] < 50, own)
    end
  end)

  it("draws the functions, each with its calls", function()
    local _, err = support.done(shell(command .. " record --sym crc32 --plot bars.svg -o drawn -- ./calls fork crc32:400 wait"))
    assert.truthy(err:find "pmlua record: bars%.svg\n$", err)
    local picture = support.slurp(dir .. "/bars.svg")
    assert.truthy(picture:find("crc32", 1, true))
    assert.truthy(picture:find(", 800 calls", 1, true))
    assert.truthy(picture:find("in functions inside", 1, true))
    assert.is_nil(picture:find("communication", 1, true))
  end)

  it("names patterns without a match, with similar names", function()
    local _, _, err = shell(command .. " record -o misspelt --sym crc23 -- ./calls fork crc32:1 wait exit:3")
    assert.truthy(err:find("--sym 'crc23' matches no function; similar: [%w_, ]*crc32"), err)
    assert.equal(1, select(2, err:gsub("crc23", "")))
    _, _, err = shell(command .. " record -o elsewhere --sym malloc --sym crc32 -- ./calls fork crc32:1 wait exit:3")
    assert.matches("'malloc' is a function of libc%.[%w.]+, which is not among the chosen libraries; add %-%-lib 'libc%*'\n", err)
  end)

  it("names functions that it cannot record, and places where it cannot write", function()
    support.spit(dir .. "/file", "")
    shell("printf 'int main(void) { return 0; }' | gcc -static -x c - -o static")
    local cases = {
      [""] = { 2, "no command given" },
      ["-- ./nothere"] = { 127, "./nothere: command not found" },
      ["-- ./static"] = { 126, "./static is statically linked" },
      ["--event nosuch::event -- true"] = { 1, "nosuch" },
      ["-o file -- true"] = { 1, "file: " },
      ["-o exact -- true"] = { 1, "exact already has results of a recording" },
      ["--finish exact -- true"] = { 2, "%-%-finish DIR runs no command and takes no other folder" },
      ["--finish exact --last 1M"] = { 2, "%-%-finish DIR does not change the recording; %-%-last is for new recordings" },
      ["--last 1G -- true"] = { 2, "limit a trace; add %-%-trace" },
      ["--trace --min-duration 5weeks -- true"] = { 2, "'5weeks' is not a duration" },
      ["--filter nowhere -- true"] = { 1, "nowhere: No such file" },
      ["--filter . -- true"] = { 1, "%.: not a file, but a folder" },
      ["--finish nowhere"] = { 1, "nowhere: no such folder" },
      ["--finish exact --metric host::load"] = { 2, "%-%-metric is for new recordings" },
    }
    support.refuses(dir, "record", cases)
  end)
end)

describe("pmlua record --last", function()
  local CALLS = 300000

  --- The message of the recording, and the calls of each function in its trace, which must be valid.
  local function last(folder, acts)
    local line = "%s record --lib libz --trace --last 1M -o %s -- ./calls zlibVersion %s"
    local _, _, err = shell(line:format(command, folder, acts))
    support.done(support.shell(("/usr/bin/python3 spec/otf2_validate.py %s/%s/traces.otf2"):format(dir, folder)))
    return err, at.traced(folder)
  end

  it("keeps the last events of a trace, in a file that does not grow, and all calls in the table", function()
    local err, calls = last("tail", ("crc32:%d adler32:1"):format(CALLS))
    assert.truthy(err:find("crc32 +" .. CALLS .. " "), err)
    assert.truthy(err:find("MiB of older events are not in the traces, as you asked with --last", 1, true), err)
    assert.is_true(tonumber((select(2, shell "stat -c %s tail/*.pmlog"))) < 2 << 20)
    assert.same({ nil, 1 }, { calls.zlibVersion, calls.adler32 })
    assert.is_true(calls.crc32 > 15000 and calls.crc32 < CALLS // 2, calls.crc32)
  end)

  it("also keeps them for a program that is killed", function()
    local _, calls = last("cut", ("crc32:%d kill"):format(CALLS))
    assert.is_nil(calls.zlibVersion)
    assert.is_true(calls.crc32 > 15000 and calls.crc32 < CALLS // 2, calls.crc32)
  end)

  it("leaves a smaller trace unchanged, without a message", function()
    local err, calls = last("small", "crc32:100 adler32:1")
    assert.is_nil(err:find("older", 1, true), err)
    assert.same({ 1, 100, 1 }, { calls.zlibVersion, calls.crc32, calls.adler32 })
  end)
end)

local function path(depth, name, figures)
  return { depth = depth, library = "liba.so", name = name, calls = figures[1], unreturned = figures[2], threads = 1,
    inclusive_ns = figures[3], exclusive_ns = figures[4], min_ns = figures[5], max_ns = figures[6] }
end

local function value(name, count, sum, min, max)
  return { library = "liba.so", name = "inner", value = name, count = count, sum = sum, min = min, max = max }
end

local function process(values)
  return { process = { events = {}, sums = {}, values = values, tick_ns = 0.5, durations = {},
    paths = { path(0, "outer", { 3, 1, 100, 60, 40, 60 }), path(1, "inner", { 2, 0, 40, 40, 10, 30 }),
      path(2, "outer", { 1, 0, 10, 10, 10, 10 }) } } }
end

describe("results of recorded processes", function()
  it("are added up by function, and nested calls of the same function count no time twice", function()
    local all = functions.of { process {}, process {}, { err = "a log that could not be read" } }
    assert.equal(2, #all.processes)
    local outer = all.functions[1]
    assert.same({ "outer", 8, 2 }, { outer.name, outer.calls, outer.unreturned })
    assert.same({ 200, 140, 10, 60 }, { outer.inclusive_ns, outer.exclusive_ns, outer.min_ns, outer.max_ns })
  end)

  it("have values: sums are floats if no integer holds them, and a NaN is no extreme", function()
    local most, nan = math.maxinteger, 0 / 0
    local all = functions.of {
      process { value("n", 2, 6, 1, 5), value("x", 1, nan, nan, nan) },
      process { value("n", 1, most, most, most), value("x", 1, -math.huge, -math.huge, 1.5) },
    }
    local values = all.functions[2].values
    assert.same({ count = 3, sum = 2.0 ^ 63 + 5, mean = (2.0 ^ 63 + 5) / 3, min = 1, max = most }, values.n)
    assert.same({ 2, -math.huge, 1.5, true }, { values.x.count, values.x.min, values.x.max, values.x.sum ~= values.x.sum })
  end)
end)

--- 17 MB of code that calls zlib through slots of addresses, and compares the address of one function.
local large = [[
#include <stdio.h>
#include <zlib.h>
__asm__(".text\n .skip 17 << 20, 0x90\n");
int main(void) {
  unsigned long sum = 0;
  unsigned long (*volatile taken)(unsigned long, const unsigned char *, unsigned) = adler32;
  for (int i = 0; i < 5; i++) sum = crc32(sum, (const unsigned char *)"pmlua", 5);
  sum += taken(1, (const unsigned char *)"pmlua", 5);
  return sum == 0 || taken != adler32;
}
]]

local function calls_of_large(environment)
  shell "rm -rf r"
  local by_name, _, status, err = recorded("--lib libz -o r -- ./large", "env " .. environment)
  assert.equal(0, status, err)
  local calls = {}
  for name, f in pairs(by_name) do calls[name] = f.calls end
  return calls
end

--- The names of the files in the cache, except CACHEDIR.TAG.
local function names()
  local _, out = shell "cd cache/pmlua/scans && ls | grep -v CACHEDIR.TAG"
  return out
end

describe("pmlua record of a large program", function()
  setup(function() support.compile(dir, { ["large.c"] = large }, "cc -O2 -fno-plt large.c -lz -o large") end)

  it("keeps its scan of the code, and has the same calls then", function()
    local first = calls_of_large "XDG_CACHE_HOME=$PWD/cache"
    local kept = names()
    local second = calls_of_large "XDG_CACHE_HOME=$PWD/cache"
    assert.equal(kept, names())
    assert.same(first, second)
    if first.crc32 then -- this compiler's calls show in the code
      assert.equal(5, first.crc32)
      assert.truthy(kept:find "^%x+\n$", kept)
    end
    local _, tag = shell "head -c 43 cache/pmlua/scans/CACHEDIR.TAG"
    assert.equal("Signature: 8a477f597d28d172789f06886806bc55", tag)
  end)

  it("has them also without a cache", function()
    local expected = calls_of_large "XDG_CACHE_HOME=$PWD/cache"
    assert.same(expected, calls_of_large "-u XDG_CACHE_HOME -u HOME")
    assert.same(expected, calls_of_large "XDG_CACHE_HOME=/dev/null/none")
    assert.same(expected, calls_of_large "XDG_CACHE_HOME=relative HOME=$PWD/home")
  end)

  it("does not fill the folder with scans of old programs", function()
    shell [[rm -rf cache; mkdir -p cache/pmlua/scans; cd cache/pmlua/scans
      seq 1000000000000000 1000000000000256 | xargs touch; touch mine]]
    calls_of_large "XDG_CACHE_HOME=$PWD/cache"
    assert.equal("mine\n", names())
  end)
end)
