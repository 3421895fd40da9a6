-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/resume.lua - continue a run that was killed, interrupted or failed, in its folder.
--
-- Try:  pmlua SCRIPT & sleep 2; kill -KILL $!; pmlua SCRIPT --resume results/NAME/latest
--
-- The seed gives the same plan, so a cell and a round name a visit. Visits that are whole in samples.csv.gz are kept; all
-- others are made again. So the run ends with each visit once, however often it is killed and resumed.

local archive = require "pmlua.internal.experiment.archive"
local cells = require "pmlua.internal.experiment.cell"
local json = require "pmlua.json"
local killed = require "pmlua.internal.experiment.killed"
local results = require "pmlua.results"
local sorted = require "pmlua.internal.sorted"
local refuse = require "pmlua.core".failure.refuse

local M = {}

---@class pmlua.Resumed
---@field folder pmlua.Folder
---@field meta table of the run until now
---@field visits pmlua.ArchivedVisit[]
---@field metrics table<integer, table<integer, table<string, number>>> by cell, round and name

local ARCHIVE <const> = "/samples.csv.gz"

--- Open the folder of a run that can be continued. Its tables are first made of all samples.
---@param exp pmlua.Experiment
---@return pmlua.Resumed?, pmlua.Failure? failure
function M.open(path, exp)
  local folder, err, code = results.open(path)
  if not folder and code ~= "ENODATA" then return nil, err end
  folder = folder or results.empty(path)
  local meta = folder.meta
  if folder.status == "complete" then
    return refuse("EINVAL", folder.path .. ": the run is complete; a new run has no --resume")
  end
  if folder.status == "running" then return refuse("EBUSY", folder.path .. ": the run is still running") end
  if meta.simulation then return refuse("EINVAL", folder.path .. ": a simulation cannot be resumed", "start it again") end
  if meta.name ~= exp.name or not (math.tointeger(meta.seed) and type(meta.scale) == "number") then
    return refuse("EINVAL", ("%s: not a run of %s"):format(folder.path, exp.name))
  end
  return { folder = folder, meta = meta, visits = archive.visits(folder.path .. ARCHIVE),
    metrics = killed.metrics_of(folder, exp.metrics) }
end

--- As JSON has it: numbers, and tables in one order.
local function plain(v) return json.encode(json.decode(json.encode { v })) end

--- The first thing in which a run and its continuation differ.
---@param meta table of the run
---@param now table of the continuation
---@return pmlua.Failure?
function M.differs(meta, now)
  local machine = type(meta.machine) == "table" and meta.machine or {}
  for what, pair in sorted {
    script = { meta.script_sha256, now.script_sha256 }, ["list of factors"] = { meta.factors, now.factors },
    ["list of options"] = { meta.options, now.options }, ["number of samples"] = { meta.repeats, now.repeats },
    ["number of rounds"] = { meta.rounds, now.rounds }, processor = { machine.cpu, now.machine.cpu },
  } do
    if plain(pair[1]) ~= plain(pair[2]) then
      return select(2, refuse("EINVAL", ("--resume: the %s is not the same as before"):format(what), "start a new run"))
    end
  end
end

--- Whether the last visit is whole: zlib ends the bytes of each by the mark of a flush.
local function is_whole(path)
  local file <close> = require "pmlua.internal.file".open(path)
  return file and file:seek("end", -4) and file:read(4) == "\0\0\xFF\xFF"
end

--- Put the visits that are whole into the cells and into a new archive, which then takes the place of the old one.
---@param from pmlua.Resumed
---@param absorb fun(cell: pmlua.Cell, round: integer, position: integer, visited: table)
---@return pmlua.Failure? failure
function M.restore(run, from, absorb)
  local path, visits = run.folder.path .. ARCHIVE, from.visits
  if not is_whole(path) then visits[#visits] = nil end
  os.remove(path .. ".new")
  local err
  run.archive, err = archive.create(path .. ".new")
  if not run.archive then return err end
  run.done = {}
  for _, v in ipairs(visits) do
    local cell, order, position = run.cells[v.cell], run.plan[v.round] and run.plan[v.round].order or {}, nil
    for i, index in ipairs(order) do position = index == v.cell and i or position end
    local key = ("%d %d"):format(v.cell, v.round)
    if cell and position and #v.values > 0 and not run.done[key] then
      run.done[key] = true
      absorb(cell, v.round, position, { series = v.values, extra = from.metrics[v.cell] and from.metrics[v.cell][v.round] })
    end
  end
  for _, cell in ipairs(run.cells) do cells.tally(cell) end
  run.archive.path = path
  local ok, why = os.rename(path .. ".new", path)
  if not ok then return select(2, refuse("EIO", why)) end
  for _, name in ipairs { "/killed.json", "/samples.pmlog" } do os.remove(run.folder.path .. name) end
end

return M
