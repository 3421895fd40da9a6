-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_substrate_spec.lua - pmlua record with substrate plugins, which run in the program and get its calls.

local support = require "spec.core.support"
local json = require "pmlua.json"
local quote = support.quote

local command, plugins = support.build .. "/pmlua", support.build .. "/spec/plugins"
local dir

-- Calls crc32 three times, and ends as argv[1] says.
local program = [[
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
static void *work(void *sum) {
  for (int i = 0; i < 3; i++) *(unsigned long *)sum = crc32(0, (const unsigned char *)"pmlua", 5);
  return NULL;
}
int main(int argc, char **argv) {
  unsigned long sum = 0, other = 0;
  char how = argv[1][0];
  pthread_t thread;
  if (how == 'f' && fork() == 0) how = '0';
  work(&sum);
  if (how == 't' && pthread_create(&thread, NULL, work, &other) == 0) pthread_join(thread, NULL);
  if (how == 'f') wait(NULL);
  if (how == 'x') execl(argv[0], argv[0], "0", NULL);
  if (how == '_') _exit(0);
  if (how == 'c') {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    syscall(SYS_exit, 0);
  }
  return argc > 9 && sum == 0;
}
]]

local function shell(text)
  return support.shell(("cd %s && LD_LIBRARY_PATH=%s %s"):format(quote(dir), quote(plugins), text))
end

--- The calls by name, and the output.
local function recorded(arguments, environment)
  local status, out, err = shell(("%s %s record --json %s"):format(environment or "", command, arguments))
  assert.equal(0, status, err)
  local by_name = {}
  for _, f in ipairs(json.decode(out).functions) do by_name[f.name] = f end
  return by_name, err
end

local function written(folder, name)
  local found = {}
  for entry in require("lfs").dir(dir .. "/" .. folder) do
    if entry:find "^substrates%-" then
      local f = io.open(("%s/%s/%s/%s"):format(dir, folder, entry, name))
      if f then
        found[#found + 1] = f:read "a"
        f:close()
      end
    end
  end
  return found
end

local function count(text, what)
  return select(2, text:gsub("%f[^\n]%d+ " .. what .. "%f[%s][^\n]*", ""))
end

local NOT_ENDED = "did not exit normally (_exit, a signal, exec, still running): its substrate plugins"

describe("pmlua record --substrate", function()
  setup(function()
    dir = io.popen("mktemp -d"):read("l")
    support.spit(dir .. "/sums.c", program)
    assert.equal(0, (support.shell(("cd %s && gcc -O1 sums.c -o sums -lz -lpthread"):format(quote(dir)))))
  end)
  teardown(function() os.execute("rm -rf " .. quote(dir)) end)

  it("loads a plugin into the program, which gets an enter and a leave of each call", function()
    local by_name, err = recorded "--lib libz --substrate writer -o calls -- ./sums 0"
    assert.equal(3, by_name.crc32.calls)
    local texts = written("calls", "writer.txt")
    assert.equal(1, #texts)
    assert.matches("0 program ./sums of 1 arguments, 0, region sums, process %d+\n", texts[1])
    assert.matches("\nregion crc32 libz%.so%.%d+ ", texts[1])
    assert.equal(3, count(texts[1], "enter crc32"))
    assert.equal(3, count(texts[1], "leave crc32"))
    assert.matches("\nwrite_data\n.*\nfinalize\n$", texts[1])
    assert.matches("pmlua record: substrate plugin writer: pmlua never raises these of its events: MPI_SEND, ", err, 1, true)
    assert.falsy(err:find(NOT_ENDED, 1, true), err)
  end)

  it("hands on the calls of each thread on its own location", function()
    recorded "--lib libz --substrate writer -o threads -- ./sums t"
    local text = written("threads", "writer.txt")[1]
    assert.matches("\n0 enter crc32 ", text)
    assert.matches("\n1 enter crc32 ", text)
    assert.equal(6, count(text, "enter crc32"))
  end)

  it("honours SCOREP_SUBSTRATE_PLUGINS, and adds to it, in the program and not in pmlua", function()
    recorded("--lib libz -o environment -- ./sums 0", "SCOREP_SUBSTRATE_PLUGINS=enters")
    local by_name = recorded("--lib libz --substrate writer -o both -- ./sums 0",
      "SCOREP_SUBSTRATE_PLUGINS=nothing:enters SCOREP_SUBSTRATE_PLUGINS_SEP=:")
    local calls = 0
    for _, f in pairs(by_name) do calls = calls + f.calls end
    assert.same({ ("%d"):format(calls) }, written("environment", "enters.txt"))
    assert.same({ ("%d"):format(calls) }, written("both", "enters.txt"))
    assert.equal(1, #written("both", "writer.txt"))
    for entry in require("lfs").dir(dir) do assert.falsy(entry:find "^substrates%-", entry) end
  end)

  it("leaves the folder to SCOREP_EXPERIMENT_DIRECTORY", function()
    recorded("--lib libz --substrate enters -o elsewhere -- ./sums 0", "SCOREP_EXPERIMENT_DIRECTORY=experiment")
    assert.same({}, written("elsewhere", "enters.txt"))
    assert.is_true(tonumber(support.slurp(dir .. "/experiment/enters.txt")) >= 3)
  end)

  it("refuses a plugin that is nowhere", function()
    local status, _, err = shell(command .. " record --substrate nosuch -o nowhere -- ./sums 0")
    assert.equal(2, status)
    assert.truthy(err:find("--substrate: the loader finds no libscorep_substrate_nosuch.so", 1, true), err)
  end)

  it("names a plugin that fails, and records all the same", function()
    local by_name, err = recorded(
      "--lib libz --substrate bad_refusing --substrate enters -o failing -- ./sums 0", "SCOREP_SUBSTRATE_PLUGINS=nosuch")
    assert.equal(3, by_name.crc32.calls)
    assert.matches("pmlua record: substrate plugin nosuch: libscorep_substrate_nosuch.so: ", err, 1, true)
    assert.matches("pmlua record: substrate plugin bad_refusing: its init declined to run\n", err, 1, true)
    assert.equal(1, #written("failing", "enters.txt"))
  end)

  it("does not take the plugin's own calls for the program's", function()
    local by_name = recorded "--substrate worker -o aside -- ./sums 0" -- a thread of its own calls libm
    assert.is_true(tonumber(written("aside", "worker.txt")[1]) > 0)
    assert.is_nil(by_name.cbrt)
    assert.equal(3, by_name.crc32.calls)
  end)

  it("drops a plugin that throws, and goes on", function()
    local by_name, err = recorded "--lib libz --substrate thrower --substrate enters -o throwing -- ./sums 0"
    assert.equal(3, by_name.crc32.calls)
    assert.matches("pmlua record: substrate plugin thrower: threw[^\n]*the third", err)
    assert.equal(1, #written("throwing", "enters.txt"))
  end)

  it("has none in a forked child, and in a program that is executed its own", function()
    local by_name, err = recorded "--lib libz --substrate enters -o forked -- ./sums f"
    assert.equal(6, by_name.crc32.calls)
    assert.equal(1, #written("forked", "enters.txt"))
    assert.falsy(err:find(NOT_ENDED, 1, true), err)
    by_name, err = recorded "--lib libz --substrate enters -o executed -- ./sums x"
    assert.equal(6, by_name.crc32.calls)
    assert.equal(1, #written("executed", "enters.txt"))
    assert.truthy(err:find(NOT_ENDED, 1, true), err)
  end)

  it("says that plugins did not write where the program left by _exit", function()
    local by_name, err = recorded "--lib libz --substrate enters -o left -- ./sums _"
    assert.equal(3, by_name.crc32.calls)
    assert.same({}, written("left", "enters.txt"))
    assert.truthy(err:find(NOT_ENDED, 1, true), err)
  end)

  it("ends plugins before the process gives up its system calls", function()
    local _, err = recorded "--lib libz --substrate enters -o confined -- ./sums c"
    if not err:find("gave up its right to system calls", 1, true) then return pending("seccomp is refused here") end
    assert.equal(1, #written("confined", "enters.txt"))
    assert.matches("gave up system calls; its substrate plugins ended then", err, 1, true)
    assert.falsy(err:find(NOT_ENDED, 1, true), err)
  end)

  it("says what is wrong with --substrate in a line", function()
    for _, given in ipairs { "no-name", "a:b", "a/b" } do
      local status, _, err = shell(("%s record --substrate %s -o wrong -- ./sums 0"):format(command, given))
      assert.equal(2, status)
      assert.truthy(err:find("--substrate: '", 1, true), err)
      assert.matches("^[^\n]*\nsee 'pmlua help record'\n$", err)
    end
  end)
end)

describe("SCOREP_SUBSTRATE_PLUGINS", function()
  it("loads nothing into pmlua for a verb, which raises no events", function()
    local made = io.popen("mktemp -d"):read("l")
    local status, _, err = support.shell(("cd %s && LD_LIBRARY_PATH=%s SCOREP_SUBSTRATE_PLUGINS=enters %s live -- true"):format(
      quote(made), quote(plugins), command))
    assert.equal(0, status, err)
    for entry in require("lfs").dir(made) do assert.falsy(entry:find "^substrates%-", entry) end
    os.execute("rm -rf " .. quote(made))
  end)
end)
