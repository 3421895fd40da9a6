-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_scans_spec.lua - pmlua record keeps what it finds in the code of large programs.

local support = require "spec.core.support"
local json = require "pmlua.json"

local command = support.build .. "/pmlua"
local dir = support.folder()
local shell = support.shell_of(dir)

--- 17 MB of code that calls zlib through slots of addresses, and compares the address of one function.
local program = [[
#include <stdio.h>
#include <zlib.h>
__asm__(".text\n .skip 17 << 20, 0x90\n");
int main(void) {
  unsigned long sum = 0;
  unsigned long (*volatile taken)(unsigned long, const unsigned char *, unsigned) = adler32;
  for (int i = 0; i < 5; i++) sum = crc32(sum, (const unsigned char *)"pmlua", 5);
  sum += taken(1, (const unsigned char *)"pmlua", 5);
  return sum == 0 || taken != adler32;
}
]]

local function recorded(environment)
  local line = "rm -rf r; env %s %s record --json --lib libz -o r -- ./large"
  local out = support.done(shell(line:format(environment, command)))
  local calls = {}
  for _, f in ipairs(json.decode(out:match "{\n.*").functions) do calls[f.name] = f.calls end
  return calls
end

--- Of the folder's files, but for the one that says what it is.
local function names()
  local _, out = shell "cd cache/pmlua/scans && ls | grep -v CACHEDIR.TAG"
  return out
end

describe("pmlua record of a large program", function()
  setup(function() support.compile(dir, { ["large.c"] = program }, "cc -O2 -fno-plt large.c -lz -o large") end)

  it("keeps what it finds in the code, and has the same calls then", function()
    local first = recorded "XDG_CACHE_HOME=$PWD/cache"
    local kept = names()
    local second = recorded "XDG_CACHE_HOME=$PWD/cache"
    assert.equal(kept, names())
    assert.same(first, second)
    if first.crc32 then -- this compiler's calls show in the code
      assert.equal(5, first.crc32)
      assert.truthy(kept:find "^%x+\n$", kept)
    end
    local _, tag = shell "head -c 43 cache/pmlua/scans/CACHEDIR.TAG"
    assert.equal("Signature: 8a477f597d28d172789f06886806bc55", tag)
  end)

  it("has them where nothing can be kept", function()
    local expected = recorded "XDG_CACHE_HOME=$PWD/cache"
    assert.same(expected, recorded "-u XDG_CACHE_HOME -u HOME")
    assert.same(expected, recorded "XDG_CACHE_HOME=/dev/null/none")
    assert.same(expected, recorded "XDG_CACHE_HOME=relative HOME=$PWD/home")
  end)

  it("does not fill the folder with what is of programs of long ago", function()
    shell [[rm -rf cache; mkdir -p cache/pmlua/scans; cd cache/pmlua/scans
      seq 1000000000000000 1000000000000256 | xargs touch; touch mine]]
    recorded "XDG_CACHE_HOME=$PWD/cache"
    assert.equal("mine\n", names())
  end)
end)
