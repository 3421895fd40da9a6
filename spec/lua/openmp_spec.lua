-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/openmp_spec.lua - tests of OpenMP constructs in recorded programs with known threads, calls and iterations.

local support = require "spec.core.support"
local openmp = require "spec.lua.openmp"

-- Each construct stands on the line that its comment names.
local regions = [[
#include <omp.h>
int main(void) {
  double sum = 0;
  for (int step = 0; step < 10; step++) {
#pragma omp parallel for schedule(static) num_threads(4) reduction(+ : sum)
    for (int i = 0; i < 64; i++) sum += i;
  }
  omp_set_num_threads(3);
#pragma omp parallel
  {
#pragma omp barrier
#pragma omp barrier
  }
  omp_set_num_threads(2);
#pragma omp parallel
  sum += 1;
  return sum < 0;
}
]]

describe("pmlua record of parallel regions with libomp", function()
  local lacks = openmp.lacks "libomp"
  local dir, all, of

  setup(function()
    if lacks then return end
    dir = support.folder()
    all = openmp.record(dir, openmp.compile("libomp", dir, regions))
    of = openmp.constructs(all)
  end)

  local spec = support.it_unless(function() return lacks end)
  spec("has each parallel region at its source line, with its threads and calls", function()
    local found = {}
    for _, line in ipairs { 5, 9, 15 } do
      local c = of["omp parallel @program.c:" .. line]
      found[#found + 1] = { line, c.threads, c.calls, c.runtime }
    end
    assert.same({ { 5, 4, 10, "OMPT" }, { 9, 3, 1, "OMPT" }, { 15, 2, 1, "OMPT" } }, found)
  end)

  spec("has the work of each thread of a team, by its number", function()
    assert.same({ 10, 10, 10, 10 }, openmp.calls_by_thread(of["omp implicit task @program.c:5"]))
    assert.same({ 1, 1, 1 }, openmp.calls_by_thread(of["omp implicit task @program.c:9"]))
  end)

  spec("has barriers, each with its calls; threads waited in them, and in no loop", function()
    assert.same({ 3, 3 }, { of["omp barrier @program.c:11"].calls, of["omp barrier @program.c:12"].calls })
    assert.same(40, of["omp implicit barrier @program.c:5"].calls)
    assert.truthy(of["omp implicit barrier @program.c:5"].waited_ns > 0)
    local loop = of["omp for @program.c:5"]
    assert.same({ 40, 640, 0 }, { loop.calls, loop.count, loop.waited_ns })
  end)
end)

-- fib(6) calls itself 24 times, by tasks of two lines; each thread of the second team forks three inner ones.
local constructs = [[
#include <omp.h>
#include <unistd.h>
static int fib(int n) {
  int a, b;
  if (n < 2) return n;
#pragma omp task shared(a)
  a = fib(n - 1);
#pragma omp task shared(b)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}
int main(void) {
  omp_lock_t lock;
  int sum = 0, f = 0, wrong = 0;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
  {
#pragma omp for schedule(dynamic, 2)
    for (int i = 0; i < 20; i++) {
#pragma omp critical(a)
      sum += i;
    }
#pragma omp sections
    {
#pragma omp section
      usleep(1);
#pragma omp section
      usleep(1);
    }
    omp_set_lock(&lock);
    sum++;
    omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp single
    f = fib(6);
  }
  wrong = sum != 193 || f != 8;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(2)
    usleep(1);
  }
  return wrong;
}
]]

for _, runtime in ipairs { "libomp", "libgomp" } do
  describe("pmlua record of a program with " .. runtime, function()
    local lacks = openmp.lacks(runtime)
    local source = runtime == "libomp" and "OMPT" or "calls of libgomp"
    local dir, all, folder

    setup(function()
      if lacks then return end
      dir = support.folder()
      all, folder = openmp.record(dir, openmp.compile(runtime, dir, constructs), "--trace")
    end)

    --- The only construct of a kind whose threads and calls are these; runtimes name a line or two apart.
    local function one(construct, threads, calls)
      for _, c in ipairs(all.openmp) do
        if c.construct == construct and c.threads == threads and c.calls == calls then return c end
      end
      return nil
    end

    local spec = support.it_unless(function() return lacks end)
    spec("counts loops, sections, critical sections and locks", function()
      assert.same(20, one("for", 3, 3).count)
      assert.same(2, one("sections", 3, 3).count)
      assert.truthy(one("critical", 3, 20))
      assert.truthy(one("lock", 3, 3))
      -- libgomp also calls a barrier for single, and gcc may place this call on the same line
      assert.truthy(one("barrier", 3, 3) or one("barrier", 3, 6))
    end)

    spec("counts tasks at their creation, execution and wait", function()
      local tasks, waits = {}, one("taskwait", 3, 12)
      for _, c in ipairs(all.openmp) do
        if c.construct == "task" then tasks[#tasks + 1] = { c.name, c.count, c.calls } end
      end
      table.sort(tasks, function(a, b) return a[1] < b[1] end)
      assert.same({ { "omp task @program.c:6", 12, 12 }, { "omp task @program.c:8", 12, 12 } }, tasks)
      assert.same("omp taskwait @program.c:10", waits.name)
    end)

    spec("distinguishes nested teams from the teams around them", function()
      assert.truthy(one("parallel", 3, 1))
      assert.truthy(one("parallel", 2, 1))
      local inner = one("parallel", 2, 6)
      assert.same({ 6, 6 }, openmp.calls_by_thread(inner))
    end)

    spec("states its source of constructs, and uses them instead of the runtime's calls", function()
      for _, c in ipairs(all.openmp) do assert.same(source, c.runtime) end
      for _, f in ipairs(all.functions) do
        assert.falsy(f.library:find "^lib[gi]*omp", f.library .. " " .. f.name)
        if f.library == "OpenMP" then assert.same(0, f.unreturned, f.name) end
      end
    end)

    spec("makes traces that readers accept, with forks, teams, tasks and locks", function()
      support.done(support.shell(("/usr/bin/python3 spec/otf2_validate.py %s/traces.otf2"):format(folder)))
      local _, printed = support.shell(("otf2-print %s/traces.otf2"):format(folder))
      local function count(event) return select(2, printed:gsub("\nTHREAD_" .. event .. " ", "")) end
      assert.same({ 8, 8, 17, 17 }, { count "FORK", count "JOIN", count "TEAM_BEGIN", count "TEAM_END" })
      assert.same({ 24, 24, 48 }, { count "TASK_CREATE", count "TASK_COMPLETE", count "TASK_SWITCH" })
      assert.same({ 23, 23 }, { count "ACQUIRE_LOCK", count "RELEASE_LOCK" })
    end)

    spec("has one communicator for all teams of the same threads, and constructs by their roles", function()
      local _, printed = support.shell(("otf2-print -G %s/traces.otf2"):format(folder))
      local teams, members = 0, {}
      for list in printed:gmatch "Type: COMM_GROUP, Paradigm: OPENMP, [^\n]*Members?: ([^\n]*)" do
        assert.falsy(members[list], list)
        members[list], teams = true, teams + 1
      end
      assert.truthy(teams >= 2)
      assert.same(teams, select(2, printed:gsub("\nCOMM ", "")))
      for _, role in ipairs { "PARALLEL", "LOOP", "SECTIONS", "BARRIER", "IMPLICIT_BARRIER", "CRITICAL", "TASK", "TASK_WAIT" } do
        assert.truthy(printed:find(("Role: %s, Paradigm: OPENMP"):format(role), 1, true), role)
      end
    end)
  end)
end

-- The region's last call is a jump: its caller is not in the program.
local singles = [[
int main(void) {
  int a = 0;
  long sum = 0;
#pragma omp parallel num_threads(3)
  {
    for (int k = 0; k < 4; k++) {
#pragma omp single
      a++;
    }
    int mine = 5;
#pragma omp single copyprivate(mine)
    mine = 7;
#pragma omp single
    {
#pragma omp taskloop num_tasks(6)
      for (int i = 0; i < 60; i++) {
#pragma omp atomic
        sum += i * (mine == 7);
      }
    }
#pragma omp single nowait
    a++;
#pragma omp barrier
  }
  return a != 5 || sum != 1770;
}
]]

for _, runtime in ipairs { "libomp", "libgomp" } do
  describe("pmlua record of singles and a taskloop with " .. runtime, function()
    it("has their threads, turns and tasks, at lines of the program", function()
      local lacks = openmp.lacks(runtime)
      if lacks then return pending(lacks) end
      local dir, sums = support.folder(), {}
      local program = openmp.compile(runtime, dir, singles, "-O2")
      for _, c in ipairs(openmp.record(dir, program).openmp) do
        -- libomp 14 reports its own address for a taskloop
        assert.truthy(c.name:find "@program.c:%d+$" or runtime == "libomp" and c.construct:find "^task", c.name)
        local s = sums[c.construct] or { calls = 0, count = 0 }
        sums[c.construct], s.calls, s.count = s, s.calls + c.calls, s.count + c.count
      end
      assert.same({ 7, 1, 60, 6, 6 }, { sums.single.calls, sums.taskloop.calls, sums.taskloop.count, sums.task.calls,
        sums.task.count })
    end)
  end)
end

local library = [[
int work(void) {
  int sum = 0;
#pragma omp parallel for num_threads(3) schedule(dynamic) reduction(+ : sum)
  for (int i = 0; i < 30; i++) sum += i;
  return sum;
}
]]

local opens_it = [[
#include <dlfcn.h>
int main(void) {
  void *library = dlopen("./library.so", RTLD_NOW | RTLD_LOCAL);
  int (*work)(void) = (int (*)(void))dlsym(library, "work");
  return work() != 435;
}
]]

describe("pmlua record of a program of gcc", function()
  it("finds the runtime of a library that the program opened for itself", function()
    local lacks = openmp.lacks "libgomp"
    if lacks then return pending(lacks) end
    local dir = support.folder()
    support.spit(dir .. "/library.c", library)
    support.spit(dir .. "/main.c", opens_it)
    support.done(support.shell(("cd %s && gcc -g -O1 -fopenmp -shared -fPIC library.c -o library.so && "
      .. "gcc main.c -o main -ldl"):format(dir)))
    local all = openmp.record(dir, "sh -c 'cd " .. dir .. " && ./main'", "--lib OpenMP")
    local names = {}
    for _, c in ipairs(all.openmp) do
      if c.construct == "for" then names[#names + 1] = c.count end
    end
    assert.same({ 30 }, names)
    assert.truthy(all.openmp[1].name:find "@library.c:%d$", all.openmp[1].name)
  end)

  it("has libomp's constructs, at the program's lines, if it is loaded as libgomp", function()
    local lacks = openmp.lacks "libgomp" or openmp.lacks "libomp"
    if lacks then return pending(lacks) end
    local dir = support.folder()
    local _, path = support.shell("ldd " .. openmp.compile("libomp", dir, constructs))
    local program = openmp.compile("libgomp", dir, constructs)
    assert(support.shell(("mkdir %s/lib && ln -s %s %s/lib/libgomp.so.1"):format(dir, path:match "=> (/%S*libomp%S*)", dir)) == 0)
    local all = openmp.record(dir, program, "", "LD_LIBRARY_PATH=" .. dir .. "/lib")
    local tasks = {}
    for _, c in ipairs(all.openmp) do
      assert.same("OMPT", c.runtime)
      assert.truthy(c.name:find "@program.c:%d+$", c.name)
      if c.construct == "task" then tasks[#tasks + 1] = { c.count, c.calls } end
    end
    assert.same({ { 12, 12 }, { 12, 12 } }, tasks)
  end)
end)

-- The second region begins when pmlua has freed the thread's data: keys are destroyed in the order of their creation.
local ends_late = [[
#include <pthread.h>
static void work(void *arg) {
#pragma omp parallel num_threads(2)
  __atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
}
static void *thread(void *n) {
  pthread_key_t key;
  work(n);
  pthread_key_create(&key, work);
  pthread_setspecific(key, n);
  return 0;
}
int main(void) {
  pthread_t t;
  int n = 0;
  pthread_create(&t, 0, thread, &n);
  pthread_join(t, 0);
  return n != 4;
}
]]

describe("pmlua record of a thread that ends", function()
  local lacks = openmp.lacks "libgomp"
  it("has regions of destructors", function()
    if lacks then return pending(lacks) end
    local dir = support.folder()
    local all = openmp.record(dir, openmp.compile("libgomp", dir, ends_late, "-pthread"), "", "MALLOC_PERTURB_=85")
    local region = openmp.constructs(all)["omp parallel @program.c:3"]
    assert.same({ 2, 2 }, { region.calls, region.threads })
  end)
end)

-- Between the two regions the workers of the first one sleep.
local pause = [[
#include <sys/wait.h>
#include <unistd.h>
static void work(int n) {
#pragma omp parallel num_threads(n)
  usleep(1);
}
int main(void) {
  int status = 0;
  work(3);
  usleep(300000);
  work(3);
  pid_t child = fork();
  if (child == 0) {
    work(2);
    return 0;
  }
  waitpid(child, &status, 0);
  work(3);
  return status != 0;
}
]]

describe("pmlua record of teams with libomp", function()
  local lacks = openmp.lacks "libomp"
  local all, folder

  setup(function()
    if lacks then return end
    local dir = support.folder()
    all, folder = openmp.record(dir, openmp.compile("libomp", dir, pause), "--trace", "KMP_BLOCKTIME=0")
  end)

  it("ends the waits of workers at the join, whenever they wake up", function()
    if lacks then return pending(lacks) end
    local _, printed = support.shell(("for g in -G ''; do otf2-print $g %s/traces.otf2; done"):format(folder))
    local process, join, past = {}, {}, 0
    for location, group in printed:gmatch "\nLOCATION +(%d+) [^\n]-Group: [^\n]-<(%d+)>" do process[location] = group end
    for line in printed:gmatch "[^\n]+" do
      local event, thread, ticks = line:match "^([%u_]+)%s+(%d+)%s+(%d+)"
      local of = process[thread]
      if event == "THREAD_JOIN" then join[of] = { at = math.tointeger(ticks), by = thread } end
      if event == "THREAD_FORK" then join[of] = nil end
      if event == "LEAVE" and join[of] and thread ~= join[of].by and math.tointeger(ticks) > join[of].at then past = past + 1 end
    end
    assert.truthy(next(process))
    for _, event in ipairs { "FORK", "JOIN" } do -- the program runs three regions, its child one
      assert.same(4, select(2, printed:gsub("\nTHREAD_" .. event, "")), event)
    end
    assert.same(0, past)
  end)

  it("has a child's regions beside its parent's", function()
    if lacks then return pending(lacks) end
    local by_name = openmp.constructs(all)
    assert.same({ 4, 3 }, { by_name["omp parallel @program.c:4"].calls, by_name["omp parallel @program.c:4"].threads })
    assert.same({ 4, 4, 3 }, openmp.calls_by_thread(by_name["omp implicit task @program.c:4"]))
    assert.same(2, #all.processes)
    for _, f in ipairs(all.functions) do assert.same(0, f.unreturned, f.name) end
  end)

  it("has only constructs that are chosen, as functions of a library OpenMP", function()
    if lacks then return pending(lacks) end
    local dir = support.folder()
    local program = openmp.compile("libomp", dir, pause)
    local function names(options)
      local list = {}
      for i, c in ipairs(openmp.record(dir, program, options).openmp) do list[i] = c.construct end
      table.sort(list)
      return table.concat(list, ", ")
    end
    for _, chosen in ipairs { "OpenMP", "'libomp*'", "libomp" } do
      assert.same("implicit barrier, implicit task, parallel", names("--lib " .. chosen))
    end
    assert.same("implicit barrier", names "--sym 'omp *barrier'")
    assert.same("implicit barrier, parallel", names "--not 'omp implicit task'")
    assert.same("", names "--not OpenMP")
    assert.same("", names "--not libomp")
    if openmp.lacks "libgomp" then return end
    program = openmp.compile("libgomp", dir, [[
int usleep(unsigned);
int main(void) {
#pragma omp parallel num_threads(2)
  usleep(1);
}]])
    assert.same("implicit barrier, implicit task, parallel", names "--lib libgomp")
    assert.same("", names "--not 'libgomp*'")
  end)

  it("leaves a table of all constructs in the folder", function()
    if lacks then return pending(lacks) end
    local csv = support.slurp(folder .. "/openmp.csv")
    assert.truthy(csv:find("^name,construct,runtime,threads,calls,count,ns,waited_ns,imbalance\n"))
    assert.truthy(csv:find("\nomp parallel @program.c:4,parallel,OMPT,3,4,0,%d+,%d+,[%d.]+\n"))
  end)
end)

-- Calls crc32 110 times on the first thread, 100 times on each of three threads, and 30 times in tasks. The first call follows a
-- lock; the workers' calls are inside constructs.
local calls = [[
#include <omp.h>
#include <zlib.h>
static void call(int n) { for (int i = 0; i < n; i++) crc32(0, (const Bytef *)"abc", 3); }
int main(void) {
  omp_lock_t lock;
  omp_init_lock(&lock);
  omp_set_lock(&lock);
  omp_unset_lock(&lock);
  call(100);
#pragma omp parallel num_threads(3)
  {
#pragma omp critical
    call(40);
#pragma omp barrier
#pragma omp for ordered schedule(static, 1)
    for (int i = 0; i < 3; i++) {
#pragma omp ordered
      call(60);
    }
#pragma omp single
    for (int i = 0; i < 3; i++) {
#pragma omp task
      call(10);
    }
  }
  call(10);
  return 0;
}
]]

for _, runtime in ipairs { "libomp", "libgomp" } do
  describe("pmlua record of a program with " .. runtime .. " loses no call of a library", function()
    local lacks = openmp.lacks(runtime)
    local dir, program

    setup(function()
      if lacks then return end
      dir = support.folder()
      program = openmp.compile(runtime, dir, calls, "-Wl,--no-as-needed -lz")
    end)

    for _, options in ipairs { "", "--lib 'libz*'", "--sym crc32", "--not OpenMP", "--not 'omp lock:omp parallel'",
      "--lib 'libz*' --trace", "--lib 'libz*' -e page-faults" } do
      it("with " .. (options ~= "" and options or "all selected"), function()
        if lacks then return pending(lacks) end
        local all = openmp.record(dir, program, options)
        local n = {}
        for _, f in ipairs(all.functions) do n[f.name] = f.calls end
        assert.same(100 + 3 * 100 + 3 * 10 + 10, n.crc32)
      end)
    end
  end)
end

local with_sections = [[
#include <pml.h>
int main(void) {
  PML_SECTION("chunk", chunk);
#pragma omp parallel for schedule(static) num_threads(2)
  for (int i = 0; i < 8; i++) {
    pml_section_start(chunk);
    pml_section_stop(chunk);
  }
  return 0;
}
]]

describe("PMLUA_REPORT of a program with sections and libomp", function()
  it("has constructs of OpenMP beside the sections", function()
    local lacks = openmp.lacks "libomp"
    if lacks then return pending(lacks) end
    local dir = support.folder()
    local program = openmp.compile("libomp", dir, with_sections, ("-I%s/core -L%s -lpmlua -Wl,-rpath,%s"):format(
      support.root, support.build, support.build))
    support.done(support.shell(("PMLUA_REPORT=%s/out %s"):format(dir, program)))
    local _, text = support.pmlua("report " .. dir .. "/out")
    assert.truthy(text:find "chunk +%(?%*?%)? *8 ")
    assert.truthy(text:find "\nomp for @program.c:4 +2 +2 +8 ", text)
    local _, json = support.pmlua("report --json " .. dir .. "/out")
    assert.same(1, openmp.constructs(require "pmlua.json".decode(json))["omp parallel @program.c:4"].calls)
  end)
end)

describe("the table of OpenMP's constructs", function()
  local function sums(index, ns, waited_ns)
    return { name = "omp implicit task @a.c:1", construct = "implicit task", runtime = 1, index = index, threads = 4,
      calls = 1, count = 0, ns = ns, waited_ns = waited_ns }
  end
  local parallel = { name = "omp parallel @a.c:1", construct = "parallel", runtime = 1, index = 0, threads = 0, calls = 1,
    count = 0, ns = 100, waited_ns = 0 }

  it("has the imbalance of a region: the longest work over the average, without waiting", function()
    local table_of = require "pmlua.internal.record.openmp"
    local list = table_of.of { { process = { openmp = { parallel, sums(0, 100, 0), sums(1, 100, 50), sums(2, 100, 75),
      sums(3, 100, 75) } } } }
    local by_name = openmp.constructs { openmp = list }
    local c = by_name["omp parallel @a.c:1"]
    assert.same({ 4, 1, 100, 200, 2.0 }, { c.threads, c.calls, c.ns, c.waited_ns, c.imbalance })
    assert.truthy(table_of.text(list, 10):find "omp parallel @a.c:1 +4 +1 +%- +100 +200 +2.00")
  end)

  it("adds up processes, and successive threads with the same number", function()
    local list = require "pmlua.internal.record.openmp".of { { process = { openmp = { sums(1, 5, 1), sums(1, 7, 2) } } },
      { process = { openmp = { sums(1, 9, 3) } } }, {} }
    assert.same({ { calls = 0, ns = 0, waited_ns = 0 }, { calls = 3, ns = 21, waited_ns = 6 } }, list[1].by_thread)
  end)

  it("has the imbalance within each process, also where another thread of the next one has the most work", function()
    local list = require "pmlua.internal.record.openmp".of { { process = { openmp = { sums(0, 30, 0), sums(1, 10, 0) } } },
      { process = { openmp = { sums(0, 10, 0), sums(1, 30, 0) } } } }
    assert.same(3.0, list[1].imbalance)
  end)
end)
