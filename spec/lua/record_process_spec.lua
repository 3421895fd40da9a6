-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_process_spec.lua - tests of pmlua record in programs that create processes and threads in every way, wait for
-- their threads when they fork, or bring an allocator.
--
-- Slow: thousands of threads and processes under three allocators.

local recording = require "spec.lua.recording"
local support = require "spec.core.support"
local json = require "pmlua.json"
local quote = support.quote

local at, command = recording.place(), recording.command
local dir, shell = at.dir, at.shell

-- Its fork handler stops a worker that records until then, and waits for it.
local joins = [[
#include <pthread.h>
#include <zlib.h>
static pthread_t worker;
static volatile int stop;
static void *work(void *p) {
  while (!stop) crc32(0, (const Bytef *)"abc", 3);
  return p;
}
static void join(void) { stop = 1; pthread_join(worker, NULL); }
__attribute__((constructor)) static void begin(void) {
  pthread_atfork(join, NULL, NULL);
}
void start(void) { pthread_create(&worker, NULL, work, NULL); }
]]
local forks = support.C .. [[
#include <zlib.h>
void start(void);
int main(void) {
  crc32(0, (const Bytef *)"abc", 3);
  start();
  usleep(20000);
  pid_t p = fork();
  if (p == 0) _exit(0);
  waitpid(p, NULL, 0);
  puts("done");
  return 0;
}
]]

-- A library that calls back; the callback may not return: the program leaves it as its argument says, at its end after 20 ms in
-- a call in a call.
local calls_back = "void call_back(void (*f)(void)) { f(); }\nvoid call_twice(void (*f)(void)) { f(); f(); }\n"
local leaves = support.C .. [[
void call_back(void (*f)(void));
void call_twice(void (*f)(void));
static const char *how;
static jmp_buf out;
static void nothing(void) {}
static void jumps(void) { longjmp(out, 1); }
static void wait_20_ms(void) { nanosleep(&(struct timespec){0, 20000000}, NULL); }
static void ends(void) { wait_20_ms(); pthread_exit(NULL); }
static void is_cancelled(void) { wait_20_ms(); pthread_cancel(pthread_self()); pthread_testcancel(); }
static void *thread(void *f) { call_back((void (*)(void))f); return NULL; }
static void in_thread(void (*f)(void)) {
  pthread_t t;
  pthread_create(&t, NULL, thread, (void *)f);
  pthread_join(t, NULL);
}
static void stay(void) {
  call_twice(nothing);
  wait_20_ms();
  if (how[0] == 'k') raise(SIGKILL);
  if (how[0] == '_') _exit(3);
  if (how[0] == 'b') __asm__ volatile(
#if defined(__x86_64__)
      "syscall" ::"a"(SYS_exit_group), "D"(3) : "memory");
#else
      "mov x8, %0\n\tmov x0, 3\n\tsvc 0" ::"r"((long)SYS_exit_group) : "x8", "x0", "memory");
#endif
  exit(3);
}
static void outer(void) { call_back(stay); }
int main(int argc, char **argv) {
  how = argv[1];
  if (how[0] == 'l') for (volatile int i = 0; i < 3; i++) if (setjmp(out) == 0) call_back(jumps);
  if (how[0] == 't') { in_thread(ends); in_thread(is_cancelled); in_thread(nothing); }
  if (how[0] == 'l' || how[0] == 't') { call_back(nothing); call_twice(nothing); return 0; }
  if (argc > 2 && fork() != 0) return wait(NULL) < 0;
  call_twice(outer);
  return 1;
}
]]

-- An allocator like others: one lock, and exported functions that it calls while it holds the lock. A call to the
-- allocator from one of these never returns.
local allocator = support.C .. [[
static char memory[256 << 20] __attribute__((aligned(16)));
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside __attribute__((tls_model("initial-exec")));
size_t refill(size_t n);
void note_free(void);
size_t refill(size_t n) {
  size_t at = used;
  used += (n + 31) / 16 * 16;
  return at;
}
void note_free(void) {}
static void enter(void) {
  static const char said[] = "the allocator was called by what it calls\n";
  if (inside++) { (void)!write(2, said, sizeof said - 1); _exit(70); }
  pthread_mutex_lock(&lock);
}
static void leave(void) { pthread_mutex_unlock(&lock); inside--; }
void *malloc(size_t n) {
  enter();
  size_t at = refill(n);
  leave();
  if (at + n + 16 > sizeof memory) return NULL;
  memcpy(memory + at, &n, sizeof n);
  return memory + at + 16;
}
void free(void *p) { if (p != NULL) { enter(); note_free(); leave(); } }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) {
  void *q = malloc(n);
  size_t old = 0;
  if (p == NULL || q == NULL) return q;
  memcpy(&old, (char *)p - 16, sizeof old);
  return memcpy(q, p, old < n ? old : n);
}
void *aligned_alloc(size_t a, size_t n) {
  char *p = malloc(n + a);
  return p == NULL ? p : p + (a - (uintptr_t)p % a) % a;
}
void *memalign(size_t a, size_t n) { return aligned_alloc(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { *p = aligned_alloc(a, n); return *p == NULL ? 12 : 0; }
size_t malloc_usable_size(void *p) { size_t n = 0; if (p != NULL) memcpy(&n, (char *)p - 16, sizeof n); return n; }
]]
local allocates = support.C .. [[
#include <zlib.h>
static void *work(void *p) {
  (void)p;
  unsigned long sum = 0;
  for (int i = 0; i < 300; i++) {
    char *a = malloc(100), *b = calloc(3, 7);
    memset(a, i, 100);
    a = realloc(a, 300);
    sum = crc32(sum, (const Bytef *)a, 100);
    free(a);
    free(b);
  }
  return (void *)sum;
}
int main(void) {
  pthread_t t[8];
  for (int r = 0; r < 4; r++) {
    for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
  }
  puts(work(NULL) != NULL ? "allocated" : "no memory");
  return 0;
}
]]

-- Five children, one after another.
local FIVE = "./calls times:5 child crc32:5 end crc32:1 end"

local function compile(name, text, flags)
  support.compile(dir, { [name .. ".c"] = text }, ("cc -w -O1 %s.c %s"):format(name, flags))
end

--- Record @what: its output, and the recording.
local function record(what, options)
  shell "rm -rf r"
  local status, out, err = shell(("%s record -o r --json %s -- %s"):format(command, options or "", what))
  assert.same({ 0, err }, { status, err })
  local printed, text = out:match("^(.-)({.*)$")
  return printed, json.decode(text), err
end

--- The command with one more preloaded library, which pmlua itself does not load.
local function with(library, what)
  return ("sh -c 'LD_PRELOAD=%s:$LD_PRELOAD exec %s'"):format(library, what)
end

local function by_name(all) return support.by(all.functions, "name") end

describe("pmlua record in processes and threads", function()
  setup(function()
    compile("joins", joins, "-shared -fPIC -o libjoins.so -lz -pthread")
    compile("forks", forks, "-o forks -L. -ljoins -lz -Wl,-rpath," .. quote(dir))
    compile("calls_back", calls_back, "-shared -fPIC -o libcalls_back.so")
    compile("leaves", leaves, "-o leaves -L. -lcalls_back -pthread -Wl,-rpath," .. quote(dir))
    compile("allocator", allocator, "-shared -fPIC -o liballocator.so -pthread")
    compile("allocates", allocates, "-o allocates -fno-builtin -lz -pthread")
  end)

  for _, how in ipairs { "child", "clone", "bare", "_Fork" } do
    for _, busy in ipairs { "", "busy " } do
      it(("records each child by itself: %s%s"):format(busy, how), function()
        for _, trace in ipairs { "", "--trace --max-calls 50" } do
          local n, all, status, err, out = at.crc32(("%stimes:5 %s crc32:100 end crc32:1 end rest print"):format(busy, how),
            "--sym adler32 " .. trace)
          assert.same({ 0, 505, 6 }, { status, n, #all.processes }, err)
          assert.matches(" 5\n$", out)
          for _, p in ipairs(all.processes) do assert.truthy(p.ended == "exit" or p.ended == "_exit", p.ended) end
        end
      end)
    end
  end

  it("holds no lock while another library's fork handler waits for its thread", function()
    for _, trace in ipairs { "", "--trace --max-calls 50" } do
      local printed, all = record("./forks", "--lib 'libz*' " .. trace)
      assert.equal("done\n", printed)
      assert.equal(2, #all.processes)
    end
  end)

  it("loses no call of threads that come and go, not in the trace either", function()
    for _, rounds in ipairs { 50, 2 } do
      local n, _, status, err, _, folder = at.crc32(("times:%d threads:64 crc32:20 end end"):format(rounds),
        rounds == 2 and "--trace")
      assert.same({ 0, rounds * 64 * 20, "" }, { status, n, err })
      if rounds == 2 then assert.equal(n, at.traced(folder).crc32) end
    end
  end)

  it("takes no memory from an allocator that is being called", function()
    for _, trace in ipairs { "", "--trace", "--flow" } do
      local printed, all = record(with("./liballocator.so", "./allocates"), trace)
      assert.equal("allocated\n", printed)
      assert.truthy(by_name(all).refill.calls >= 33 * 300 * 2)
    end
  end)

  for _, name in ipairs { "libtcmalloc_minimal.so.4", "libjemalloc.so.2", "libmimalloc.so.2" } do
    it("works with " .. name, function()
      if shell(("LD_PRELOAD=%s grep -q %s /proc/self/maps"):format(name, name:match("^[^.]*"))) ~= 0 then
        return pending(name .. " is not installed")
      end
      for _, trace in ipairs { "", "--trace --max-calls 100" } do
        local printed, all = record(with(name, "./allocates"), trace)
        assert.equal("allocated\n", printed)
        assert.equal(33 * 300, by_name(all).crc32.calls)
      end
    end)
  end

  -- A thread's end ends its open calls: each took 20 ms, in the table as in the trace.
  for how, expected in pairs { longjmp = { 4, 3, 0 }, thread = { 4, 2, 40e6 } } do
    it("counts a call that does not return, and says that it did not: " .. how, function()
      local line = "%s record -o %s-r %s --lib libcalls_back.so -- ./leaves %s"
      local out = support.done(shell(line:format(command, how, "--json --trace", how)))
      local of = by_name(json.decode(out:match "{.*"))
      assert.same({ expected[1], expected[2], 0 }, { of.call_back.calls, of.call_back.unreturned, of.call_twice.unreturned })
      assert.equal(expected[1], at.traced(how .. "-r").call_back)
      assert.is_true(of.call_back.inclusive_ns >= expected[3])
      local line_of = ("%s trace --csv %s-r/traces.otf2"):format(command, how)
      local traced_s = support.done(shell(line_of)):match "\ncall_back,[^,]*,[^,]*,[^,]*,[^,]*,([^,]+)"
      assert.is_true(math.abs(of.call_back.inclusive_ns - 1e9 * traced_s) < 1000, traced_s)
      local _, err = support.done(shell(line:format(command, how .. "-text", "", how)))
      assert.truthy(err:find("calls  did not return", 1, true), err)
      assert.truthy(err:find(("call_back +%d +%d "):format(table.unpack(expected))), err)
    end)
  end

  local function complaint(what)
    shell "rm -rf r; chmod 755 ."
    return (select(3, shell(("%s record -o r --lib 'libz*' -- %s"):format(command, what))))
  end

  it("says why a process could not be recorded: a limit on file sizes", function()
    for _, blocks in ipairs { 0, 8, 80 } do -- the limit cuts the head, or the part behind it
      local err = complaint(("sh -c 'ulimit -f %d; exec ./calls crc32:5'"):format(blocks))
      assert.truthy(err:find("%(calls%) is [^\n]*File too large %(a limit on file sizes: ulimit %-f%)"), err)
      assert.falsy(err:find("no call was recorded", 1, true), err)
    end
    assert.falsy(support.shell_in(dir, "test -e r/reasons") == 0)
  end)

  it("gives the reason if a process could not be recorded: another user, who may not write here", function()
    local _, uid = shell "id -u"
    if tonumber(uid) ~= 0 or not support.has "setpriv" then return pending "only root can become another user" end
    local err = complaint "setpriv --reuid=65534 --regid=65534 --clear-groups ./calls crc32:5"
    assert.truthy(err:find("%(calls%) is not recorded: [^\n]*Permission denied"), err)
    assert.falsy(err:find("no call was recorded", 1, true), err)
  end)

  it("makes the file of reasons beside another recording that begins, but not through a link", function()
    local core = require "pmlua.core"
    assert.equal(0, support.shell_in(dir, "mkdir begins linked && ln -s ../begins/reasons linked/reasons"))
    assert.is_true(core.recording.reasons(dir .. "/begins"))
    assert.is_true(core.recording.reasons(dir .. "/begins"))
    local made, err = core.recording.reasons(dir .. "/linked")
    assert.is_nil(made)
    assert.matches("linked/reasons: File exists", tostring(err))
  end)

  it("treats a file of reasons as text only", function()
    shell "rm -rf r"
    local script = [[printf ' 7\t\033[31mx\t\033]0;evil\007why' | dd of=r/reasons conv=notrunc status=none]]
    support.spit(dir .. "/evil.sh", script)
    local _, _, err = shell(command .. " record -o r --lib 'libz*' -- sh evil.sh")
    assert.truthy(err:find("process 7 (\\x1b[31mx) is not recorded: \\x1b]0;evil\\x07why", 1, true), err)
  end)

  it("gives each rank of a parallel job its folder, and prints one table of all", function()
    for _, names in ipairs { { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" }, { "PMI_RANK", "PMI_SIZE" } } do
      shell "rm -rf r"
      local ranks = {}
      for rank = 0, 1 do
        ranks[rank + 1] = ("env %s=%d %s=2 %s record -o r --lib 'libz*' --sym crc32 -- %s"):format(names[1], rank,
          names[2], command, FIVE)
      end
      local status, out, err = shell("{ " .. table.concat(ranks, " & ") .. "; s=$?; wait; exit $s; }")
      assert.same({ 0, "" }, { status, out })
      assert.matches("12 processes; results in [^\n]*/r\n$", err)
      assert.equal(1, select(2, err:gsub("processes; results in", "")), err)
      assert.matches("\nlibz[%S]* +crc32 +%d+ ", err)
      assert.equal("paths.json\nrank-0\nrank-1\n", (select(2, shell "ls -A r")))
      for rank = 0, 1 do
        assert.equal("6\n", (select(2, shell(("ls r/rank-%d | grep -c pmlog$"):format(rank)))))
      end
      assert.truthy(select(3, shell(command .. " record --finish r")):find("12 processes; results in r\n", 1, true))
      assert.truthy(select(3, shell(command .. " record --finish r/rank-1")):find("6 processes; results in r/rank-1", 1, true))
    end
  end)

  it("reports once for a job that MPI is inside of its program", function()
    shell "rm -rf r"
    for rank = 0, 1 do -- the last one to end says what all ranks have to say
      support.spit(dir .. "/inside.c", "#include <zlib.h>\nint PMPI_Init(void) { return (int)crc32(0, 0, 0); }\n"
        .. "int main(void) { return PMPI_Init(); }\n")
      assert.equal(0, (shell "gcc inside.c -o inside -lz"))
      local _, err = support.done(shell(("env PMI_RANK=%d PMI_SIZE=2 %s record -o r --sym crc32 -- ./inside"):format(rank,
        command)))
      local said = "/inside is linked with a static library of MPI, whose calls are not recorded; link it with the shared one\n"
      assert.equal(rank, select(2, err:gsub(said, "")), err)
      _, _, err = shell(("env PMI_RANK=%d PMI_SIZE=2 %s record -o plain-%d --sym crc32 -- ./calls crc32:1"):format(rank, command,
        rank))
      assert.falsy(err:find("static library", 1, true), err)
    end
  end)

  -- The call of call_twice() that sleeps is the outer one of three.
  for how, said in pairs { exit = "", _exit = "", kill = "was cut short by signal 9;",
    bare = "ended with status 3 without exit handlers (quick_exit, or the system call exit_group);" } do
    it("have the time of calls that are open at their end: " .. how, function()
      local line = "rm -rf open; %s record --json --lib libcalls_back.so --trace -o open -- ./leaves %s"
      local _, out, err = shell(line:format(command, how))
      assert.truthy(err:find(said, 1, true), err)
      local trace = json.decode((select(2, shell(command .. " trace --json open/traces.otf2"))))
      local open = by_name(json.decode(out:match "{.*"))
      assert.same({ 1, 1, 1 }, { open.call_back.calls, open.call_back.unreturned, open.call_twice.unreturned })
      for _, r in ipairs(trace.regions) do
        local f = open[r.region]
        assert.is_true(f.inclusive_ns >= 20e6, r.region)
        assert.is_true(math.abs(f.inclusive_ns - 1e9 * r.inclusive_s) < 1000, ("%s: %s and %s"):format(r.region, f.inclusive_ns,
          r.inclusive_s))
      end
      local known = open.call_back.exclusive_ns + open.call_twice.exclusive_ns
      assert.is_true(math.abs(known - open.call_twice.inclusive_ns) < 1000)
    end)
  end

  it("have the time of open calls as far as it is known where nobody waited for them", function()
    local line = "rm -rf open; %s record --json --lib libcalls_back.so -o open -- ./leaves kill child"
    local _, out, err = shell(line:format(command))
    assert.truthy(err:find("open ones until the last began", 1, true), err)
    for _, f in ipairs(json.decode(out:match "{.*").functions) do
      assert.equal(1, f.unreturned, f.name)
      for _, of in ipairs { "min_ns", "median_ns", "max_ns" } do assert.equal(f.calls > f.unreturned, f[of] ~= nil, f.name) end
    end
  end)
end)
