-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_last_spec.lua - pmlua record --last: the log rolls over, the trace has the end of the run, the table all of it.

local support = require "spec.core.support"
local quote = support.quote

local command = support.build .. "/pmlua"
local CALLS = 300000
local dir

local function shell(text)
  return support.shell("cd " .. quote(dir) .. " && " .. text)
end

--- zlibVersion is called first, adler32 last; in between it is killed if it is told to.
local program = [[
#include <signal.h>
#include <stdlib.h>
#include <zlib.h>
int main(int argc, char **argv) {
  unsigned long sum = (unsigned long)zlibVersion()[0];
  for (long n = atol(argv[1]); n > 0; n--) sum = crc32(sum, (const unsigned char *)"abc", 3);
  if (argc > 2) raise(SIGKILL);
  return adler32(sum, (const unsigned char *)"abc", 3) == 1;
}
]]

--- Calls of each function in the trace.
local function traced(folder)
  local valid, said = support.shell(("/usr/bin/python3 spec/otf2_validate.py %s/%s/traces.otf2"):format(dir, folder))
  assert.equal(0, valid, said)
  local _, out = shell(("%s trace %s/traces.otf2 --json"):format(command, folder))
  local calls = {}
  for _, row in ipairs(require("pmlua.json").decode(out).regions) do calls[row.region] = row.calls end
  return calls
end

local function bytes_of_log(folder)
  local _, out = shell(("stat -c %%s %s/*.pmlog"):format(folder))
  return tonumber(out)
end

describe("pmlua record --last", function()
  setup(function()
    dir = io.popen("mktemp -d"):read("l")
    support.spit(dir .. "/long.c", program)
    assert.equal(0, (shell("gcc -O1 long.c -o long -lz")))
  end)
  teardown(function() os.execute("rm -rf " .. quote(dir)) end)

  it("keeps the last events of a trace, in a file that does not grow, and all calls in the table", function()
    local status, _, err = shell(("%s record --lib libz --trace --last 1M -o tail -- ./long %d"):format(command, CALLS))
    assert.equal(0, status, err)
    assert.truthy(err:find("crc32 +" .. CALLS .. " "), err)
    assert.truthy(err:find("MiB of older events are not in the traces, as you asked with --last", 1, true), err)
    assert.is_true(bytes_of_log "tail" < 2 << 20)
    local calls = traced "tail"
    assert.is_nil(calls.zlibVersion)
    assert.equal(1, calls.adler32)
    assert.is_true(calls.crc32 > 15000 and calls.crc32 < CALLS // 2, calls.crc32)
  end)

  it("does so for a program that is killed", function()
    shell(("%s record --lib libz --trace --last 1M -o cut -- ./long %d killed"):format(command, CALLS))
    local calls = traced "cut"
    assert.is_nil(calls.zlibVersion)
    assert.is_true(calls.crc32 > 15000 and calls.crc32 < CALLS // 2, calls.crc32)
  end)

  it("leaves a trace as it is that is smaller, and says nothing", function()
    local status, _, err = shell(command .. " record --lib libz --trace --last 1M -o small -- ./long 100")
    assert.equal(0, status, err)
    assert.is_nil(err:find("older", 1, true), err)
    local calls = traced "small"
    assert.same({ 1, 100, 1 }, { calls.zlibVersion, calls.crc32, calls.adler32 })
  end)

  it("refuses a size that is none, or without a trace", function()
    support.refuses(dir, "record", {
      ["--trace --last 100X -- true"] = { 2, "%-%-last needs a size from 1M on, such as 100M or 2G, not '100X'" },
      ["--trace --last 1000 -- true"] = { 2, "%-%-last needs a size from 1M on, such as 100M or 2G, not '1000'" },
      ["--last 1G -- true"] = { 2, "limit a trace; add %-%-trace" },
    })
  end)
end)
