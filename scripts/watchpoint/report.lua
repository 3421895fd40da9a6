-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/watchpoint/report.lua - write accesses.dat, calls.dat, content.dat and a trace of each loop, and print the counts.
--
-- Try:  pmlua scripts/watchpoint.lua --quick --no-plot && head results/watchpoint/latest/accesses.dat


local M = {}

local loops = { "chunks", "static", "dynamic" }
local drawn = 1500 -- most accesses drawn per thread; the traces have all

-- Pick the accesses of a lane to draw: evenly spaced, with the first and the last.
local function thin(lane, each)
  local n = #lane.ns
  local step = math.max(1, n // drawn)
  for k = 1, n, step do each(k) end
  if n > 1 and (n - 1) % step ~= 0 then each(n) end
end

local function accesses(lab)
  local rows = {}
  for _, loop in ipairs(loops) do
    local run = lab:run_of(loop)
    for _, lane in ipairs(run and run.lanes or {}) do
      local least, most = math.huge, -math.huge
      for _, v in ipairs(lane.value) do least, most = math.min(least, v), math.max(most, v) end
      local content = run.points[lane.point].content ~= "none" and #lane.value > 0
      rows[#rows + 1] = {
        loop, run.points[lane.point].name, lane.thread, lane.accesses, content and least or nil, content and most or nil,
        lane.first_ns and lane.first_ns / 1e6, lane.last_ns and lane.last_ns / 1e6, lane.late, lane.dropped,
      }
    end
  end
  return { columns = {
    { "loop", "text", "loop of the program" }, { "symbol", "text", "watched symbol" },
    { "thread", "", "number among the threads with accesses; 0: the oldest" },
    { "accesses", "", "calls, or writes" }, { "least", "", "smallest value written" },
    { "most", "", "largest value written" }, { "first", "ms", "first access, since the program started" },
    { "last", "ms", "last access, since the program started" },
    { "late", "", "accesses seen after the thread had moved on" }, { "dropped", "", "accesses counted but not kept" },
  }, rows = rows }
end

local function calls(run)
  local rows = {}
  for _, lane in ipairs(run and run.lanes or {}) do
    thin(lane, function(k) rows[#rows + 1] = { run.points[lane.point].name, lane.thread, lane.ns[k] / 1e6, k } end)
  end
  return { columns = {
    { "symbol", "text", "the function" }, { "thread", "", "thread that calls it" },
    { "time", "ms", "time since the program started" }, { "calls", "", "calls so far" },
  }, rows = rows }
end

local function contents(lab)
  local rows = {}
  for _, loop in ipairs { "static", "dynamic" } do
    local run = lab:run_of(loop)
    for _, lane in ipairs(run and run.lanes or {}) do
      thin(lane, function(k) rows[#rows + 1] = { loop, lane.thread, lane.ns[k] / 1e6, lane.value[k] } end)
    end
  end
  return { columns = {
    { "loop", "text", "scheduling of the loop" }, { "thread", "", "thread that writes" },
    { "time", "ms", "time since the program started" }, { "value", "", "value it wrote" },
  }, rows = rows }
end

local function traces(run, lab)
  for _, loop in ipairs(loops) do
    local process = lab:run_of(loop)
    for i, point in ipairs(process and process.points or {}) do
      local ok, err = require("pmlua.watchpoint").write_trace(process, i, ("%s/%s-%s"):format(run.dir, loop, point.name))
      if not ok then run:warn(("no trace of %s: %s"):format(point.name, err)) end
    end
  end
end

local function warn(run, lab)
  for _, loop in ipairs(loops) do
    local process = lab:run_of(loop)
    local lost = process and process.lost + (process.missed or 0) or 0
    if lost > 0 then run:warn(("loop %s: %d accesses are missing from the threads' counts"):format(loop, lost)) end
    for _, lane in ipairs(process and process.lanes or {}) do
      if lane.dropped > 0 then
        run:warn(("loop %s, thread %d: %d accesses were counted but not kept"):format(loop, lane.thread, lane.dropped))
      end
    end
  end
end

--- Write tables and traces into the run's folder, and print the counts.
---@param lab table watchpoint.watch
function M.write(run, lab)
  local t = accesses(lab)
  run:write_table("accesses.dat", t)
  run:write_table("calls.dat", calls(lab:run_of "chunks"))
  run:write_table("content.dat", contents(lab))
  traces(run, lab)
  warn(run, lab)
  if #t.rows > 0 then run:say_table("Accesses", t, { "loop", "symbol", "thread", "accesses", "least", "most" }) end
end

return M
