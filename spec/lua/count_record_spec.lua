-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_record_spec.lua - tests of counts in pmlua record: each count has its compiler and stage, and code without
-- counts is named, however a process ends.

local support = require "spec.core.support"
local countfile = require "pmlua.countfile"
local counting = require "spec.lua.counting"
local calls = require "pmlua.internal.record.functions"
local json = require "pmlua.json"

local it, quote, shell = counting.it, support.quote, support.shell

-- Two multiplications in the source, of which the optimiser leaves one.
local library = "double twice(double x) { return x * 2.0 * 1.0; }\n"
local program = support.C .. [[
double twice(double);
static volatile double x = 1;
int main(int argc, char **argv) {
  x = twice(x) + 1;
  if (argc > 1 && strcmp(argv[1], "kill") == 0) raise(SIGKILL);
  if (argc > 1 && strcmp(argv[1], "_exit") == 0) _exit(0);
  if (argc > 1 && strcmp(argv[1], "stay") == 0 && fork() == 0) { x = x + 1; close(0); close(1); close(2); sleep(20); }
  return 0;
}
]]
local FLOPS <const> = "sde:::BYFL::flop_count_I"
local PLAIN <const> = "clang-14"

local function cc(at) return counting.cc("--at=" .. (at or "source")) .. " clang-14" end

--- A folder with the program and its library, each compiled by its own command line.
local function build(cc_library, cc_program)
  local dir = support.folder()
  support.spit(dir .. "/l.c", library)
  support.spit(dir .. "/p.c", program)
  local lines = "cd %s && %s -O1 -shared -fPIC l.c -o libtwice.so && %s -O1 p.c -L. -ltwice -Wl,-rpath,. -o program"
  support.quiet(shell(lines:format(quote(dir), cc_library, cc_program)))
  return dir
end

--- The notes of a run, and its flops.
local function run(dir, words)
  shell(("cd %s && PMLUA_COUNT=counts ./program %s"):format(quote(dir), words))
  local counts = assert(countfile.read_all(dir .. "/counts"))
  os.execute("rm -f " .. quote(dir) .. "/counts*")
  return counts.notes, counts.events.flop_count_I, counts.processes
end

describe("code that no count includes is named", function()
  it("libraries that were compiled otherwise, also if the program is killed or ends by _exit", function()
    local dir = build(PLAIN, cc())
    for _, words in ipairs { "", "kill", "_exit" } do
      local notes, flops = run(dir, words)
      assert.equal(1, flops)
      assert.same({ "not counted: the work of libtwice.so, which was not compiled with counts" }, notes, words)
    end
  end)

  it("the program, if only its library counts", function()
    local notes, flops = run(build(cc(), PLAIN), "kill")
    assert.equal(2, flops)
    assert.same({ "not counted: the work of program, which was not compiled with counts" }, notes)
  end)

  it("nothing, if all code counts", function()
    local notes, flops = run(build(cc(), cc()), "kill")
    assert.equal(3, flops)
    assert.same({}, notes)
  end)

  it("an event for pmlua record without a counter", function()
    local said = {}
    for i, compiler in ipairs { PLAIN, cc() } do
      local dir = build(compiler, compiler)
      local line = "cd %s && %s/pmlua record --event %s -o out -- ./program"
      said[i] = select(2, support.done(shell(line:format(quote(dir), quote(support.build), FLOPS))))
    end
    assert.truthy(said[1]:find("pmlua record: sde:::BYFL::flop_count_I was not counted " ..
      "(the program was not compiled by pmlua cc --count); 0 means unknown there\n", 1, true), said[1])
    assert.falsy(said[2]:find("was not counted", 1, true), said[2])
  end)

  it("a process that still ran", function()
    local notes, _, processes = run(build(cc(), cc()), "stay")
    assert.same({ "1 process still ran when this was counted" }, notes)
    for _, p in ipairs(processes) do
      if not p.ended then os.execute(("kill %d"):format(p.pid)) end
    end
  end)

  it("a process of another host, which may have been killed or may run", function()
    local dir = build(cc(), cc())
    shell(("cd %s && PMLUA_COUNT=counts ./program kill"):format(quote(dir)))
    assert.same({}, assert(countfile.read_all(dir .. "/counts")).notes)
    local f <close> = assert(io.open(dir .. "/counts", "r+b"))
    f:seek("set", 120) -- the host in a log's head
    f:write "node7\0"
    f:flush()
    assert.same({ "1 process of another host did not exit, or still ran when this was counted" },
      assert(countfile.read_all(dir .. "/counts")).notes)
  end)
end)

local function record(dir, options, words)
  return shell(("cd %s && %s record --event %s --event clock::ns %s -o out -- ./program %s"):format(quote(dir),
    quote(support.build .. "/pmlua"), FLOPS, options, words or ""))
end

--- The lines of otf2-print about a metric of the recorded trace.
local function metric(dir, name)
  local _, out = shell(("cd %s && otf2-print -G out/traces.otf2"):format(quote(dir)))
  return out:match('METRIC_MEMBER[^\n]*"' .. name:gsub("%p", "%%%0") .. '"[^\n]*') or out
end

describe("pmlua record names the compiler of each count, and its stage,", function()
  for at, flops in pairs { source = 2, final = 1 } do
    it("in its table, JSON and files: at " .. at, function()
      local dir = build(cc(at), cc(at))
      local out = support.done(record(dir, "--json"))
      local all = json.decode(out)
      assert.same({ { event = FLOPS, counted_by = "compiler", stage = at } }, all.counters)
      assert.equal(at, all.processes[1].counted)
      assert.equal(flops, all.functions[1].events[FLOPS])
      assert.same(all.counters, assert(calls.read(dir .. "/out")).counters)
      os.execute("rm -r " .. quote(dir) .. "/out")
      local err = select(3, record(dir, ""))
      assert.truthy(err:find("\n" .. FLOPS .. ": counted by the compiler, at " .. at .. "\n", 1, true), err)
    end)
  end

  it("in the trace of a process that was killed", function()
    if shell "command -v otf2-print" ~= 0 then return pending "otf2-print is not installed" end
    local dir = build(cc "final", cc "final")
    record(dir, "--trace", "kill")
    assert.truthy(metric(dir, FLOPS):find('Descr.: "counted by the compiler, at final"', 1, true), metric(dir, FLOPS))
    assert.falsy(metric(dir, "clock::ns"):find("counted by", 1, true))
  end)

  it("if modules were counted at different stages", function()
    local _, out, err = record(build(cc "source", cc "final"), "--json")
    assert.equal("mixed", (json.decode(out).counters[1] or {}).stage, err)
  end)

  it("but not for a program that does not count", function()
    local dir = support.folder()
    support.spit(dir .. "/p.c", "int main(void) { return 0; }\n")
    assert.equal(0, shell(("cd %s && cc p.c -o program"):format(quote(dir))))
    local _, out, err = record(dir, "--json")
    assert.same({}, json.decode(out).counters, err)
  end)
end)
