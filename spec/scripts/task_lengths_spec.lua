-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/task_lengths_spec.lua - the experiment, run for real by its command, against a tiling made here.

local tables = require "spec.scripts.tables"
local read_table = tables.words

local function run(arguments) return tables.run("task_lengths", arguments) end

-- --- what must come out -----------------------------------------------------------------------------------------------

local terms = {
  t2_2_5 = { c = "kaij", a = "acil", b = "lkjc", id = 1 }, t2_6 = { c = "abij", a = "abkl", b = "klij", id = 2 },
  t2_7 = { c = "abij", a = "acik", b = "kbjc", id = 3 }, t2_7_3 = { c = "kaic", a = "adil", b = "klcd", id = 4 },
  t2_8 = { c = "abij", a = "cdij", b = "abcd", id = 5 },
}

-- The tiles, one spin after the other: { size, spin }.
local function tiles(alpha, beta, most)
  local out = {}
  for spin, n in ipairs { alpha, beta } do
    local count = math.ceil(n / most)
    for i = 1, count do out[#out + 1] = { n // count + (i <= n % count and 1 or 0), spin } end
  end
  return out
end

local function conserves(label, at)
  local spin = {}
  for i = 1, 4 do spin[i] = at[label:sub(i, i)][2] end
  return spin[1] + spin[2] == spin[3] + spin[4]
end

-- Call f for each choice of a tile per letter, the last letter first.
local function each(letters, space, at, f)
  if letters == "" then return f() end
  local l = letters:sub(1, 1)
  for _, tile in ipairs(l >= "i" and space.occupied or space.virtual) do
    at[l] = tile
    each(letters:sub(2), space, at, f)
  end
end

-- length and flops of every task, in the order of the blocks of C.
local function plan(term, shape, most)
  local beta = { occupied = shape.occupied - shape.unpaired, virtual = shape.virtual + shape.unpaired }
  local space = {
    occupied = tiles(shape.occupied, beta.occupied, most), virtual = tiles(shape.virtual, beta.virtual, most),
  }
  local at, out, summed = {}, {}, term.a:gsub("[" .. term.c .. "]", "")
  each(term.c, space, at, function()
    if not conserves(term.c, at) then return end
    local task = { length = 0, flops = 0 }
    each(summed, space, at, function()
      if not (conserves(term.a, at) and conserves(term.b, at)) then return end
      local flops = 2
      for l in (term.c .. summed):gmatch "." do flops = flops * at[l][1] end
      task.length, task.flops = task.length + 1, task.flops + flops
    end)
    out[#out + 1] = task
  end)
  return out
end

local function total(tasks, field)
  local sum = 0
  for _, t in ipairs(tasks) do sum = sum + t[field] end
  return sum
end

local function by_contraction(rows)
  local out = {}
  for _, row in ipairs(rows) do
    out[row.contraction] = out[row.contraction] or {}
    table.insert(out[row.contraction], row)
  end
  return out
end

-- All tables of a run against the plan.
local function check(dir, shape)
  local tasks, bars = by_contraction(read_table(dir .. "/tasks.dat")), by_contraction(read_table(dir .. "/lengths.dat"))
  local events = read_table(dir .. "/events.dat")
  for _, e in ipairs(events) do
    local name, rows = e.contraction, tasks[e.contraction]
    local term = terms[name]
    local wanted = plan(term, shape, shape.tile)
    assert.equal(#wanted, #rows, name)
    local count = {}
    for i, t in ipairs(wanted) do
      assert.equal(("%d %d"):format(t.length, t.flops), rows[i].length .. " " .. rows[i].flops, name .. " task " .. i)
      count[t.length] = (count[t.length] or 0) + 1
    end
    for _, bar in ipairs(bars[name]) do
      assert.equal(count[tonumber(bar.length)], tonumber(bar.tasks), name)
      count[tonumber(bar.length)] = nil
    end
    assert.is_nil(next(count), name .. ": a bar for each length")
    -- tiles do not change the work: with one tile per spin, the plan is the contraction without tiles
    assert.equal(total(plan(term, shape, 1000), "flops"), tonumber(e.FlopCount_I), name)
    assert.equal(total(wanted, "length"), tonumber(e.DgemmCount_I), name)
    assert.equal(term.id, tonumber(e.ContractionID_I), name)
    assert.equal(#wanted, tonumber(e["LengthPerTask_RCRD_I:CNT"]), name)
    assert.equal(e.MaxTaskLength_I, e["LengthPerTask_RCRD_I:MAX"], name)
    assert.equal(shape.threads, tonumber(e["TimePerThread_RCRD_D:CNT"]), name)
    assert.is_true(tonumber(e.CheckError_D) >= 0 and tonumber(e.CheckError_D) < 1e-13, name)
    assert.is_true(tonumber(e.imbalance) >= 1, name)
  end
  return events, bars
end

describe("scripts/task_lengths.lua --quick", function()
  local text, status, dir
  setup(function() text, status, dir = run "--threads 2" end)

  it("ends well, with the tasks, DGEMMs and FLOPs of five contractions, as given by their tiling", function()
    assert.equal(0, status, text)
    assert.equal(5, #check(dir, { occupied = 7, virtual = 13, unpaired = 0, tile = 4, threads = 2 }))
    for _, event in ipairs { "ContractionID_I", "DgemmCount_I", "FlopCount_I", "MaxTaskLength_I", "LengthPerTask_RCRD_I",
      "FlopsPerTask_RCRD_I" } do
      assert.truthy(text:find("\n" .. event, 1, true), event)
    end
    assert.is_true(tables.drawn(dir), text)
  end)

  it("finds the paper's result: two lengths, the longer twice the shorter and two thirds of the tasks", function()
    local bars = by_contraction(read_table(dir .. "/lengths.dat"))
    for name, b in pairs(bars) do
      assert.equal(2, #b, name)
      assert.equal(2 * tonumber(b[1].length), tonumber(b[2].length), name)
      assert.equal(2 * tonumber(b[1].tasks), tonumber(b[2].tasks), name)
    end
    assert.equal("8 16", bars.t2_7_3[1].length .. " " .. bars.t2_7_3[2].length)
  end)

  it("has the times of tasks in order: no quantile above the next", function()
    for _, b in ipairs(read_table(dir .. "/lengths.dat")) do
      local before = 0
      for _, q in ipairs { "min", "q1", "median", "q3", "max" } do
        assert.is_true(tonumber(b["time_" .. q]) >= before, b.contraction .. " " .. q)
        before = tonumber(b["time_" .. q])
      end
      assert.is_true(tonumber(b.flops_min) <= tonumber(b.flops_median) and tonumber(b.flops_median) <= tonumber(b.flops_max))
    end
  end)
end)

describe("scripts/task_lengths.lua", function()
  it("counts the same for an open shell in odd tiles on three threads", function()
    local text, status, dir = run("--threads 3 --occupied 5 --virtual 7 --unpaired 2 --tile 3 --contractions t2_8,t2_7_3")
    assert.equal(0, status, text)
    local _, bars = check(dir, { occupied = 5, virtual = 7, unpaired = 2, tile = 3, threads = 3 })
    assert.is_true(#bars.t2_7_3 > 2)
    assert.is_nil(bars.t2_6)
  end)

  it("leaves the DGEMMs to a BLAS, or reports that it is missing", function()
    local text, status, dir = run("--no-plot --threads 1 --blas system --contractions t2_6")
    if status ~= 0 then
      assert.truthy(text:find("no BLAS", 1, true), text)
      return pending(text:match "no BLAS[^\n]*")
    end
    check(dir, { occupied = 7, virtual = 13, unpaired = 0, tile = 4, threads = 1 })
  end)
end)
