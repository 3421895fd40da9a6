-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/archive_spec.lua - one OTF2 archive of all processes and ranks: pmlua record --trace, and pmlua trace.

local support = require "spec.core.support"
local quote = support.quote

local command = support.build .. "/pmlua"
local dir

--- Calls crc32 argv[1] times, then a child does; with argv[2] both wait to be killed.
local program = [[
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
int main(int argc, char **argv) {
  unsigned long sum = 0;
  pid_t child = fork();
  for (int i = 0; i < atoi(argv[1]); i++) sum = crc32(sum, (const unsigned char *)"pmlua", 5);
  if (argc > 2) {
    printf("waits\n");
    fflush(stdout);
    sleep(1000);
  }
  if (child != 0) wait(NULL);
  return sum == 0;
}
]]

local function shell(text) return support.shell_in(dir, text) end

--- How many lines of the definitions, or events, of an archive begin so; it is valid.
local function counted(folder, words, what)
  local valid, said = support.shell(("/usr/bin/python3 spec/otf2_validate.py %s/%s/traces.otf2"):format(quote(dir), folder))
  if not said:find "^unavailable" then assert.same({ 0, "ok" }, { valid, said:match "^ok" or said }) end
  local _, out, complaints = shell(("otf2-print %s %s/traces.otf2"):format(what or "", folder))
  assert.equal("", complaints)
  local n = {}
  for i, word in ipairs(words) do n[i] = select(2, out:gsub("\n" .. word .. " ", "")) end
  return n, out
end

describe("one archive of all processes", function()
  setup(function()
    dir = support.folder()
    support.spit(dir .. "/sums.c", program)
    assert.equal(0, (shell "gcc -O1 sums.c -o sums -lz"))
  end)
  teardown(support.cleanup)

  local function archive_it(name, f)
    it(name, function()
      if not support.has "otf2-print" then return pending "otf2-print is not installed" end
      shell "rm -rf r"
      return f()
    end)
  end

  archive_it("has each process as a group of its own, and a region of both once", function()
    assert.equal(0, (shell(command .. " record --trace --sym crc32 -o r -- ./sums 10")))
    local n, definitions = counted("r", { "LOCATION_GROUP", "LOCATION", "REGION", "SYSTEM_TREE_NODE" }, "-G")
    assert.same({ 2, 2, 1, 1 }, n)
    assert.equal(2, select(2, definitions:gsub('Name: "sums %(%d+%)"', "")))
    assert.same({ 20, 20 }, (counted("r", { "ENTER", "LEAVE" })))
    assert.equal("0\n", (select(2, shell "ls -d r/trace-* 2>/dev/null | wc -l")))
  end)

  archive_it("is written by the last rank of a job, and by no other", function()
    local ranks = {}
    for rank = 0, 2 do
      ranks[rank + 1] = ("{ sleep 0.%d; env PMI_RANK=%d PMI_SIZE=3 %s record --trace --sym crc32 -o r -- ./sums 10; }"):format(
        2 * (2 - rank), rank, command)
    end
    local status, _, err = shell("{ " .. table.concat(ranks, " & ") .. "; wait; }")
    assert.equal(0, status, err)
    assert.same({ 6, 60 }, { (counted("r", { "LOCATION_GROUP" }, "-G"))[1], (counted("r", { "ENTER" }))[1] })
    assert.equal("1\n", (select(2, shell "find r -name '*.otf2' | wc -l")))
    assert.equal("", (select(2, shell "find r -name '.making*'")))
    assert.falsy(err:find("pmlua record: [^\n]*trace"), err)
  end)

  archive_it("is not written over", function()
    shell(command .. " record --trace --sym crc32 -o r -- ./sums 10")
    local status, _, err = shell(command .. " trace r")
    assert.equal(1, status)
    assert.matches("^pmlua trace: the trace 'r/traces.otf2' already exists; remove it or choose another folder\n$", err)
    local said
    status, said = shell(command .. " trace r -o r/again")
    assert.same({ 0, "r/again/traces.otf2\n" }, { status, said })
    assert.same({ 20, 20 }, (counted("r/again", { "ENTER", "LEAVE" })))
    status, _, err = shell(command .. " record --trace --sym crc32 -o r/again -- ./sums 10")
    assert.equal(1, status)
    assert.truthy(err:find("r/again already has results of a recording", 1, true), err)
  end)

  archive_it("is made of what is left where pmlua was killed, too", function()
    local line = "true; setsid %s record --trace --sym crc32 -o r -- ./sums 10 wait >said 2>&1 & "
      .. "until test $(grep -c waits said) = 2; do sleep 0.05; done; kill -9 -$!; wait"
    shell(line:format(command))
    assert.not_equal(0, (shell "ls r/traces.otf2"))
    local status, said, err = shell(command .. " trace r")
    assert.same({ 0, "r/traces.otf2\n", "" }, { status, said, err })
    assert.same({ 20, 20 }, (counted("r", { "ENTER", "LEAVE" })))
  end)

  archive_it("leaves out what is no log, with a line, and says if nothing is left", function()
    shell(command .. " record --trace --sym crc32 -o r -- ./sums 10; rm -r r/traces*; echo garbage >r/here.1.pmlog")
    local status, _, err = shell(command .. " trace r")
    assert.equal(0, status)
    assert.matches("^pmlua trace: [^\n]*r/here%.1%.pmlog[^\n]*\n$", err)
    assert.same({ 20, 20 }, (counted("r", { "ENTER", "LEAVE" })))
    for line, why in pairs {
      ["mkdir r/none; %s trace r/none"] = "r/none: no logs of recorded processes (*.pmlog)",
      ["%s trace nothing"] = "nothing: no such folder",
      ["%s trace sums"] = "sums: not a folder",
      ["%s record --sym crc32 -o r/plain -- ./sums 1 2>/dev/null; %s trace r/plain"] =
        "r/plain: no process recorded events; record with --trace",
    } do
      status, _, err = shell((line:gsub("%%s", command)))
      assert.same({ 1, "pmlua trace: " .. why .. "\n" }, { status, err })
    end
  end)
end)
