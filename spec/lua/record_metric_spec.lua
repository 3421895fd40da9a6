-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_metric_spec.lua - pmlua record --metric: metrics of the host and the process over time, beside the calls.

local support = require "spec.core.support"
local quote = support.quote

local command = support.build .. "/pmlua"
local dir

local function shell(text)
  return support.shell("cd " .. quote(dir) .. " && " .. text)
end

--- Allocates 80 MB and calls zlib for at least 300 ms, also in a child process.
local program = [[
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
static long ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
int main(void) {
  pid_t child = fork();
  char *memory = malloc(80000000);
  if (memory == NULL) return 1;
  memset(memory, 1, 80000000);
  unsigned long sum = 0;
  for (long end = ms() + 300; ms() < end;) sum = crc32(sum, (const unsigned char *)memory, 1000000);
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  return sum == 1;
}
]]

describe("pmlua record --metric", function()
  setup(function()
    dir = io.popen("mktemp -d"):read("l")
    support.spit(dir .. "/crc.c", program)
    assert.equal(0, (shell("gcc -O1 crc.c -o crc -lz")))
  end)
  teardown(function() os.execute("rm -rf " .. quote(dir)) end)

  it("lays the host's metrics and the process's beside the calls, in a table, a file and the trace", function()
    local status, _, err = shell(command .. " record --trace --lib libz --every 10ms --metric 'host::cpus_*' "
      .. "--metric plugin::process::resident -o all -- ./crc")
    assert.equal(0, status, err)
    assert.matches("plugin::host::cpus_busy", err)
    local t = assert(require("pmlua.internal.dat").read(dir .. "/all/metrics.dat"))
    local most, n = 0, 0
    for _, row in ipairs(t.rows) do
      if row and row.event == "plugin::process::resident" then
        most, n = math.max(most, row.value), n + 1
      end
    end
    assert.is_true(most > 80e6, ("%g bytes at most, of %d values"):format(most, n))
    local valid, said = support.shell(("/usr/bin/python3 spec/otf2_validate.py %s/all/traces.otf2"):format(dir))
    assert.equal(0, valid, said)
    local _, definitions, complaints = shell("otf2-print -G all/traces.otf2")
    assert.is_nil(complaints:find "warning")
    assert.equal(2, select(2, definitions:gsub("\nLOCATION_GROUP ", ""))) -- the child is another process
    for _, metric in ipairs { "host::cpus_user", "process::resident" } do
      local pattern = '\nLOCATION +%d+ +Name: "plugin::' .. metric .. '"[^\n]*Type: METRIC'
      assert.equal(1, select(2, definitions:gsub(pattern, "")), definitions)
    end
  end)

  it("refuses what it cannot measure before anything runs", function()
    local function refused(arguments, status, says)
      local got, _, err = shell(command .. " record -o none " .. arguments .. " -- touch ran")
      assert.equal(status, got, err)
      assert.matches(says, err)
      assert.not_equal(0, (shell("ls ran")))
      shell("rm -rf none")
    end
    refused("--metric load_1", 2, "'load_1' is not a metric; write PLUGIN::METRIC, where PLUGIN is one of host, process, uncore")
    refused("--metric nosuch::x", 2, "'nosuch::x' is not a metric")
    refused("--every 10ms", 2, "%-%-every works with %-%-metric only")
    refused("--metric host::load_1 --every soon", 2, "needs a time such as 20ms, not 'soon'")
    refused("--metric host::lod_1", 126, "%-%-metric: plugin host has no metric 'lod_1'; did you mean 'load_1'")
    refused("--metric uncore::nosuch/x/", 126, "no PMU \"nosuch\"")
  end)

  it("records all the same where the command ends before there is a value", function()
    local status, _, err = shell(command .. " record --metric host::load_1 --every 10s -o brief -- true")
    assert.equal(0, status, err) -- whether there was a reading or none
    local beside = require "pmlua.internal.host.beside"
    local none = assert(beside.load({ host = { "load_1" } }, 10, support.core.sys.pid()))
    none.handles, none.follower = {}, { finish = function() end }
    local kept, why = none:finish(dir)
    assert.is_nil(kept)
    assert.equal("ENODATA", why.code)
  end)
end)
