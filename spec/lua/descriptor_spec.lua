-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/descriptor_spec.lua - pmlua record --event in a program that closes all descriptors and opens its own, as
-- daemons do: its files stay its own, and the results say that counts end.

local support = require "spec.core.support"
local json = require "pmlua.json"

local command = support.build .. "/pmlua"
local dir = support.folder()

-- HOW is range: close 3 to 1023 and open 200 files; or all: close every descriptor, make a recorded call, and open a file
-- at each number that a counter had. The output is the same as without pmlua.
local program = support.C .. [[
#include <zlib.h>
#define NUMBERS 8192
static void calls(int n) { for (int i = 0; i < n; i++) crc32(0, (const Bytef *)"abc", 3); }
static int counters(int *fd) {
  char name[64], what[64];
  int n = 0;
  for (int i = 0; i < NUMBERS && n < 64; i++) {
    snprintf(name, sizeof name, "/proc/self/fd/%d", i);
    ssize_t bytes = readlink(name, what, sizeof what - 1);
    if (bytes > 0 && (what[bytes] = 0, strcmp(what, "anon_inode:[perf_event]") == 0)) fd[n++] = i;
  }
  return n;
}
static void *ends(void *arg) { calls(10); return arg; }
int main(int argc, char **argv) {
  static int own[200];
  int fd[64], touched = 0;
  pthread_t thread;
  calls(10);
  if (argc > 1 && strcmp(argv[1], "range") == 0) {
    for (int i = 3; i < 1024; i++) close(i);
    for (int i = 0; i < 200; i++) own[i] = open(argv[0], O_RDONLY);
    calls(10);
    for (int i = 0; i < 200; i++) touched += own[i] < 0 || lseek(own[i], 0, SEEK_CUR) != 0;
  } else {
    int n = counters(fd);
    for (int i = 3; i < NUMBERS; i++) close(i);
    calls(1);
    int file = open(argv[0], O_RDONLY);
    for (int i = 0; i < n; i++) dup2(file, fd[i]);
    calls(10);
    for (int i = 0; i < n; i++) touched += fcntl(fd[i], F_GETFD) < 0 || lseek(fd[i], 0, SEEK_CUR) != 0;
    close(file);
  }
  pthread_create(&thread, NULL, ends, NULL);
  pthread_join(thread, NULL);
  printf("%d of its own files were touched\n", touched);
  return 0;
}
]]

describe("a program that closes all descriptors, counted by pmlua record --event", function()
  setup(function() support.compile(dir, { ["closes.c"] = program }, "gcc -O1 closes.c -o closes -lz -lpthread") end)

  local function recorded(how)
    local text = ("%s record --json -o %s --sym crc32 --event page-faults:u -- ./closes %s"):format(command, how, how)
    local status, out, err = support.shell_in(dir, "ulimit -Sn 1024; " .. text)
    if err:find "EPARANOID" or err:find "EACCES" then return nil, err end
    assert.equal(0, status, err)
    local first, rest = out:match "^([^\n]*)\n(.*)$"
    return { printed = first, calls = json.decode(rest), err = err }
  end

  for _, how in ipairs { "range", "all" } do
    it("leaves its files alone, and reports that counts end: " .. how, function()
      local r, why = recorded(how)
      if not r then return pending(tostring(why)) end
      assert.equal("0 of its own files were touched", r.printed)
      local said = "stopped counting events before its end; their values are too low: Bad file descriptor"
      assert.truthy(r.err:find(said, 1, true), r.err)
      assert.equal(how == "all" and 31 or 30, r.calls.functions[1].calls)
    end)
  end

  it("reports nothing for a program that closes none", function()
    support.spit(dir .. "/keeps.c", "#include <zlib.h>\nint main(void) { return crc32(0, (const Bytef *)\"abc\", 3) == 0; }\n")
    local status, _, err = support.shell_in(dir,
      "gcc keeps.c -o keeps -lz && " .. command .. " record -o keeps.d --sym crc32 --event page-faults:u -- ./keeps")
    if err:find "EPARANOID" or err:find "EACCES" then return pending(err) end
    assert.equal(0, status, err)
    assert.falsy(err:find("not counted", 1, true), err)
  end)
end)
