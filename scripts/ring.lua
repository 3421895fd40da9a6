-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/ring.lua - latency and bandwidth of MPI messages, by their size and between each two ranks.
--
-- Try:  pmlua scripts/ring.lua --quick
--
-- Pairs: two ranks send a message to and fro while the others sleep, as in a ping-pong; a pair at a time. Around: each rank
-- sends to the next rank and receives from the previous one, all at once. The program (scripts/programs/mpi/ring.c) compares
-- the received bytes with the sent ones.

local pml = require "pmlua"
local median = require("pmlua.stats").median
local tabulate = require "pmlua.tabulate"
local mpi = require "programs.mpi"

-- --- the program that sends messages, run once for each cell and round, and what it printed ---

local Lab = {}
Lab.__index = Lab

local MOVED = 1 << 20 -- bytes in a sample, and at most as many messages
local MESSAGES = 100

---@param options { ranks: integer, mpi: string?, launch: string?, limit: integer }
---@return table? lab, string? err
local function new_lab(options)
  local job, err = mpi.new(options)
  if not job then return nil, err end
  local path, refused = job:program "ring"
  if not path then return nil, refused end
  return setmetatable({ job = job, ranks = options.ranks, limit = options.limit, path = path, places = {} }, Lab)
end

local function microseconds(text)
  local list = {}
  for word in text:gmatch "%S+" do list[#list + 1] = tonumber(word) / 1e3 end
  return list
end

-- The median over all pairs, for each repetition.
local function median_of(list)
  local out = {}
  for i in ipairs(list[1].us) do
    local times = {}
    for k, pair in ipairs(list) do times[k] = pair.us[i] end
    out[i] = median(times)
  end
  return out
end

function Lab:read_places(text)
  for rank, host, cpu in text:gmatch "rank (%d+) (%S+) (%d+)\n" do
    self.places[tonumber(rank)] = { host = host, cpu = tonumber(cpu) }
  end
end

--- Ranks on a cpu, as of the last run.
function Lab:per_cpu()
  local hosts = {}
  for rank = 0, self.ranks - 1 do hosts[rank + 1] = self.places[rank] and self.places[rank].host end
  return self.job:per_cpu(hosts)
end

--- @n times of a message in microseconds; those of each pair.
---@return number[]? samples, table|string pairs each with from, to and us; or why there is nothing
function Lab:measure(p, n)
  local messages = math.max(1, math.min(MESSAGES, MOVED // p.bytes))
  local words = { self.path, p.between, tostring(p.bytes), tostring(n), tostring(messages) }
  local text, err = self.job:run(self.ranks, words, self.limit)
  if not text then return nil, err end
  self:read_places(text)
  local around, list = text:match "around ([%d. ]+)", {}
  if around then return microseconds(around), list end
  for from, to, times in text:gmatch "pair (%d+) (%d+) ([%d. ]+)" do
    list[#list + 1] = { from = tonumber(from), to = tonumber(to), us = microseconds(times) }
  end
  return median_of(list), list
end

-- --- pairs.dat, places.dat and job.dat; the matrices on the terminal ---

--- The median over all rounds for each pair, in the order of ranks.
local function medians(cell)
  local list, by = {}, {}
  for _, r in ipairs(cell.rounds) do
    for _, pair in ipairs(r.extra or {}) do
      local key = pair.from .. " " .. pair.to
      if not by[key] then
        by[key] = { from = pair.from, to = pair.to, all = {} }
        list[#list + 1] = by[key]
      end
      table.move(pair.us, 1, #pair.us, #by[key].all + 1, by[key].all)
    end
  end
  for _, pair in ipairs(list) do pair.us = median(pair.all) end
  return list
end

--- Medians of the fastest and of the slowest pair; nothing for messages around.
---@return { least: number?, most: number? }
local function extremes(cell)
  local e = {}
  for _, pair in ipairs(medians(cell)) do
    e.least, e.most = math.min(e.least or pair.us, pair.us), math.max(e.most or pair.us, pair.us)
  end
  return e
end

-- Both ways, as a matrix has them: a message to and fro is the same for both.
local function pairs_table(run)
  local rows = {}
  for _, cell in ipairs(run.cells) do
    for _, pair in ipairs(medians(cell)) do
      for _, way in ipairs { { pair.from, pair.to }, { pair.to, pair.from } } do
        rows[#rows + 1] = { cell.p.bytes, way[1], way[2], pair.us, cell.p.bytes / pair.us }
      end
    end
  end
  return { columns = {
    { "bytes", "B", "of a message" }, { "from", "", "rank" }, { "to", "", "rank" }, { "time", "us", "of a message, median" },
    { "bandwidth", "MB/s", "bytes over that" },
  }, rows = rows }
end

local function places_table(lab)
  local rows = {}
  for rank = 0, lab.ranks - 1 do
    local place = lab.places[rank]
    if place then rows[#rows + 1] = { rank, place.host, place.cpu } end
  end
  return { columns = { { "rank", "", "" }, { "host", "text", "" }, { "cpu", "", "where it was at the end of the last run" } },
    rows = rows }
end

local function job_table(lab)
  return { columns = { { "mpi", "text", "library and version" }, { "ranks", "", "" }, { "cpus", "", "of this host" },
    { "per_cpu", "", "ranks on a cpu; more than 1 is oversubscribed" } },
    rows = { { lab.job.title, lab.ranks, lab.job.cpus, lab:per_cpu() } } }
end

-- A matrix of a column of the pairs' table, for messages of one size.
local function matrix(lab, t, bytes, column)
  local names, rows = { "rank" }, {}
  for r = 0, lab.ranks - 1 do
    names[r + 2], rows[r + 1] = tostring(r), { r }
    for k = 0, lab.ranks - 1 do rows[r + 1][k + 2] = "-" end
  end
  for _, row in ipairs(t.rows) do
    if row[1] == bytes then rows[row[2] + 1][row[3] + 2] = row[column] end
  end
  return tabulate(names, rows, 1)
end

local SHOWN = 16 -- ranks of a matrix on the terminal

--- Tables into the run's folder; time and bandwidth between each two ranks, and what to know of them, on the terminal.
local function write_report(run, lab)
  local t = pairs_table(run)
  run:write_table("pairs.dat", t)
  run:write_table("places.dat", places_table(lab))
  run:write_table("job.dat", job_table(lab))
  local least, most = math.huge, 0
  for _, row in ipairs(t.rows) do least, most = math.min(least, row[1]), math.max(most, row[1]) end
  if #t.rows > 0 and lab.ranks <= SHOWN then
    run:say(("\nTime of a message of %d bytes [us]\n%s"):format(least, matrix(lab, t, least, 4)))
    run:say(("\nBandwidth of messages of %d bytes [MB/s]\n%s"):format(most, matrix(lab, t, most, 5)))
  end
  local cpus = lab.job.cpus
  if lab:per_cpu() > 1 then
    run:warn(("%d ranks share %d cpu%s: messages around wait for a cpu, those of pairs may"):format(lab.ranks, cpus,
      cpus == 1 and "" or "s"))
  end
  lab.job:close()
end

local sizes = { 8, 64, 512, 4096, 32768, 262144, 2097152 }
local few = { 8, 4096, 262144 }
local lab

local function prepare(options)
  lab = assert(new_lab(options))
  return { { "between", { "pairs", "around" } }, { "bytes", options.quick and few or sizes } }
end

local function of_pairs(name)
  return function(cell) return extremes(cell)[name] end
end

return pml.experiment {
  name = "ring",
  description = [[
Latency and bandwidth of MPI's point-to-point messages by size: to and fro between each two ranks, while the others sleep,
and around all ranks at once. A sample is the time of a message: the median of all pairs, or around that of the slowest
rank. Each byte that arrives is checked.]],
  factors = prepare,
  help = { between = "pairs: two ranks at a time; around: all send to the next", bytes = "of a message" },
  unit = "us",
  units = { bytes = "B" },
  repeats = 60,
  rounds = 3,
  warmup = 0,
  quick = { repeats = 5, rounds = 1, ranks = 2 },
  options = {
    { name = "ranks", type = "integer", metavar = "N", min = 2, max = 64,
      default = math.max(4, math.min(16, #pml.sys.affinity())),
      help = "of the program, to 64" },
    { name = "mpi", metavar = "NAME", help = "openmpi or mpich; otherwise what mpirun is" },
    { name = "launch", metavar = "OPTIONS", help = "further options for mpirun, such as '--hostfile hosts'" },
    { name = "limit", type = "integer", metavar = "S", min = 1, default = 600, help = "seconds that a run may take" },
  },
  examples = { "pmlua scripts/ring.lua --quick", "pmlua scripts/ring.lua --mpi mpich --ranks 2",
    "pmlua scripts/ring.lua --ranks 8 --launch '--hostfile hosts --map-by node'" },
  measure = function(_, p, n) return lab:measure(p, n) end,
  columns = {
    { name = "bandwidth", unit = "MB/s", description = "bytes of a message over the median",
      value = function(cell) return cell.summary and cell.p.bytes / cell.summary.median end },
    { name = "fastest", unit = "us", description = "median of the fastest pair", value = of_pairs "least" },
    { name = "slowest", unit = "us", description = "median of the slowest pair", value = of_pairs "most" },
  },
  analyse = function(run) write_report(run, lab) end,
  plot = "ring",
}
