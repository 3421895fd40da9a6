-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/intercept_overhead/measure.lua - run the calling program in one of the ways, and time its calls batch by batch.
--
-- Try:  local m = require("intercept_overhead.measure").new(pml, { event = "task-clock" })
--       print(table.unpack((m:cell({ way = "profile", threads = 1 }, 5))))

local build = require "programs.build"
local ways = require "intercept_overhead.ways"

local M = {}

M.most_threads = 64
M.calls = 1000 -- calls of a batch
M.linking = "-L%s -lcalls -Wl,-rpath,%s -lpthread"
local time_limit_s = 120

---@class intercept_overhead.Measure
---@field folder programs.Folder with the program, its library, and what the tools leave
---@field command string pmlua
---@field libpmlua string
---@field event string
---@field no_wrapper string? why no wrapper was generated
local Measure = {}
Measure.__index = Measure

-- The command and the library, from where this code runs.
local function own_files(pml)
  local name = "libpmlua.so." .. pml.version:match "^%d+"
  local origin = require("pmlua.core").origin
  local folder = origin:match "^(.*)/[^/]*$" or "."
  local library
  for _, place in ipairs { "/", "/../lib/", "/../../", "/../../../" } do
    library = library or pml.sys.realpath(folder .. place .. name)
  end
  if not library then return nil, name .. " is not beside " .. origin end
  return pml.paths.command or "pmlua", library
end

local function compile(folder)
  local at = build.quote(folder.path)
  local steps = {
    { "library", "libcalls.so", { "calls_library.c" }, "-Wl,-soname,libcalls.so" },
    { "library", "by_hand.so", { "calls_by_hand.c" } },
    { "library", "audit.so", { "calls_audit.c" } },
    { "program", "calls", { "calls.c" }, M.linking:format(at, at) },
  }
  for _, step in ipairs(steps) do
    local path, err = folder[step[1]](folder, step[2], step[3], step[4])
    if not path then return nil, err end
  end
  return true
end

-- Generate pmlua's wrapper, and link the program with it in both ways; nil and why.
local function wrap(folder, command)
  local at = build.quote(folder.path)
  local steps = {
    ("wrap init wrapper --name calls --headers calls.h --cflags -I%s --ldflags -L%s --libs -lcalls"):format(
      build.quote(build.sources), at),
    "wrap build wrapper",
    "cc --wrap calls -- " .. folder:program_command("calls.linked", { "calls.c" }, M.linking:format(at, at)),
    "cc --wrap calls --runtime -- " .. folder:program_command("calls.before", { "calls.c" }, M.linking:format(at, at)),
  }
  for _, step in ipairs(steps) do
    local said, err = folder:run(("env LD_LIBRARY_PATH=%s PMLUA_WRAP_PATH=%s/wrapper/build %s %s"):format(at, at,
      build.quote(command), step), time_limit_s)
    if not said then return nil, err end
  end
  return true
end

---@param options { event: string }
---@return intercept_overhead.Measure? measure, string? err
function M.new(pml, options)
  local command, library = own_files(pml)
  if not command then return nil, library end
  local folder, err = build.folder()
  if not folder then return nil, err end
  local self = setmetatable({ folder = folder, command = command, libpmlua = library, event = options.event }, Measure)
  local ok, why = compile(folder)
  if not ok then
    folder:close()
    return nil, why
  end
  self.no_wrapper = select(2, wrap(folder, command))
  return self
end

-- Remove what the previous run left, so that it cannot pass for this run's.
function Measure:clean()
  self.folder:run("rm -rf seen recorded uftrace.data ltrace.out", 60)
end

local function numbers(text)
  local out = {}
  for word in text:gmatch "%S+" do out[#out + 1] = tonumber(word) end
  return out
end

--- Measure a cell.
---@param p { way: string, threads: integer }
---@param n integer batches of each thread
---@return number[]? samples nanoseconds per call, n of each thread, one thread after the other
---@return table|string about the run, or why it cannot be measured
function Measure:cell(p, n)
  local way = ways.named[p.way]
  local calls, batches = way.calls or M.calls, math.min(n, way.batches or n)
  if way.wrapped and self.no_wrapper then return nil, ("%s: %s"):format(p.way, self.no_wrapper) end
  local program = ("./%s %d %d %d %s"):format(way.wrapped or "calls", p.threads, batches, calls, way.mode or "")
  self:clean()
  local text, err = self.folder:run(way.around(self, program), time_limit_s)
  if not text then return nil, ("%s: %s"):format(p.way, err) end
  local samples = numbers(text)
  if #samples ~= batches * p.threads then
    return nil, ("%s: the program reported %d batches, not %d"):format(p.way, #samples, batches * p.threads)
  end
  local made = p.threads * (batches + 1) * calls -- each thread warms up by a batch
  local seen = way.seen and way.seen(self)
  return samples, { calls = made, seen = seen }
end

return M
