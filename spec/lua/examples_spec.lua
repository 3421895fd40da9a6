-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/examples_spec.lua - test of the examples in the verbs' help: typed into a shell, each has the exit status that the
-- help says.
-- Slow: builds, runs, records and simulates the programs of the examples.

local support = require "spec.core.support"
local verbs = require "pmlua.internal.cli.verb"
local text = require "pmlua.internal.cli.text"
local quote = support.quote

-- Links zlib, and has the variables and functions that the examples watch.
local APP = [[
#include <stdio.h>
#include <zlib.h>
struct { volatile int level[4]; } grid;
__attribute__((noinline)) void work(int i) { grid.level[i & 3] += i; }
int main(void) {
  unsigned long sum = 0;
  for (int i = 0; i < 100; i++) {
    work(i);
    sum = crc32(sum, (const unsigned char *)&i, sizeof i);
  }
  return sum == 1;
}
]]

local MAKEFILE = "app: app.c\n\t$(CC) app.c -lz -o app\n"
local CMAKE = [[
cmake_minimum_required(VERSION 3.10)
project(app C CXX)
add_executable(app app.c)
target_link_libraries(app z)
]]

--- Commands to run before a verb's first example.
local prepare = {
  plot = "pmlua scripts.lua --quick --no-plot --quiet --json >/dev/null",
  compare = "pmlua scripts.lua --quick --no-plot --quiet --json >/dev/null && "
    .. "pmlua bench --cause --no-plot -q -r 2 true true >/dev/null; cd results/read_overhead && "
    .. "cp -rL latest 20261121T013000Z && cd - >/dev/null && for when in before after; do "
    .. "pmlua record --lib libz --trace -q -o $when -- ./solver || exit; done",
  report = "PMLUA_REPORT=out ./solver && pmlua record --trace -q -o recorded -- ./solver",
  guard = "echo 'solve: allocations=1000' >sections.budget",
  export = "PMLUA_REPORT=out ./solver && pmlua record --lib libz --trace -q -o trace -- ./solver",
  import = "printf 'main;a 3\\nmain 2\\n' >stacks.folded && pmlua import stacks.folded -o s && pmlua export s --to pprof "
    .. "-o profile.pb.gz",
  flame = "pmlua record --lib libz --trace -q -o out -- ./solver && cp -r out trace",
  trace = "pmlua record --lib libz --trace -o pmlua-record-4711 -- ./solver && rm -r pmlua-record-4711/traces*",
}
local wrapper = "pmlua wrap init --name zlib --headers zlib.h --libs -lz --example app.c && pmlua wrap build wrap-zlib && "
  .. "pmlua wrap install wrap-zlib --prefix ~/.local"
for _, verb in ipairs { "cc", "wrap build", "wrap check", "wrap install", "wrap installcheck", "wrap show" } do
  prepare[verb] = wrapper
end
local asks = { attach = true, query = true, serve = true } -- verbs that need a running program

local function has(needs)
  for _, what in ipairs(needs or {}) do
    if what == "watchpoints" then
      local there, why = support.core.watchpoint.available()
      if not there then return nil, tostring(why) end
    elseif what == "libclang" then
      if not require("pmlua.internal.wrap.paths").module "clang" then return nil, "pmlua was built without libclang" end
    elseif not support.has(what) then return nil, what .. " is not installed" end
  end
  return true
end

local function write(dir, name, content)
  support.spit(dir .. "/" .. name, content)
end

--- Make a folder with everything that the examples name: programs, sources, rules, a run of an experiment.
local function folder()
  local dir = support.folder()
  write(dir, "app.c", APP)
  write(dir, "more.c", "int more(void) { return 0; }\n")
  write(dir, "Makefile", MAKEFILE)
  write(dir, "CMakeLists.txt", CMAKE)
  write(dir, "configure", "#!/bin/sh\nfor a; do echo \"$a\" >config; done\n")
  write(dir, "input", "input\n")
  write(dir, "input.mtx", "1\n")
  write(dir, "stop_divergence.lua", "pml.sde.watch('SOLVER::residual', '10ms', function() end)\n")
  write(dir, "scripts.lua", "return require 'pmlua'.experiment { name = 'read_overhead', factors = { path = { 'a', 'b' } },\n"
    .. "  measure = function() return 1 end }\n")
  -- its sections are of another program, which must not answer in its place
  write(dir, "solver", ("#!/bin/sh\n[ -n \"$SECONDS_LEFT\" ] || %s/spec/section_report_example 4 >/dev/null\n"
    .. "exec %s/spec/compat_application ${SECONDS_LEFT:-0.2}\n"):format(support.build, support.build))
  assert(os.execute(("cd %s && chmod +x configure solver && gcc -g app.c -lz -o app && cp app program && cp app compress")
    :format(quote(dir))))
  return dir
end

--- Type a line into a shell whose pmlua is the one under test, and whose HOME is the folder.
local function typed(dir, line, shell, seconds)
  local environment = ("HOME=%s XDG_RUNTIME_DIR=%s PMLUA_WRAP_PATH=%s/.local/lib/pmlua/wrap OMPI_ALLOW_RUN_AS_ROOT=1 "
    .. "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 PATH=%s:$PATH"):format(dir, dir, dir, support.build)
  return support.shell(("cd %s && %s timeout -k 5 %d %s -c %s </dev/null"):format(quote(dir), environment, seconds or 300,
    shell or "bash", quote(line)))
end

--- Start a program that accepts queries; returns a function that kills it.
local function start(dir)
  assert(os.execute(("cd %s && XDG_RUNTIME_DIR=%s SECONDS_LEFT=200 PATH=%s:$PATH sh -c 'pmlua live -q --name SOLVER -- ./solver "
    .. ">/dev/null 2>&1 & echo $! >pid'"):format(quote(dir), quote(dir), support.build)))
  for _ = 1, 1200 do
    local _, out = typed(dir, "pmlua query --csv")
    if out:find ",SOLVER," then break end
    support.core.sys.sleep(0.05)
  end
  return function() os.execute(("kill $(cat %s/pid)"):format(quote(dir))) end
end

describe("An example of the help of pmlua", function()
  if not (support.has "gcc" and support.has "bash") then return pending "gcc or bash is not installed" end
  if not os.execute("echo '#include <zlib.h>' | gcc -E - >/dev/null 2>&1") then return pending "zlib.h is not installed" end
  if not io.open(support.build .. "/spec/compat_application") then return pending "make specs has not been run" end

  for _, name in ipairs(verbs.all()) do
    local verb = verbs.load(name)
    describe(name, function()
      local dir, stop, unprepared
      setup(function()
        dir = folder()
        if prepare[name] and has { (name == "cc" or name:find "^wrap") and "libclang" or "sh" } then
          local status, out, err = typed(dir, prepare[name])
          if status ~= 0 then unprepared = out .. err end
        end
        stop = asks[name] and start(dir)
      end)
      teardown(function() if stop then stop() end end)

      assert(#verb.examples > 0, name .. " has no example")
      for _, example in ipairs(verb.examples) do
        local line, how = text.example(example), type(example) == "table" and example or {}
        it("has its documented exit status: " .. line, function()
          local there, lacking = has { how.shell or "bash", table.unpack(how.needs or {}) }
          if not there then return pending(lacking) end
          assert.is_nil(unprepared)
          local status, out, err = typed(dir, line, how.shell, how.seconds)
          local expected = how.status or 0
          local fine = false
          for _, one in ipairs(type(expected) == "table" and expected or { expected }) do fine = fine or one == status end
          assert.is_true(fine, ("%s\nended with status %d\n%s%s"):format(line, status, out:sub(-1000), err:sub(-1000)))
        end)
      end
    end)
  end
end)
