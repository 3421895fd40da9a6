-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/recorder_overhead_spec.lua - the experiment, run for real by its command; its tables against the raw samples.
--
-- Slow: the experiment runs with every recorder, by one thread and by two.

local tables = require "spec.scripts.tables"
local lfs = require "lfs"
local read_table = tables.read
local zlib = require "zlib"

local build = os.getenv "PMLUA_BUILD" or os.getenv "B" or "build"
local pushes, rounds = 16384, 5

-- Raw samples in ticks by cell, round and their index in it, from 0.
local function read_samples(path)
  local file <close> = assert(io.open(path, "rb"))
  local text = zlib.inflate()(file:read "a")
  local out = {}
  for cell, round, index, value in text:gmatch "(%d+),(%d+),(%d+),(%d+)\n" do
    local key = cell .. " " .. round
    out[key] = out[key] or {}
    out[key][tonumber(index)] = tonumber(value)
  end
  return out
end

local function scale_of(dir)
  local file <close> = assert(io.open(dir .. "/meta.json"))
  return tonumber(file:read("a"):match '"scale":%s*([%d%.eE+-]+)')
end

local function run(arguments, environment) return tables.run("recorder_overhead", arguments, environment) end

local function close_to(a, b)
  return math.abs(a - b) <= 1e-6 * math.max(math.abs(a), math.abs(b))
end

describe("scripts/recorder_overhead.lua --quick", function()
  local text, status, dir, cells, samples, scale
  setup(function()
    text, status, dir = run("")
    assert.equal(0, status, text)
    cells, samples, scale = read_table(dir .. "/data.dat"), read_samples(dir .. "/samples.csv.gz"), scale_of(dir)
  end)

  it("times every push of every thread", function()
    assert.equal(11, #cells)
    for _, c in ipairs(cells) do
      if c.status == "ok" then
        assert.equal(pushes * rounds * c.threads, c.samples, c.library)
        for round = 1, rounds do
          local raw = samples[c.cell .. " " .. round]
          for i = 0, pushes * c.threads - 1 do assert(raw[i], "a sample is missing") end
        end
      end
    end
  end)

  it("has a floor for each number of threads, and the cost of a push above it", function()
    local floors = {}
    for _, c in ipairs(cells) do
      if c.library == "none" then
        floors[c.threads] = c.typical
      elseif c.status == "ok" then
        assert.is_true(close_to(c.typical - floors[c.threads], c.net), c.library)
      end
    end
    assert.is_true(floors[1] > 0 and floors[2] > 0)
  end)

  it("measures libsde, or gives the reason why not", function()
    for _, c in ipairs(cells) do
      if c.library == "libsde" and c.status ~= "ok" then
        assert.truthy(c.status:find "libsde" and text:find("Rows of libsde are missing: ", 1, true), c.status)
      end
    end
  end)

  it("leaves no sample out of the distribution", function()
    local counted = {}
    for _, b in ipairs(read_table(dir .. "/distribution.dat")) do
      assert.is_true(b.low < b.high)
      counted[b.cell] = (counted[b.cell] or 0) + b.count
    end
    for _, c in ipairs(cells) do assert.equal(c.samples, counted[c.cell] or 0) end
  end)

  it("finds every spike, and nothing else", function()
    local listed, bound = {}, {}
    for _, c in ipairs(cells) do
      listed[c.cell], bound[c.cell] = 0, c.samples > 0 and math.max(1000, 10 * c.median) or nil
    end
    for _, s in ipairs(read_table(dir .. "/spikes.dat")) do
      local raw = samples[s.cell .. " " .. s.round][(s.thread - 1) * pushes + s.index]
      assert.is_true(close_to(raw * scale, s.duration) and s.duration > bound[s.cell])
      assert.is_true(s.rounds >= 1 and s.rounds <= rounds)
      listed[s.cell] = listed[s.cell] + 1
    end
    local all = {}
    for key, raw in pairs(samples) do
      local cell = tonumber(key:match "%d+")
      for _, v in pairs(raw) do
        if v * scale > bound[cell] then all[cell] = (all[cell] or 0) + 1 end
      end
    end
    for _, c in ipairs(cells) do
      assert.equal(all[c.cell] or 0, listed[c.cell])
      if c.status == "ok" then assert.equal(c.spikes, listed[c.cell]) end
    end
  end)

  it("predicts at which pushes a recorder takes memory, and calls only those growth", function()
    local grows, library = {}, {}
    for _, g in ipairs(read_table(dir .. "/growth.dat")) do
      assert.is_true(g.bytes > 0)
      grows[g.library .. g.keep .. g.index] = true
    end
    if not next(grows) then return pending "the allocator does not tell what it gives out" end
    assert.is_true(grows.pmluaall0 and grows.pmluasketch0)
    for _, c in ipairs(cells) do library[c.cell] = c.library .. c.keep end
    for _, s in ipairs(read_table(dir .. "/spikes.dat")) do
      if s.cause == "grew" then assert.is_true(grows[library[s.cell] .. s.index], library[s.cell] .. " " .. s.index) end
    end
  end)

  it("draws, and keeps the last round push by push", function()
    local seen = {}
    for _, s in ipairs(read_table(dir .. "/series.dat")) do
      seen[s.cell] = (seen[s.cell] or 0) + 1
      assert(close_to(samples[s.cell .. " " .. rounds][(s.thread - 1) * pushes + s.index] * scale, s.duration))
    end
    for _, c in ipairs(cells) do assert.equal(c.status == "ok" and pushes * c.threads or nil, seen[c.cell]) end
    assert.is_true(tables.drawn(dir), text)
  end)
end)

describe("scripts/recorder_overhead.lua", function()
  it("runs without libsde, and draws the other subjects", function()
    local text, status, dir = run("--libsde /nonexistent/libsde.so --iterations 2000 --threads 2")
    assert.equal(0, status, text)
    assert.truthy(text:find("Rows of libsde are missing: libsde: /nonexistent/libsde.so", 1, true), text)
    local missing = 0
    for _, c in ipairs(read_table(dir .. "/data.dat")) do
      if c.library == "libsde" then
        missing = missing + 1
        assert.equal(0, c.samples)
        assert.truthy(c.status:find "cannot open", c.status)
      else
        assert.equal(4000, c.samples)
      end
    end
    assert.equal(2, missing)
    assert.is_true(tables.drawn(dir), text)
  end)

  it("does not use pmlua's own drop-in for libsde", function()
    local drop_in = build .. "/compat/libsde.so.1"
    if not lfs.attributes(drop_in, "mode") then return pending "the drop-in is not built" end
    local text, status = run("--no-plot --iterations 100", "LD_LIBRARY_PATH=" .. build .. "/compat")
    assert.equal(0, status, text)
    assert.truthy(text:find("pmlua's own drop-in", 1, true), text)
  end)

  it("pushes other types, from other numbers of threads", function()
    for _, type in ipairs { "float", "int64", "int32" } do
      local text, status, dir = run("--no-plot --iterations 2000 --threads 3 --type " .. type)
      assert.equal(0, status, text)
      for _, c in ipairs(read_table(dir .. "/data.dat")) do
        assert.is_true(c.samples == 6000 or (c.library == "libsde" and c.status ~= "ok"), c.library .. c.status)
      end
    end
  end)
end)
