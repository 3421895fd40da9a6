-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/preload_spec.lua - tests of programs that cannot load our libraries: they run as without pmlua.

local support = require "spec.core.support"
local quote = support.quote

local command = support.build .. "/pmlua"
local dir = support.folder()
local shell = support.shell_of(dir)

--- Prints the LD_PRELOAD it sees and the number of its arguments, and exits with 5.
local other = [[
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  const char *list = getenv("LD_PRELOAD");
  (void)argv;
  printf("%d %s\n", argc, list == NULL ? "none" : list);
  return 5;
}
]]

--- Executes `argv[1]` in every way, and prints how each ended.
local parent = support.C .. [[
#define IN_CHILD(fork, call) \
  do { pid_t p = fork(); if (p == 0) { call; _exit(99); } waitpid(p, &s, 0); ends(s, #call); } while (0)
static void ends(int s, const char *what) {
  if (WEXITSTATUS(s) != 5) printf("%s: %d\n", what, WEXITSTATUS(s));
}
int main(int argc, char **argv) {
  char *a[] = { argv[argc - 1], "x", NULL }, *name = argv[argc - 1] + 2;
  int s;
  pid_t p;
  IN_CHILD(fork, execl(a[0], a[0], "x", (char *)NULL));
  IN_CHILD(fork, execlp(name, a[0], "x", (char *)NULL));
  IN_CHILD(fork, execle(a[0], a[0], "x", (char *)NULL, environ));
  IN_CHILD(vfork, execv(a[0], a));
  IN_CHILD(vfork, execvp(name, a));
  IN_CHILD(vfork, execve(a[0], a, environ));
  IN_CHILD(vfork, execvpe(name, a, environ));
  IN_CHILD(fork, fexecve(open(a[0], O_RDONLY), a, environ));
  IN_CHILD(fork, execveat(AT_FDCWD, a[0], a, environ, 0));
  if (posix_spawn(&p, a[0], NULL, NULL, a, environ) == 0) waitpid(p, &s, 0);
  ends(s, "posix_spawn");
  if (posix_spawnp(&p, name, NULL, NULL, a, environ) == 0) waitpid(p, &s, 0);
  ends(s, "posix_spawnp");
  ends(system("./script x"), "system");
  execl("./nothere", "nothere", (char *)NULL);
  perror("nothere");
  return 0;
}
]]
local told = ("2 none\n"):rep(11) .. "3 none\n" -- a script has its path as one more

--- Executes `argv[1]` in each way with a separate environment, and prints the environment of a child that calls crc32 10 times.
--- Shorter and longer names than the variables of pmlua have no effect.
local apart = support.C .. [[
int main(int argc, char **argv) {
  char *const none[] = {NULL}, *some[99] = {"A=1", "LD_PRELOAD="}, *const words[] = {argv[1], NULL};
  for (int i = 0, n = 2; environ[i] != NULL && n < 97; i++) {
    int length = (int)strcspn(environ[i], "=");
    if (strncmp(environ[i], "PMLUA_", 6) != 0) continue;
    asprintf(&some[n++], "%.*s=1", length - 1, environ[i]);
    asprintf(&some[n++], "%.*s_=1", length, environ[i]);
  }
  for (int way = 0; way < 6; way++) {
    pid_t pid = 0;
    int status = 0;
    if (way == 0) posix_spawn(&pid, argv[1], NULL, NULL, words, none);
    if (way == 1) posix_spawnp(&pid, argv[1], NULL, NULL, words, some);
    if (way > 1 && (pid = way == 2 ? vfork() : fork()) == 0) {
      if (way == 2) execve(argv[1], words, none);
      if (way == 3) execle(argv[1], argv[1], (char *)NULL, some);
      if (way == 4) fexecve(open(argv[1], O_RDONLY), words, none);
      if (way == 5) execvpe(argv[1], words, some);
      _exit(1);
    }
    waitpid(pid, &status, 0);
    printf("%d ", WEXITSTATUS(status));
    fflush(stdout);
  }
  return 0;
}
]]
local calls = [[
#include <stdlib.h>
#include <zlib.h>
static unsigned char text[3];
int main(int argc, char **argv) {
  for (int i = 0; i < 10; i++) crc32(0, text, 3);
  if (argc > 1) { char *p = malloc(4); free(p); return p[argc] == 1 ? 4 : 5; }
  return 3;
}
]]

--- A loader with another name counts as the loader of another C library.
local function build_other()
  local _, loader = shell("readelf -l /bin/sh | sed -n 's/.*interpreter: \\(.*\\)\\]/\\1/p'")
  support.spit(dir .. "/other.c", other)
  support.spit(dir .. "/parent.c", parent)
  support.spit(dir .. "/script", "#!" .. dir .. "/other\n")
  assert.equal(0, (shell(("ln -sf %s ld-other.so.1 && gcc -O1 other.c -o other -Wl,--dynamic-linker=%s/ld-other.so.1 && " ..
    "gcc -O1 parent.c -o parent && gcc -O1 other.c -o own && chmod +x script"):format(loader:match("%S+"), quote(dir)))))
end

describe("Preloading", function()
  setup(function() build_other() end)

  it("leaves children with another loader alone, in each way of executing them", function()
    local _, alone, complaint = shell("PATH=$PATH:. env -u LD_PRELOAD ./parent ./other")
    assert.equal(told, alone)
    for _, verb in ipairs { "record -o children", "live" } do
      local status, out, err = shell(("PATH=$PATH:. %s %s -- ./parent ./other"):format(command, verb))
      assert.same({ 0, told }, { status, out })
      assert.truthy(err:find(complaint, 1, true), err)
    end
  end)

  it("names them in the report of a recording", function()
    local _, _, err = shell(("PATH=$PATH:. %s record -o named -- ./parent ./other"):format(command))
    assert.truthy(err:find("pmlua record: ./other is not recorded: its loader is ld-other.so.1, not glibc's", 1, true), err)
    assert.truthy(err:find("pmlua record: ./script is not recorded: its loader is ld-other.so.1, not glibc's", 1, true), err)
    local _, times = err:gsub("%./other is not recorded", "")
    assert.equal(1, times)
  end)

  it("has room for the name of another, at any number of executions", function()
    local _, _, err = shell(("%s record -o often -- sh -c 'for i in $(seq 100); do ./other; done; ./script'"):format(command))
    assert.truthy(err:find("pmlua record: ./script is not recorded: ", 1, true), err)
  end)

  it("keeps other preloaded libraries, and all of them for suitable programs", function()
    local libm = support.library "libm.so.6"
    if not libm then return pending("there is no libm.so.6 to preload") end
    local status, out = shell(("LD_PRELOAD=%s %s record -o kept -- sh -c './other; ./own'"):format(libm, command))
    local first, second = out:match("^1 ([^\n]*)\n1 ([^\n]*)\n$")
    assert.same({ 5, libm }, { status, first })
    assert.same({ libm .. ":", true }, { second:sub(1, #libm + 1), second:find("/libpmlua%-record%.so$") ~= nil })
  end)

  it("runs a command with another loader unchanged, and reports that", function()
    for _, verb in ipairs { "record", "live" } do
      local status, out, err = shell(("env -u LD_PRELOAD %s %s -- ./script"):format(command, verb))
      assert.same({ 5, "2 none\n" }, { status, out })
      assert.truthy(err:find("it runs without, and", 1, true), err)
      assert.truthy(err:find("/other uses another C library (its loader is ld-other.so.1)", 1, true), err)
    end
  end)

  it("accepts scripts without an interpreter line, and files that no kernel executes", function()
    local obstacle = require "pmlua.internal.preload".obstacle
    for name, text in pairs { bare = "#!", blank = "#!  \n/other\n", wide = "\127ELF\2" .. ("\255"):rep(59) } do
      support.spit(dir .. "/" .. name, text)
      assert.is_nil(obstacle(dir .. "/" .. name), name)
    end
    assert.truthy(obstacle(dir .. "/script"):find("another C library", 1, true))
  end)

  it("reports that LD_PRELOAD cannot name a library in a folder with a space or a colon", function()
    local preload = require "pmlua.internal.preload"
    assert.is_nil(preload.unnameable("/opt/pmlua/libpmlua-record.so"))
    for _, path in ipairs { "/opt/my tools/libpmlua-record.so", "/opt/a:b/libpmlua-record.so" } do
      assert.truthy(preload.unnameable(path):find("LD_PRELOAD cannot name " .. path .. ", because", 1, true))
    end
    local paths = require "pmlua".paths
    local before = paths.preload
    shell("mkdir 'with space' && : >'with space/libpmlua-record.so'")
    paths.preload = dir .. "/with space"
    local library, err = preload.library "record"
    paths.preload = before
    assert.is_nil(library)
    assert.truthy(err:find("LD_PRELOAD cannot name [^\n]*/with space/libpmlua%-record.so, because"), err)
  end)

  it("runs programs of musl's", function()
    if shell("command -v musl-gcc") ~= 0 then return pending("musl-tools is not installed") end
    assert.equal(0, (shell("musl-gcc other.c -o musl")))
    local status, out, err = shell(command .. " record -o musl-child -- sh -c ./musl")
    assert.same({ 5, "1 none\n" }, { status, out }, err)
  end)

  it("records children that are given an environment without it", function()
    local files = { ["calls.c"] = calls, ["apart.c"] = apart }
    support.compile(dir, files, "gcc -O1 -w apart.c -o apart && gcc -O1 calls.c -o calls -lz")
    local status, out, err = shell(command .. " record --lib 'libz*' -o apart-r -- ./apart ./calls")
    assert.same({ 0, ("3 "):rep(6) }, { status, out:sub(1, 12) }, err)
    assert.truthy(err:find("crc32 +60 "), err)
    local ended, _, said = shell(command .. " record --lib 'libz*' -o empty -- env -i ./calls")
    assert.equal(3, ended)
    assert.truthy(said:find("crc32 +10 "), said)
    local _, alone = shell "./apart ./other"
    status, out = shell(command .. " record -o apart-other -- ./apart ./other")
    assert.same({ 0, alone }, { status, out })
  end)

  it("leaves children their given environment", function()
    support.spit(dir .. "/given.py", [[
import subprocess, sys
for given in {}, {"A": "1"}, {"LD_PRELOAD": ""}, {"LD_PRELOAD": "libz.so.1", "ASAN_OPTIONS": "color=never", "B": "2"}:
    for command in ["/usr/bin/env"], ["/bin/sh", "-c", "/usr/bin/env; /usr/bin/env -i /usr/bin/env; exec ./calls"]:
        print(subprocess.run(command, env=given, stdout=subprocess.PIPE), flush=True)
]])
    support.compile(dir, { ["calls.c"] = calls }, "gcc -O1 calls.c -o calls -lz")
    for name, words in pairs { nothing = "env -i env", one = "env -i A=1 env", python = "python3 given.py" } do
      local alone = support.done(shell(words))
      local recorded, out, err = shell(("%s record --lib 'libz*' -o given-%s -- %s"):format(command, name, words))
      assert.same({ 0, alone }, { recorded, out }, err)
      assert.truthy(name ~= "python" or err:find "crc32 +40 ", err)
    end
  end)

  it("is left out in a root that does not have it", function()
    if tonumber((select(2, shell "id -u"))) ~= 0 then return pending "only root can have another root" end
    assert.equal(0, (shell [[
mkdir root
for f in /bin/true $(ldd /bin/true | grep -o '/[^ ]*'); do mkdir -p root/${f%/*} && cp -L $f root/$f || exit 1; done]]))
    local status, _, err = shell(command .. " record -o rooted -- chroot root /bin/true")
    assert.same({ 0, nil }, { status, err:match "[^\n]*cannot be preloaded[^\n]*" })
  end)

  local sanitizers = { gcc = { "address", "thread", "undefined", "leak" }, ["clang-14"] = { "address", "undefined" } }
  for compiler, kinds in pairs(sanitizers) do
    for _, kind in ipairs(kinds) do
      it(("leaves programs of %s -fsanitize=%s as they are"):format(compiler, kind), function()
        support.spit(dir .. "/calls.c", calls)
        local name = ("%s-%s"):format(compiler, kind)
        local build = "%s -O1 -w -fsanitize=%s calls.c -o %s -lz && ./%s; test $? = 3"
        if shell(build:format(compiler, kind, name, name)) ~= 0 then
          return pending(("%s makes no program with -fsanitize=%s that runs here"):format(compiler, kind))
        end
        local wrong = shell(("./%s wrong"):format(name))
        for verb, options in pairs { record = " --lib 'libz*' -o " .. name .. "-r", live = "" } do
          local status, _, err = shell(("%s %s%s -- ./%s"):format(command, verb, options, name))
          assert.equal(3, status, err)
          assert.truthy(verb == "live" or err:find("crc32 +10 "), err)
          shell(("rm -rf %s-r"):format(name))
          status = shell(("%s %s%s -- ./%s wrong"):format(command, verb, options, name))
          assert.equal(wrong, status)
        end
      end)
    end
  end
end)
