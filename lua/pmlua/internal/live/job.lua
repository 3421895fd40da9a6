-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/job.lua - the events of all ranks of a running job, read together: sums, extremes, medians.
--
-- Try:  mpirun -n 4 pmlua live --name SOLVER -- ./solver & pmlua query --job SOLVER
--
-- A job is the programs of one name, on this host or on several. Each other host runs `pmlua query --job --json` by ssh, whose
-- result has the values of its ranks, so that quantiles over all ranks are exact. A rank that is silent is listed and has no
-- value in any row.

local core = require "pmlua.core"
local json = require "pmlua.json"
local quote = require "pmlua.internal.quote"
local refuse = core.failure.refuse

local M = {}

local SSH_S <const> = 20 -- until ssh is stopped
local statistics = { { "min", ":MIN" }, { "q1", ":Q1" }, { "median", ":MED" }, { "q3", ":Q3" }, { "max", ":MAX" } }

---@class pmlua.LiveJob
---@field ranks { host: string, pid: integer, name: string, rank: integer?, up: boolean }[]
---@field time_s number of the reading
---@field rows { name: string, kind: string, description: string?, ranks: integer[], values: number[] }[] positions in `ranks`

local function add_value(job, index, name, like, rank, value)
  if type(value) ~= "number" then value = tonumber(value) end
  if not value then return end
  local row = index[name]
  if not row then
    row = { name = name, kind = like.kind, description = like.description, ranks = {}, values = {} }
    index[name], job.rows[#job.rows + 1] = row, row
  end
  row.ranks[#row.ranks + 1], row.values[#row.values + 1] = rank, value
end

--- Read the ranks on this host.
---@param scrape pmlua.Scrape
---@return pmlua.LiveJob? job, pmlua.Failure? failure
function M.here(scrape)
  local programs, err = scrape:values()
  if not programs then return nil, err end
  local job, index, host = { time_s = core.clock.realtime_ns() / 1e9, ranks = {}, rows = {} }, {}, core.sys.uname().nodename
  for _, p in ipairs(programs) do p.rank = p.rank or scrape.rank_of(p) end
  table.sort(programs, function(a, b) return (a.rank or a.app.pid) < (b.rank or b.app.pid) end)
  for i, p in ipairs(programs) do
    job.ranks[i] = { host = host, pid = p.app.pid, name = p.app.name, up = p.up, rank = p.rank,
      stopped = p.stopped or nil }
    for _, row in ipairs(p.up and p.reading:rows() or {}) do
      add_value(job, index, row.name, row, i, row.value)
      for _, s in ipairs(row.recorder and statistics or {}) do
        add_value(job, index, row.name .. s[2], { kind = "quantile", description = row.description }, i, row.recorder[s[1]])
      end
    end
  end
  return job
end

local function is_job(v)
  if type(v) ~= "table" or type(v.ranks) ~= "table" or type(v.rows) ~= "table" then return false end
  for _, r in ipairs(v.ranks) do
    if type(r) ~= "table" or type(r.host) ~= "string" or type(r.pid) ~= "number" then return false end
  end
  for _, row in ipairs(v.rows) do
    if type(row) ~= "table" or type(row.name) ~= "string" or type(row.kind) ~= "string"
      or type(row.ranks) ~= "table" or type(row.values) ~= "table"
      or #row.ranks ~= #row.values then return false end
    for k, at in ipairs(row.ranks) do
      if not v.ranks[at] or type(row.values[k]) ~= "number" then return false end
    end
  end
  return true
end

--- Add the ranks and values of another host.
local function add_job(job, index, other)
  local before = #job.ranks
  for _, rank in ipairs(other.ranks) do job.ranks[#job.ranks + 1] = rank end
  for _, row in ipairs(other.rows) do
    for k, at in ipairs(row.ranks) do
      add_value(job, index, row.name, row, before + math.tointeger(at), row.values[k])
    end
  end
end

--- Read the ranks on other hosts by ssh, all at the same time.
---@param hosts string[]
---@param name string
---@param patterns string[]
---@param patience number
---@return pmlua.LiveJob? job, pmlua.Failure? failure of the first host that gave none
function M.on(hosts, name, patterns, patience)
  local words = { "pmlua", "query", "--job", "--json", "--patience", ("%gs"):format(patience), quote.shell(name) }
  for i, pattern in ipairs(patterns) do words[7 + i] = quote.shell(pattern) end
  local remote, pipes = quote.shell(table.concat(words, " ")), {}
  for i, host in ipairs(hosts) do
    if not host:find "^[%w_][%w_@.:-]*$" then return refuse("EINVAL", ("'%s' is not the name of a host"):format(host)) end
    pipes[i] = io.popen(("timeout %d ssh -o BatchMode=yes %s %s"):format(SSH_S, quote.shell(host), remote))
  end
  local job, index, failure = { time_s = core.clock.realtime_ns() / 1e9, ranks = {}, rows = {} }, {}, nil
  for i, pipe in ipairs(pipes) do
    local other = json.decode(pipe:read "a")
    pipe:close()
    if is_job(other) then add_job(job, index, other)
    else failure = failure or core.failure.new { code = "EREMOTEIO", text = hosts[i] .. ": no answer by ssh",
      remedy = ("try: ssh %s pmlua query --job '*'"):format(hosts[i]) } end
  end
  if failure then return refuse(failure) end
  return job
end

--- The statistics over ranks of a row: sum, extremes and quartiles, and the first ranks that have the least and the most.
---@return table
function M.summary(row)
  local quantile, s = require "pmlua.stats".quantile, { sum = 0, n = #row.values }
  s.least, s.q1, s.median, s.q3, s.most = quantile(row.values, 0), quantile(row.values, 0.25), quantile(row.values, 0.5),
    quantile(row.values, 0.75), quantile(row.values, 1)
  for k, v in ipairs(row.values) do
    s.sum = s.sum + v
    s.least_rank = s.least_rank or v == s.least and row.ranks[k] or nil
    s.most_rank = s.most_rank or v == s.most and row.ranks[k] or nil
  end
  return s
end

--- The statistics over ranks as rows of an answer, which pmlua.internal.live.series draws over time.
---@return { time_s: number, rows: table[] }
function M.answer(job)
  local answer = { time_s = job.time_s, rows = {} }
  for _, row in ipairs(job.rows) do
    local s, what = M.summary(row), row.name:match "[^:]*$"
    for _, statistic in ipairs { "sum", "least", "q1", "median", "q3", "most" } do
      if statistic ~= "sum" or row.kind ~= "quantile" then
        table.insert(answer.rows, { name = row.name .. " " .. statistic, description = row.description, value = s[statistic],
          meaning = what .. (statistic == "sum" and ", sum" or ", by rank") })
      end
    end
  end
  return answer
end

--- The name of a rank: its number, or its process.
local function name_of(rank)
  return rank.rank and ("%d"):format(rank.rank) or ("%s:%d"):format(rank.host, rank.pid)
end

--- A job as a table.
---@param job pmlua.LiveJob
---@return string text, string[] silent a sentence for each rank that is silent
function M.text(job)
  local view = require "pmlua.internal.live.view"
  local rows = { { "NAME", "RANKS", "SUM", "LEAST", "RANK", "Q1", "MEDIAN", "Q3", "MOST", "RANK" } }
  for _, row in ipairs(job.rows) do
    local s = M.summary(row)
    local sum = row.kind == "quantile" and "-" or view.number(s.sum)
    rows[#rows + 1] = { row.name, ("%d"):format(s.n), sum, view.number(s.least), name_of(job.ranks[s.least_rank]),
      view.number(s.q1), view.number(s.median), view.number(s.q3), view.number(s.most), name_of(job.ranks[s.most_rank]) }
  end
  local silent = {}
  for _, rank in ipairs(job.ranks) do
    if not rank.up then
      silent[#silent + 1] = ("%s (%s, pid %d on %s) is silent: %s"):format(
        rank.rank and "rank " .. name_of(rank) or "a rank", rank.name, rank.pid, rank.host,
        rank.stopped and "a signal or a debugger stopped it" or "is it overloaded?")
    end
  end
  return view.plain(rows, { false, true, true, true, true, true, true, true, true, true }), silent
end

--- A job as JSON.
function M.json(job)
  local rows = json.array()
  for i, row in ipairs(job.rows) do
    local s = M.summary(row)
    s.name, s.kind, s.description, s.ranks, s.values = row.name, row.kind, row.description, row.ranks, row.values
    rows[i] = s
  end
  return json.line { ranks = json.array(job.ranks), rows = rows }
end

return M
