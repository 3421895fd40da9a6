-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/scaling/report.lua - the efficiency and its factors, sections.dat, job.dat, and the sections on the terminal.
--
-- Try:  pmlua scripts/scaling.lua --quick --no-plot && head results/scaling/latest/sections.dat

local tabulate = require "pmlua.tabulate"

local M = {}

local function sum(list)
  local s = 0
  for _, v in pairs(list) do s = s + v end
  return s
end

local function most(list)
  local longest = 0
  for _, v in pairs(list) do longest = math.max(longest, v) end
  return longest
end

--- The run of median length.
---@return scaling.Run?
local function middle(cell)
  local runs = {}
  for i, r in ipairs(cell.rounds) do runs[i] = r.extra end
  table.sort(runs, function(a, b) return a.seconds < b.seconds end)
  return runs[(#runs + 1) // 2]
end

-- The run on one rank that a cell is compared with.
local function base_of(run, cell)
  for _, other in ipairs(run.cells) do
    if other.p.scaling == cell.p.scaling and other.p.ranks == 1 then return middle(other) end
  end
end

--- Percentages of a cell's run of median length; efficiency and computation need the run on one rank.
---@return table?
function M.figures(run, cell)
  local r, base = middle(cell), base_of(run, cell)
  if not r then return nil end
  local n, computed = #r.computes, sum(r.computes)
  local f = {
    mpi = 100 * sum(r.communicates) / (computed + sum(r.communicates)),
    balance = 100 * computed / n / most(r.computes),
    communication = 100 * most(r.computes) / r.seconds,
  }
  if base then
    local grown = cell.p.scaling == "weak" and n or 1
    f.efficiency = 100 * grown * base.seconds / (n * r.seconds)
    f.computation = 100 * grown * sum(base.computes) / computed
  end
  return f
end

-- The sections of all runs, calculations before communication and long before short: number and place among their type.
local function order_of(run)
  local by, list = {}, {}
  for _, cell in ipairs(run.cells) do
    local r = middle(cell)
    for _, s in ipairs(r and r.sections or {}) do
      local one = by[s.label]
      if not one then
        one = { label = s.label, communicates = s.communicates, total = 0 }
        by[s.label], list[#list + 1] = one, one
      end
      one.total = one.total + sum(s.seconds) / sum(r.computes)
    end
  end
  table.sort(list, function(a, b)
    if a.communicates ~= b.communicates then return b.communicates end
    if a.total ~= b.total then return a.total > b.total end
    return a.label < b.label
  end)
  local place = { [true] = 0, [false] = 0 }
  for i, one in ipairs(list) do
    place[one.communicates] = place[one.communicates] + 1
    one.number, one.place = i, place[one.communicates]
  end
  return by
end

local function section_rows(run)
  local rows, order = {}, order_of(run)
  for _, cell in ipairs(run.cells) do
    local r, below = middle(cell), 0
    local list = table.move(r and r.sections or {}, 1, r and #r.sections or 0, 1, {})
    table.sort(list, function(a, b) return order[a.label].number < order[b.label].number end)
    for _, s in ipairs(list) do
      local mean, longest = sum(s.seconds) / #r.computes, most(s.seconds)
      local share = 100 * mean / r.seconds
      rows[#rows + 1] = { cell.p.scaling, cell.p.ranks, order[s.label].number, s.label,
        s.communicates and "communication" or "calculation", mean, longest, share,
        longest > 0 and 100 * mean / longest or nil, below, order[s.label].place }
      below = below + share
    end
  end
  return rows
end

local function section_table(run)
  return { columns = {
    { "scaling", "text", "strong: the same problem; weak: one for each rank" }, { "ranks", "", "of the program" },
    { "number", "", "of the section" }, { "section", "text", "of the program, without those inside it" },
    { "type", "text", "calculation or communication" }, { "time", "s", "mean of all ranks" },
    { "longest", "s", "of a rank" }, { "share", "%", "of the time of the run" },
    { "balance", "%", "mean over longest" }, { "below", "%", "share of the sections with smaller numbers" },
    { "place", "", "among the sections of its type" },
  }, rows = section_rows(run) }
end

-- What the figure says of the job.
local function job_table(lab)
  return { columns = { { "program", "text", "" }, { "mpi", "text", "library and version" }, { "cpus", "", "for all ranks" } },
    rows = { { lab.title, lab.job.title, lab.job.cpus } } }
end

local function say(run, t)
  local names, rows = { "scaling", "ranks", "section", "type", "time [s]", "longest [s]", "share [%]", "balance [%]" }, {}
  for i, row in ipairs(t.rows) do
    rows[i] = table.move(row, 4, 9, 3, { row[1], row[2] })
    rows[i][8] = rows[i][8] or "-"
  end
  run:say("\nSections, without those inside them: mean of the ranks, and the longest\n" .. tabulate(names, rows, 2))
end

--- Tables into the run's folder, and the sections on the terminal.
---@param run table
---@param lab table scaling.lab
function M.write(run, lab)
  local t = section_table(run)
  run:write_table("sections.dat", t)
  run:write_table("job.dat", job_table(lab))
  if #t.rows > 0 then say(run, t) end
  if lab.levels[#lab.levels] > lab.job.cpus then
    run:warn(("%d ranks share %d cpu%s: these times say little about a machine that has a cpu for each rank")
      :format(lab.levels[#lab.levels], lab.job.cpus, lab.job.cpus == 1 and "" or "s"))
  end
  lab.job:close()
end

return M
