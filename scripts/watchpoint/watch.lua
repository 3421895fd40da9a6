-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/watchpoint/watch.lua - run the program, watched or not, and keep the accesses of the last run of each loop.
--
-- Try:  pmlua scripts/watchpoint.lua --quick --no-plot

local lfs = require "lfs"

local M = { threads = { chunks = 4, static = 2, dynamic = 2 } }
M.__index = M

local points = {
  chunks = { { name = "matmul_sub", access = "x" }, { name = "matvec_sub", access = "x" } },
  static = { { name = "d_var", content = true } },
}
points.dynamic = points.static

local seconds_per_ns = 1e-9
local attempts = 10

function M.new(pml, options)
  return setmetatable({ pml = pml, options = options, runs = {}, seconds = {} }, M)
end

--- nil and why, if there are no breakpoints or the program is missing.
function M:possible(p)
  if not self.pml.paths.programs or not lfs.attributes(self.pml.paths.programs .. "/watched") then
    return nil, "the program to watch is not built; run make all"
  end
  if p.watched == "no" then return true end
  return self.pml.watchpoint.available()
end

function M:command(p)
  local o = self.options
  local program = self.pml.paths.programs .. "/watched"
  local set = { "OMP_NUM_THREADS=" .. M.threads[p.loop], "OMP_DYNAMIC=false" }
  if p.loop == "chunks" then return { program, "chunks", tostring(o.regions) }, set end
  set[3] = "OMP_SCHEDULE=" .. (p.loop == "static" and "static" or "dynamic," .. o.chunk)
  return { program, "critical", tostring(o.writes) }, set
end

-- Run the words with their output in a file, by a shell.
local function into_file(words, file)
  local line = { "sh", "-c", 'out=$0; exec "$@" >"$out"', file }
  return table.move(words, 1, #words, #line + 1, line)
end

local function plain(pml, words, set)
  local line = { "env" }
  table.move(set, 1, #set, 2, line)
  table.move(words, 1, #words, #line + 1, line)
  local command <close> = assert(pml.command.spawn(line))
  assert(command:start())
  return command:wait()
end

function M:once(p, dir)
  local words, set = self:command(p)
  local line, file = into_file(words, dir .. "/seconds"), dir .. "/seconds"
  local ended, err
  if p.watched == "yes" then
    local options = { dir = dir, values = 2 * 22 * 506 * self.options.regions + self.options.writes + 100000,
                      object = words[1], set = set }
    ended, err = self.pml.watchpoint.run(line, points[p.loop], options)
  else
    ended, err = plain(self.pml, line, set)
  end
  if not ended then return nil, err end
  if ended.status ~= 0 then return nil, "the program failed" end
  local f <close> = assert(io.open(file))
  return f:read "n", (ended.user_ns + ended.system_ns) * seconds_per_ns
end

local function key(p) return p.loop .. p.watched end

-- Run once in a separate folder: the time, the processor time, and the recorded data.
local function in_folder(self, p)
  local dir = os.tmpname()
  os.remove(dir)
  lfs.mkdir(dir)
  local seconds, cpu = self:once(p, dir)
  local processes = seconds and p.watched == "yes" and assert(self.pml.watchpoint.read(dir)) or {}
  os.execute("rm -rf '" .. dir .. "'")
  if not seconds then return nil, cpu end
  if p.watched == "yes" and #processes ~= 1 then return nil, "the run recorded no access" end
  return seconds, cpu, processes[1]
end

-- The same, again if a hypervisor lost the CPU's debug registers, since accesses are missing then.
local function whole(self, p)
  for _ = 1, attempts do
    local seconds, cpu, process = in_folder(self, p)
    if not process or process.unexplained == 0 then return seconds, cpu, process end
  end
  return nil, "debug registers were lost"
end

--- Run the loop n times: its time in each run.
function M:measure(p, n)
  local samples = {}
  self.seconds[key(p)] = self.seconds[key(p)] or {}
  for i = 1, n do
    local seconds, cpu, process = whole(self, p)
    if not seconds then return nil, cpu end
    self.runs[key(p)] = process
    samples[i] = seconds
    table.insert(self.seconds[key(p)], cpu)
  end
  return samples
end

--- The accesses of a loop's last run; nil if it was not watched.
function M:run_of(loop) return self.runs[loop .. "yes"] end

function M:accesses(p)
  local run = self.runs[key(p)]
  if not run then return nil end
  local n = 0
  for _, lane in ipairs(run.lanes) do n = n + lane.accesses end
  return n
end

function M:cpu(p)
  local all = self.seconds[key(p)]
  if not all or #all == 0 then return nil end
  return self.pml.stats.median(all)
end

--- Microseconds of processor time per access.
function M:cost(p)
  local with, without, n = self:cpu(p), self:cpu { loop = p.loop, watched = "no" }, self:accesses(p)
  return p.watched == "yes" and with and without and n and n > 0 and (with - without) / n * 1e6 or nil
end

return M
