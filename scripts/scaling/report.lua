-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/scaling/report.lua - the efficiency and its factors; sections.dat, functions.dat, job.dat; the sections on
-- the terminal.
--
-- Try:  pmlua scripts/scaling.lua --quick --no-plot && head results/scaling/latest/sections.dat

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
    per_cpu = r.per_cpu,
  }
  if base then
    local grown = cell.p.scaling == "weak" and n or 1
    f.efficiency = 100 * grown * base.seconds / (n * r.seconds)
    f.computation = 100 * grown * sum(base.computes) / computed
  end
  return f
end

-- The sections of all runs, computing before communicating ones, long before short: number and index among sections
-- of the same kind.
local function order_of(run)
  local list = {}
  for _, cell in ipairs(run.cells) do
    local r = middle(cell)
    for _, s in ipairs(r and r.sections or {}) do
      local one = list[s.label] or { label = s.label, total = 0, mpi = 0 }
      if not list[s.label] then list[s.label], list[#list + 1] = one, one end
      local all = #r.computes * r.seconds
      one.total, one.mpi = one.total + sum(s.seconds) / all, one.mpi + sum(s.mpi) / all
    end
  end
  for _, one in ipairs(list) do one.communicates = one.mpi > one.total / 2 end
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
  return list
end

local function rows_of_cell(rows, cell, r, base, order)
  local below = 0
  for _, one in ipairs(order) do
    for _, s in ipairs(r.sections) do
      if s.label == one.label then
        local total, longest, share = sum(s.seconds), most(s.seconds), 100 * sum(s.seconds) / #r.computes / r.seconds
        local alone = base and base.sections[s.label] and sum(base.sections[s.label].seconds)
        local grown = cell.p.scaling == "weak" and #r.computes or 1
        rows[#rows + 1] = { cell.p.scaling, cell.p.ranks, one.number, s.label, total / #r.computes, longest, share,
          total > 0 and 100 * sum(s.mpi) / total or nil, longest > 0 and 100 * total / #r.computes / longest or nil,
          alone and total > 0 and 100 * grown * alone / total or nil, below, one.place, one.communicates and 1 or 0 }
        below = below + share
      end
    end
  end
end

local function section_table(run)
  local rows, order = {}, order_of(run)
  for _, cell in ipairs(run.cells) do
    local r = middle(cell)
    if r then rows_of_cell(rows, cell, r, base_of(run, cell), order) end
  end
  return { columns = {
    { "scaling", "text", "strong: the same problem; weak: one for each rank" }, { "ranks", "", "of the program" },
    { "number", "", "of the section" }, { "section", "text", "of the program, without those inside it" },
    { "time", "s", "mean of all ranks" }, { "longest", "s", "of a rank" }, { "share", "%", "of the time of the run" },
    { "mpi", "%", "of its time, in functions of MPI" }, { "balance", "%", "mean over longest" },
    { "efficiency", "%", "time on one rank over that of all ranks" },
    { "below", "%", "share of the sections with smaller numbers" }, { "place", "", "among the sections of its kind" },
    { "communicates", "", "1: most of its time is in MPI" },
  }, rows = rows }
end

local function function_table(run)
  local rows = {}
  for _, cell in ipairs(run.cells) do
    local r = middle(cell)
    for _, f in ipairs(r and r.functions or {}) do
      local mean = sum(f.seconds) / #r.computes
      rows[#rows + 1] = { cell.p.scaling, cell.p.ranks, f.label, mean, most(f.seconds), 100 * mean / r.seconds }
    end
  end
  return { columns = {
    { "scaling", "text", "strong: the same problem; weak: one for each rank" }, { "ranks", "", "of the program" },
    { "function", "text", "of MPI, called in a section" }, { "time", "s", "mean of all ranks" }, { "longest", "s", "of a rank" },
    { "share", "%", "of the time of the run" },
  }, rows = rows }
end

-- The description of the job in the figure.
local function job_table(lab)
  return { columns = { { "program", "text", "" }, { "mpi", "text", "library and version" }, { "cpus", "", "of this host" } },
    rows = { { lab.title, lab.job.title, lab.job.cpus } } }
end

-- The most ranks of a run that shared cpus, if any did.
local function crowded(run)
  local ranks
  for _, cell in ipairs(run.cells) do
    local r = middle(cell)
    if r and r.per_cpu > 1 then ranks = math.max(ranks or 0, cell.p.ranks) end
  end
  return ranks
end

--- Tables into the run's folder, and the sections on the terminal.
---@param lab table scaling.lab
function M.write(run, lab)
  local t, ranks, cpus = section_table(run), crowded(run), lab.job.cpus
  run:write_table("sections.dat", t)
  run:write_table("functions.dat", function_table(run))
  run:write_table("job.dat", job_table(lab))
  if #t.rows > 0 then
    run:say_table("Sections, without those inside them: mean of the ranks, and the longest", t,
      { "scaling", "ranks", "section", "time", "longest", "share", "mpi", "balance", "efficiency" })
  end
  if ranks then
    run:warn(("%d ranks share %d cpu%s: these times say little about a machine that has a cpu for each rank")
      :format(ranks, cpus, cpus == 1 and "" or "s"))
  end
  lab.job:close()
end

return M
