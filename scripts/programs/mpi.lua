-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/programs/mpi.lua - MPI programs: built by the compiler of one MPI, started by its mpirun, and the logs they leave.
--
-- Try:  local job <close> = assert(require("programs.mpi").new {})
--       print(job.title, job:run(2, { job:program "stencil", "200", "100" }, 60))

local build = require "programs.build"
local core = require "pmlua.core"
local lfs = require "lfs"
local paths = require "pmlua.internal.wrap.paths"
local preload = require "pmlua.internal.preload"
local sections = require "pmlua.sections"

local M = {}

--- Programs of ours that solve something, sorted.
M.programs = { "gradient", "sort", "stencil" }

local kinds = {
  openmpi = { title = "Open MPI", version = "%(Open[^)]*%) ([%d.]+)", package = "libopenmpi-dev openmpi-bin",
    variable = "-x %s=%s", always = "--oversubscribe", root = "--allow-run-as-root" },
  mpich = { title = "MPICH", version = "HYDRA.*Version:%s*([%d.]+)", package = "libmpich-dev mpich", variable = "-genv %s %s",
    always = "" },
}
local order = { "openmpi", "mpich" }

---@class programs.Job
---@field title string the MPI with its version
---@field cpus integer that this process may use
local Job = {}
Job.__index = Job

--- Remove the built files; idempotent.
function Job:close()
  self.folder:close()
end
Job.__close = Job.close

local function output(command)
  local f <close> = io.popen(command .. " 2>/dev/null </dev/null")
  return f:read "a"
end

-- The MPI whose commands end so: its kind and version.
local function identify(ending)
  for _, command in ipairs { "mpirun" .. ending, "mpicc" .. ending } do
    if not build.is_here(command) then return nil end
  end
  local text = output("mpirun" .. ending .. " --version")
  for name, kind in pairs(kinds) do
    local version = text:match(kind.version)
    if version then return name, version end
  end
end

-- Several can be installed side by side; then their commands end in .openmpi and .mpich.
local function find(wanted)
  for _, ending in ipairs(wanted and { "." .. wanted, "" } or { "", ".openmpi", ".mpich" }) do
    local name, version = identify(ending)
    if name and (not wanted or name == wanted) then return name, version, ending end
  end
  local kind = kinds[wanted or order[1]]
  return nil, ("%s not found; mpirun and mpicc are needed: apt-get install %s"):format(wanted and kind.title or "MPI",
    kind.package)
end

--- An MPI, ready to build and to run.
---@param options { mpi: string?, launch: string? } openmpi or mpich, nil: what mpirun is; further options for mpirun
---@return programs.Job? job, string? err
function M.new(options)
  if options.mpi and not kinds[options.mpi] then
    return nil, ("option --mpi is %s; choose %s"):format(options.mpi, table.concat(order, " or "))
  end
  local name, version, ending = find(options.mpi)
  if not name then return nil, version end
  local folder, err = build.folder("mpicc" .. ending)
  if not folder then return nil, err end
  local kind = kinds[name]
  local self = setmetatable({ kind = kind, title = kind.title .. " " .. version, folder = folder, built = {},
    cpus = #assert(core.sys.affinity()), mpirun = { "mpirun" .. ending, kind.always, options.launch } }, Job)
  if kind.root and output "id -u":find "^0%s" then table.insert(self.mpirun, 2, kind.root) end
  return self
end

--- A program of ours, compiled when it is first asked for; nil and why.
---@return string? path, string? err
function Job:program(name)
  if self.built[name] then return self.built[name] end
  local include, err = paths.include()
  if not include then return nil, err end
  local library = build.quote(paths.library())
  local path, refused = self.folder:program(name, { "mpi/" .. name .. ".c" },
    ("-DWITH_PMLUA -I%s -L%s -lpmlua -lm -Wl,-rpath,%s"):format(build.quote(include), library, library))
  self.built[name] = path
  return path, refused
end

local COMPLAINT = 160 -- characters

-- The first paragraph on standard error: launchers frame their message and print it after the program's.
local function complaint(folder, last)
  local said = {}
  for line in io.lines(folder.path .. "/stderr") do
    if line:find "%w" then said[#said + 1] = line elseif #said > 0 then break end
  end
  return #said > 0 and table.concat(said, " "):sub(1, COMPLAINT) or last
end

-- The command line that starts it where this process is.
function Job:line(ranks, words, variables)
  local line = { "cd", build.quote(lfs.currentdir()), "&&" }
  table.move(self.mpirun, 1, #self.mpirun, #line + 1, line)
  for _, v in ipairs(variables) do line[#line + 1] = self.kind.variable:format(v[1], build.quote(v[2])) end
  line[#line + 1] = ("-n %d"):format(ranks)
  for _, word in ipairs(words) do line[#line + 1] = build.quote(word) end
  return table.concat(line, " ")
end

--- Run a program, in the working directory of this process.
---@param limit integer seconds
---@param variables? string[][] names and values that the ranks have in their environment
---@return string? text what it wrote to standard output
---@return string? err
function Job:run(ranks, words, limit, variables)
  local text, err = self.folder:run(self:line(ranks, words, variables or {}), limit)
  return text, not text and complaint(self.folder, err) or nil
end

-- The logs of the ranks that used sections.
local function read_logs(folder, ranks)
  if output("ls " .. build.quote(folder)) == "" then return nil, "no rank left a log; is the program dynamically linked?" end
  local processes, err = sections.read_all { folder }
  if not processes then return nil, tostring(err) end
  local with, size = {}, 0
  for _, p in ipairs(processes) do
    if #p.sections > 0 then with[#with + 1], size = p, math.max(size, p.size or 1) end
  end
  if #with == 0 then return nil, "it has no sections; mark the measured parts by pml_section_start and _stop" end
  if #with == ranks and size == ranks then return with end
  return nil, ("%d ranks were started, and %d processes of a job of %d have sections; are mpicc and mpirun of the same MPI?")
    :format(ranks, #with, size)
end

--- Run a program with its sections and its calls of MPI recorded.
---@param limit integer seconds
---@return pmlua.SectionProcess[]? processes a rank each, in order; `name` is the log
---@return string? err
function Job:record(ranks, words, limit)
  local library, missing = preload.library "record"
  if not library then return nil, tostring(missing) end
  local logs = self.folder.path .. "/logs"
  self.folder:run("rm -rf logs; mkdir logs", 60)
  local text, err = self:run(ranks, words, limit, { { "LD_PRELOAD", preload.with(library) }, { "PMLUA_RECORD_DIR", logs },
    { "PMLUA_RECORD_SYM", "MPI_*" } })
  if not text then return nil, err end
  return read_logs(logs, ranks)
end

--- Ranks on a cpu of the host that has most of them. Other hosts count as having as many cpus as this one.
---@param hosts string[] of each rank
function Job:per_cpu(hosts)
  local on, most = {}, 0
  for _, host in ipairs(hosts) do
    on[host] = (on[host] or 0) + 1
    most = math.max(most, on[host])
  end
  return most / self.cpus
end

return M
