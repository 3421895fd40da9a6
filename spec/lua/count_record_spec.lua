-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_record_spec.lua - pmlua record names the compiler and its stage beside each of its counts.

local helper = require "spec.lua.helper"
local counting = require "spec.lua.counting"
local calls = require "pmlua.internal.record.functions"
local json = require "pmlua.json"

local it, quote, shell = counting.it, helper.quote, helper.shell

-- Two multiplications in the source, of which the optimiser leaves one.
local library = "double twice(double x) { return x * 2.0 * 1.0; }\n"
local program = [[
#include <signal.h>
double twice(double);
static volatile double x = 1;
int main(int argc, char **argv) {
  (void)argv;
  x = twice(x);
  if (argc > 1) raise(SIGKILL);
  return 0;
}
]]
local FLOPS <const> = "sde:::BYFL::flop_count_I"

--- Make a folder with the program, compiled to count at these stages.
local function build(at_library, at_program)
  local dir = helper.folder()
  helper.write(dir .. "/l.c", library)
  helper.write(dir .. "/p.c", program)
  local lines = "cd %s && %s clang-14 -O1 -shared -fPIC l.c -o libtwice.so && "
    .. "%s clang-14 -O1 p.c -L. -ltwice -Wl,-rpath,. -o program"
  local status, _, err = shell(lines:format(quote(dir), counting.cc("--at=" .. at_library), counting.cc("--at=" .. at_program)))
  assert.same({ 0, "" }, { status, err })
  return dir
end

local function record(dir, options, words)
  return shell(("cd %s && %s record --event %s --event clock::ns %s -o out -- ./program %s"):format(quote(dir),
    quote(helper.build .. "/pmlua"), FLOPS, options, words or ""))
end

--- The lines of otf2-print about a metric of the recorded trace.
local function metric(dir, name)
  local _, out = shell(("cd %s && otf2-print -G out/traces.otf2"):format(quote(dir)))
  return out:match('METRIC_MEMBER[^\n]*"' .. name:gsub("%p", "%%%0") .. '"[^\n]*') or out
end

describe("pmlua record names who counted, and at which stage,", function()
  for at, flops in pairs { source = 2, final = 1 } do
    it("in its table, JSON and files: at " .. at, function()
      local dir = build(at, at)
      local status, out, err = record(dir, "--json")
      assert.equal(0, status, err)
      local all = json.decode(out)
      assert.same({ { event = FLOPS, counted_by = "compiler", stage = at } }, all.counters)
      assert.equal(at, all.processes[1].counted)
      assert.equal(flops, all.functions[1].events[FLOPS])
      assert.same(all.counters, assert(calls.read(dir .. "/out")).counters)
      os.execute("rm -r " .. quote(dir) .. "/out")
      err = select(3, record(dir, ""))
      assert.truthy(err:find("\n" .. FLOPS .. ": counted by the compiler, at " .. at .. "\n", 1, true), err)
    end)
  end

  it("in the trace of a process that was killed", function()
    if shell "command -v otf2-print" ~= 0 then return pending "otf2-print is not installed" end
    local dir = build("final", "final")
    record(dir, "--trace", "kill")
    assert.truthy(metric(dir, FLOPS):find('Descr.: "counted by the compiler, at final"', 1, true), metric(dir, FLOPS))
    assert.falsy(metric(dir, "clock::ns"):find("counted by", 1, true))
  end)

  it("where modules were counted at different stages", function()
    local _, out, err = record(build("source", "final"), "--json")
    assert.equal("mixed", (json.decode(out).counters[1] or {}).stage, err)
  end)

  it("but of no program that does not count", function()
    local dir = helper.folder()
    helper.write(dir .. "/p.c", "int main(void) { return 0; }\n")
    assert.equal(0, shell(("cd %s && cc p.c -o program"):format(quote(dir))))
    local _, out, err = record(dir, "--json")
    assert.same({}, json.decode(out).counters, err)
  end)
end)
