-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/ring/lab.lua - the program that sends messages, run once for each cell and round, and what it printed.
--
-- Try:  local lab = require("ring.lab").new { ranks = 2, limit = 60 }
--       print(table.concat(lab:measure({ between = "around", bytes = 8 }, 5), " "))

local median = require("pmlua.stats").median
local mpi = require "programs.mpi"

local M = {}

local Lab = {}
Lab.__index = Lab

local MOVED = 1 << 20 -- bytes in a sample, and at most as many messages
local MESSAGES = 100

---@param options { ranks: integer, mpi: string?, launch: string?, limit: integer }
---@return table? lab, string? err
function M.new(options)
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

return M
