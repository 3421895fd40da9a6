-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_worlds_spec.lua - pmlua record of programs that end abnormally or run short of resources: it keeps what
-- can be kept, and the program behaves as without it.

local support = require "spec.core.support"
local json = require "pmlua.json"
local quote = support.quote

local command = support.build .. "/pmlua"
local dir = support.folder()

--- Makes 100 calls, then does `argv[1]`, then perhaps makes more; all calls are of zlib's crc32.
local program = [[
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
static unsigned long sum;
static void work(int n) {
  for (int i = 0; i < n; i++) sum = crc32(sum, (const unsigned char *)"pmlua", 5);
}
static void child(void) {
  pid_t pid = fork();
  if (pid == 0) {
    work(5);
    _exit(0);
  }
  waitpid(pid, NULL, 0);
}
static int limited(int what, rlim_t most) {
  struct rlimit r = {most, most};
  return setrlimit(what, &r);
}
static void close_all(void) {
  struct stat st;
  for (int i = 3; i < 2000; i++) close(i);
  int fd = open("victim", O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (int i = 0; i < 600; i++) (void)!dup(fd);
  work(100000);
  if (fd != 3 || fstat(fd, &st) != 0 || st.st_size != 0) exit(99);
}
/* write, exit and exit_group are left; all else is the end. */
static int confine(const char *how) {
  struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof f / sizeof f[0], f};
  if (strcmp(how, "strict") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  if (strcmp(how, "filter") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
static int confined(const char *how) {
  static char text[64];
  volatile unsigned long more;
  if (confine(how) != 0) return 98;
  work(100000);
  more = adler32(0, (const unsigned char *)text, 5); /* never called before */
  int n = snprintf(text, sizeof text, "%lu %lu\n", sum, more);
  if (write(1, text, (size_t)n) != n) return 97;
  if (strcmp(how, "strict") == 0) syscall(SYS_exit, 3);
  exit(3);
}
static int has_memory(size_t n) {
  char *p = malloc(n);
  if (p == NULL) return 0;
  memset(p, 1, n);
  free(p);
  return 1;
}
static void *works(void *arg) {
  work(10);
  return arg;
}
static int in_thread(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, works, NULL) != 0 || pthread_join(thread, NULL) != 0;
}
static int grave(const char *how, char **argv) {
  if (strcmp(how, "kill") == 0) return raise(SIGKILL);
  if (strcmp(how, "segv") == 0) return raise(SIGSEGV);
  if (strcmp(how, "_exit") == 0) _exit(5);
  if (strcmp(how, "exec") == 0) return execl(argv[0], argv[0], "none", (char *)NULL);
  if (strcmp(how, "chroot") == 0) return chroot("/proc") || chdir("/");
  if (strcmp(how, "chdir") == 0) return chdir("/");
  if (strcmp(how, "drop") == 0) return setgroups(0, NULL) || setgid(65534) || setuid(65534);
  if (strcmp(how, "fsize") == 0) return limited(RLIMIT_FSIZE, 1 << 20);
  if (strcmp(how, "addresses") == 0)
    return limited(RLIMIT_AS, 512 << 20) || !has_memory(200 << 20) || in_thread();
  if (strcmp(how, "data") == 0) return limited(RLIMIT_DATA, 24 << 20) || !has_memory(10 << 20) || in_thread();
  if (strcmp(how, "tsc") == 0) return prctl(PR_SET_TSC, PR_TSC_SIGSEGV) || in_thread();
  if (strcmp(how, "vm") == 0) return limited(RLIMIT_AS, 64 << 20);
  return 0;
}
int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "none";
  work(100);
  if (strstr("strict filter seccomp", how) != NULL) return confined(how);
  if (grave(how, argv) != 0) return 98;
  if (strcmp(how, "close") == 0) close_all();
  if (strcmp(how, "none") != 0) {
    work(100000);
    child();
  }
  printf("%lu\n", sum);
  return 3;
}
]]

local shell = support.shell_of(dir)

local number = 0
--- Record `./grave HOW`: the figures of crc32, the whole recording, status, output, errors.
local function recorded(how, options, prefix)
  number = number + 1
  local folder = "r" .. number
  local status, out, err = shell(("%s%s record --json --sym crc32 %s -o %s -- ./grave %s"):format(prefix or "", command,
    options or "", folder, how))
  local text = out:match("\n?({\n.*)$")
  assert.truthy(text, err)
  local calls = json.decode(text)
  return calls.functions[1], calls, status, out:sub(1, #out - #text), err, folder
end

local function traced(folder)
  local _, out = shell(("otf2-print %s/traces.otf2"):format(folder))
  return select(2, out:gsub("\nENTER", "")), select(2, out:gsub("\nLEAVE", ""))
end

local function endings(calls)
  local names = {}
  for i, p in ipairs(calls.processes) do names[i] = p.ended end
  table.sort(names)
  return table.concat(names, " ")
end

describe("pmlua record, when things go wrong,", function()
  setup(function()
    os.execute("chmod 755 " .. quote(dir))
    support.compile(dir, { ["grave.c"] = program }, "gcc -O1 grave.c -o grave -lz")
  end)

  local has_print = (support.shell("command -v otf2-print")) == 0
  local is_root = support.shell("test $(id -u) = 0") == 0

  it("has every call of a program that was killed, and says that it was cut short", function()
    for how, expected in pairs { kill = { 137, 100, "cut" }, segv = { 139, 100, "cut" }, _exit = { 5, 100, "_exit" } } do
      local f, calls, status, _, err, folder = recorded(how, "--trace")
      assert.same({ how, table.unpack(expected) }, { how, status, f.calls, endings(calls) })
      assert.equal(expected[3] == "cut", err:find("process %d+ %(grave%) was cut short") ~= nil, err)
      if has_print then assert.same({ 100, 100 }, { traced(folder) }) end
    end
  end)

  it("has the calls of a program before it executes another, and those of that one", function()
    local f, calls, status, out = recorded("exec", "--trace")
    assert.same({ 3, 200, "exec exit", true }, { status, f.calls, endings(calls), out:find("^%d+\n$") ~= nil })
  end)

  it("goes on where the program closes every descriptor, and writes to none of the program's", function()
    local f, _, status = recorded("close", "--trace")
    assert.same({ 3, 200105 }, { status, f.calls })
  end)

  it("goes on in another folder", function()
    local f, calls, status = recorded("chdir", "--trace")
    assert.same({ 3, 100105, 2 }, { status, f.calls, #calls.processes })
  end)

  for how, what in pairs { chroot = "in another root", drop = "without its privileges" } do
    it("goes on " .. what .. ", and names the children that have no file there", function()
      if not is_root then return pending("only root can do that") end
      local f, _, status, _, err = recorded(how, "--trace")
      assert.same({ 3, 100100 }, { status, f.calls })
      assert.truthy(err:find("process %d+ %(grave%) is not recorded: no log could be made at its first recorded call: "), err)
    end)
  end

  for _, how in ipairs { "strict", "filter", "seccomp" } do
    it("leaves a program alone that gives up its right to system calls: " .. how, function()
      local status, out = shell("./grave " .. how)
      if status == 98 then return pending("this kernel does not do that") end
      for _, options in ipairs { "", "--trace", "--event page-faults", "--event task-clock --trace" } do
        local f, _, recorded_status, recorded_out, err = recorded(how, options)
        assert.same({ 3, 3, out }, { status, recorded_status, recorded_out }, err)
        assert.equal(options:find("event") ~= nil, err:find("stopped counting events", 1, true) ~= nil, err)
        assert.equal(how == "strict" and 100 or 100100, f.calls)
        assert.truthy(err:find("gave up system calls (seccomp)", 1, true), err)
      end
    end)
  end

  for how, what in pairs { addresses = "a limit on its addresses", data = "a limit on its data", tsc = "no processor's clock" } do
    it("leaves a program alone that gives itself " .. what, function()
      local status, out = shell("./grave " .. how)
      if status == 98 then return pending("this machine does not do that") end
      for _, options in ipairs { "", "--trace", "--event page-faults" } do
        local f, _, recorded_status, recorded_out, err = recorded(how, options)
        assert.same({ 3, 3, out }, { status, recorded_status, recorded_out }, err)
        assert.same({ 100 + 10 + 100000 + 5, 0 }, { f.calls, f.unreturned }, err)
      end
    end)
  end

  it("records within limits that were set before", function()
    for _, limit in ipairs { "-v 100000", "-d 16000" } do
      local status, out, err = shell(("%s record --lib libz -o limits%s -- sh -c 'ulimit %s; ./grave addresses'"):format(command,
        limit:sub(2, 2), limit))
      assert.same({ limit, 98, "" }, { limit, status, out }, err) -- it cannot have what it wants then
      assert.truthy(err:find("crc32 +100 "), err)
    end
  end)

  support.with "valgrind" ("shows valgrind nothing that it complains of", function()
    for i, options in ipairs { "", "--trace", "--event page-faults" } do
      local status, _, err = shell(("%s record --lib libz %s -o valgrind%d -- valgrind -q --error-exitcode=99 ./grave none")
        :format(command, options, i))
      assert.same({ 3, nil }, { status, err:match("==%d+==.*") })
      assert.truthy(err:find("crc32 +100 "), err)
    end
  end)

  it("says what a limit on file sizes left out of a trace, and leaves the program alone", function()
    local f, calls, status, _, err, folder = recorded("fsize", "--trace")
    assert.same({ 3, 100105 }, { status, f.calls })
    local missing = tonumber(err:match("(%d+) calls are not in the traces"))
    assert.truthy(missing, err)
    if not has_print then return end
    local enters, leaves = traced(folder)
    assert.same({ enters, 100105 - missing }, { leaves, enters })
    assert.equal(2, #calls.processes)
  end)

  it("goes on where there is little memory", function()
    local f, _, status = recorded("vm", "--trace")
    assert.same({ 3, true }, { status, f.calls >= 100100 })
    local status_of, out, err = shell("ulimit -v 30000; " .. command .. " record -o tight -- ./grave none")
    assert.same({ 3, true }, { status_of, out:find("^%d+\n") ~= nil }, err)
  end)

  it("says what a full disk left out of a trace, and leaves the program alone", function()
    if not is_root or shell("mkdir small && mount -t tmpfs -o size=1m none small") ~= 0 then
      return pending("no small file system can be mounted here")
    end
    local status, out, err = shell(command .. " record --trace --sym crc32 -o small/r -- ./grave chdir")
    local left = shell("ls small/r/*.pmlog")
    shell("umount small")
    assert.same({ 3, true }, { status, out:find("^%d+\n") ~= nil })
    assert.truthy(err:find("no room") or err:find("No space"), err)
    assert.is_true(left == 0 or err:find("crc32") ~= nil, err)
  end)

  it("tells the rest of a process that was still running", function()
    local _, _, err = shell(command .. " record --sym crc32 -o late -- sh -c '" ..
      "(: >begun; for i in $(seq 600); do test -e told && break; sleep 0.1; done; ./grave none) >/dev/null 2>&1 & " ..
      "until test -e begun; do sleep 0.01; done; ./grave none >/dev/null'")
    assert.truthy(err:find("is still running; report the rest later with pmlua record --finish", 1, true), err)
    support.spit(dir .. "/told", "")
    local finished, said
    for _ = 1, 300 do
      finished, _, said = shell("sleep 0.1; " .. command .. " record --finish late")
      if not said:find("still running") then break end
    end
    assert.same({ 0, true }, { finished, said:find("crc32 +200 ") ~= nil }, said)
  end)

  it("keeps a trace small by depth, by number and by duration, and tells what is left out", function()
    if not has_print then return pending("otf2-print is not installed") end
    local f, _, _, _, err, folder = recorded("none", "--trace --max-calls 30")
    assert.same({ 100, 30, 30 }, { f.calls, traced(folder) })
    assert.truthy(err:find("70 calls are not in the traces, as you asked with --max-calls", 1, true), err)
    f, _, _, _, err, folder = recorded("none", "--trace --min-duration 10s")
    assert.same({ 100, 0, 0 }, { f.calls, traced(folder) })
    assert.truthy(err:find("100 calls are not in the traces, as you asked with --min-duration", 1, true), err)
    local _, out = shell(command .. " record --trace --lib libz --max-depth 1 -o flat -- ./grave none 2>&1")
    local inner = tonumber(out:match("crc32_z +(%d+)") or 0)
    assert.same({ 100, 100 }, { traced("flat") })
    assert.equal(inner, tonumber(out:match("(%d+) calls are not in the traces, as you asked with %-%-max%-depth") or 0), out)
  end)

  it("refuses a program that gives rights, where the loader would not preload", function()
    if not is_root or shell("command -v setpriv") ~= 0 then return pending("only root can make such a program") end
    shell("cp grave other && chown 1 other && cp grave group && chgrp 1 group && chmod 4755 other && chmod 2755 group")
    for name, what in pairs { other = "set%-uid", group = "set%-gid" } do
      local status, out, err = shell(("%s record -o never -- ./%s none"):format(command, name))
      assert.same({ 126, "" }, { status, out })
      assert.truthy(err:find("^pmlua record: %./" .. name .. " is " .. what .. ", and the loader ignores LD_PRELOAD for it"), err)
    end
  end)

  it("says that no call was recorded", function()
    local status, _, err = shell(command .. " record --lib 'nosuch*' -o nothing -- ./grave none")
    assert.same({ 3, true }, { status, err:find("no call was recorded", 1, true) ~= nil })
  end)

  it("is named by pmlua report, which finds no section there", function()
    shell(command .. " record -o calls -- ./grave none")
    local status, _, err = shell(command .. " report calls")
    assert.equal(1, status)
    assert.matches("no section, counter or recorder was used; its calls are recorded: pmlua record %-%-finish calls prints", err)
  end)

  it("says which option it does not understand", function()
    local cases = {
      ["--max-calls 5 -- true"] = { 2, "limit a trace; add %-%-trace" },
      ["--trace --max-calls 0 -- true"] = { 2, "%-%-max%-calls needs a whole number from 1 to 2147483647, not '0'" },
      ["--trace --min-duration 5weeks -- true"] = { 2, "'5weeks' is not a duration" },
      ["--filter nowhere -- true"] = { 1, "nowhere: No such file" },
      ["--filter . -- true"] = { 1, "%.: not a file, but a folder" },
      ["--finish r -- true"] = { 2, "runs no command" },
      ["--finish nowhere"] = { 1, "nowhere: no such folder" },
    }
    support.refuses(dir, "record", cases)
  end)
end)
