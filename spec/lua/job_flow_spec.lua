-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/job_flow_spec.lua - tests of a job's flow graphs and call paths: ranks with the same flow share a graph.

local mpi_job = require "spec.lua.mpi_job"
local support = require "spec.core.support"
local flowgraph = require "pmlua.internal.flow.graph"
local json = require "pmlua.json"

local command = support.build .. "/pmlua"

describe("The flow of a job of MPI", function()
  local dir = support.folder()

  local shell = support.shell_of(dir)

  --- The flow of the program with @ranks ranks, in the folder "job", and the output of the job.
  local function recorded(mpi, ranks)
    shell "rm -rf job"
    local options = { options = ("--flow=%s/flow.json --sym 'MPI_*'"):format(dir) }
    local said, status = mpi_job.record(mpi, ranks, mpi_job.compile(mpi, "flows", dir), dir .. "/job", options)
    assert.equal(0, status, said)
    return assert(flowgraph.read(dir .. "/flow.json")), said
  end

  local function graph_of(flow, ranks)
    for _, graph in ipairs(flow.graphs) do
      if graph.ranks == ranks then return graph end
    end
    error("no graph of ranks " .. ranks)
  end

  mpi_job.it_once("is one graph for all ranks with this flow", function(mpi)
    local three, said = recorded(mpi, 3)
    local text = support.slurp(dir .. "/job/flow.dot")
    assert.matches("flow of 3 ranks: [^\n]* of 3 threads in 2 graphs: [^\n]*job/flow%.dot\n", said)
    assert.equal(2, #three.graphs)
    assert.equal("", (select(2, shell "find job/rank-* -name 'flow*' -o -name 'part*'")))
    local equal = graph_of(three, "1 to 2")
    assert.same({ 2, 1 }, { equal.threads, graph_of(three, "0").threads })
    assert.truthy(text:find("ranks 1 to 2: 2 threads, each with this flow", 1, true))
    for i = 2, #equal.nodes do
      local node, s = equal.nodes[i], equal.nodes[i].spread
      assert.equal(2, s.ranks)
      assert.is_true(s.least_ns <= s.mean_ns and s.mean_ns <= s.most_ns)
      assert.is_true(math.abs(2 * s.mean_ns - node.inclusive_ns) <= 1e-5 * node.inclusive_ns + 1) -- clock rates differ
      assert.same({ 3, s.least_ns == s.most_ns }, { s.least_rank + s.most_rank, s.least_rank == s.most_rank })
      assert.truthy(text:find(("rank %d\\nmost "):format(s.least_rank), 1, true), text)
    end
    local five = recorded(mpi, 5)
    assert.equal(#equal.nodes, #graph_of(five, "1 to 4").nodes)
    local _, lines = text:gsub("\n", "")
    assert.equal(lines, (select(2, support.slurp(dir .. "/job/flow.dot"):gsub("\n", ""))))
  end)

  mpi_job.it_once("has a tree of call paths, which pmlua report shows", function(mpi)
    recorded(mpi, 3)
    local text = support.done(shell(command .. " report job --json"))
    local calls = {}
    for _, p in ipairs(json.decode(text).paths) do
      calls[p.name] = math.tointeger(p.calls)
      assert.is_true(p.spread.least_ns <= p.spread.mean_ns and p.spread.mean_ns <= p.spread.most_ns)
    end
    assert.same({ 30, 10, 3 }, { calls.MPI_Allreduce, calls.MPI_Barrier, calls.MPI_Init })
  end)

  it("is made by pmlua record --finish from the ranks' parts if one of them never ended", function()
    support.spit(dir .. "/sum.c", "#include <zlib.h>\nint main(void) { return crc32(0, (const void *)\"a\", 1) == 0; }\n")
    assert.equal(0, (shell "rm -rf job && gcc sum.c -o sum -lz"))
    for rank = 0, 1 do
      local line = "env PMI_RANK=%d PMI_SIZE=3 %s record --quiet --flow --sym crc32 -o job -- ./sum"
      assert.equal(0, (shell(line:format(rank, command))))
    end
    assert.not_equal(0, (shell "ls job/flow.dot"))
    local status, _, err = shell(command .. " record --finish job")
    assert.same({ 0, true }, { status, err:find "flow of 2 ranks: 2 calls of 2 threads in 1 graph" ~= nil }, err)
    assert.truthy(support.slurp(dir .. "/job/flow.dot"):find("ranks 0 to 1", 1, true))
    assert.truthy(support.slurp(dir .. "/job/paths.json"))
  end)
end)
