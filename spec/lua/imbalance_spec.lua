-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/imbalance_spec.lua - tests of planted waits of OpenMP threads, found in the trace: durations, places and causes.
--
-- The program's clock is used only to check that its threads were late as planned. The wait of each thread is calculated from the
-- events that otf2-print prints, so it does not depend on other activity on the machine.

local support = require "spec.core.support"
local critical_path = require "pmlua.analysis.critical_path"
local openmp = require "spec.lua.openmp"
local pml = require "pmlua"
local waits = require "pmlua.analysis.waits"

-- Each thread prints when it was about to enter a barrier. gcc places all parallel regions of
-- a function at its first line.
local planted = [[
#include <omp.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static long long entered[8][3];
static void nap(int ms) { usleep((unsigned)ms * 1000); }
static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void before(int barrier) { entered[barrier][omp_get_thread_num()] = now(); }
__attribute__((noinline)) static void with_task(void) {
#pragma omp parallel num_threads(3)
  {
#pragma omp single nowait
    {
#pragma omp task
      nap(100);
    }
    if (omp_get_thread_num() == 2) nap(240);
    before(3);
  }
}
int main(void) {
#pragma omp parallel num_threads(3)
  {
    int i = omp_get_thread_num();
    nap(i == 1 ? 200 : 20);
    before(0);
#pragma omp barrier
#pragma omp for schedule(dynamic, 1)
    for (int k = 0; k < 3; k++) {
      nap(i == 2 ? 180 : 10);
      before(1);
    }
    nap(i == 0 ? 160 : 10);
    before(2);
  }
  with_task();
  for (int b = 0; b < 4; b++)
    for (int i = 0; i < 3; i++) printf("%d %d %lld\n", b, i, entered[b][i]);
  return 0;
}
]]

local function close_to(seconds, known, what)
  assert.is_true(math.abs(seconds - known) < 1e-6, ("%s: %.9f s, not %.9f"):format(what, seconds, known))
end

--- When each thread entered each barrier by its own clock, in seconds.
local function read(out)
  local entered = {}
  for barrier, thread, ns in out:gmatch "(%d) (%d) (%d+)\n" do
    entered[barrier + 1] = entered[barrier + 1] or {}
    entered[barrier + 1][thread + 1] = tonumber(ns) / 1e9
  end
  return entered
end

--- The same by the recorded events, a location being a thread: each enters all barriers in their order. And how long the
--- task took.
local function recorded(archive)
  local _, definitions = support.shell("otf2-print -G " .. archive)
  local tick_s = 1 / definitions:match "Ticks per Seconds: (%d+)"
  local _, events = support.shell("otf2-print " .. archive)
  local entered, nth, task_s = { {}, {}, {}, {} }, { 0, 0, 0 }, 0
  for kind, location, ticks, region in events:gmatch '\n(%u+) +(%d) +(%d+) +Region: "omp ([%l ]+) @' do
    local at = ticks * tick_s
    if kind == "ENTER" and region:find "barrier" then
      nth[location + 1] = nth[location + 1] + 1
      entered[nth[location + 1]][location + 1] = at
    elseif region == "task" then
      task_s = task_s + (kind == "LEAVE" and at or -at)
    end
  end
  return entered, task_s
end

--- Whether each barrier was entered last by the thread that napped, and long after the others, by the program's own clock;
--- and each thread took part in the loop.
local function is_as_planted(entered)
  for barrier, late in ipairs { 2, 3, 1, 3 } do
    for thread = 1, 3 do
      local at = entered[barrier][thread]
      if at == 0 or thread ~= late and entered[barrier][late] - at < 0.08 then return false end
    end
  end
  return true
end

local RUNS = 8 -- at most, until the machine let the threads be as late as they were to be

for _, runtime in ipairs { "libomp", "libgomp" } do
  describe("waits of OpenMP threads of " .. runtime, function()
    local lacks = openmp.lacks(runtime) or support.shell "command -v otf2-print" ~= 0 and "no otf2-print (otf2-tools)" or nil
    local folder, entered, task_s

    setup(function()
      if lacks then return end
      local dir = support.folder()
      local program = openmp.compile(runtime, dir, planted)
      folder = dir .. "/results"
      local command = ("rm -rf %s && OMP_DYNAMIC=false timeout 60 %s/pmlua record -q --trace -o %s -- %s"):format(
        support.quote(folder), support.quote(support.build), support.quote(folder), program)
      for _ = 1, RUNS do
        local out = support.done(support.shell(command))
        if is_as_planted(read(out)) then
          entered, task_s = recorded(folder .. "/traces.otf2")
          return
        end
      end
      error(("%d runs on a busy machine: no thread was as late as it was to be"):format(RUNS))
    end)

    local function spec(what, f)
      it(what, function()
        if lacks then return pending(lacks) end
        local t <close> = assert(pml.trace.open(folder .. "/traces.otf2"))
        f(t)
      end)
    end

    --- Each thread's wait in the nth barrier: until the last thread entered it.
    local function known(n)
      local last = 1
      for i = 2, 3 do if entered[n][i] > entered[n][last] then last = i end end
      local list = {}
      for i = 1, 3 do if i ~= last then list[#list + 1] = entered[n][last] - entered[n][i] end end
      table.sort(list)
      return list
    end

    --- Waits of at least 50 ms by the barrier, of a trace: in the order in which the program has them.
    local function found(t)
      local barriers, by = {}, {}
      for _, w in ipairs(assert(waits.of(t))) do
        if w.wait_s > 0.05 then
          by[w.path] = by[w.path] or { region = w.region, kind = w.kind }
          table.insert(by[w.path], w)
        end
      end
      local first = {}
      assert(t:each(function(e) first[e.region] = first[e.region] or e.time_s end, { where = { kinds = { "enter" } } }))
      for _, b in pairs(by) do
        table.sort(b, function(x, y) return x.wait_s < y.wait_s end)
        barriers[#barriers + 1] = b
      end
      table.sort(barriers, function(x, y) return first[x.region] < first[y.region] end)
      return barriers
    end

    spec("are found at barriers and at the ends of loops and regions, with their durations", function(t)
      local barriers = found(t)
      assert.are.equal(4, #barriers)
      for n = 1, 3 do
        local list = known(n)
        assert.are.equal(2, #barriers[n])
        for i = 1, 2 do close_to(barriers[n][i].wait_s, list[i], barriers[n][i].path) end
        assert.are.equal(barriers[n][1].for_location, barriers[n][2].for_location)
      end
      local names = {}
      for n = 1, 4 do names[n] = barriers[n].kind end
      assert.are.same({ "OpenMP barrier", "OpenMP imbalance", "OpenMP imbalance", "OpenMP imbalance" }, names)
    end)

    spec("name the late thread", function(t)
      local late, primary = {}, 1
      for n, b in ipairs(found(t)) do late[n] = b[1].for_location end
      assert.are.equal(primary, late[3])
      assert.are_not.equal(primary, late[1])
      assert.are_not.equal(late[1], late[2])
      assert.are.equal(late[2], late[4])
    end)

    spec("have the call path of the thread that forked the team", function(t)
      for _, w in ipairs(assert(waits.of(t))) do
        assert.matches("^omp parallel @program%.c:%d+/omp implicit task @program%.c:%d+/omp i?m?p?l?i?c?i?t? ?barrier @", w.path)
      end
    end)

    spec("exclude the tasks that a thread executes in a barrier", function(t)
      local b, list = found(t)[4], known(4)
      close_to(b[1].wait_s + b[2].wait_s, list[1] + list[2] - task_s, b[1].path)
    end)

    spec("guide the critical path through the slowest threads", function(t)
      local path = assert(critical_path.of(t))
      local late = {}
      for n, b in ipairs(found(t)) do late[n] = b[1].for_location end
      local of, sum = {}, 0.0
      for _, p in ipairs(path.parts) do
        sum = sum + p.to_s - p.from_s
        if p.to_s - p.from_s > 0.1 then of[#of + 1] = p.location end
      end
      assert.are.same(late, of)
      assert.are.equal(1, path.parts[1].location, "it begins where the first team was forked")
      assert.is_true(path.parts[1].from_s < 1e-9)
      assert.is_true(math.abs(sum - path.length_s) < 1e-9)
      assert.is_true(sum > 0.2 + 0.18 + 0.16 + 0.24, "all naps on the path")
    end)

    spec("are printed by pmlua trace", function()
      local text = support.done(support.shell(("%s/pmlua trace --waits --critical-path %s/traces.otf2"):format(support.build,
        folder)))
      assert.matches("\nOpenMP imbalance +%S[^\n]+ thread %d+ +thread %d+ +1 +[%d.]+ ms\n", text)
      assert.matches("\nCritical path, [^\n]+\nREGION +ON THE PATH +SHARE +OF ALL ITS TIME\n", text)
      local _, csv = support.shell(("%s/pmlua trace --csv --table waits %s/traces.otf2"):format(support.build, folder))
      assert.matches("^kind,region,rank,for_rank,waits,wait_s,path,location,for_location,for_path\n", csv)
      assert.matches("\nOpenMP imbalance,omp implicit barrier @program%.c:%d+,,,1,[%d.]+,omp parallel [^\n]+,%d,%d,"
        .. "omp parallel [^\n]+\n", csv)
    end)
  end)
end
