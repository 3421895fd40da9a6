-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/scaling/lab.lua - the program, run with some ranks, and what each rank did in its sections.
--
-- Try:  local lab = require("scaling.lab").new { ranks = 2, program = "sort", command = {}, limit = 60 }
--       print(lab:measure { scaling = "strong", ranks = 2 })

local core = require "pmlua.core"
local mpi = require "programs.mpi"
local preload = require "pmlua.internal.preload"

local M = {}

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
    local out = {}
    for i, word in ipairs(words) do out[i] = word:gsub("{n}", tostring(ranks)) end
    return out
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
function M.new(options)
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
  local hosts = {}
  for rank, process in ipairs(processes) do hosts[rank] = process.host end
  run.per_cpu = self.job:per_cpu(hosts)
  return run.seconds, run
end

return M
