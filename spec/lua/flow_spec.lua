-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/flow_spec.lua - tests of event flow graphs, of this process and of unmodified programs, their pictures, and skeleton
-- programs.

local support = require "spec.core.support"
local quote = support.quote
local flow, flowgraph = require "pmlua.flow", require "pmlua.internal.flow.graph"
local rng = require "pmlua.internal.rng"
local svg_series = require "spec.lua.svg_series"
local command = support.build .. "/pmlua"

describe("An event flow", function()
  local dir = support.folder()

  --- Letters are sections; parentheses after a letter hold the sections inside it.
  local function run(text)
    local section, at = support.core.section, 1
    while at <= #text do
      local name, inside = text:sub(at, at), text:match("^%b()", at + 1)
      section.start(name)
      if inside then run(inside:sub(2, -2)) end
      section.stop(name)
      at = at + 1 + #(inside or "")
    end
  end

  local function flow_of(text)
    flow.start()
    run(text)
    return assert(flow.stop())
  end

  --- "a>b 1,9,2" of each edge, by names.
  local function edges(graph)
    local all = {}
    for i, edge in ipairs(graph.edges) do
      all[i] = ("%s>%s %s"):format(graph.nodes[edge.from].name, graph.nodes[edge.to].name, flowgraph.labels(edge, 99))
    end
    return table.concat(all, "; ")
  end

  --- Compile the skeleton and record it: its flow; nil and why, if that fails.
  local function again(one, name)
    support.spit(("%s/%s.c"):format(dir, name), one:skeleton { title = name })
    local path = dir .. "/" .. name
    local cc = "gcc -Wall -Wextra -Werror -Icore %s.c -o %s -L%s -lpmlua -lpthread -Wl,-rpath,%s"
    local status, _, err = support.shell(cc:format(path, path, support.build, support.build))
    assert.equal(0, status, err)
    status, _, err = support.shell(("%s record -o %s.r --flow=%s.json -- %s"):format(command, path, path, path))
    assert.equal(0, status, err)
    return assert(flowgraph.read(path .. ".json"))
  end

  it("has call paths as nodes, and the visits at which each edge is taken", function()
    local one = flow_of(("a(bbbbc)"):rep(6))
    local graph = one.graphs[1]
    assert.equal(1, #one.graphs)
    assert.equal(">a 1; a>b 1,6,1; b>b 1,3,1,4,6; b>c 4,24,4; c>a 1,5,1", edges(graph))
    assert.same({ "a", "b" }, flowgraph.path(graph, 3))
    assert.equal(24, graph.nodes[3].visits)
    assert.equal(2, graph.nodes[3].parent)
    assert.equal(4, graph.last)
    assert.is_true(graph.nodes[2].inclusive_ns >= graph.nodes[3].inclusive_ns)
    assert.same({ threads = 1, enters = 36, nodes = 3, edges = 5, labels = 5, missing = 0 }, one:size())
  end)

  it("sums the counts of sections, so that nodes have ratios", function()
    local s = support.core.section.define { label = "counted", events = { "clock::ticks" } }
    flow.start { metrics = { "clock::ticks", "absent" } }
    s:start()
    run "ab"
    s:stop()
    local one = assert(flow.stop())
    local node = one.graphs[1].nodes[2]
    assert.is_true(node.metrics["clock::ticks"] > 0)
    assert.equal(0, node.metrics.absent)
    assert.equal(node.metrics["clock::ticks"] / node.count, assert(one:ratio "clock::ticks/calls")(node))
    assert.is_nil(assert(one:ratio "time/absent")(node))
    local nothing, why = one:ratio "time/tiem"
    assert.is_nil(nothing)
    assert.equal("'time/tiem' is not a ratio A/B; A and B are among time, self, calls, clock::ticks, absent", tostring(why))
  end)

  it("has the intercepted calls of this process, beside sections", function()
    local status, out, err = support.shell(("%s -e %s"):format(command, quote [[
      local calls <close> = assert(pml.intercept { lib = "libm", sym = "exp:sin" })
      pml.flow.start()
      for i = 1, 9 do
        pml.section.start "turn"
        math.exp(i)
        math.exp(i)
        math.sin(i)
        pml.section.stop "turn"
      end
      local graph = pml.flow.stop().graphs[1]
      for _, edge in ipairs(graph.edges) do
        print(graph.nodes[edge.from].name, graph.nodes[edge.to].name, table.concat(edge.labels[1], ","), #edge.labels)
      end]]))
    assert.equal(0, status, err)
    assert.equal("\tturn\t1\t1\nturn\texp\t1,9,1\t1\nexp\texp\t1,17,2\t1\nexp\tsin\t2,18,2\t1\nsin\tturn\t1,8,1\t1\n", out)
  end)

  it("equals another one with the same calls, or has the place of their difference", function()
    local one = flow_of "abab"
    assert.is_true(one:same(flow_of "abab"))
    local same, why = one:same(flow_of "abac")
    assert.is_false(same)
    assert.equal("node /b: 2 visits; the other has node /b: 1 visits", why)
  end)

  it("reports the amount that is missing at its end if its labels find no room", function()
    flow.start { labels = 7 } -- for one edge
    for i = 1, 9 do run("a" .. ("b"):rep(i) .. ("a"):rep(i * i % 5)) end
    local one = assert(flow.stop())
    local all, size = 0, one:size()
    for i = 1, 9 do all = all + 1 + i + i * i % 5 end
    assert.is_true(size.missing > 0 and size.enters > 0)
    assert.equal(all, size.enters + size.missing)
    assert.truthy(one:dot():find(("and then %d enters that it lacks"):format(size.missing), 1, true))
  end)

  it("is written for Graphviz, for any names of regions", function()
    flow.start()
    local odd = 'say "hi" \\ \n\255 {<x>|y}'
    support.core.section.start(odd)
    support.core.section.stop(odd)
    local one = assert(flow.stop())
    local text = one:dot { color = "self/time", title = "odd" }
    assert.truthy(text:find([[label="say &#34;hi&#34; \\  ? &#123;&#60;x&#62;&#124;y&#125;\n1 visit\n1"]], 1, true), text)
    assert.truthy(text:find("odd\\nself/time: pale 1, orange 1", 1, true), text)
    if (support.shell "command -v dot") ~= 0 then return pending "Graphviz is not installed" end
    assert.is_true(one:draw(dir .. "/odd.svg"))
    assert.truthy(support.slurp(dir .. "/odd.svg"):find("<svg", 1, true))
  end)

  it("colours an edge like its start node, and the edge from nowhere not at all", function()
    local one = flow_of "a(bbb)a(b)"
    local text, share, coloured = one:dot { color = "self/time" }, {}, 0
    -- a colour as a fraction of the way from the pale to the orange end, by its green component
    local function part(green, pale, orange) return (pale - tonumber(green, 16)) / (pale - orange) end
    for node, g in text:gmatch 'n1_(%d+) %[label=[^%]]*fillcolor="#%x%x(%x%x)' do share[node] = part(g, 0xF1, 0x85) end
    for from, g in text:gmatch 'n1_(%d+) %-> [^;]*color="#%x%x(%x%x)%x%x", penwidth=%d' do
      assert.near(share[from], part(g, 0xB6, 0x3F), 0.01)
      coloured = coloured + 1
    end
    assert.is_true(coloured >= 3)
    assert.truthy(text:find "n1_1 %-> n1_2 %[label=\"[^\"]*\"%];")
    assert.is_nil(one:dot():find("penwidth", 1, true))
  end)

  it("has a scale of colours that differ in grey, and with any colour blindness", function()
    local ends = {}
    for r, g, b in flow_of "a(bbb)a(b)":dot { color = "self/time" }:gmatch 'fillcolor="#(%x%x)(%x%x)(%x%x)"' do
      ends[#ends + 1] = { tonumber(r, 16), tonumber(g, 16), tonumber(b, 16) }
    end
    table.sort(ends, function(one, other) return one[2] < other[2] end)
    for _, view in ipairs { "grey", "deuteranopia", "protanopia" } do
      assert.is_true(svg_series.distance(ends[1], ends[#ends], view) > 20, view)
    end
  end)

  it("refuses impossible drawings, in a sentence", function()
    local one = flow_of "a"
    assert.same({ nil, "x.gif: a picture of a flow must end in .svg, .png, .pdf, .dot or .json" }, { one:draw "x.gif" })
    local drawn, err = one:draw "/nowhere/x.svg"
    assert.same({ "nil", "/nowhere/x.svg: No such file or directory" }, { tostring(drawn), tostring(err) })
    local _, out = support.shell(([[mkdir bin && for t in sh timeout mkdir rm cp; do ln -s $(command -v $t) bin; done
      PATH=bin %s -e 'pml.flow.start() pml.section.start "a" pml.section.stop "a" print(pml.flow.stop():draw "x.svg")']])
      :gsub("^", "cd " .. quote(dir) .. " && "):format(command))
    assert.equal("nil\tdot is not installed; apt-get install graphviz\n", out)
  end)

  it("becomes a program with the same flow", function()
    local loops = { nested = ("a(bbbbc)"):rep(6), broken = "abbac" .. ("bbbd"):rep(5) .. "ab", single = "a",
      deep = ("a(b(c)b(cd))"):rep(3) .. "c", crossing = "abcabcbcbcabcdbcd" }
    for name, text in pairs(loops) do
      local one = flow_of(text)
      local same, why = one:same(again(one, name))
      assert.is_true(same, why)
    end
  end)

  it("also results from code without repetition, and for any names of regions", function()
    local names, random = { "int", "a b", "a-b", "??/", "*/", '"', "\\", "A_B" }, rng(1)
    flow.start()
    for _ = 1, 300 do
      local name = names[random(#names)]
      support.core.section.start(name)
      support.core.section.stop(name)
    end
    local one = assert(flow.stop())
    assert.is_true(one:size().labels > 50)
    local same, why = one:same(again(one, "random"))
    assert.is_true(same, why)
  end)

  it("covers an unmodified program and all its threads, drawn as requested", function()
    support.spit(dir .. "/sums.c", [[
#include <pthread.h>
#include <zlib.h>
static void *sum(void *turns) {
  unsigned long s = 0;
  for (int *n = turns, i = 0; i < *n; i++) {
    for (int k = 0; k < 3; k++) s = crc32(s, (const unsigned char *)"pmlua", 5);
    s = adler32(s, (const unsigned char *)"pmlua", 5);
  }
  return s == 1 ? turns : NULL;
}
int main(void) {
  pthread_t t[4];
  int turns[4] = {10, 10, 20, 10};
  for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, sum, &turns[i]);
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
  return 0;
}
]])
    assert.equal(0, (support.shell(("gcc -O1 %s/sums.c -o %s/sums -lz -lpthread"):format(dir, dir))))
    local _, err = support.done(support.shell(("%s record -o %s/sums.r --event clock::ticks --color clock::ticks/time " ..
      "--sym 'crc32:adler32' --flow=%s/sums.json -- %s/sums"):format(command, dir, dir, dir)))
    assert.truthy(err:find("200 calls of 4 threads in 2 graphs: 4 call paths, 8 edges, 8 labels", 1, true), err)
    local one = assert(flowgraph.read(dir .. "/sums.json"))
    table.sort(one.graphs, function(a, b) return a.threads > b.threads end)
    assert.equal(3, one.graphs[1].threads)
    assert.equal(">crc32 1; crc32>crc32 1,2,1,3,10; crc32>adler32 3,30,3; adler32>crc32 1,9,1", edges(one.graphs[1]))
    assert.equal(90, one.graphs[1].nodes[2].count)
    assert.is_true(one.graphs[1].nodes[2].metrics["clock::ticks"] > 0)
    local same, why = one:same(again(one, "threads"))
    assert.is_true(same, why)
    assert.equal(0, (support.shell(("cd %s/sums.r && ls flow-*.dot flow-*.c && ! ls traces.otf2"):format(dir))))
  end)

  it("is drawn into the requested file, and beside the recording", function()
    for _, ending in ipairs { "svg", "png" } do
      local record = ("cd %s && rm -rf drawn.r && %s record -q -o drawn.r --sym crc32 --flow=drawn.%s -- ./sums"):format(dir,
        command, ending)
      support.done(support.shell(record))
    end
    local picture = support.slurp(dir .. "/drawn.svg")
    assert.truthy(picture:find("<svg", 1, true) and picture:find("crc32", 1, true))
    assert.equal("\x89PNG", support.slurp(dir .. "/drawn.png"):sub(1, 4))
    local _, process = support.shell(("cat %s/drawn.r/flow-*.svg"):format(dir))
    assert.truthy(process:find("<svg", 1, true) and process:find("crc32", 1, true))
  end)

  it("is written but not drawn by itself if it has more call paths than a picture shows", function()
    support.spit(dir .. "/many.c", [[
#include <pml.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  for (int i = 1; i <= atoi(argv[1]); i++) {
    char name[16];
    snprintf(name, sizeof name, "step %d", i);
    pml_section_start_label(name);
    pml_section_stop_label(name);
  }
  return 0;
}
]])
    local cc = "cd %s && gcc -Werror -I%s/core many.c -o many -L%s -lpmlua -Wl,-rpath,%s"
    local here = require("lfs").currentdir()
    assert.equal(0, (support.shell(cc:format(dir, here, support.build, support.build))))
    for _, case in ipairs { { 500, "dot c svg" }, { 501, "dot c" } } do
      local record = ("cd %s && rm -rf r && %s record --flow -o r -- ./many %d"):format(dir, command, case[1])
      local _, err = support.done(support.shell(record))
      assert.equal(case[1] > 500, err:find("flow%-%d+%.svg is not drawn: 501 call paths are more than a picture") ~= nil, err)
      local left = {}
      for _, ending in ipairs { "dot", "c", "svg" } do
        if support.shell(("ls %s/r/flow-*.%s"):format(dir, ending)) == 0 then left[#left + 1] = ending end
      end
      assert.equal(case[2], table.concat(left, " "))
    end
  end)

  it("raises errors for misuse, with the place", function()
    local misuses = {
      ["pml.flow.stop()"] = "no flow is running; begin one with flow.start",
      ["pml.flow.start() pml.flow.start()"] = "a flow is already running; end it with flow.stop",
      ["pml.flow.start { metric = { 'a' } }"] = "(command line):1: flow.start: unknown option metric; did you mean metrics?",
      ["pml.flow.start { metrics = 'a' }"] = "(command line):1: flow.start: metrics must be a list of 1 to 16 names",
      ["pml.flow.start { metrics = { 'a', 2 } }"] = "(command line):1: flow.start: metrics[2] is not a name",
      ["pml.flow.start { labels = 0 }"] = "(command line):1: flow.start: labels must be a number from 1 to 16777216",
      ["pml.flow.start(7)"] = "(command line):1: flow.start: options must be a table",
      ["pml.flow.start() pml.flow.stop():same {}"] = "flow.same: a flow expected",
      ["pml.flow.start() pml.flow.stop():dot { color = 'time' }"] = "(command line):1: flow.dot: 'time' is not a ratio A/B",
      ["pml.flow.start() pml.flow.stop():dot { colour = 'time' }"] = "flow.dot: unknown option 'colour'; use color or title",
      ["pml.flow.start() pml.flow.stop():draw()"] = "(command line):1: flow.draw: the name of a file expected",
      ["pml.flow.start() pml.flow.stop():draw('x.svg', { color = 'a/b' })"] = "(command line):1: flow.draw: 'a/b' is not a ratio",
      ["pml.flow.start() pml.flow.stop():ratio()"] = "(command line):1: flow.ratio: a string such as 'self/time' expected",
    }
    for text, sentence in pairs(misuses) do
      local status, out, err = support.shell(("%s -e %s"):format(command, quote(text)))
      assert.equal(1, status, text .. out)
      assert.truthy(err:find(sentence, 1, true), err)
      assert.equal(1, select(2, err:gsub("\n", "")), err)
    end
  end)

  it("of pmlua record refuses contradictions, in one line", function()
    local misuses = {
      ["--flow=x.gif -- true"] = "--flow: x.gif: a picture of a flow must end in",
      ["--flow --color page-faults/calls -- true"] =
        "--color: 'page-faults/calls' is not a ratio A/B; A and B are among time, self, calls",
    }
    for text, sentence in pairs(misuses) do
      local status, _, err = support.shell(("%s record %s"):format(command, text))
      assert.equal(2, status, err)
      assert.truthy(err:find(sentence, 1, true), err)
    end
  end)

  it("that is read back is a flow, or refused with a sentence", function()
    local bad = { ["{"] = 1, ["[]"] = 1, ['{"refused":0}'] = 1, ['{"refused":0,"graphs":[{"threads":0}]}'] = 1,
      ['{"refused":0,"graphs":[{"threads":1,"missing":0,"last":3,"nodes":[],"edges":[]}]}'] = 1,
      ['{"refused":0,"graphs":[{"threads":1,"missing":0,"last":1,"metrics":[],"nodes":[{"name":"a"}],"edges":[]}]}'] = 1 }
    for text in pairs(bad) do
      local one, why = flowgraph.read(support.spit(dir .. "/bad.json", text))
      assert.is_nil(one, text)
      assert.truthy(why:find("not an event flow that pmlua wrote", 1, true))
    end
    assert.is_nil((flowgraph.read(dir .. "/nowhere.json")))
    local one = flow_of(("ab"):rep(4))
    assert.is_true(one:draw(dir .. "/good.json"))
    assert.is_true(one:same(assert(flowgraph.read(dir .. "/good.json"))))
  end)
end)
