-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_child_spec.lua - forked children under pmlua record: a log at the first recorded call, and before that
-- an entry in the parent's.

local support = require "spec.core.support"
local json = require "pmlua.json"

local command = support.build .. "/pmlua"
local dir = support.folder()

-- One way for each argument; each child ends by _exit(3) unless it says otherwise. What a child finds wrong is printed.
local program = [[
#define _GNU_SOURCE
#include <errno.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

static void call(void) { crc32(0, (const Bytef *)"abc", 3); }
static int logs(void) {
  char end[32];
  int n = 0;
  snprintf(end, sizeof end, ".%d.pmlog", (int)getpid());
  DIR *d = opendir(getenv("PMLUA_RECORD_DIR"));
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) n += strstr(e->d_name, end) != NULL;
  if (d != NULL) closedir(d);
  return n;
}
static void expect(int is, const char *what) { if (!is) dprintf(1, "wrong: %s\n", what); }
static void child_of(void (*does)(void)) {
  pid_t p = fork();
  if (p == 0) { does(); _exit(3); }
  waitpid(p, NULL, 0);
}

static void nothing(void) { expect(logs() == 0, "a log before the first call"); }
static void one_call(void) {
  nothing();
  call();
  expect(logs() == 1, "no log after the first call");
}
static void exits(void) { exit(0); }
static void is_killed(void) { raise(SIGKILL); }
static void executes(void) { execl("/bin/true", "true", NULL); }
static void children(void) { child_of(nothing); child_of(one_call); nothing(); }
static void grandchildren(void) { child_of(children); nothing(); }
static void *call_in_thread(void *p) { call(); return p; }
static void threads(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, call_in_thread, NULL);
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
}
static void bare(void) {
  pid_t p = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  if (p == 0) { call(); _exit(3); }
  waitpid(p, NULL, 0);
}
static void shares_memory(void) { /* the child of vfork() is the first to call: the log is its parent's */
  pid_t p = vfork();
  if (p == 0) { call(); _exit(3); }
  waitpid(p, NULL, 0);
  expect(logs() == 1, "no log after the call of a child of vfork()");
  call();
}
static void on_signal(int s) { (void)s; child_of(one_call); }
static void in_handler(void) { signal(SIGUSR1, on_signal); raise(SIGUSR1); }
static void closes(void) { for (int i = 3; i < 1024; i++) close(i); call(); }
static void few_files(void) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_NOFILE, &none);
  call();
}
static void other_user(void) { expect(setuid(65534) == 0, "setuid"); call(); }
static void other_root(void) { expect(chroot("/proc") == 0 && chdir("/") == 0, "chroot"); call(); }
static void other_user_unseen(void) { expect(syscall(SYS_setuid, 65534) == 0, "setuid"); call(); }
static void strict(void) {
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  call();
  syscall(SYS_exit, 3);
}
static void many(void) { for (int i = 0; i < 150; i++) child_of(nothing); }
static void from_threads_once(void) { for (int i = 0; i < 25; i++) child_of(nothing); }
static void *fork_in_thread(void *p) { from_threads_once(); return p; }
static void from_threads(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, fork_in_thread, NULL);
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
}
static void goes_on(void) {
  char c = 0;
  int begun[2];
  expect(pipe(begun) == 0, "pipe");
  if (fork() > 0) { expect(read(begun[0], &c, 1) == 1, "a child"); return; }
  expect(write(begun[1], &c, 1) == 1, "write");
  while (read(0, &c, 1) > 0) continue; /* until the spec closes it */
  call();
  _exit(3);
}
static void faults(void) {
  long least = 1L << 40;
  for (int i = 0; i < 20; i++) {
    struct rusage r;
    pid_t p = fork();
    if (p == 0) _exit(0);
    wait4(p, NULL, 0, &r);
    if (r.ru_minflt < least) least = r.ru_minflt;
  }
  printf("faults %ld\n", least);
}

int main(int argc, char **argv) {
  static const struct { const char *name; void (*does)(void); int in_child; } ways[] = {
    {"nothing", nothing, 1}, {"one_call", one_call, 1}, {"exits", exits, 1}, {"is_killed", is_killed, 1},
    {"executes", executes, 1}, {"children", children, 1}, {"grandchildren", grandchildren, 1}, {"threads", threads, 1},
    {"bare", bare, 1}, {"shares_memory", shares_memory, 1}, {"in_handler", in_handler, 1}, {"closes", closes, 1},
    {"few_files", few_files, 1}, {"other_user", other_user, 1}, {"other_root", other_root, 1},
    {"other_user_unseen", other_user_unseen, 1}, {"strict", strict, 1}, {"many", many, 0},
    {"from_threads", from_threads, 0}, {"goes_on", goes_on, 0}, {"faults", faults, 0}, {"dies", is_killed, 0},
  };
  setvbuf(stdout, NULL, _IONBF, 0);
  call();
  for (int k = 1; k < argc; k++)
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
      if (strcmp(argv[k], ways[i].name) != 0) continue;
      if (ways[i].in_child) child_of(ways[i].does); else ways[i].does();
    }
  return 0;
}
]]

local shell = support.shell_of(dir, 60)

--- Record the program in these ways: the processes by pid, what the report says, what the program printed.
local function record(ways, options)
  shell "rm -rf r"
  local _, out, err = shell(("%s record -o r --json --lib 'libz*' --sym crc32 %s -- ./ways %s"):format(command,
    options or "", ways))
  local printed, text = out:match "^(.-)({.*)$"
  assert.equal("", printed)
  return json.decode(text), err
end

local function parse(text) return json.decode(text:match "{.*$") end

--- How the processes ended, with the calls of each: "exit 1", sorted.
local function endings(all)
  local list = {}
  for i, p in ipairs(all.processes) do
    local calls = 0
    for _, path in ipairs(p.paths) do calls = calls + path.calls end
    list[i] = ("%s %d"):format(p.ended, calls)
  end
  table.sort(list)
  return table.concat(list, ", ")
end

local function log_count() return tonumber((select(2, shell "ls r | grep -c 'pmlog$'"))) end

describe("a forked child under pmlua record", function()
  setup(function() support.compile(dir, { ["ways.c"] = program }, "cc -w -O1 ways.c -o ways -lz -pthread") end)

  it("makes no log before its first recorded call, and is reported all the same", function()
    local all, err = record "nothing exits one_call"
    assert.same({ "_exit 0, _exit 1, exit 0, exit 1", 2, "" }, { endings(all), log_count(), err })
    local parent, noted = all.processes[1].pid, 0
    for _, p in ipairs(all.processes) do
      if p.pid == parent then parent = p end
      if p.noted then noted = noted + 1 end
    end
    assert.equal(2, noted)
    for _, p in ipairs(all.processes) do
      if p.noted then
        assert.same({ parent.pid, parent.program, parent.functions }, { p.parent, p.program, p.functions })
      end
    end
    assert.truthy(select(3, shell(command .. " record --finish r")):find("4 processes; results in r", 1, true))
  end)

  it("touches few pages more than it does unrecorded", function()
    local _, plain = shell "./ways faults"
    local _, recorded = shell(command .. " record -o f --lib 'libz*' -- ./ways faults")
    plain, recorded = tonumber(plain:match "faults (%d+)"), tonumber(recorded:match "faults (%d+)")
    assert.truthy(recorded <= plain + 12, ("%d page faults, %d unrecorded"):format(recorded, plain))
  end)

  it("is reported when it was killed, or executed another program", function()
    local all, err = record "is_killed executes"
    assert.equal("cut 0, exec 0, exit 0, exit 1", endings(all))
    assert.equal(2, log_count())
    assert.matches("^pmlua record: process %d+ %(ways%) was cut short", err)
  end)

  it("is reported when its parent was killed", function()
    local all = record "nothing one_call dies"
    assert.equal("_exit 0, _exit 1, cut 1", endings(all))
  end)

  it("notes its own children while it has no log", function()
    local all, err = record "grandchildren"
    assert.same({ "_exit 0, _exit 0, _exit 0, _exit 1, exit 1", 2, "" }, { endings(all), log_count(), err })
    local of = {}
    for _, p in ipairs(all.processes) do of[p.pid] = p.parent end
    local depths = {}
    for pid in pairs(of) do
      local depth = 0
      while of[pid] do pid, depth = of[pid], depth + 1 end
      depths[#depths + 1] = depth
    end
    table.sort(depths)
    assert.same({ 1, 2, 3, 4, 4 }, depths)
  end)

  it("begins its log for a thread, a bare child, a child of vfork(), a handler that forks", function()
    assert.equal("_exit 4, exit 1", endings(record "threads"))
    assert.equal("_exit 0, _exit 1, exit 1", endings(record "bare"))
    assert.equal("_exit 2, exit 1", endings(record "shares_memory"))
    assert.equal("_exit 0, _exit 1, exit 1", endings(record "in_handler"))
  end)

  it("is one of many, from several threads", function()
    local all, err = record "many from_threads"
    assert.same({ 1 + 150 + 100, "" }, { #all.processes, err })
    assert.equal(select(2, endings(all):gsub("_exit 0", "")), 250)
  end)

  it("begins its log where it closes all files", function()
    assert.equal("_exit 1, exit 1", endings(record "closes"))
  end)

  it("begins its log before it gives up descriptors, its user, its root, system calls", function()
    assert.equal("_exit 1, exit 1", endings(record "few_files"))
    local all = record "strict" -- it may not read the clock any more
    assert.equal("cut 0, exit 1", endings(all))
    for _, p in ipairs(all.processes) do assert.falsy(p.noted) end
    if tonumber((select(2, shell "id -u"))) ~= 0 then return pending "only root can become another user" end
    assert.equal("_exit 1, exit 1", endings(record "other_user"))
    assert.equal("_exit 1, exit 1", endings(record "other_root"))
  end)

  it("is reported with the reason if its log could not be made", function()
    if tonumber((select(2, shell "id -u"))) ~= 0 then return pending "only root can become another user" end
    local all, err = record "other_user_unseen"
    assert.equal("exit 1, failed 0", endings(all))
    assert.matches("^pmlua record: process %d+ %(ways%) is not recorded: " ..
      "no log could be made at its first recorded call: [^\n]*Permission denied\n$", err)
  end)

  it("has its calls in traces and flows", function()
    for _, how in ipairs { "--trace", "--flow", "--trace --max-calls 5" } do
      local all = record("nothing one_call grandchildren threads", how)
      assert.equal("_exit 0, _exit 0, _exit 0, _exit 0, _exit 1, _exit 1, _exit 4, exit 1", endings(all))
    end
    if not support.has "otf2-print" then return end
    local _, events = shell "otf2-print r/traces.otf2 | grep -c '^ENTER '"
    assert.equal(7, tonumber(events))
  end)

  it("may outlive its parent, and is finished later", function()
    shell "rm -rf r; mkfifo wait"
    local script = ("exec 9<>wait; %s record -o r --json --lib 'libz*' --sym crc32 -- ./ways goes_on <wait 9>&-"):format(command)
    local _, out, err = shell(script)
    local all = parse(out)
    assert.equal("exit 1, running 0", endings(all))
    assert.matches("is still running; report the rest later with pmlua record %-%-finish %S+/r\n$", err)
    for _ = 1, 200 do
      if log_count() == 2 then break end
      shell "sleep 0.05"
    end
    shell "sleep 0.2"
    all = parse((select(2, shell(command .. " record --finish r --json"))))
    assert.equal("_exit 1, exit 1", endings(all))
  end)
end)
