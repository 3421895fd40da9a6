-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/flame_spec.lua - tests of pmlua flame: bars as wide as planted times, callees below callers, any names.

local support = require "spec.core.support"
local recorded = require "spec.lua.recorded"
local shell = require "spec.shell"
local sh = shell.sh

local folder = support.folder()
local ODD <const> = '<b>&"\'\xff ]]>'

-- outer 1000 µs, in it odd 300 and inner 500, in which odd is 100.
local CALLS <const> = { { "one", "+", "outer", 0 }, { "one", "+", ODD, 100 }, { "one", "-", ODD, 400 },
  { "one", "+", "inner", 450 }, { "one", "+", ODD, 500 }, { "one", "-", ODD, 600 }, { "one", "-", "inner", 950 },
  { "one", "-", "outer", 1000 } }

--- The bars of a picture as Python's XML parser reads them: { name, depth, x, w, title, y }.
local function bars_of(path)
  shell.write(folder .. "/read.py", [[
import sys, xml.dom.minidom
for g in xml.dom.minidom.parse(sys.argv[1]).getElementsByTagName("g"):
    at = g.getAttribute
    print(at("data-depth"), at("data-x"), at("data-w"), g.getElementsByTagName("rect")[0].getAttribute("y"), at("data-name"),
          g.getElementsByTagName("title")[0].firstChild.data, sep="\t")
]])
  local out = shell.done(("/usr/bin/python3 %s/read.py %s"):format(folder, path))
  local bars = {}
  for line in out:gmatch "[^\n]+" do
    local depth, x, w, y, name, title = line:match "^(.-)\t(.-)\t(.-)\t(.-)\t(.-)\t(.*)$"
    bars[#bars + 1] = { depth = tonumber(depth), x = tonumber(x), w = tonumber(w), y = tonumber(y), name = name, title = title }
  end
  return bars
end

local function draw(path, options)
  shell.done(("%s/pmlua flame %s %s --out %s/out.svg"):format(support.build, path, options or "", folder))
  return bars_of(folder .. "/out.svg")
end

describe("pmlua flame", function()
  local path
  setup(function() path = recorded.planted(folder .. "/planted", CALLS, recorded.us) end)

  it("draws bars as wide as the time in each path", function()
    local expected = { ["all 0"] = 1, ["outer 1"] = 1, ["inner 2"] = 0.5, ["odd 2"] = 0.3, ["odd 3"] = 0.1 }
    local below
    for _, b in ipairs(draw(path)) do
      local key = ("%s %d"):format(b.name:find "^<b>&" and "odd" or b.name, b.depth)
      assert.is_true(math.abs(expected[key] - b.w) < 1e-3, key)
      assert.is_true(b.x >= -1e-9 and b.x + b.w <= 1 + 1e-6, key)
      if b.depth == 1 then below = b end
      if b.depth == 2 then assert.is_true(b.y < below.y) end
      expected[key] = nil
    end
    assert.is_nil(next(expected))
  end)

  it("names the value of each bar, and draws outermost calls on top if requested", function()
    local bars = draw(path, "--icicle --title 'a <title>'")
    assert.is_truthy(bars[2].title:find "^outer: 1%.000 ms, 100%.00 %%$", bars[2].title)
    for _, b in ipairs(bars) do
      if b.depth > 0 then assert.is_true(b.y > bars[1].y) end
    end
    bars = draw(path, "--value calls")
    assert.are.same({ "all", "all: 4 calls, 100.00 %" }, { bars[1].name, bars[1].title })
  end)

  it("draws the calls of a recorded program", function()
    shell.done(("%s/pmlua record -q --lib 'libz*' -o %s/calls -- /usr/bin/python3 -c 'import zlib; "
      .. "zlib.compress(bytes(100000))'"):format(support.build, folder))
    local sum, found = 0, false
    for _, b in ipairs(draw(folder .. "/calls")) do
      sum = sum + (b.depth == 1 and b.w or 0)
      found = found or b.name == "deflate" and b.title:find("libz.so.1", 1, true) ~= nil
    end
    assert.is_true(found)
    assert.is_true(sum > 0.98 and sum <= 1 + 1e-6)
  end)

  it("draws sections, each as a bar of its exclusive time", function()
    shell.done(("PMLUA_REPORT=%s/sections %s/pmlua -e 'for _ = 1, 3 do pml.section.start \"a\"; "
      .. "pml.section.start \"b\"; pml.section.stop \"b\"; pml.section.stop \"a\" end'"):format(folder, support.build))
    local titles = {}
    for _, b in ipairs(draw(folder .. "/sections", "--value calls")) do titles[#titles + 1] = b.depth .. " " .. b.title end
    assert.are.same({ "0 all: 6 calls, 100.00 %", "1 a: 3 calls, 50.00 %", "1 b: 3 calls, 50.00 %" }, titles)
  end)

  it("refuses a folder without calls in one line", function()
    require "lfs".mkdir(folder .. "/empty")
    local out, code = sh(("%s/pmlua flame %s/empty"):format(support.build, folder))
    assert.are.same({ 1, true }, { code, out:find "^pmlua flame: .*no recorded calls[^\n]*\n$" ~= nil }, out)
  end)
end)
