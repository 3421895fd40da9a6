-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/guard_spec.lua - pmlua guard: fails for 2 % more work, and not for the same work.
--
-- Slow: runs some 40 programs under callgrind.

local support = require "spec.core.support"
local guard = require "pmlua.internal.guard"
local json = require "pmlua.json"
local sim = require "spec.lua.sim.support"
local quote = support.quote

local command = support.build .. "/pmlua guard "
local dir = support.folder()

--- Work in a loop of ROUNDS, memory at a different address in each run, and a function that may be missing.
local program = support.C .. [[
static volatile unsigned sink;
#ifndef ROUNDS
#define ROUNDS 50000
#endif
__attribute__((noinline)) void hot(void) {
  for (int i = 0; i < ROUNDS; i++) sink = sink * 3 + 1;
}
__attribute__((noinline)) void steady(void) {
  for (int i = 0; i < 20000; i++) sink = sink + 1;
}
#ifdef MORE
__attribute__((noinline)) void added(void) {
  for (int i = 0; i < 10; i++) sink = sink + 1;
}
#endif
int main(int argc, char **argv) {
  char *memory = malloc(1u << 20);
  memset(memory, argc, 1u << 20);
  hot();
  steady();
#ifdef MORE
  added();
#endif
  free(memory);
  return argc > 1 ? atoi(argv[1]) : 0;
}
]]

local function build(name, flags)
  support.compile(dir, { ["program.c"] = program }, ("gcc -O1 -g %s program.c -o %s"):format(flags or "", name))
end

local function run(arguments)
  return support.shell(("cd %s && %s%s"):format(quote(dir), command, arguments))
end

local refused = support.refused("guard", run)

sim.describe("pmlua guard", function()
  setup(function()
    build("program")
    support.done(run("--save kept.guard -- ./program"))
  end)

  it("keeps counts as text with the conditions that they depend on", function()
    local text = support.slurp(dir .. "/kept.guard")
    assert.truthy(text:find("^pmlua%-guard 1\narchitecture\t[%w_]+\ncompiler\tGCC: [^\n]+\nevent\tsim::Ir\nobjects\town\n"), text)
    assert.truthy(text:find("\ncaches\tI1=32768,8,64 D1=32768,8,64 LL=8388608,16,64\n", 1, true), text)
    assert.truthy(text:find("\nfunction\tprogram\thot\t1\t%d+\t0\n"), text)
    assert.truthy(text:find("\nend\n$"), text)
  end)

  it("guards the program's own functions, not the C library's", function()
    local text = support.slurp(dir .. "/kept.guard")
    assert.falsy(text:find("libc", 1, true), text)
    assert.falsy(text:find("ld-linux", 1, true), text)
    local status = run("--save all.guard --object '*' -- ./program")
    assert.equal(0, status)
    assert.truthy(support.slurp(dir .. "/all.guard"):find("\nfunction\tlibc.so", 1, true))
  end)

  it("finds the same counts each time, at any place of memory", function()
    for i = 1, 3 do
      local _, err = support.done(support.shell(("cd %s && NAME%s=x %skept.guard --bound 0 -- ./program"):format(quote(dir),
        ("x"):rep(100 * i), command)))
      assert.truthy(err:find("counts (sim::Ir) grew by more than 0 %", 1, true), err)
    end
  end)

  it("catches two per cent more work, and names its function", function()
    build("slower", "-DROUNDS=51000")
    local status, out, err = run("kept.guard -- ./slower")
    assert.equal(1, status)
    assert.equal("", out)
    assert.truthy(err:find("\nfunction  program:hot +%d+ +%d+  %+2.00 %% "), err)
    assert.falsy(err:find("steady", 1, true), err)
    assert.truthy(err:find("pmlua guard: %d of %d counts of sim::Ir grew by more than 1 %%\n"), err)
  end)

  it("accepts differences within the bound", function()
    build("slower", "-DROUNDS=51000")
    assert.equal(0, (run("kept.guard --bound 2.5 -- ./slower")))
    assert.equal(1, (run("kept.guard --bound=1.9% -- ./slower")))
    build("little", "-DROUNDS=50200")
    assert.equal(0, (run("kept.guard -- ./little")))
  end)

  it("accepts a few instructions by default", function()
    local status, _, err = run("kept.guard --least 0 --bound 1 -- ./program 0")
    assert.equal(1, status) -- an argument takes main some instructions
    assert.truthy(err:find("\nfunction  program:main +%d+ +%d+ "), err)
    assert.equal(0, (run("kept.guard -- ./program 0")))
  end)

  it("names new and missing functions, and a decrease", function()
    build("more", "-DMORE -DROUNDS=40000")
    local _, err = support.done(run("kept.guard -- ./more"))
    assert.truthy(err:find("pmlua guard: function program:added is new: %d+ sim::Ir\n"), err)
    assert.truthy(err:find("pmlua guard: function program:hot fell by more than 1 %: ", 1, true), err)
    assert.equal(0, (run("--save more.guard -- ./more")))
    _, _, err = run("more.guard --bound 50 -- ./program")
    assert.truthy(err:find("pmlua guard: function program:added is gone: %d+ sim::Ir\n"), err)
  end)

  it("compares counts per call, if requested", function()
    local kept = { rows = { { kind = "function", object = "program", name = "f", calls = 10, count = 1000, spread = 0 } } }
    local function now(calls, count)
      return { { kind = "function", object = "program", name = "f", calls = calls, count = count, spread = 0 } }
    end
    assert.equal(1, #guard.compare(kept, now(20, 2000), { bound = 0.01, least = 0 }).grown)
    assert.equal(0, #guard.compare(kept, now(20, 2000), { bound = 0.01, least = 0, per_call = true }).grown)
    assert.equal(1, #guard.compare(kept, now(20, 2040), { bound = 0.01, least = 0, per_call = true }).grown)
    assert.equal(1, #guard.compare(kept, now(20, 1960), { bound = 0.01, least = 0, per_call = true }).fallen)
  end)

  it("guards only the requested functions and event", function()
    assert.equal(0, (run("--save few.guard --event Dw --function 'stea*' -- ./program")))
    local text = support.slurp(dir .. "/few.guard")
    assert.truthy(text:find("\nevent\tsim::Dw\nobjects\town\nfunctions\tstea*\n", 1, true), text)
    assert.truthy(text:find("\nall\t\tfunctions\t0\t20000\t0\nfunction\tprogram\tsteady\t1\t20000\t0\nend\n", 1, true), text)
    assert.equal(0, (run("few.guard -- ./program")))
  end)

  it("also guards sections", function()
    sim.build_sections(dir)
    assert.equal(0, (run("--save sections.guard -- ./sections nested 100000")))
    assert.equal(0, (run("sections.guard -- ./sections nested 100000")))
    local status, _, err = run("sections.guard -- ./sections nested 102000")
    assert.equal(1, status)
    assert.truthy(err:find("\nsection +inner +40%d%d%d%d +4[01]%d%d%d%d +%+%d.%d%d %% "), err)
    assert.truthy(err:find("\nsection +outer +200%d+ +204%d+ +%+2.00 %% "), err)
  end)

  it("gives its verdict as JSON, in a separate file if requested", function()
    build("slower", "-DROUNDS=51000")
    for _, where in ipairs { "", "--out verdict.json " } do
      local status, out = run(("kept.guard --json %s-- ./slower"):format(where))
      assert.equal(1, status)
      local verdict = json.decode(where == "" and out or support.slurp(dir .. "/verdict.json"))
      assert.equal(2, #verdict.grown) -- and the sum
      assert.equal("sim::Ir", verdict.conditions.event)
      if where ~= "" then assert.equal("", out) end
    end
  end)

  it("compares nothing with counts of another compiler", function()
    local text = support.slurp(dir .. "/kept.guard")
    support.spit(dir .. "/other.guard", (text:gsub("GCC: [^\n]+", "GCC: (other) 1.2.3")))
    refused("other.guard -- ./program", "other.guard has counts for another compiler (GCC: (other) 1.2.3, now GCC: ", 1)
  end)

  it("keeps no counts of a program that fails", function()
    refused("--save failed.guard -- ./program 3", "./program exited with status 3; nothing is compared or saved", 1)
    assert.is_nil(io.open(dir .. "/failed.guard"))
  end)

  it("names errors in the command line, and in files", function()
    refused("", "name the file: --save FILE to save counts, FILE to compare with them")
    refused("kept.guard", "no command given; it follows --")
    refused("--save x kept.guard", "kept.guard: command not found", 127)
    refused("kept.guard --runs 3 -- ./program", "--event, --object, --function and --runs go with --save")
    refused("--save x --bound 3 -- ./program",
      "--bound, --least, --per-call, --json and --csv go with FILE (comparing), not with --save")
    refused("--save x --event cycles -- ./program", "--event: a simulation has no event 'cycles'")
    refused("--save x --object 'a b' -- ./program", "--object: 'a b' contains a blank")
    refused("nothere.guard -- ./program", "nothere.guard: No such file or directory", 1)
    refused("program.c -- ./program", "program.c: not a file of pmlua guard, or one of another version", 1)
    refused("--save /nowhere/x -- ./program", "/nowhere/x: No such file or directory", 1)
    refused("--save x --function nosuch -- ./program", "no --function was counted; pmlua stat --sim", 1)
    local cut = support.slurp(dir .. "/kept.guard"):gsub("end\n$", "")
    support.spit(dir .. "/cut.guard", cut)
    refused("cut.guard -- ./program", "cut.guard: the file is cut short", 1)
  end)
end)

describe("a file of pmlua guard", function()
  local whole = guard.text {
    about = { architecture = "a", compiler = "b\tc", event = "sim::Ir", objects = "own", functions = "all", caches = "I1=1,2,3",
      tool = "t", command = "./p\nq" },
    rows = { { kind = "all", name = "functions", calls = 0, count = 7, spread = 1 },
      { kind = "function", object = "program", name = "f\\", calls = 2, count = 7, spread = 0 } },
  }

  it("is read without changes", function()
    local read = assert(guard.parse(whole))
    assert.equal("b\tc", read.about.compiler)
    assert.equal("./p\nq", read.about.command)
    assert.same({ kind = "function", object = "program", name = "f\\", calls = 2, count = 7, spread = 0 }, read.rows[2])
    assert.equal(whole, guard.text(read))
  end)

  it("is read or refused in one line, for any changed bytes", function()
    for text in sim.damaged(whole, 3000) do
      local read, err = guard.parse(text)
      assert.truthy(read or err:find("^[^\n]+$"))
    end
  end)
end)
