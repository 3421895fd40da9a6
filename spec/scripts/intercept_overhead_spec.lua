-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/intercept_overhead_spec.lua - the experiment, run for real by its command: every way, and what it saw.


local tables = require "spec.scripts.tables"
local has_compiler = tables.shell "command -v cc || command -v gcc || command -v clang" ~= ""

-- Ways that count the calls, and how much of them they must have seen.
local sees = { by_hand = 1, profile = 1, trace = 1, metrics = 1, ld_audit = 1, filtered = 0, wrap_linked = 1,
  wrap_before = 1 }

describe("scripts/intercept_overhead.lua --quick", function()
  if not has_compiler then return pending "there is no C compiler, and its programs are compiled for the run" end
  local text, dir, rows
  setup(function() text, dir, rows = tables.measure("intercept_overhead") end)

  it("has a row for every way and number of threads, and a picture", function()
    local ways = require "intercept_overhead.ways"
    assert.equal(2 * #ways.all, #rows)
    for i, r in ipairs(rows) do
      assert.equal(ways.all[(i + 1) // 2].name, r.way)
      assert.equal(2 - i % 2, r.threads)
    end
    assert.is_true(tables.drawn(dir), text)
  end)

  it("measures a way, or gives the reason why not", function()
    for _, r in ipairs(rows) do
      if r.status == "ok" then
        assert.is_true(r.samples > 0 and r.min > 0 and r.ratio > 0 and r.net == r.net, r.way)
        assert.equal(0, r.samples % r.threads, r.way)
      else
        assert.is_true(#r.status > 5 and r.samples == 0, r.way)
        assert.truthy(text:find(r.way, 1, true), r.way)
      end
    end
  end)

  it("measures all ways that need no other program", function()
    local ok = {}
    for _, r in ipairs(rows) do ok[r.way] = r.status == "ok" end
    for _, way in ipairs { "plain", "clocks", "by_hand", "filtered", "idle", "profile", "trace", "ld_audit" } do
      assert.is_true(ok[way], way)
    end
  end)

  it("measures generated wrappers if libclang is installed", function()
    local why
    for _, r in ipairs(rows) do
      if r.way:find "^wrap_" and r.status ~= "ok" then why = r.status:gsub("_", " ") end
    end
    if why and why:find "libclang" then return pending(why) end
    assert.is_nil(why)
  end)

  it("compares with the call between two clock reads, for the same number of threads", function()
    local clocks, plain = {}, {}
    for _, r in ipairs(rows) do
      if r.way == "clocks" then clocks[r.threads] = r.median end
      if r.way == "plain" then plain[r.threads] = r.median end
    end
    for _, r in ipairs(rows) do
      if r.status == "ok" then
        assert.is_true(math.abs(r.ratio * clocks[r.threads] / r.median - 1) < 1e-6, r.way)
        assert.is_true(math.abs(r.net - (r.median - plain[r.threads])) < 1e-6 * r.median, r.way)
      end
    end
  end)

  it("has seen every call in every way that counts them, and no other call", function()
    for _, r in ipairs(rows) do
      if r.status == "ok" then
        assert.is_true(r.calls > r.samples, r.way)
        if sees[r.way] then assert.equal(sees[r.way] * r.calls, r.seen, r.way) end
      end
    end
  end)
end)

describe("scripts/intercept_overhead.lua", function()
  it("says that a tool is not installed, and measures the others", function()
    if not has_compiler then return pending "there is no C compiler" end
    local out = tables.folder()
    -- a PATH of what the run needs and no tool
    local bin = out .. "/bin"
    tables.shell(("mkdir %s; for c in sh cc gcc as ld env timeout rm mkdir mktemp cp cat; do ln -s $(command -v $c) %s/$c; done")
      :format(bin, bin))
    local text, status = tables.shell(("PATH=%s %s scripts/intercept_overhead.lua --quick --no-plot -o %s --ways "
      .. "by_hand,uftrace,ltrace --threads 1"):format(bin, tables.pmlua, out))
    assert.equal(0, status, text)
    for _, r in ipairs(tables.read(out .. "/intercept_overhead/latest/data.dat")) do
      local tool = r.way == "uftrace" or r.way == "ltrace"
      assert.equal(tool, r.status:find("^" .. r.way .. " is not installed") ~= nil, r.way .. ": " .. r.status)
      assert.equal(not tool, r.samples > 0, r.way)
    end
  end)

  it("reports that the compiler is missing", function()
    local out = tables.folder()
    local bin = out .. "/bin"
    tables.shell(("mkdir %s; for c in sh env timeout rm mkdir mktemp; do ln -s $(command -v $c) %s/$c; done"):format(bin, bin))
    local text, status = tables.shell(("PATH=%s CC= %s scripts/intercept_overhead.lua --quick --no-plot -o %s")
      :format(bin, tables.pmlua, out))
    assert.equal(1, status, text)
    assert.truthy(text:find("no C compiler found; apt-get install gcc", 1, true), text)
  end)
end)
