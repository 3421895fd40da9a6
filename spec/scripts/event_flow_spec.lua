-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/event_flow_spec.lua - the experiment, run for real by its command.

local tables = require "spec.scripts.tables"
local lfs = require "lfs"

describe("scripts/event_flow.lua --quick", function()
  local text, dir, rows
  setup(function() text, dir, rows = tables.measure("event_flow") end)

  it("ends well, with a picture and a row for each program and number of steps", function()
    assert.equal(4, #rows)
    assert.is_true(tables.drawn(dir), text)
    for _, r in ipairs(rows) do assert.is_true(r.status == "ok" and r.median > 0, text) end
  end)

  it("counts every message of every rank, in a few labels", function()
    for _, r in ipairs(rows) do
      -- 36 planes between each two of 4 ranks, sent and received; 3 exchanges of post, send and wait; sums every 5 steps
      assert.equal(r.steps * (3 * 36 * 2 + 3 * 3) + r.steps // 5 * 4, r.calls)
      if r.steps == 20 then assert.same({ 13, 25, 29 }, { r.paths, r.edges, r.labels }) end
    end
  end)

  it("makes programs of the graphs, which have the same graphs", function()
    for _, r in ipairs(rows) do
      if r.program == "skeleton" then assert.equal(1, r.same) else assert.is_nil(r.same) end
    end
    assert.truthy(text:find("Skeletons compiled and run: 2, with the flow of the original: 2", 1, true), text)
    local f <close> = assert(io.open(dir .. "/skeleton.c"))
    local source = f:read "a"
    assert.truthy(source:find("} while (NEST(1, 35, 1, 37, 20));", 1, true), source)
  end)

  it("describes a loop that is left at regular intervals by five numbers", function()
    local nests = {}
    for _, edge in ipairs(tables.words(dir .. "/edges.dat")) do nests[edge.labels] = edge.from .. " " .. edge.to end
    assert.equal("message_send message_receive", nests["1,35,1,37,20"])
    assert.equal("message_wait message_receive", nests["1,4,1,5,4"])
  end)

  it("leaves the graph, drawn if Graphviz is installed", function()
    for _, ending in ipairs { "dot", "json" } do
      assert.equal("file", lfs.attributes(dir .. "/event_flow." .. ending, "mode"))
    end
    if not tables.shell("command -v dot"):find "dot" then return pending "Graphviz is not installed" end
    assert.is_true(lfs.attributes(dir .. "/event_flow.svg", "size") > 1000)
  end)
end)
