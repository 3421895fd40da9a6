-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/scaling.lua - scaling of an MPI program: its time with 1, 2, 4, ... ranks, and the factors that limit it.
--
-- Try:  pmlua scripts/scaling.lua --quick
--
-- Strong scaling: the same problem on more ranks. Weak scaling: a problem that grows with the ranks. The efficiency is the
-- product of three factors, as the POP Centre of Excellence defines them: computation, computing time of the run with one rank
-- over the sum of all ranks' computing times; load balance, mean over longest computation of a rank; and communication, longest
-- computation over the time of the run. They come from the sections of each rank and from its recorded MPI calls: time in its
-- sections but not in MPI is computation.

local pml = require "pmlua"
local core = require "pmlua.core"
local lists = require "pmlua.internal.lists"
local preload = require "pmlua.internal.preload"
local mpi = require "programs.mpi"

-- --- the program, run with some ranks, and what each rank did in its sections ---

local Lab = {}
Lab.__index = Lab

-- Arguments that keep one rank busy for some tenths of a second.
local usual = { stencil = { "1024", "200" }, gradient = { "96", "2" }, sort = { "2000000", "1" } }

local function numbers_of_ranks(most)
  local list, n = {}, 1
  while n < most do
    list[#list + 1] = n
    n = 2 * n
  end
  list[#list + 1] = most
  return list
end

-- The words of a user's command; whether the number of ranks is in them.
local function of_user(words)
  local weak = false
  for _, word in ipairs(words) do weak = weak or word:find("{n}", 1, true) ~= nil end
  return function(_, ranks)
    return lists.map(words, function(word) return word:gsub("{n}", tostring(ranks)) end)
  end, { weak and "weak" or "strong" }
end

local function of_ours(path, arguments)
  return function(scaling)
    local out = table.move(arguments, 1, #arguments, 2, { path })
    if scaling == "weak" then out[#out + 1] = "weak" end
    return out
  end, { "strong", "weak" }
end

---@param options { program: string?, command: string[], ranks: integer, mpi: string?, launch: string?, limit: integer }
---@return table? lab, string? err
local function new_lab(options)
  local theirs = not options.program and #options.command > 0
  local name = options.program or "stencil"
  if not usual[name] then
    return nil, ("option --program is %s; choose %s"):format(name, table.concat(mpi.programs, ", "))
  end
  if theirs then
    local library, missing = preload.ready("record", options.command[1])
    if not library then return nil, missing end
  end
  local job, err = mpi.new(options)
  if not job then return nil, err end
  local self = setmetatable({ job = job, limit = options.limit, levels = numbers_of_ranks(options.ranks),
    title = theirs and options.command[1]:match "[^/]*$" or name }, Lab)
  if theirs then
    self.words, self.scalings = of_user(options.command)
    return self
  end
  local path, refused = job:program(name)
  if not path then return nil, refused end
  self.words, self.scalings = of_ours(path, #options.command > 0 and options.command or usual[name])
  return self
end

---@class scaling.Part a section, or a function of MPI, with what each rank spent there
---@field label string
---@field seconds number[] in it and in no section inside it
---@field mpi number[] of that, in functions of MPI

---@class scaling.Run
---@field seconds number of the slowest rank, in its sections
---@field computes number[] seconds of each rank in sections, outside MPI
---@field communicates number[] seconds of each rank in functions of MPI, called in sections
---@field sections scaling.Part[]
---@field functions scaling.Part[]
---@field per_cpu number ranks on a cpu

local function part_of(list, label, ranks)
  if not list[label] then
    local part = { label = label, seconds = {}, mpi = {} }
    for rank = 1, ranks do part.seconds[rank], part.mpi[rank] = 0, 0 end
    list[label], list[#list + 1] = part, part
  end
  return list[label]
end

local function add(list, rank, seconds) list[rank] = list[rank] + seconds end

-- A call path of a rank: a section's own time, and that in MPI of the innermost section around it.
local function add_node(run, rank, node, section)
  local ranks, seconds = #run.computes, node.exclusive_ns * 1e-9
  if not section then return end
  local part = part_of(run.sections, section, ranks)
  add(part.seconds, rank, seconds)
  if not node.mpi then return add(run.computes, rank, seconds) end
  add(run.communicates, rank, seconds)
  add(part.mpi, rank, seconds)
  add(part_of(run.functions, node.mpi, ranks).seconds, rank, seconds)
end

-- Functions that MPI calls itself belong to the MPI function that the program called.
local function add_rank(run, rank, nodes, is_section)
  local above = { [-1] = {} }
  for _, node in ipairs(nodes) do
    local outer = above[node.depth - 1]
    node.mpi = outer.mpi or node.name:match "^MPI_.*"
    node.section = not node.mpi and is_section[node.name] and node.name or outer.section
    above[node.depth] = node
    add_node(run, rank, node, node.section)
  end
end

local function labels_of(process)
  local set = {}
  for _, s in ipairs(process.sections) do set[s.label] = true end
  return set
end

---@return scaling.Run?, string? err
local function figures_of(processes)
  local run = { seconds = 0, computes = {}, communicates = {}, sections = {}, functions = {} }
  for rank in ipairs(processes) do run.computes[rank], run.communicates[rank] = 0, 0 end
  for rank, process in ipairs(processes) do
    local log <close>, err = core.recording.open(process.name)
    if not log then return nil, tostring(err) end
    local profile <close>, why = log:profile()
    if not profile then return nil, tostring(why) end
    add_rank(run, rank, profile:nodes(), labels_of(process))
    run.seconds = math.max(run.seconds, run.computes[rank] + run.communicates[rank])
  end
  return run
end

--- One run: its seconds, and where they went.
---@return number? seconds, scaling.Run|string run or why it failed
function Lab:measure(p)
  local processes, err = self.job:record(p.ranks, self.words(p.scaling, p.ranks), self.limit)
  if not processes then return nil, ("%s: %s"):format(self.title, err) end
  local run, why = figures_of(processes)
  if not run then return nil, why end
  local hosts = lists.map(processes, function(process) return process.host end)
  run.per_cpu = self.job:per_cpu(hosts)
  return run.seconds, run
end

-- --- the efficiency and its factors; sections.dat, functions.dat, job.dat ---

-- the terminal.

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
  local runs = lists.map(cell.rounds, function(r) return r.extra end)
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
local function figures(run, cell)
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
local function write_report(run, lab)
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

local lab

local function prepare(options)
  lab = assert(new_lab(options))
  return { { "scaling", lab.scalings }, { "ranks", lab.levels } }
end

local function figure(name)
  return function(cell, run)
    local f = figures(run, cell)
    return f and f[name]
  end
end

return pml.experiment {
  name = "scaling",
  description = [[
Runs an MPI program with 1, 2, 4, ... ranks and reports its time, the time in MPI, the efficiency and its factors, and the
load balance, in all and by section. --program runs a program of pmlua's: stencil SIDE STEPS exchanges halos of a grid,
gradient SIDE SOLVES solves a sparse system, sort KEYS SORTS sorts by samples; each checks its own result. CMD runs a
program of yours that has sections (pml_section_start and _stop); {n} in its arguments stands for the number of ranks and
makes the scaling weak. A sample is the time of the slowest rank in its sections.]],
  factors = prepare,
  help = { scaling = "strong: the same problem for all; weak: a problem for each rank", ranks = "of the program" },
  command = "[CMD [ARGS]]",
  unit = "s",
  repeats = 5,
  rounds = 5,
  warmup = 0,
  quick = { repeats = 1, rounds = 1, ranks = 2 },
  options = {
    { name = "program", metavar = "NAME", help = "run " .. table.concat(mpi.programs, ", ") .. ", with these arguments" },
    { name = "ranks", type = "integer", metavar = "N", min = 1, default = math.max(4, #pml.sys.affinity()),
      help = "the most" },
    { name = "mpi", metavar = "NAME", help = "openmpi or mpich; otherwise what mpirun is" },
    { name = "launch", metavar = "OPTIONS", help = "further options for mpirun, such as '--hostfile hosts'" },
    { name = "limit", type = "integer", metavar = "S", min = 1, default = 600, help = "seconds that a run may take" },
  },
  examples = {
    "pmlua scripts/scaling.lua --quick",
    "pmlua scripts/scaling.lua --program sort 4000000 1",
    "pmlua scripts/scaling.lua --ranks 16 --mpi mpich -- ./solver --cells {n}000",
  },
  measure = function(_, p) return lab:measure(p) end,
  columns = {
    { name = "efficiency", unit = "%", description = "against one rank", value = figure "efficiency" },
    { name = "mpi", unit = "%", description = "of the ranks' time, in functions of MPI", value = figure "mpi" },
    { name = "balance", unit = "%", description = "time of a rank outside MPI, mean over longest", value = figure "balance" },
    { name = "communication", unit = "%", description = "longest time of a rank outside MPI over the time",
      value = figure "communication" },
    { name = "computation", unit = "%", description = "time outside MPI on one rank over that of all",
      value = figure "computation" },
    { name = "per_cpu", unit = "", description = "ranks on a cpu; more than 1 is oversubscribed",
      value = figure "per_cpu" },
  },
  analyse = function(run) write_report(run, lab) end,
  plot = "scaling",
}
