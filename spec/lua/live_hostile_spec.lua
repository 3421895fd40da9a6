-- spec/lua/live_hostile_spec.lua - tests of clients of the live service (query, query --job, serve, its page) beside peers that
-- reply with anything, and beside programs that fork, execute, close their descriptors, stop or are traced.

local support = require "spec.core.support"
local json = require "pmlua.json"
local quote = support.quote
local it = support.it

local command = support.build .. "/pmlua"

--- Sockets whose servers reply to each question with something else; the name is what they do.
local PEERS <const> = [[
import os, random, signal, socket, struct, sys, threading, time
signal.alarm(300)
def values(events, words, names, text=b"{}", magic=0x32564d50):
    return struct.pack("<IIQQIIII", magic, events, 1, 0, words, len(names), len(text), 0) + b"\0" * 9 * words + names + text
def framed(payload): return b"ok %d\n" % len(payload) + payload
random.seed(1)
fixed = {
    "long": b"ok 99999999999999999999\n", "huge": b"ok 16777217\n", "short": b"ok 100\nx", "zero": b"ok 0\n",
    "sign": b"ok -1\n", "bare": b"\n" * 200, "noise": bytes(random.randrange(256) for _ in range(5000)),
    "two": framed(b"x") * 2, "many": framed(values(4000000000, 2, b"")), "words": framed(values(1, 0, b"\1\0\0a\0\0")),
    "magic": framed(values(1, 1, b"\1\0\0a\0\0", magic=1)), "kind": framed(values(1, 1, b"\77\0\0a\0\0")),
    "cut": framed(values(1, 1, b"\1\0\0aaaa")), "json": framed(values(0, 0, b"", b'{"rules": [1, {}], "sections": {}')),
    "escape": framed(values(1, 1, b"\1\0\0E::\x1b]0;x\x07\0\x1b[2J\0", b'{"rules": [{"name": "\\u001b[2J"}]}')),
    "error": b"error 9\n\x1b[2Jx\x9b2J", "closed": b"",
}
def serve(c, name):
    try:
        if name == "mute": time.sleep(300)
        c.recv(100)
        if name == "slow":
            for b in framed(values(0, 0, b"")): c.sendall(bytes([b])); time.sleep(0.2)
        elif name == "endless":
            while True: c.sendall(framed(b"x" * 60000))
        elif name == "deaf": time.sleep(300)
        else: c.sendall(fixed[name])
        if name != "closed": time.sleep(300)
    except OSError: pass
    finally: c.close()
def run(name):
    s = socket.socket(socket.AF_UNIX); s.bind(f"{sys.argv[1]}/{os.getpid()}.PEER_{name}"); s.listen(8)
    while True: threading.Thread(target=serve, args=(s.accept()[0], name), daemon=True).start()
for name in [*fixed, "mute", "slow", "endless", "deaf"]: threading.Thread(target=run, args=(name,), daemon=True).start()
print(len(fixed) + 4, flush=True)
time.sleep(300)]]

--- A program with the event DEMO::n = 7, which does what its first argument says once it serves.
local PROGRAM <const> = [[
#define _GNU_SOURCE
#include "pml.h"
#include "pmlua.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  static int64_t n = 7;
  struct pml_sde_library *lib;
  const struct pmlua_live_options o = {.name = argv[1]};
  alarm(300);
  if (pml_sde_library(&lib, "DEMO") < 0 || pmlua_live_start(&o) < 0) return puts(pml_error_detail(-1)), 1;
  pml_sde_register(lib, "n", PML_SDE_RO, PML_TYPE_INT64, &n);
  if (strcmp(argv[1], "forks") == 0) (void)!fork();
  if (strcmp(argv[1], "executes") == 0) execl(argv[0], argv[0], "executed", (char *)NULL);
  if (strcmp(argv[1], "closes") == 0) for (int fd = 3; fd < 1000; fd++) close(fd);
  if (strcmp(argv[1], "stops") == 0) raise(SIGSTOP);
  for (;;) pause();
}]]

describe("A client of running programs", function()
  local dir, runtime, started

  local function start(line)
    local out = ("%s/out%d"):format(dir, #started + 1)
    local pipe = io.popen(("cd %s && XDG_RUNTIME_DIR=%s exec timeout 300 %s >%s 2>&1 & echo $!"):format(quote(dir),
      quote(runtime), line, out))
    started[#started + 1] = pipe:read "n"
    pipe:close()
    return out
  end

  local function pmlua(arguments)
    return support.shell(("cd %s && XDG_RUNTIME_DIR=%s %s %s"):format(quote(dir), quote(runtime), command, arguments))
  end

  local function sockets()
    local n = 0
    for entry in require "lfs".dir(runtime .. "/pmlua") do n = n + (entry:find "^%d" and 1 or 0) end
    return n
  end

  --- The text of an HTTP reply.
  local function get(port, path)
    local client = assert(require "socket".connect("127.0.0.1", port))
    client:settimeout(60)
    client:send(("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"):format(path))
    local text = client:receive "*a"
    client:close()
    return text:match "^HTTP/1.1 200 .-\r\n\r\n(.*)$"
  end

  --- The ranks with DEMO::n, by name, and whether all others are silent.
  local function check(expected, more)
    local job, status, text, err
    support.eventually(function()
      status, text, err = pmlua("query --job '*' DEMO::n --json --patience 1s " .. (more or ""))
      job = status == 0 and json.decode(text)
      return job and #job.rows == 1 and #job.rows[1].ranks == #expected
    end)
    assert.equal(0, status, err)
    local names = {}
    for k, at in ipairs(job.rows[1].ranks) do
      assert.equal(7, job.rows[1].values[k])
      names[k] = job.ranks[at].name
    end
    table.sort(names)
    assert.same(expected, names)
    return job, err
  end

  before_each(function()
    dir, started = support.folder(), {}
    runtime = dir .. "/run"
    assert(os.execute(("mkdir -m 700 %s && mkdir -m 700 %s/pmlua"):format(runtime, runtime)))
    support.spit(dir .. "/program.c", PROGRAM)
    support.done(support.shell_in(dir, ("gcc program.c -o program -I%s/../core -I%s/../bindings -L%s -lpmlua-embed -lpmlua "
      .. "-Wl,-rpath,%s"):format(support.build, support.build, support.build, support.build)))
  end)
  after_each(function()
    for _, pid in ipairs(started) do os.execute(("pkill -KILL -P %d; kill -KILL %d 2>/dev/null"):format(pid, pid)) end
  end)

  it("reads the programs beside peers that reply with anything, and prints nothing of theirs raw", function()
    support.spit(dir .. "/peers.py", PEERS)
    local out = start("python3 peers.py " .. runtime .. "/pmlua")
    start "./program works"
    local n
    support.eventually(function()
      n = tonumber(support.slurp(out))
      return n and sockets() == n + 1
    end)
    local _, err = check { "works" }
    local texts = { err }
    for arguments, expected in pairs { ["query --job '*' '*'"] = "DEMO::n +1 +7 ", ["query"] = "works +%d+s +1 ",
      ["query --openmetrics"] = '{program="works",pid="%d+",event="DEMO::n"} 7\n' } do
      local status, text, errors = pmlua(arguments .. " --patience 1s")
      assert.equal(0, status, errors)
      assert.matches(expected, text)
      table.move({ text, errors }, 1, 2, #texts + 1, texts)
    end
    local served = start(command .. " serve --export 127.0.0.1:0 --every 200ms")
    support.eventually(function() return support.exists(served) and support.slurp(served):find "\n" end)
    local port = assert(tonumber(support.slurp(served):match ":(%d+)/metrics\n"))
    texts[#texts + 1] = assert(get(port, "/metrics"))
    assert.matches('sde_DEMO_n_total{program="works",pid="%d+",event="DEMO::n"} 7\n', texts[#texts])
    texts[#texts + 1] = support.slurp(served)
    for _, text in ipairs(texts) do assert.is_nil(text:find "[\0-\8\11-\31\127\155]", text) end
  end)

  it("reads a program whose calls are recorded: libpmlua has a heap of its own there", function()
    start(command .. " record -o recorded -- ./program recorded")
    support.eventually(function() return sockets() == 1 end)
    for _ = 1, 3 do
      for question, expected in pairs { ["query recorded"] = "DEMO::n +7 ",
        ["query recorded --openmetrics"] = "DEMO::n\"} 7\n" } do
        local status, text, errors = pmlua(question)
        assert.equal(0, status, errors)
        assert.matches(expected, text)
      end
    end
  end)

  it("reads programs that fork, execute, close their descriptors, stop or are traced", function()
    for _, what in ipairs { "forks", "executes", "closes", "stops", "works" } do start("./program " .. what) end
    local job, stopped
    support.eventually(function() -- a slow program may not have stopped yet
      job = check { "closes", "executed", "forks", "forks", "works" }
      for _, rank in ipairs(job.ranks) do
        if rank.name == "stops" then stopped = rank end
      end
      return stopped.stopped
    end)
    assert.same({ false, true }, { stopped.up, stopped.stopped })
    if not os.execute "strace -V >/dev/null 2>&1" then return pending "strace is not installed" end
    local working
    for _, rank in ipairs(job.ranks) do working = rank.name == "works" and math.tointeger(rank.pid) or working end
    start(("strace -f -o trace -p %d"):format(working))
    if not support.eventually(function() return support.exists(dir .. "/trace") and support.slurp(dir .. "/trace") ~= "" end) then
      return pending "strace cannot attach here"
    end
    check({ "closes", "executed", "forks", "forks", "works" }, "--patience 20s")
  end)
end)
