-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/results.lua - the folder of a run: made, written so that a kill leaves it readable, opened again.
--
-- Try:  local r = assert(require("pmlua.results").open "results/read_overhead/latest");  print(r.status, #r.data.rows)
--
-- Each file is written under a random name beside its own and moved there: a reader gets the last whole version, and
-- a link planted under either name is not followed.

local disk = require "pmlua.internal.file"
local dat = require "pmlua.internal.dat"
local json = require "pmlua.json"
local sorted = require "pmlua.internal.sorted"
local lfs = require "lfs"
local core = require "pmlua.core"
local refuse = core.failure.refuse

---@class pml.results
local M = {}

local function make_folders(path)
  local made = path:sub(1, 1) == "/" and "" or "."
  for part in path:gmatch("[^/]+") do
    made = made .. "/" .. part
    if lfs.attributes(made, "mode") ~= "directory" then
      local ok, err = lfs.mkdir(made)
      -- another run may have made it in between
      if not ok and lfs.attributes(made, "mode") ~= "directory" then
        return refuse("EIO", ("cannot make the folder %s: %s"):format(path, err), "name another folder with -o DIR")
      end
    end
  end
  return true
end

-- `latest` is replaced by a rename, so it exists at every moment.
local function point_latest(parent, stamp)
  local temporary = ("%s/.latest.%s"):format(parent, stamp)
  os.remove(temporary)
  local ok, err = lfs.link(stamp, temporary, true)
  if ok then ok, err = os.rename(temporary, parent .. "/latest") end
  if not ok then
    os.remove(temporary)
    return refuse("EIO", ("cannot point %s/latest to this run: %s"):format(parent, err))
  end
  return true
end

---@class pmlua.Folder
---@field path string
local Folder = {}
Folder.__index = Folder

--- Make the folder of a new run: BASE/NAME/20261121T013000Z, with a suffix -2, -3 ... when two start in one second.
---@param base string
---@param name string
---@return pmlua.Folder? folder, pmlua.Failure? failure
function M.create(base, name)
  local parent = base .. "/" .. name
  local ok, err = make_folders(parent)
  if not ok then return nil, err end
  local stamp = os.date("!%Y%m%dT%H%M%SZ")
  for i = 1, 1000 do
    local own = i == 1 and stamp or ("%s-%d"):format(stamp, i)
    local path = parent .. "/" .. own
    local made, why, code = lfs.mkdir(path)
    if made then
      local pointed, no_link = point_latest(parent, own)
      return setmetatable({ path = path, link_error = not pointed and no_link or nil }, Folder)
    end
    if code ~= 17 and lfs.symlinkattributes(path, "mode") == nil then -- not EEXIST
      return refuse("EIO", ("cannot make the folder %s: %s"):format(path, why), "name another folder with -o DIR")
    end
  end
  return refuse("EEXIST", ("cannot make a folder with a new name in %s"):format(parent))
end

--- Write a file of the folder, whole or not at all.
---@param name string
---@param text string
---@return boolean? ok, pmlua.Failure? failure
function Folder:write(name, text)
  local ok, err = disk.write(self.path .. "/" .. name, text)
  return ok, err
end

--- Write a table of the folder.
---@param name string
---@param t pmlua.Table
function Folder:write_table(name, t) return self:write(name, dat.format(t)) end

-- Field 22 of /proc/PID/stat. Together with the pid it identifies a process, because pids are reused. A zombie counts as ended.
local function start_time(pid)
  local text, fields = disk.text(("/proc/%d/stat"):format(pid)) or "", {}
  for field in (text:match("%) (.*)$") or ""):gmatch("%S+") do fields[#fields + 1] = field end
  return fields[1] ~= "Z" and tonumber(fields[20]) or nil
end

--- The identity of a running process for meta.json.
---@param pid integer
---@return { pid: integer, start_time: integer?, host: string }
function M.process(pid)
  return { pid = pid, start_time = start_time(pid), host = core.sys.uname().nodename }
end

local DAY_S <const> = 86400

--- Whether some file of the run was written to within a day.
local function is_fresh(path)
  for _, name in ipairs { "meta.json", "data.dat", "samples.pmlog" } do
    if os.time() - (lfs.attributes(path .. "/" .. name, "modification") or 0) < DAY_S then return true end
  end
  return false
end

-- "running" is only true while the process that wrote it lives. A process on another host cannot be checked: it is assumed to be
-- alive for a day, because reading the run as killed would write tables beside the live process's tables.
local function true_status(meta, path)
  if meta.status ~= "running" then return meta.status end
  local process = type(meta.process) == "table" and meta.process or {}
  local pid, host = math.tointeger(process.pid), process.host
  if type(host) == "string" and host ~= core.sys.uname().nodename and is_fresh(path) then
    return "running", ("is running on %s, or was killed there within a day"):format(host)
  end
  if pid and process.start_time and start_time(pid) == process.start_time then return "running" end
  return "incomplete"
end

-- The optional fields of meta.json and their types: words, { LIST } for a list, or names with types. The file may be foreign.
local LIST <const> = 1
local SHAPES <const> = {
  unit = "string", sample_unit = "string", description = "string", script = "string", script_sha256 = "string",
  started = "string", ended = "string", error = "string", shell = "string", repeats = "number", rounds = "number",
  rounds_done = "number",
  samples = "number", scale = "number", seed = "number", calls = "number", warmup = "number", quick = "boolean",
  versions = "table", options = "table", plot = "string or table", simulation = "table",
  unmeasured = { "table" }, commands = { "table" },
  command = { "string" }, warnings = { "string" },
  machine = { clock = { name = "string", ticks_per_second = "number", cost_ns = "number" }, cpu = "string", cpus = "number" },
  process = { pid = "number", host = "string" }, factors = { { name = "string", levels = "table" } },
  columns = { { name = "string" } },
  files = { { name = "string", description = "string" } }, metrics = { { name = "string", unit = "string" } },
}

--- The error in a value that should have a shape; nil: none. A missing value is valid, except in a list.
local function misshapen(v, shape, at)
  if v == nil then return nil end
  local kind = type(shape) == "table" and "table" or shape
  if not kind:find(type(v), 1, true) then return ("%s is not a %s"):format(at, kind) end
  if type(shape) ~= "table" then return nil end
  if not shape[LIST] then
    for key, inner in sorted(shape) do
      local wrong = misshapen(v[key], inner, at .. "." .. key)
      if wrong then return wrong end
    end
    return nil
  end
  for i, item in ipairs(v) do
    local wrong = misshapen(item, shape[LIST], ("%s[%d]"):format(at, i))
      or type(shape[LIST]) == "table" and shape[LIST].name and item.name == nil and ("%s[%d] has no name"):format(at, i)
    if wrong then return wrong end
  end
end


local known = { running = true, complete = true, interrupted = true, failed = true }

local function read_meta(path)
  local text, err = disk.read(path)
  if not text then return nil, err end
  local meta, why = json.decode(text)
  if type(meta) ~= "table" then return refuse("EFORMAT", ("%s: not JSON: %s"):format(path, why or "no object")) end
  if type(meta.name) ~= "string" or not known[meta.status] then
    return refuse("EFORMAT", path .. ": the name or the status of the run is missing")
  end
  for key, shape in sorted(SHAPES) do
    local wrong = misshapen(meta[key], shape, key)
    if wrong then return refuse("EFORMAT", ("%s: %s"):format(path, wrong)) end
  end
  return meta
end

local function has_samples(data)
  for _, row in ipairs(data.rows) do
    if not row.samples or row.samples > 0 then return true end
  end
  return #data.rows == 0
end

--- The folder of a run that has no samples, and no tables.
---@package
---@param path string
---@return pmlua.Folder?, pmlua.Failure? failure
function M.empty(path)
  local meta, err = read_meta(path .. "/meta.json")
  if not meta then return nil, err end
  return setmetatable({ path = path, meta = meta, status = (true_status(meta, path)) }, Folder)
end

local function nothing_yet(path, status, ending)
  if status == "running" then
    return refuse("ENODATA", ("%s: no cell has been measured yet: the run %s"):format(path, ending or "is running"),
      "look again later")
  end
  return refuse("ENODATA", path .. ": the run ended before its first cell was measured", "start it again")
end

local NAME_A_RUN <const> = "name a folder such as results/NAME/latest"

--- Open a run's folder. For a run that was killed, its tables are first made from the samples that it left.
---@param path string also .../latest
---@return {path: string, meta: table, status: string, ending: string, complete: boolean, data: table, rounds: table?}? run
---@return pmlua.Failure? failure one line that names the file
function M.open(path)
  path = #path > 1 and path:gsub("/+$", "") or path
  local mode, err = lfs.attributes(path, "mode")
  if not mode then
    return refuse("ENOENT", ("%s: %s"):format(path, (err or "No such file or directory"):gsub("^.*: ", "")), NAME_A_RUN)
  end
  if mode ~= "directory" then return refuse("ENOTDIR", ("%s is not the folder of a run"):format(path), NAME_A_RUN) end
  local _, _, missing = lfs.attributes(path .. "/meta.json", "mode")
  if missing == 2 then -- ENOENT
    return refuse("ENOENT", path .. ": not the folder of a run: it has no meta.json", NAME_A_RUN)
  end
  local meta, why = read_meta(path .. "/meta.json")
  if not meta then return nil, why end
  local status, ending = true_status(meta, path)
  if meta.status ~= "complete" and not lfs.attributes(path .. "/data.dat") then return nothing_yet(path, status, ending) end
  local data
  data, why = dat.read(path .. "/data.dat")
  if not data then return nil, why end
  local rounds
  if lfs.attributes(path .. "/rounds.dat", "mode") then
    rounds, why = dat.read(path .. "/rounds.dat")
    if not rounds then return nil, why end
  end
  local killed
  if status == "incomplete" and lfs.attributes(path .. "/samples.pmlog", "mode") == "file" then
    local left, folder = require "pmlua.internal.experiment.killed", setmetatable({ path = path }, Folder)
    killed = left.known(folder)
    if not killed then
      killed, why = left.recover(folder, meta, data)
      if not killed then return nil, why end
      rounds = dat.read(path .. "/rounds.dat")
    end
  end
  if (status == "incomplete" or status == "running") and not has_samples(data) then
    return nothing_yet(path, status, ending)
  end
  return setmetatable({
    path = path, meta = meta, status = status, complete = status == "complete", data = data, rounds = rounds,
    ending = killed and ("was killed; %d samples of %d"):format(killed.samples, killed.planned) or ending or status,
  }, Folder)
end

return M
