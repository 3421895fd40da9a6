-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/ring/report.lua - pairs.dat, places.dat and job.dat; the matrices on the terminal.
--
-- Try:  pmlua scripts/ring.lua --quick --no-plot && head results/ring/latest/pairs.dat

local median = require("pmlua.stats").median
local tabulate = require "pmlua.tabulate"

local M = {}

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
function M.extremes(cell)
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
---@param lab table ring.lab
function M.write(run, lab)
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

return M
