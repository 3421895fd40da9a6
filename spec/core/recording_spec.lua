-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/recording_spec.lua - what a recorded process left, from Lua: a story, call paths, durations, a trace.

local support = require "spec.core.support"
local core = require "pmlua.core"
local quote = support.quote

describe("a recording", function()
  local dir, path
  if support.build:find("[at]san") then
    pending "is what a preloaded library leaves, but a sanitizer must be loaded before that"
    return
  end

  setup(function()
    dir = io.popen("mktemp -d"):read("l")
    support.spit(dir .. "/sums.c", [[
#include <zlib.h>
int main(void) {
  unsigned long sum = adler32(0, 0, 0);
  for (int i = 0; i < 1000; i++) sum = crc32(sum, (const unsigned char *)"pmlua", 5);
  return sum == 1;
}
]])
    assert.equal(0, (support.shell(("cd %s && gcc -O1 sums.c -o sums -lz"):format(quote(dir)))))
    support.done(support.shell(("LD_PRELOAD=$(realpath %s/preload/libpmlua-record.so) PMLUA_RECORD_DIR=%s " ..
      "PMLUA_RECORD_TRACE=1 %s/sums"):format(support.build, quote(dir), quote(dir))))
    path = io.popen(("ls %s/*.pmlog"):format(quote(dir))):read("l")
  end)
  teardown(function() os.execute("rm -rf " .. quote(dir)) end)

  it("describes its process and the end of it", function()
    local s <close> = assert(core.recording.open(path))
    local story = s:story()
    assert.same({ "exit", true, 0, 0 }, { story.ended, story.traced, story.dropped, story.lost_children })
    assert.equal(path:match("(%d+)%.pmlog$"), tostring(story.pid))
    assert.truthy(s:note("program"):find("^/[^\n]*/sums$"))
    assert.is_nil(s:note "nothing")
  end)

  it("has call paths, and durations for each function's calls", function()
    local s <close> = assert(core.recording.open(path))
    local p <close> = assert(s:profile())
    local count, spread, least = {}, {}, core.statistics.least
    for _, n in ipairs(p:nodes()) do count[n.name] = (count[n.name] or 0) + n.count end
    for _, f in ipairs(p:functions()) do
      spread[f.name] = 0
      for i, n in pairs(f.bucket) do
        assert.is_true(s:tick_ns() * least(i) <= f.max_ns and s:tick_ns() * least(i + 1) >= f.min_ns)
        spread[f.name] = spread[f.name] + n
      end
      assert.equal(f.count, spread[f.name])
      assert.is_true(f.min_ns <= f.median_ns and f.median_ns <= f.max_ns)
    end
    assert.same({ 1000, 1 }, { count.crc32, count.adler32 })
    for name, n in pairs(count) do assert.equal(n, spread[name] or 0, name) end
    assert.same({}, s:sums())
    assert.same({}, s:values())
  end)

  it("becomes a trace, and reports its progress", function()
    local logs, told = { { path = path, series = {} } }, 0
    local story = assert(core.recording.archive(dir, logs, function(done, all)
      assert.is_true(done <= all)
      told = told + 1
    end))
    assert.same({ 1, 0, 0 }, { story.processes, story.ranks, story.open })
    assert.is_true(story.events >= 2002)
    assert.is_true(told > 0)
    local _, err, code = core.recording.archive(dir, logs)
    assert.same({ "EEXIST", true }, { code, err:find("^recording%.archive: EEXIST: ") ~= nil })
    os.execute(("rm -rf %s/traces*"):format(quote(dir)))
    assert.error_matches(function() core.recording.archive(dir, logs, function() error("enough", 0) end) end, "^enough$")
    for _, wrong in ipairs { false, { false }, { {} }, { { path = path } }, { { path = {}, series = {} } } } do
      assert.error(function() core.recording.archive(dir, wrong) end)
    end
  end)

  it("is closed to others during the making of its flow", function()
    local s <close> = assert(core.recording.open(path))
    local usable = {}
    local flow <close> = assert(s:flow(function() usable[#usable + 1] = pcall(s.story, s) end))
    assert.is_true(flow ~= nil and #usable > 0)
    for _, is in ipairs(usable) do assert.is_false(is) end
    assert.error_matches(function() s:flow(function() error("enough", 0) end) end, "^enough$")
    assert.equal("exit", s:story().ended)
  end)

  it("that is missing, closed or another file is refused", function()
    local _, err, code = core.recording.open(dir .. "/nowhere.pmlog")
    assert.same({ "ENOENT", true }, { code, err:find("^recording%.open: ENOENT: .*nowhere") ~= nil })
    support.spit(dir .. "/text", ("text"):rep(9999))
    _, err, code = core.recording.open(dir .. "/text")
    assert.same({ "EFORMAT", true }, { code, err:find("not a log of pmlua", 1, true) ~= nil })
    local s = core.recording.open(path)
    s:close()
    s:close()
    for _, method in ipairs { "story", "note", "profile", "sums", "values", "flow" } do
      assert.error_matches(function() s[method](s, dir, "x") end, "closed")
    end
  end)
end)
