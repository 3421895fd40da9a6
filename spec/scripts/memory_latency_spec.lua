-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/memory_latency_spec.lua - the experiment, run for real by its command; knees of caches whose size is known.

local tables = require "spec.scripts.tables"
local knees = require "memory_latency.knees"
local laboratory = require "memory_latency.lab"

local LINE = 64

-- Caches of the least recently used lines: latency of loads along a random cycle, after it was walked once.
local function model(levels, memory_ns)
  return function(bytes)
    local order, state = {}, 1
    for i = 1, bytes // LINE do order[i] = i - 1 end
    for i = #order, 2, -1 do
      state = state * 6364136223846793005 + 1442695040888963407
      local k = (state >> 33) % (i - 1) + 1
      order[i], order[k] = order[k], order[i]
    end
    local sets, ns, now = {}, 0, 0
    for l in ipairs(levels) do sets[l] = {} end
    local function hits(l, line)
      local of = levels[l].bytes // LINE // levels[l].ways
      local set = sets[l][line % of] or {}
      sets[l][line % of] = set
      if set[line] then set[line] = now return true end
      local count, oldest = 0, nil
      for other, at in pairs(set) do
        count = count + 1
        if not oldest or at < set[oldest] then oldest = other end
      end
      if count >= levels[l].ways then set[oldest] = nil end
      set[line] = now
      return false
    end
    for pass = 1, 2 do
      for _, line in ipairs(order) do
        now = now + 1
        local cost = memory_ns
        for l = #levels, 1, -1 do if hits(l, line) then cost = levels[l].ns end end
        if pass == 2 then ns = ns + cost end
      end
    end
    return ns / #order
  end
end

describe("The knees of a curve", function()
  local caches = { { bytes = 24 << 10, ways = 6, ns = 1.3 }, { bytes = 320 << 10, ways = 10, ns = 4 } }

  it("lie at the sizes of the caches, within 5 %", function()
    local measure, points = model(caches, 60), {}
    for _, bytes in ipairs(laboratory.sizes(1 << 20, 1)) do points[#points + 1] = { bytes, measure(bytes) } end
    local found = knees.find(points)
    assert.equal(#caches, #found)
    for i, knee in ipairs(found) do
      knees.refine(knee, measure, 0.03, LINE)
      assert.near(1, knee.fits / caches[i].bytes, 0.05)
      assert.near(1, knee.exceeds / caches[i].bytes, 0.05)
      assert.near(1, knee.before / caches[i].ns, 0.05)
    end
    assert.near(1, found[2].after / 60, 0.05)
  end)

  it("of caches lie on one curve, which continues on huge pages where these begin", function()
    local report = require "memory_latency.report"
    local small, huge = { { 1, 1 }, { 2, 1 }, { 4, 3 }, { 8, 3 }, { 16, 20 }, { 32, 20 } }, { { 8, 3 }, { 16, 3 }, { 32, 90 } }
    local list = { { stride = 4160, pages = "small", points = { { 1, 7 } } }, { stride = 64, pages = "small", points = small },
      { stride = 64, pages = "huge", points = huge } }
    local curve = report.joined(list)
    assert.same({ 64, 8, { { 1, 1 }, { 2, 1 }, { 4, 3 }, { 8, 3 }, { 16, 3 }, { 32, 90 } } },
      { curve.stride, curve.first, curve.points })
    local found = knees.find(curve.points)
    assert.same({ { 2, 1 }, { 16, 3 } }, { { found[1].fits, found[1].before }, { found[2].fits, found[2].before } })
    list[3] = nil
    assert.same(small, report.joined(list).points)
    assert.is_nil(report.joined {})
  end)

  it("do not exist on a plateau, nor if one size was disturbed or all creep", function()
    assert.same({}, knees.find {})
    assert.same({}, knees.find { { 1, 2 }, { 2, 2.1 }, { 4, 1.9 }, { 8, 2 } })
    assert.same({}, knees.find { { 1, 2 }, { 2, 2 }, { 4, 9 }, { 8, 2 } })
    assert.same({}, knees.find { { 1, 2 }, { 2, 2.4 }, { 4, 2.4 }, { 8, 2.6 }, { 16, 2.7 } })
    assert.equal(1, #knees.find { { 1, 2 }, { 2, 2 }, { 4, 9 } })
  end)

  it("stay the same if there is nothing to measure", function()
    local knee = knees.refine({ fits = 1024, exceeds = 2048, before = 1, after = 2 }, function() end, 0.03, 64)
    assert.same({ 1024, 2048 }, { knee.fits, knee.exceeds })
  end)
end)

describe("scripts/memory_latency.lua --quick", function()
  local text, dir, rows
  setup(function()
    text, dir, rows = tables.measure("memory_latency", "--largest 4")
  end)

  it("ends well, with a picture and a row for each size, or the reason for their lack", function()
    assert.is_true(tables.drawn(dir), text)
    assert.equal(2 * 2 * 11, #rows)
    for _, r in ipairs(rows) do
      if r.status == "ok" then
        assert.is_true(r.samples == 5 and r.min > 0)
      else
        assert.is_true(r.samples == 0 and (r.bytes < 4 * r.stride or r.pages == "huge"), r.status)
      end
    end
  end)

  it("keeps each knee between two sizes, and the sizes that the kernel describes", function()
    for _, k in ipairs(tables.read(dir .. "/knees.dat")) do
      assert.is_true(k.fits < k.exceeds and k.before > 0)
      assert.is_true(k.exceeds - k.fits <= math.max(64, k.stride, 0.03 * k.fits))
    end
    local bytes = 0
    for i, level in ipairs(tables.read(dir .. "/levels.dat")) do
      assert.is_true(level.ns > 0 and (level.bytes > bytes or level.bytes == 0), "level " .. i)
      bytes = level.bytes > 0 and level.bytes or math.huge
    end
    assert.is_true(bytes == 0 or bytes == math.huge) -- the last is what lies beyond
    for _, c in ipairs(tables.read(dir .. "/caches.dat")) do assert.is_true(c.size > 0 and c.shared >= 1) end
  end)
end)
