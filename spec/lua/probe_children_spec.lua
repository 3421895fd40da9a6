-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/probe_children_spec.lua - probes count threads, children and what they execute, or say that they do not.

local support = require "spec.core.support"
local json = require "pmlua.json"

-- n calls; with t, 300 in a thread; with f, 50 in a child; with x, 70 in a child that executes the program again;
-- with p, 1 in each of 100 children at once; with e, 1 after a second thread executes the program.
local PROGRAM <const> = support.C .. [[
volatile int sink;
__attribute__((noinline, noclone)) int target(int x) { sink += x; return sink; }
static void *thread(void *arg) { for (int i = 0; i < 300; i++) target(i); return arg; }
static void *execute(void *path) { execl(path, path, "1", (char *)0); return 0; }
int main(int argc, char **argv) {
  for (int i = 0; i < atoi(argv[1]); i++) target(i);
  if (argc < 3) return 0;
  pthread_t t;
  if (strchr(argv[2], 't')) { pthread_create(&t, 0, thread, 0); pthread_join(t, 0); }
  if (strchr(argv[2], 'f')) { if (fork() == 0) { for (int i = 0; i < 50; i++) target(i); _exit(0); } wait(0); }
  if (strchr(argv[2], 'x')) { if (fork() == 0) execl(argv[0], argv[0], "70", (char *)0); wait(0); }
  if (strchr(argv[2], 'p')) {
    for (int i = 0; i < 100; i++) if (fork() == 0) { usleep(1000); target(i); _exit(0); }
    while (wait(0) > 0) ;
  }
  if (strchr(argv[2], 'e')) { pthread_create(&t, 0, execute, argv[0]); pause(); }
  return 0;
}
]]

describe("A probe of a program", function()
  local dir, pmlua, target
  local with = "unshare -m sh -c 'test -d /sys/kernel/tracing/events || mount -t tracefs nodev /sys/kernel/tracing"
    .. " || exit 99; %s'"
  local without = "unshare -m sh -c 'while umount /sys/kernel/tracing 2>/dev/null; do :; done;"
    .. " mount -t tmpfs none /sys/kernel/debug; test -d /sys/kernel/tracing/events && exit 99; %s'"

  setup(function()
    dir = support.folder()
    support.spit(dir .. "/p.c", PROGRAM)
    support.shell(("cc -O1 -pthread -o %s/p %s/p.c && cp %s/p '%s/p; q'"):format(dir, dir, dir, dir))
    pmlua = require("pmlua.core").sys.realpath(support.build) .. "/pmlua"
    target = ("uprobe:%s/p:target"):format(dir)
  end)

  --- Run a line of the shell with or without tracefs; nil and why it cannot be.
  local function run(way, line)
    local status, out, err = support.shell(way:format(line))
    if status == 99 or err:find "unshare:" then return nil, "no tracefs can be mounted or unmounted here" end
    local said = out .. err
    if said:find "only privileged processes" or said:find "no uprobe PMU" then return nil, "no probe may be set here" end
    return out, err
  end

  local function counted(text)
    for _, row in ipairs(json.decode(text:match "{.*}").counts) do
      if row.event == target then return row.value end
    end
  end

  it("counts in threads, children and executed programs", function()
    for kinds, n in pairs { [""] = 1000, t = 1300, f = 1050, x = 1070, tfx = 1420, p = 1100, e = 1001 } do
      local out, err = run(with, ("%s stat --json -e %s -- %s/p 1000 %s"):format(pmlua, target, dir, kinds))
      if not out then return pending(err) end
      assert.equal(n, counted(out), kinds .. err)
      assert.falsy(err:find("of one thread", 1, true), err)
    end
    local odd = run(with, ([[%s stat --csv -e "uprobe:%s/p; q:target" -- "%s/p; q" 1000 t]]):format(pmlua, dir, dir))
    assert.matches(",1300,", odd)
    local _, out = run(with, ("%s sample -e %s -c 1 -- %s/p 100 tfx"):format(pmlua, target, dir))
    assert.matches("\n520 samples of", out)
  end)

  it("counts an indirect function where its loader directs it", function()
    local count <const> = [[python3 -c "import ctypes; f = ctypes.CDLL(None).strlen; [f(bytes()) for i in range(500)]"]]
    local libc = io.open("/proc/self/maps"):read "a":match "/%S+/libc%.so%.6"
    local out, err = run(with, ("%s stat --json -e uprobe:%s:strlen -- %s"):format(pmlua, libc, count))
    if not out then return pending(err) end
    assert.is_true(json.decode(out:match "{.*}").counts[5].value >= 500, out .. err)
  end)

  it("counts in the threads and children of a running process", function()
    local line = "(sleep 1; exec %s/p 100 tfx) & %s stat --json -e %s -p $! -- sleep 3"
    local out, err = run(with, line:format(dir, pmlua, target))
    if not out then return pending(err) end
    assert.equal(520, counted(out), err)
  end)

  it("leaves no definition in the kernel, also after it was killed", function()
    local line = "%s stat -q -e %s -- sh -c \"kill -KILL \\$PPID\"; %s stat -q -e %s -- true; "
      .. "cat /sys/kernel/tracing/uprobe_events"
    local out, err = run(with, line:format(pmlua, target, pmlua, target))
    if not out then return pending(err) end
    assert.falsy(out:find(dir, 1, true), out)
  end)

  it("is marked as of one thread if it cannot be inherited", function()
    local out, err = run(without, ("%s stat --json -e %s -- %s/p 1000 t"):format(pmlua, target, dir))
    if not out then return pending(err) end
    if counted(out) == 1300 then return end -- this kernel inherits it
    assert.equal(1000, counted(out))
    assert.matches("of one thread only", err)
  end)
end)
