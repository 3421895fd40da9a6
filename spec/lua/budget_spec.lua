-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/budget_spec.lua - budgets of sections: each of thirty planted calls fails the check, with its path; an unchanged
-- program never does.

local support = require "spec.core.support"
local budget = require "pmlua.internal.budgets"
local pml = require "pmlua"

local dir = support.folder()
local shell = support.shell_of(dir, 60)
local command = support.build .. "/pmlua guard --budget"

--- Calls each of ten functions of the C library once in one of three places, if its number is the argument: in the section
--- itself, in a section inside it, in a function that zlib calls back.
local program = support.C .. [[
#include <pml.h>
#include <time.h>
#include <zlib.h>
PML_BUDGET("outer", "allocations=0 locks=0 write=0 read=0 getenv=0 clock=0 time=0 getpid=0 lseek=0 access=0");
PML_BUDGET("outer", "deflateInit2_=1 # the work itself");
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *volatile sink;
static volatile long number;
static int mode;
static void planted(int place) {
  if (mode / 10 != place) return;
  switch (mode % 10) {
    case 0: sink = malloc(10); break;
    case 1: pthread_mutex_lock(&lock); break;
    case 2: number = write(2, "", 0); break;
    case 3: number = read(0, (void *)&number, 0); break;
    case 4: sink = getenv("HOME"); break;
    case 5: number = clock(); break;
    case 6: number = time(NULL); break;
    case 7: number = getpid(); break;
    case 8: number = lseek(0, 0, SEEK_CUR); break;
    case 9: number = access("/", R_OK); break;
  }
}
static void *allocate(void *arg, unsigned n, unsigned size) {
  static char room[1 << 20];
  static size_t used;
  if (used == 0) planted(2);
  size_t at = used;
  used = (used + (size_t)n * size + 63) & ~(size_t)63;
  return room + at;
}
static void release(void *arg, void *p) {}
int main(int argc, char **argv) {
  mode = argc > 1 ? atoi(argv[1]) : -1;
  z_stream z = {.zalloc = allocate, .zfree = release};
  PML_SECTION("outer", outer);
  pml_section_start(outer);
  planted(0);
  PML_SECTION("inner", inner);
  pml_section_start(inner);
  planted(1);
  pml_section_stop(inner);
  int err = deflateInit(&z, 1);
  pml_section_stop(outer);
  return err;
}
]]
support.compile(dir, { ["planted.c"] = program },
  ("gcc -O1 -w planted.c -I%s/core -L%s -lpmlua -lz -Wl,-rpath,%s -o planted"):format(os.getenv "PWD", support.build,
    support.build))

local names = { [0] = "malloc", "pthread_mutex_lock", "write", "read", "getenv", "clock", "time", "getpid", "lseek", "access" }
local paths = { [0] = "%(outer > NAME: 1%)", "%(outer > inner > NAME: 1%)", "%(outer > .*deflateInit2_ > NAME: 1%)" }

describe("pmlua guard --budget", function()
  it("fails for each of thirty planted calls, and prints its path", function()
    for mode = 0, 29 do
      local status, _, err = shell(("%s -- ./planted %d"):format(command, mode))
      assert.equal(1, status, err)
      local path = paths[mode // 10]:gsub("NAME", names[mode % 10])
      assert.truthy(err:find(path), err)
      assert.equal(1, select(2, err:gsub("budget 0 for each", "")), err)
    end
  end)

  it("never fails for an unchanged program", function()
    for _ = 1, 20 do
      local status, _, err = shell(command .. " -- ./planted")
      assert.same({ 0, "pmlua guard: ok: 2 budgets are kept\n" }, { status, err })
    end
  end)

  it("counts events of the kernel and of the simulator inside sections", function()
    support.spit(dir .. "/events.budget", "outer: page-faults:u=100000\ninner: page-faults:u=100000 # many\n")
    local status, _, err = shell(command .. "=events.budget -- ./planted")
    assert.same({ 0, "pmlua guard: ok: 4 budgets are kept\n" }, { status, err })
    if not support.has "valgrind" then return end
    support.spit(dir .. "/sim.budget", "outer: sim::Ir=10\n")
    status, _, err = shell(command .. "=sim.budget -- ./planted")
    assert.equal(1, status)
    assert.truthy(err:find "outer: %d%d%d+ sim::Ir in 1 call, budget 10 for each", err)
  end)

  it("refuses what it cannot check", function()
    local function refused(text, what)
      support.spit(dir .. "/bad.budget", text)
      local status, _, err = shell(command .. "=bad.budget -- ./planted")
      assert.equal(1, status, err)
      assert.truthy(err:find(what, 1, true), err)
    end
    refused("outer: maloc=0\n", "has a function 'maloc'; did you mean malloc?")
    refused("never: malloc=0\n", "section never was not called; its budget of malloc was not checked")
    local _, _, absent = shell(command .. "=nowhere -- ./planted")
    assert.equal("pmlua guard: nowhere: No such file or directory\n", absent)
    assert.same({ 2 }, { (shell(command .. " --csv -- ./planted")) })
    refused("outer malloc=0\n", "bad.budget: line 1: 'outer malloc=0' is not SECTION: NAME=NUMBER ...")
    refused("outer: malloc=-1\n", "line 1: the budget of malloc is '-1', not a whole number from 0")
    refused("outer: malloc=0 malloc=1\n", "line 1: outer has two budgets for malloc")
    local status, _, err = shell(command .. " -- true")
    assert.equal(1, status)
    assert.truthy(err:find("true has no budget", 1, true), err)
  end)
end)

describe("pml.budget", function()
  it("fails with the path of a call beyond the budget, and only then", function()
    local zlib = require "zlib"
    local compress = assert(pml.section.define { label = "compress" })
    local kept <close> = assert(pml.budget({ section = "compress", deflateInit2_ = 1 }, { section = "compress", write = 0 }))
    for _ = 1, 4 do
      assert(compress:start())
      zlib.deflate()(("x"):rep(1000), "finish")
      assert(compress:stop())
    end
    assert.is_true(kept:check())
    kept:close()
    local exceeded <close> = assert(pml.budget { section = "compress", deflateInit2_ = 0 })
    assert(compress:start())
    zlib.deflate()
    assert(compress:stop())
    local done, err = exceeded:check()
    assert.same({ nil, "compress: 1 call of deflateInit2_ in 1 call, budget 0 for each (compress > deflateInit2_: 1)" },
      { done, tostring(err) })
  end)

  it("names bad budgets", function()
    local misspelt <close> = assert(pml.budget { section = "compress", maloc = 0 })
    local done, err = misspelt:check()
    assert.same({ nil, "no library has a function 'maloc'; did you mean malloc?" }, { done, tostring(err) })
    assert.error_matches(function() pml.budget { malloc = 0 } end, "a budget is a table with the name of a section")
    assert.error_matches(function() pml.budget { section = "s" } end, "names neither a function nor an event")
    assert.error_matches(function() pml.budget { section = "s", malloc = 0.5 } end, "the budget of malloc is '0.5'")
    assert.error_matches(function() pml.budget() end, "no budget given")
  end)
end)

describe("a verdict", function()
  it("counts each path once, also of a section inside itself", function()
    local list = assert(budget.read "s: f=1\n# nothing\n\n")
    local paths_of = { { depth = 0, name = "s", calls = 2 }, { depth = 1, name = "f", calls = 1 },
      { depth = 1, name = "s", calls = 1 }, { depth = 2, name = "f", calls = 2 }, { depth = 0, name = "f", calls = 9 } }
    assert.same({}, budget.judge(list, paths_of))
    paths_of[2].calls = 2
    assert.same({ "s: 4 calls of f in 3 calls, budget 1 for each (s > f: 2; s > s > f: 2)" }, budget.judge(list, paths_of))
  end)
end)
