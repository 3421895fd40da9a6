-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/recording.lua - for the specs of pmlua record: a program whose calls of zlib are known, and what was recorded.

local support = require "spec.core.support"
local json = require "pmlua.json"

local M = { command = support.build .. "/pmlua" }

--- Does what its arguments say, NAME or NAME:N, in their order.
local CALLS = [[
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
static const unsigned char text[] = "pmlua";
static unsigned long sum;
static char **words;
static int in_child;
static void crc(long n) { while (n-- > 0) sum = crc32(sum, text, 5); }
static void adler(long n) { while (n-- > 0) sum = adler32(sum, text, 5); }
static void version(long n) { while (n-- >= 0) sum += (unsigned char)zlibVersion()[0]; }
static void *calls(void *n) { crc(*(long *)n); return NULL; }
static void thread(long n) {
  pthread_t t;
  if (pthread_create(&t, NULL, calls, &n) == 0) pthread_join(t, NULL);
}
static void forks(long n) { /* the child calls adler32 n times first */
  in_child = fork() == 0;
  if (in_child) adler(n);
}
static void waits(long status) {
  if (in_child) exit((int)status);
  wait(NULL);
}
static void sleeps(long ms) { usleep(1000 * (unsigned)ms); }
static void asks(long n) { /* until a line comes */
  char c = (char)n;
  if (write(1, "asks\n", 5) < 0 || read(0, &c, 1) < 0) _exit(2);
}
static void exits(long status) { exit((int)status); }
static void leaves(long status) { _exit((int)status); }
static void aborts(long n) { (void)n; abort(); }
static void is_killed(long n) { /* together with its parent, if n says so */
  if (n > 0) kill(getppid(), SIGKILL);
  raise(SIGKILL);
}
static void executes(long n) { (void)n; execl(words[0], words[0], "crc32:3", NULL); }
static void is_confined(long n) {
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  syscall(SYS_exit, (int)n);
}
int main(int argc, char **argv) {
  static const struct { const char *name; void (*does)(long n); } all[] = {
      {"crc32", crc}, {"adler32", adler}, {"zlibVersion", version}, {"thread", thread}, {"fork", forks}, {"wait", waits},
      {"sleep", sleeps}, {"ask", asks}, {"exit", exits}, {"_exit", leaves}, {"abort", aborts}, {"kill", is_killed},
      {"exec", executes}, {"confine", is_confined}};
  words = argv;
  for (int i = 1; i < argc; i++) {
    char *n = strchr(argv[i], ':');
    if (n != NULL) *n++ = 0;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
      if (strcmp(all[k].name, argv[i]) == 0) all[k].does(n != NULL ? atol(n) : 0);
  }
  return 0;
}
]]

--- How many definitions (-G) or events of an archive begin with each word; and the text.
local function printed(shell, folder, words, what)
  local _, out, complaints = shell(("otf2-print %s %s/traces.otf2"):format(what or "", folder))
  local n = {}
  for i, word in ipairs(words) do n[i] = select(2, out:gsub("\n" .. word .. "%f[%s]", "")) end
  return n, out, complaints
end

--- A new folder with the program `calls`, and what one does there.
---@param before? string words before each command
function M.place(before)
  local dir = support.folder()
  local at = { dir = dir, shell = support.shell_of(dir, 120, before) }
  support.compile(dir, { ["calls.c"] = CALLS }, "gcc -O1 -w calls.c -o calls -lz -lpthread")

  --- Record a command: functions by their names, the whole recording, status, standard error, the command's own output.
  function at.recorded(arguments, environment)
    local status, out, err = at.shell(("%s %s record --json %s"):format(environment or "", M.command, arguments))
    local text = out:match "\n?({\n.*)$"
    if not text then error(err, 2) end
    local all, by_name = json.decode(text), {}
    for _, f in ipairs(all.functions) do by_name[f.name] = f end
    return by_name, all, status, err, out:sub(1, #out - #text)
  end

  --- How often each function is in the trace of a folder.
  function at.traced(folder)
    local calls = {}
    local out = support.done(at.shell(("%s trace %s/traces.otf2 --json"):format(M.command, folder)))
    for _, row in ipairs(json.decode(out).regions) do calls[row.region] = row.calls end
    return calls
  end

  function at.printed(...) return printed(at.shell, ...) end

  return at
end

return M
