-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/watchpoint_spec.lua - tests of pmlua watchpoint with real programs: every access, by the thread that made it.

local support = require "spec.core.support"
local json = require "pmlua.json"

local command = support.build .. "/pmlua"
local dir = support.folder()

--- Status, standard output, standard error.
local shell = support.shell_of(dir)

local program = support.C .. [[
typedef float celsius;
enum color { GREEN = -5, BLUE = 7 };
struct point { double x[4]; struct { short s; char *name; } in[2]; };
static volatile int count;
static volatile unsigned char byte;
static volatile celsius warm;
static volatile enum color color;
static volatile struct point point;
static volatile long both;
static volatile long double wide;
static volatile float _Complex wave;
static volatile unsigned long huge;
static volatile double tiny;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void work(void) { __asm__ volatile("" ::: "memory"); }
static void *run(void *n) {
  for (long i = 0; i < (long)n; i++) {
    work();
    pthread_mutex_lock(&lock);
    both = 100 * (long)n + i;
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}
static void on_trap(int sig) { (void)sig; }
int main(int argc, char **argv) {
  pthread_t t[3];
  const char *how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "trap") == 0) signal(SIGTRAP, on_trap);
  for (int i = 0; i < 10; i++) {
    count = i;
    byte = (unsigned char)(250 + i);
    warm = (float)i / 4;
    color = i & 1 ? GREEN : BLUE;
    point.x[3] = i * 1.5;
    point.in[1].s = (short)-i;
    point.in[0].name = NULL;
    wide = i / -8.0L;
    wave = i + 0.5f * (float)i * 1.0fi;
    huge = ~0ul - (unsigned long)i;
    tiny = i * 1e-20;
  }
  for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, run, (void *)(10 + i));
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
  if (strcmp(how, "fork") == 0 && fork() == 0) { for (int i = 0; i < 3; i++) count = 100 + i; return 0; }
  if (strcmp(how, "fork") == 0) wait(NULL);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "exec") == 0) execl(argv[0], argv[0], NULL);
  printf("ended\n");
  return 3;
}
]]

local library = "int shared; static volatile double hidden; " ..
  "void bump(int n) { for (int i = 0; i < n; i++) hidden = i / 2.0; shared = n; }"
local user = "void bump(int n); int main(void) { bump(7); return 0; }"

local plus = [[
namespace solver {
namespace inner { volatile float residual; }
class grid { public: static volatile int level; };
volatile int grid::level;
template <typename T> __attribute__((noinline)) void step(T x) { inner::residual = (float)x; }
static void refine() { static volatile int depth; depth = depth + 1; grid::level = 5; }
}
int main() { for (int i = 0; i < 3; i++) solver::step(i / 2.0); solver::refine(); return 0; }
]]

-- Two of one name.
local twin = "static volatile int twin; int FUNCTION(void) { for (int i = 0; i < TIMES; i++) twin = i; return twin; }"
local twins = "int one(void); int two(void); int main(void) { return one() + two(); }"

local function build()
  support.spit(dir .. "/app.c", program)
  support.spit(dir .. "/lib.c", library)
  support.spit(dir .. "/user.c", user)
  support.spit(dir .. "/plus.cpp", plus)
  support.spit(dir .. "/one.c", twin)
  support.spit(dir .. "/two.c", twin)
  support.spit(dir .. "/twins.c", twins)
  local lines = {
    "gcc -g -O1 -pthread app.c -o app", "gcc -g -O1 -pthread -no-pie app.c -o nopie", "gcc -O1 -pthread app.c -o nodebug",
    "strip -o stripped app", "gcc -O1 -static -pthread app.c -o static", "gcc -g -O1 -shared -fPIC lib.c -o libwatched.so",
    "g++ -g -O1 plus.cpp -o plus", "mkdir below; mv one.c two.c below",
    "gcc -g -O1 -c below/one.c -DFUNCTION=one -DTIMES=2; gcc -g -O1 -c below/two.c -DFUNCTION=two -DTIMES=3",
    "gcc twins.c one.o two.o -o twins",
    "gcc user.c -L. -lwatched -Wl,-rpath,'$ORIGIN' -o user", "objcopy --only-keep-debug app app.debug",
    "strip -o split app", "objcopy --add-gnu-debuglink=app.debug split",
  }
  for _, line in ipairs(lines) do
    local status, _, err = shell(line)
    assert.equal(0, status, line .. ": " .. err)
  end
end

--- The processes of a watch.
local function watched(arguments)
  local status, out, err = shell(command .. " watchpoint --json " .. arguments)
  local text = out:match "(%[\n.*)$" or out:match "(%[.*)$"
  assert.truthy(text, err .. out)
  return json.decode(text), status, err, out:sub(1, #out - #text)
end

local function accesses(process)
  local out = {}
  for _, lane in ipairs(process.lanes) do
    local name = process.points[lane.point].name
    out[name] = out[name] or {}
    table.insert(out[name], lane.accesses)
  end
  return out
end

--- it(), or pending if watchpoints are not available.
local function watch_it(name, f)
  it(name, function()
    local status, _, err = shell(command .. " watchpoint -o probe -e count -- true")
    shell "rm -rf probe"
    if status == 1 and not err:find "count" then return pending(err) end -- if watchpoints work, the error names count
    f()
  end)
end

describe("pmlua watchpoint", function()
  setup(function() build() end)

  watch_it("counts calls and writes of each thread, and does not change the program", function()
    local processes, status, _, out = watched "-o calls -e work -e mem:both:w -- ./app"
    assert.same({ 3, "ended\n", 1 }, { status, out, #processes })
    assert.same({ work = { 10, 11, 12 }, both = { 10, 11, 12 } }, accesses(processes[1]))
    assert.equal(0, processes[1].missed)
  end)

  watch_it("has the values that each thread wrote, in order, with their times", function()
    local processes = watched "-o values -v both -- ./app"
    assert.equal(3, #processes[1].lanes)
    for t, lane in ipairs(processes[1].lanes) do
      local n, before = 9 + t, 0
      assert.same({ n, n, n }, { lane.accesses, #lane.value, #lane.ns })
      for i, v in ipairs(lane.value) do
        assert.equal(100 * n + i - 1, v)
        assert.is_true(lane.ns[i] > before)
        before = lane.ns[i]
      end
    end
  end)

  watch_it("reads integers, floats, enums, members, elements; with and without PIE, with separate debug data", function()
    for _, name in ipairs { "app", "nopie", "split" } do
      local processes = watched(("-o types-%s -v byte -v warm -v color -v 'point.in[1].s' -- ./%s"):format(name, name))
      local value = {}
      for _, lane in ipairs(processes[1].lanes) do value[processes[1].points[lane.point].name] = lane.value end
      assert.same({ 250, 251, 252, 253, 254, 255, 0, 1, 2, 3 }, value.byte)
      assert.same({ 0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25 }, value.warm)
      assert.same({ 7, -5, 7, -5, 7, -5, 7, -5, 7, -5 }, value.color)
      assert.same({ 0, -1, -2, -3, -4, -5, -6, -7, -8, -9 }, value["point.in[1].s"])
      processes = watched(("-o elements-%s -v 'point.x[3]' -e 'point.in[0].name:w' -- ./%s"):format(name, name))
      assert.same({ ["point.x[3]"] = { 10 }, ["point.in[0].name"] = { 10 } }, accesses(processes[1]))
      assert.same({ "double", "char *" }, { processes[1].points[1].type, processes[1].points[2].type })
    end
  end)

  watch_it("finds the symbols of libraries", function()
    local processes = watched "-o library -v hidden -e shared:w -e bump -- ./user"
    assert.same({ hidden = { 7 }, shared = { 1 }, bump = { 1 } }, accesses(processes[1]))
    assert.same({ 0, 0.5, 1, 1.5, 2, 2.5, 3 }, processes[1].lanes[1].value)
  end)

  watch_it("finds namespaces, classes, and static variables of a function", function()
    local points = "-v solver::inner::residual -v refine::depth -v solver::grid::level -e _ZN6solver4stepIdEEvT_"
    local processes = watched("-o scopes " .. points .. " -- ./plus")
    assert.same({ ["solver::inner::residual"] = { 3 }, ["refine::depth"] = { 1 }, ["solver::grid::level"] = { 1 },
      _ZN6solver4stepIdEEvT_ = { 3 } }, accesses(processes[1]))
    assert.same({ 0, 0.5, 1 }, processes[1].lanes[1].value)
  end)

  watch_it("counts calls of functions of the C library that its own handler might need", function()
    shell "mkdir errnos"
    support.spit(dir .. "/errno.c", "#include <errno.h>\nint *volatile p; " ..
      "int main(void) { for (int i = 0; i < 9; i++) p = __errno_location(); return 0; }")
    shell "gcc -O0 errno.c -o errno"
    assert.is_true(accesses(watched("-o errnos -e __errno_location:x -- ./errno")[1]).__errno_location[1] >= 9)
  end)

  watch_it("distinguishes two variables of one name by their files", function()
    local processes = watched "-o twins-apart -v one.c::twin -e two.c::twin:w -- ./twins"
    assert.same({ ["one.c::twin"] = { 2 }, ["two.c::twin"] = { 3 } }, accesses(processes[1]))
  end)

  watch_it("needs no debug information to count", function()
    assert.same({ work = { 10, 11, 12 }, count = { 10 } }, accesses(watched("-o bare -e work:x -e count:w -- ./nodebug")[1]))
  end)

  watch_it("watches a shell's programs, forked children, and programs that are executed again", function()
    assert.same({ count = { 10 } }, accesses(watched("-o shell --in ./app -e count:w -- sh -c './app; true'")[1]))
    local processes = watched "-o forked -v count -- ./app fork"
    assert.same({ count = { 3 } }, accesses(processes[2]))
    assert.same({ 100, 101, 102 }, processes[2].lanes[1].value)
    assert.equal(2, #watched "-o again -v count -- ./app exec")
  end)

  watch_it("keeps the accesses of a program that is ended by a signal, and reports the signal", function()
    local processes, status, err = watched "-o aborted -v count -- ./app abort"
    assert.same({ 128 + 6, { count = { 10 } } }, { status, accesses(processes[1]) })
    assert.is_nil(processes[1].missed)
    assert.truthy(err:find("was killed or is still running", 1, true), err)
  end)

  watch_it("reports the number of accesses that it missed", function()
    local processes, _, err = watched "-o trap -v count -- ./app trap"
    assert.same({}, processes[1].lanes)
    assert.equal(10, processes[1].missed)
    assert.truthy(err:find("10 accesses could not be attributed to a thread", 1, true), err)
  end)

  watch_it("counts without keeping anything, if requested", function()
    local processes, _, err = watched "-o little --values 0 -v count -- ./app"
    local lane = processes[1].lanes[1]
    assert.same({ { count = { 10 } }, 0, 0 }, { accesses(processes[1]), #lane.value, lane.dropped })
    assert.falsy(err:find("dropped", 1, true), err)
  end)

  watch_it("writes traces", function()
    if not support.has "otf2-print" then return pending "otf2-print is not installed" end
    watched "-o traced --trace -v warm -e work -- ./app"
    local _, out = shell "otf2-print traced/trace-*-warm/traces.otf2"
    assert.equal(10, select(2, out:gsub("\nMETRIC", "")))
    assert.truthy(out:find('"warm" <0>; %w+; 2%.25'), out)
    _, out = shell "otf2-print traced/trace-*-work/traces.otf2"
    assert.equal(33, select(2, out:gsub("\nMETRIC", "")))
  end)

  watch_it("writes traces that lose nothing of small and large values", function()
    if not support.has "otf2-print" then return pending "otf2-print is not installed" end
    watched "-o whole --trace -v tiny -v huge -v count -- ./app"
    local function said(name)
      local _, out = shell(("for g in -G ''; do otf2-print $g whole/trace-*-%s/traces.otf2; done"):format(name))
      return out
    end
    local tiny = said "tiny"
    assert.truthy(tiny:find("ABSOLUTE_NEXT, Value Type: DOUBLE", 1, true), tiny)
    assert.truthy(tiny:find("9[%.0]*e%-20") or tiny:find("0%.00000000000000000009"), tiny)
    local huge = said "huge"
    assert.truthy(huge:find("Value Type: UINT64", 1, true))
    -- The nearest double is larger by one, and the largest integer means "no value".
    assert.equal(10, select(2, huge:gsub('"huge" <%d+>; UINT64; 18446744073709551614%)', "")), huge)
    assert.truthy(said("count"):find("Value Type: INT64", 1, true))
  end)

  watch_it("converts long doubles to doubles, and takes the parts of complex numbers", function()
    local processes = watched "-o wider -v wide -v wave.imag -- ./app"
    local lanes = processes[1].lanes
    assert.equal(-9 / 8, lanes[1].value[10])
    assert.equal(4.5, lanes[2].value[10])
  end)

  watch_it("prints a table for people", function()
    local status, _, err = shell(command .. " watchpoint -o table -v count -- ./app")
    assert.equal(3, status)
    assert.truthy(err:find "count +w +volatile int +0 +10 +0 +9 +0 +9\n", err)
  end)

  support.with "gcc" ("says what cannot be watched, in one line", function()
    local cases = {
      [""] = { 2, "name what to watch" }, ["-e x"] = { 2, "no command given" },
      ["-e a:q -- true"] = { 2, "is not mem:SYMBOL" },
      ["--values x -e a -- true"] = { 2, "%-%-values" }, ["-e count -- ./nothere"] = { 127, "command not found" },
      ["-e count -- ./static"] = { 126, "statically linked" },
    }
    local possible = [[ -e 'assert(pml.watchpoint.available() and pml.watchpoint.find("./app", "count"))']]
    if (shell(command .. possible)) == 0 then
      cases["-e cuont -- ./app"] = { 1, "nearest: count" }
      cases["-e count -- ./stripped"] = { 1, "stripped" }
      cases["-v count -- ./nodebug"] = { 1, "compile with %-g" }
      cases["-v twin -- ./twins"] = { 1, "there are 2 of this name in ./twins; choose one with FILE.c::twin" }
      cases["-v work -- ./app"] = { 1, "is a function" }
      cases["-v point -- ./app"] = { 1, "name a member" }
      cases["-e count:wx -- ./app"] = { 1, "either on execution or on reads and writes" }
      cases["-e count -e count -e count -e count -e count -- ./app"] = { 1, "hold 4" }
      cases["-e count --in app.c -- ./app"] = { 1, "a script%?" }
    end
    support.refuses(dir, "watchpoint", cases)
    shell "mkdir taken; touch taken/plan"
    local status, _, err = shell(command .. " watchpoint -o taken -e count -- ./app")
    assert.equal(1, status)
    assert.truthy(err:find("already has results of pmlua watchpoint", 1, true), err)
  end)
end)
