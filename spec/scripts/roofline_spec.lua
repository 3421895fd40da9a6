-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/roofline_spec.lua - the experiment, run for real by its command; and the roof that it computes.

local tables = require "spec.scripts.tables"
local roof = require "kernels.roof"

describe("scripts/roofline.lua --quick", function()
  local text, status, dir
  setup(function()
    text, status, dir = tables.run("roofline", "--place stencil:0.4:0.001,tower:0.1:1e9:single")
  end)

  it("ends well, with a picture and its tables", function()
    assert.equal(0, status, text)
    for _, words in ipairs { "Table 1. Peaks", "Table 2. Bandwidths", "Table 3. Points under the roofs" } do
      assert.truthy(text:find(words, 1, true), words)
    end
    assert.is_true(tables.drawn(dir), text)
  end)

  it("has samples in every cell, or a reason", function()
    for _, r in ipairs(tables.read(dir .. "/data.dat")) do
      if r.status == "ok" then assert.equal(2, r.samples) else assert.truthy(#r.status > 5 and r.samples == 0) end
    end
  end)

  it("has a peak of each precision and a bandwidth of each level, or a reason", function()
    local seen = {}
    for _, r in ipairs(tables.read(dir .. "/peaks.dat")) do
      seen[r.precision] = true
      assert.truthy(r.gflops and r.gflops > 0 or r.state ~= "ok")
    end
    assert.is_true(seen.double and seen.single)
    local levels = tables.read(dir .. "/roofs.dat")
    assert.is_true(#levels >= 2)
    assert.equal("memory", levels[#levels].level)
    for _, r in ipairs(levels) do assert.truthy(r.gbytes and r.gbytes > 0 or r.best == "not measured") end
  end)

  it("puts every kernel under the roof of its level, and the user's points under the highest roof", function()
    local placed, bandwidth, peak = {}, {}, {}
    for _, r in ipairs(tables.read(dir .. "/roofs.dat")) do bandwidth[r.level] = r.gbytes end
    for _, r in ipairs(tables.read(dir .. "/peaks.dat")) do
      peak[r.precision] = math.max(peak[r.precision] or 0, r.gflops or 0)
    end
    for _, p in ipairs(tables.read(dir .. "/points.dat")) do
      assert.is_true(math.abs(p.share - 100 * p.gflops / p.roof) <= 1e-6 * p.share)
      assert.equal(p.share >= 100.05, p.verdict:find "^above the roof" ~= nil, p.name)
      if p.level == "placed" then
        placed[p.name] = p
      else
        local height = math.min(peak[p.precision], p.intensity * bandwidth[p.level])
        assert.is_true(math.abs(p.roof - height) <= 1e-6 * height, p.name)
      end
    end
    assert.truthy(placed.stencil.verdict:find "under")
    assert.truthy(placed.tower.verdict:find "above")
    assert.equal("single", placed.tower.precision)
    assert.truthy(text:find("tower", 1, true) and text:find("above the roof by", 1, true))
  end)
end)

describe("a roof", function()
  it("is the lower of the peak and the bandwidth's limit", function()
    assert.equal(4, roof.height({ peak = 60, bandwidth = 8 }, 0.5))
    assert.equal(60, roof.height({ peak = 60, bandwidth = 8 }, 100))
    assert.equal(60, roof.height({ peak = 60 }, 0.01))
  end)

  it("has points from a list or from a file", function()
    assert.same({ { name = "a", intensity = 0.5, gflops = 2, precision = "double" },
      { name = "b", intensity = 1, gflops = 3, precision = "single" } }, roof.parse "a:0.5:2,b:1:3:single")
    local name = os.tmpname()
    local f = assert(io.open(name, "w"))
    f:write("# sections\na:0.5:2\n\n b:1:3:single # measured yesterday\n")
    f:close()
    local from_file, err = roof.parse(name)
    os.remove(name)
    assert.is_nil(err)
    assert.same(roof.parse "a:0.5:2,b:1:3:single", from_file)
    assert.same({}, roof.parse(nil))
  end)
end)
