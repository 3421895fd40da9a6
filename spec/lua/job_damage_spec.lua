-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/job_damage_spec.lua - damaged files of a job of MPI: each is named in one line, and nothing else of the job is lost.

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

local function spread(count)
  return whole(count) .. real(1) .. signed(0) .. signed(0) .. real(0) .. real(1) .. real(1)
end

--- Its texts and its numbers. @values: { name, sum }; a float is real.
local function row(kind, name, detail, values, calls)
  local texts = name .. "\0" .. detail .. "\0"
  local parts = { whole(kind), whole(0), whole(1), whole(1), signed(0), whole(0), calls or NO_SPREAD, NO_SPREAD, NO_SPREAD,
    whole(#values) }
  for _, v in ipairs(values) do
    texts = texts .. v[1] .. "\0"
    parts[#parts + 1] = math.type(v[2]) == "float" and whole(1) .. whole(1) .. real(v[2]) .. signed(0)
      or whole(0) .. signed(v[2]) .. NO_SPREAD
  end
  return { texts = texts, numbers = table.concat(parts) .. whole(0) }
end

local SECTION <const>, COUNTER <const>, RECORDER <const>, MPI <const> = 3, 5, 6, 7

--- A summary of ranks @first to @last.
local function summary(rows, first, last)
  local texts, numbers = "", whole(1) .. signed(first or 0) .. signed(last or 1) .. whole(0)
  for _, r in ipairs(rows) do texts, numbers = texts .. r.texts, numbers .. whole(1) .. r.numbers end
  numbers = numbers .. whole(0)
  return table.concat { "PMLS\0", whole(2), whole(#texts), whole(#numbers), whole(#texts + #numbers), texts, numbers, whole(0) }
end

local function shape(size, block) return row(MPI, "job", "", { { "size", size }, { "block", block } }) end

describe("A damaged file of a job", function()
  local dir

  setup(function() dir = support.folder() end)
  teardown(support.cleanup)

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
    it("costs that row alone, with a note: a summary with " .. what, function()
      table.insert(rows, row(MPI, "collective", "gather", { { "calls", 7 }, { "sent", 70 }, { "received", 71 } }))
      support.spit(dir .. "/job.pmlsum", summary(rows))
      local status, out, err = report()
      assert.same({ 0, "" }, { status, err })
      assert.matches("\njob.pmlsum: what it says of [^\n]+ is damaged, and left out\n", out)
      assert.matches("\ngather +7 ", out)
      status, out = report "--json"
      assert.equal(0, status)
      assert.same({ 7, 70 }, { json.decode(out).collectives[1].calls, json.decode(out).collectives[1].sent })
    end)
  end

  it("is reported as far as it says what can be: more calls than an integer counts, ranks below 0", function()
    support.spit(dir .. "/job.pmlsum", summary({ shape(2, 1), row(SECTION, "solve", "", {}, spread(math.mininteger)) },
      -(1 << 60), 1))
    local status, out, err = report()
    assert.same({ 0, "" }, { status, err })
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
      local status, out, err = report()
      assert.same({ 0, "" }, { status, err })
      for _, file in ipairs { "paths", "waits" } do
        assert.truthy(out:find(("\n%s/%s.json: damaged; left out\n"):format(dir, file), 1, true), out)
      end
      os.remove(dir .. "/paths.json")
      os.remove(dir .. "/waits.json")
    end)
  end

  it("is named: what a rank left for the others", function()
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
