-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/scaling/lab.lua - the program, run with some ranks, and what each rank did in its sections.
--
-- Try:  local lab = require("scaling.lab").new { ranks = 2, program = "sort", command = {}, limit = 60 }
--       print(lab:measure { scaling = "strong", ranks = 2 })

local mpi = require "programs.mpi"
local preload = require "pmlua.internal.preload"
local sections = require "pmlua.sections"

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
---@return table? lab
---@return string? err
function M.new(options)
  local theirs = not options.program and #options.command > 0
  local name = options.program or "stencil"
  if not usual[name] then
    return nil, ("option --program is %s; choose %s"):format(name, table.concat(mpi.programs, ", "))
  end
  if theirs then
    local path, missing = preload.locate(options.command[1])
    if not path then return nil, missing end
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

--- Ranks on a cpu, where all of them are on this machine.
function Lab:per_cpu(ranks) return ranks / self.job.cpus end

-- Of each section the time of its own in each rank.
local function by_section(processes)
  local list, by = {}, {}
  for rank, process in ipairs(processes) do
    for _, s in ipairs(process.sections) do
      if not by[s.label] then
        by[s.label] = { label = s.label, communicates = s.type == "communication", seconds = {} }
        list[#list + 1] = by[s.label]
      end
      by[s.label].seconds[rank] = sections.merge(s.rows).self_ns * 1e-9
    end
  end
  return list
end

---@class scaling.Run
---@field seconds number of the slowest rank, in its sections
---@field computes number[] seconds of each rank in sections of calculation
---@field communicates number[] in those of communication
---@field sections table[] each with label, communicates and seconds of each rank

---@return scaling.Run
local function figures_of(processes)
  local run = { seconds = 0, computes = {}, communicates = {}, sections = by_section(processes) }
  for rank in ipairs(processes) do
    local computes, communicates = 0, 0
    for _, s in ipairs(run.sections) do
      local t = s.seconds[rank] or 0
      if s.communicates then communicates = communicates + t else computes = computes + t end
    end
    run.computes[rank], run.communicates[rank] = computes, communicates
    run.seconds = math.max(run.seconds, computes + communicates)
  end
  return run
end

--- One run: its seconds, and where they went.
---@return number? seconds
---@return scaling.Run|string run or why there is none
function Lab:measure(p)
  local run, err = self.job:run(p.ranks, self.words(p.scaling, p.ranks), self.limit)
  if not run then return nil, err end
  if not run.processes then return nil, self.title .. " has no sections; mark its parts with pml_section_start and _stop" end
  local figures = figures_of(run.processes)
  return figures.seconds, figures
end

return M
