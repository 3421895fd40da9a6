-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/job_damage_spec.lua - tests of the summary of an MPI job, byte by byte: the tables show all of a valid summary; a
-- damaged file is named in one line, and nothing else of the job is lost.

local support = require "spec.core.support"
local json = require "pmlua.json"

local command = support.build .. "/pmlua"

-- ---- a summary, byte by byte (docs/log.md) ----

local function whole(v)
  local bytes = {}
  while v < 0 or v > 127 do
    bytes[#bytes + 1] = string.char(v & 127 | 128)
    v = v >> 7
  end
  return table.concat(bytes) .. string.char(v)
end

local function signed(v) return whole(v << 1 ~ (v < 0 and -1 or 0)) end

--- Not below 0; its 27 bits are enough for it.
local function real(v)
  if v == math.floor(v) and v < 2.0 ^ 53 then return whole(math.tointeger(v) << 2) end
  local e = math.floor(math.log(v, 2))
  local fraction = math.floor((v / 2.0 ^ e - 1) * 2.0 ^ 27)
  return whole(((e << 1 ~ (e < 0 and -1 or 0)) << 27 | fraction) << 2 | 1)
end

local NO_SPREAD <const> = "\0"

--- Values: how many, their sum, whose the least and the most were, the squares of their distances, the least and the most.
local function spread(count, sum, least, most, square, min, max)
  return whole(count) .. real(sum or 1) .. signed(least or 0) .. signed(most or 0) .. real(square or 0) .. real(min or 1)
    .. real(max or 1)
end

--- Its texts and its numbers. @values: { name, sum, spread }; a float is real. @time, @self: as @calls.
local function row(kind, name, detail, values, calls, time, self)
  local texts = name .. "\0" .. detail .. "\0"
  local parts = { whole(kind), whole(0), whole(1), whole(1), signed(0), whole(0), calls or NO_SPREAD, time or NO_SPREAD,
    self or NO_SPREAD, whole(#values) }
  for _, v in ipairs(values) do
    texts = texts .. v[1] .. "\0"
    parts[#parts + 1] = math.type(v[2]) == "float" and whole(1) .. whole(1) .. real(v[2]) .. signed(0)
      or whole(0) .. signed(v[2]) .. (v[3] or NO_SPREAD)
  end
  return { texts = texts, numbers = table.concat(parts) .. whole(0) }
end

local SECTION <const>, CALL <const>, COUNTER <const>, RECORDER <const>, MPI <const> = 3, 4, 5, 6, 7

--- A summary of ranks @first to @last.
local function summary(rows, first, last)
  local texts, numbers = "", whole(1) .. signed(first or 0) .. signed(last or 1) .. whole(0)
  for _, r in ipairs(rows) do texts, numbers = texts .. r.texts, numbers .. whole(1) .. r.numbers end
  numbers = numbers .. whole(0)
  return table.concat { "PMLS\0", whole(2), whole(#texts), whole(#numbers), whole(#texts + #numbers), texts, numbers, whole(0) }
end

local function shape(size, block) return row(MPI, "job", "", { { "size", size }, { "block", block } }) end

describe("The summary of a job of 600 ranks", function()
  local dir, path

  setup(function()
    dir = support.folder()
    path = dir .. "/job.pmlsum"
    local function times(sum, least, most, min, max) return spread(600, sum, least, most, 0, min, max) end
    local calls = spread(1200)
    support.spit(path, summary({ shape(600, 3),
      row(SECTION, "solve", "", { { "task-clock", 9000, spread(600, 9000, 7, 8, 0, 10, 30) }, { " work", 5 } }, calls,
        times(12e11, 3, 17, 1e9, 3e9)),
      row(SECTION, "halo", "", {}, calls, times(15e11, 0, 599, 25e8, 25e8)),
      row(CALL, "MPI_Barrier", "", {}, calls, times(6e11, 5, 6, 5e8, 2e9)),
      row(CALL, "MPI_Send", "", {}, calls, times(3e11, 5, 256, 0, 1e9)),
      row(CALL, "MPI_Finalize", "", {}, calls, times(3e11, 5, 6, 0, 1e9)),
      row(CALL, "halo", "halo.c", {}, calls, times(1, 0, 0, 1, 1)), -- the section's region
      row(CALL, "compress", "/usr/lib/libz.so.1", {}, calls, times(6e8, 1, 2, 0, 6e8)),
      row(COUNTER, "A::ROWS", "", { { "sum", 6000, spread(600, 6000, 1, 300, 0, 4, 12) } }),
      row(COUNTER, "A::DEPTH", "level", { { "sum", 6000, spread(600, 6000, 1, 300, 0, 4, 12) } }),
      row(RECORDER, "A::SIZES", "", { { "elements", 77, NO_SPREAD } }),
      row(MPI, "time", "", {}, calls, times(9e11, 5, 6, 1e9, 3e9)),
      row(MPI, "messages to", "1", { { "0", 5 }, { "199", 7 } }), row(MPI, "bytes to", "1", { { "0", 500 }, { "199", 1000 } }),
      row(MPI, "messages to", "0", { { "1", 2 } }), row(MPI, "bytes to", "0", { { "1", 500 } }),
      row(MPI, "messages sent", "", { { "0", 3 }, { "1", 4 }, { "11", 2 } }),
      row(MPI, "bytes sent", "", { { "1", 4 }, { "11", 3000 } }),
      row(MPI, "messages received", "", { { "11", 1 } }), row(MPI, "bytes received", "", { { "11", 1500 } }),
      row(MPI, "collective", "gather", { { "calls", 7 }, { "sent", 70 }, { "received", 71 } }),
      row(MPI, "file", "MPI_File_write", { { "calls", 4 }, { "bytes", 4096, spread(2, 4096, 0, 300, 0, 1096, 3000) } }),
      row(MPI, "left out", "", { { "functions", 3 } }, calls, times(1, 0, 0, 1, 1), times(2e9, 0, 0, 1, 1)),
    }, 0, 599))
  end)

  it("is in the tables as averages of a rank, maximum over average, waiting beyond the minimum, and blocks of ranks", function()
    local out = support.quiet(support.shell(("%s report %s"):format(command, path), 60))
    local lines = {}
    for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line:gsub("  +", "|"):gsub("^[ |]", "") end
    out = "\n" .. table.concat(lines, "\n") .. "\n"
    for _, text in ipairs {
      "\nhalo|1200|2.500 s|2.500 s|599|1.000\nsolve|1200|2.000 s|3.000 s|17|1.500\n",
      "\nMPI_Barrier|1200|1.000 s|2.000 s|6|2.000|500.0 ms\nMPI_Send|1200|500.0 ms|1.000 s|256|2.000|-\n"
        .. "all but Init|1.500 s|3.000 s|6|2.000\n",
      "\nlibz.so.1|compress|1200|1.000 ms|600.0 ms|2|600.000\nCounters",
      "\nsolve|task-clock|9000|15|10|7|30|8|2.000\n",
      "\nA::ROWS|6000|10|4|1|12|300|1.200\nA::DEPTH|-|10|4|1|12|300|1.200\n", "\nA::SIZES|77|-|-|-|-|-|-|-|-\n",
      "\n0|3|0 B|0|0 B\n1|4|4.000 B|0|0 B\n1024 - 2047|2|3.000 kB|1|1.500 kB\n", "\ngather|7|70.00 B|71.00 B\n",
      "\nMPI_File_write|4|4.096 kB|3.000 kB|300\n",
      "\n3-5|597-599|7|1.000 kB\n0-2|3-5|2|500.0 B\n3-5|0-2|5|500.0 B\n",
      "3 functions with the least time, 2.000 s in all, are left out of job.pmlsum",
    } do assert.truthy(out:find(text, 1, true), text .. " is not in:" .. out) end
    assert.is_nil(out:find "MPI_Finalize")
    assert.is_nil(out:find "damaged")
  end)

  it("is in JSON with all digits", function()
    local _, out = support.shell(("%s report %s --json"):format(command, path), 60)
    local job = json.decode(out)
    local halo, solve, barrier = job.sections[1], job.sections[2], job.calls[1]
    assert.same({ 2, "halo", "solve", 4 / 2 * 1e9, 3e9, 17, 1e9, 3, 1.5 }, { #job.sections, halo.name, solve.name,
      solve.average_ns, solve.most_ns, solve.most_rank, solve.least_ns, solve.least_rank, solve.imbalance })
    assert.same({ 3, "MPI_Barrier", 3e11 }, { #job.calls, barrier.name, barrier.waited_ns })
    assert.same({ { least_bytes = 0, messages = 3, bytes = 0 }, { least_bytes = 1, messages = 4, bytes = 4 },
      { least_bytes = 1024, messages = 2, bytes = 3000 } }, job.sent)
    assert.same({ { least_bytes = 1024, messages = 1, bytes = 1500 } }, job.received)
    assert.same({ { operation = "gather", calls = 7, sent = 70, received = 71 } }, job.collectives)
    assert.same({ { ["function"] = "MPI_File_write", calls = 4, bytes = 4096, most = 3000, most_rank = 300 } }, job.files)
    assert.same({ 3, { from = 0, to = 1, messages = 2, bytes = 500 }, { from = 1, to = 0, messages = 5, bytes = 500 },
      { from = 1, to = 199, messages = 7, bytes = 1000 } }, { job.ranks_of_a_pair, table.unpack(job.pairs) })
    assert.same({ 6000, true, 600 }, { job.counters[1].sum, job.counters[2].level, job.size })
  end)
end)

describe("A damaged file of a job", function()
  local dir

  setup(function() dir = support.folder() end)

  local function report(options)
    return support.shell(("%s report %s/job.pmlsum %s"):format(command, dir, options or ""), 60)
  end

  for what, rows in pairs {
    ["more ranks than there can be"] = { shape(1 << 60, 1) },
    ["no rank"] = { shape(0, 1) },
    ["blocks without a rank"] = { shape(2, 0) },
  } do
    it("is refused in one line: a summary with " .. what, function()
      support.spit(dir .. "/job.pmlsum", summary(rows))
      for _, options in ipairs { "", "--json", "--csv" } do
        local status, out, err = report(options)
        assert.same({ 1, "" }, { status, out }, err)
        assert.equal(("pmlua report: %s/job.pmlsum: damaged: its rows contradict each other; remove it to report the logs of the "
          .. "ranks\n"):format(dir), err)
      end
    end)
  end

  it("is refused with processes beyond half the range of 64 bits, or out of order", function()
    local most = (1 << 62) - 1
    for ranks, status in pairs { [{ -most, 1 }] = 0, [{ -most - 1, 1 }] = 1, [{ 0, most + 1 }] = 1, [{ 1, 0 }] = 1 } do
      support.spit(dir .. "/job.pmlsum", summary({ shape(2, 1) }, ranks[1], ranks[2]))
      local code, _, err = report()
      assert.same({ status, status == 1 }, { code, err:find "damaged" ~= nil }, ranks[1] .. " to " .. ranks[2] .. err)
    end
  end)

  for what, rows in pairs {
    ["a size that is no number"] = { shape(2, 1), row(MPI, "bytes sent", "", { { "many", 1 } }) },
    ["a number of messages that is no integer"] = { shape(2, 1), row(MPI, "messages sent", "", { { "3", 1e300 } }) },
    ["a pair with a rank beyond the last one"] = { shape(2, 1), row(MPI, "bytes to", "0", { { "2", 1 } }) },
    ["a pair from nowhere"] = { shape(2, 1), row(MPI, "bytes to", "x", { { "1", 1 } }) },
    ["a counter without a value"] = { shape(2, 1), row(COUNTER, "N", "", {}) },
    ["a recorder with a part of an element"] = { shape(2, 1), row(RECORDER, "N", "", { { "elements", 0.5 } }) },
    ["bytes that no integer holds"] = { shape(2, 1), row(MPI, "bytes to", "0", { { "1", 2.0 ^ 64 } }) },
    ["a broadcast of such bytes"] = { shape(2, 1), row(MPI, "collective", "bcast", { { "sent", 2.0 ^ 64 } }) },
  } do
    it("loses only that row, with a note: a summary with " .. what, function()
      table.insert(rows, row(MPI, "collective", "gather", { { "calls", 7 }, { "sent", 70 }, { "received", 71 } }))
      support.spit(dir .. "/job.pmlsum", summary(rows))
      local status, out, err = report()
      assert.same({ 0, "" }, { status, err })
      assert.matches("\njob.pmlsum: its part about [^\n]+ is damaged, and omitted\n", out)
      assert.matches("\ngather +7 ", out)
      status, out = report "--json"
      assert.equal(0, status)
      assert.same({ 7, 70 }, { json.decode(out).collectives[1].calls, json.decode(out).collectives[1].sent })
    end)
  end

  it("is reported as far as possible: more calls than an integer counts, ranks below 0", function()
    support.spit(dir .. "/job.pmlsum", summary({ shape(2, 1), row(SECTION, "solve", "", {}, spread(math.mininteger)) },
      -(1 << 60), 1))
    local out = support.quiet(report())
    assert.matches(("\nsolve +%d "):format(math.maxinteger), out)
  end)

  local sound = { depth = 0, library = "libz", name = "f", calls = 2, inclusive_ns = 3.5, exclusive_ns = 3.5,
    spread = { ranks = 2, least_rank = 0, most_rank = 1, least_ns = 1.5, mean_ns = 1.75, most_ns = 2.0 } }

  for what, change in pairs {
    ["a path deeper than any string"] = { depth = 1 << 40 }, ["a path above the first one"] = { depth = -1 },
    ["times that are texts"] = { inclusive_ns = "3" }, ["no spread"] = { spread = 1 },
  } do
    it("is left out with a note: call paths with " .. what, function()
      local p = {}
      for k, v in pairs(sound) do p[k] = v end
      for k, v in pairs(change) do p[k] = v end
      support.spit(dir .. "/job.pmlsum", summary { shape(2, 1) })
      support.spit(dir .. "/paths.json", json.encode { paths = { sound, p } })
      support.spit(dir .. "/waits.json", json.encode { ranks = { { late_sender_ns = "5", collective_ns = 1 } } })
      local out = support.quiet(report())
      for _, file in ipairs { "paths", "waits" } do
        assert.truthy(out:find(("\n%s/%s.json: damaged; left out\n"):format(dir, file), 1, true), out)
      end
      os.remove(dir .. "/paths.json")
      os.remove(dir .. "/waits.json")
    end)
  end

  it("is named if it is the part of one rank", function()
    for rank, text in pairs { [0] = json.encode { paths = { { sound } } }, [1] = '{"paths": [[{"depth": 9}]]}' } do
      assert.equal(0, (support.shell(("mkdir -p %s/job/rank-%d"):format(dir, rank))))
      support.spit(("%s/job/rank-%d/part.json"):format(dir, rank), text)
    end
    local lines = {}
    local job = require "pmlua.internal.record.parts".finish(dir .. "/job", function(line) lines[#lines + 1] = line end)
    assert.equal(1, job.ranks)
    assert.same({ dir .. "/job/rank-1/part.json: damaged; the flow and the call paths of this rank are left out" }, lines)
    assert.equal("f", require "pmlua.internal.record.parts".paths(dir .. "/job")[1].name)
  end)
end)
