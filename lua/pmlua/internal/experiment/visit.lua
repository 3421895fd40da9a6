-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/visit.lua - a visit of a cell: call the script's functions so that their failures end at most
-- the visit.

local M = {}

-- The position of a script's function, which is the best line for an error about its result.
function M.line_of(run, f)
  if run.exp.line == 0 then return run.exp.file .. ": " end -- no script's
  local info = debug.getinfo(f, "S")
  return info.what == "Lua" and ("%s:%d: "):format(info.short_src, info.linedefined) or run.exp.file .. ": "
end

function M.wrong(run, text)
  error(M.line_of(run, run.exp.measure) .. text, 0)
end
local wrong = M.wrong

local expected = "; return a number, an array, pml.samples, or nil and a reason"

-- Check the result of measure(): a finite number, or a series (whose elements tally.of checks).
local function check_measured(run, v, reason)
  local kind = type(v)
  if kind == "number" then
    if v ~= v then wrong(run, "measure returned NaN") end
    if v == math.huge or v == -math.huge then wrong(run, "measure returned an infinite number") end
  elseif kind == "nil" then
    if reason ~= nil then return end
    -- a failure that the script ignored is the likely cause
    local refusal = run.core.sys.refusal()
    wrong(run, "measure returned nothing" .. (refusal and "; the last refusal was: " .. refusal or expected))
  elseif kind ~= "table" and kind ~= "userdata" then
    wrong(run, ("measure returned a %s"):format(kind) .. expected)
  elseif #v == 0 then
    wrong(run, "measure returned no samples" .. expected)
  end
end

local function check_metrics(run, extra)
  if type(extra) ~= "table" then return end
  for _, m in ipairs(run.exp.metrics) do
    local v = extra[m.name]
    if v and type(v) ~= "number" then wrong(run, ("metric %s is a %s, not a number"):format(m.name, type(v))) end
  end
end

-- An interrupt ends a measurement where it is, and what measure() gave after it is not a measurement.
function M.check_interrupt(run)
  if run.core.sys.interrupted() then error("interrupted", 0) end
end

-- The levels among the values of a cell that the script's functions get: a function that converts a unit in place must change
-- neither the labels of the results nor what the next call of measure gets.
local function restore(p, levels)
  for name, v in pairs(levels) do p[name] = v end
  return p
end

local function levels_in(p, levels)
  local now = {}
  for name in pairs(levels) do now[name] = p[name] end
  return now
end

-- measure() returns a series, or one number, and is then called n times. After a failure, the samples before it are in
-- visited.series nevertheless.
local function take(run, p, visited, n)
  local exp, options = run.exp, run.options
  local levels = levels_in(p, visited.levels) -- setup may have changed them
  local first, second = exp.measure(visited.state, p, n, options)
  M.check_interrupt(run)
  check_measured(run, first, second)
  local one_by_one, log = type(first) == "number", run.log
  visited.extra = (not one_by_one or type(second) == "table") and second or nil
  check_metrics(run, visited.extra)
  if log and not visited.warming then log:tell_metrics(exp.metrics, visited.extra) end
  if not one_by_one then
    visited.series = first
    return
  end
  local series, took = { first }, log and log.took or function() end
  visited.series = series
  took(first)
  for i = 2, n do
    local v, err = exp.measure(visited.state, restore(p, levels), n, options)
    M.check_interrupt(run)
    check_measured(run, v, err)
    if type(v) ~= "number" then wrong(run, ("measure returned a %s after a number: %s"):format(type(v), tostring(err or ""))) end
    series[i] = v
    took(v)
  end
end

-- The line of the script that led to an error raised in another file (a module, or a C function).
function M.with_position(run, text)
  if text:sub(1, #run.exp.file) == run.exp.file then return text end
  for level = 3, 100 do
    local info = debug.getinfo(level, "Sl")
    if not info then return text end
    if info.source == run.exp.source and info.currentline > 0 then
      return ("%s:%d: %s"):format(run.exp.file, info.currentline, text)
    end
  end
  return text
end

--- For xpcall: the error as a line, told once.
function M.handler(run)
  return function(err)
    local text = tostring(err)
    if run.raised == text then return text end
    text = run.core.sys.explained(M.with_position(run, text))
    run.raised = text
    if run.debug then io.stderr:write(debug.traceback(text, 2), "\n") end
    return text
  end
end

-- Code of the script, which an interrupt ends at once; pmlua's own is never broken in the middle.
function M.interruptible(run, f)
  local raise = run.core.sys.raise_interrupt
  return function(...)
    raise(true)
    f(...)
    raise(false)
  end
end

---@class pmlua.Visited
---@field warming boolean nothing of it is kept
---@field levels table<string, any> of the cell
---@field state any what setup made
---@field series userdata|number[]|nil
---@field extra any what measure gave beside it
---@field refused string? why the cell cannot be measured
---@field refuser function? who said so
---@field failure string? what failed

--- Visit a cell once.
---@param n integer samples that are wanted
---@param tracing? boolean nil: it warms up
---@return pmlua.Visited
function M.visit(run, cell, n, tracing)
  local exp, visited = run.exp, { warming = tracing == nil, levels = cell.levels }
  local p = restore({}, cell.levels)
  local function end_of(ok, failure)
    run.core.sys.raise_interrupt(false)
    visited.failure = not ok and failure or nil
    return ok
  end
  local function set_up(f, ...)
    local made, err = f(p, run.options, ...)
    if made == nil and err ~= nil then visited.refused, visited.refuser = tostring(err), f end
    visited.state = made
  end
  local function tried(f, ...)
    return end_of(xpcall(M.interruptible(run, set_up), M.handler(run), f, ...)) and not visited.refused
  end
  if exp.cell_setup and not cell.shared then
    if not tried(exp.cell_setup) then return visited end
    cell.shared = { visited.state }
  end
  visited.state = cell.shared and cell.shared[1]
  if exp.setup and not tried(exp.setup, visited.state) then return visited end
  run:collect_in_time()
  if tracing then run.trace:enter(cell.short ~= "" and cell.short or cell.label, exp.file, exp.line) end
  run.core.sys.refusal() -- discard earlier failures, which do not belong to measure
  local function measure()
    take(run, p, visited, n)
    return visited.series and #visited.series * exp.calls
  end
  local simulated = not visited.warming and run.simulated
  local f = M.interruptible(run, simulated and function() simulated:count(cell, measure) end or measure)
  local ok = end_of(xpcall(f, M.handler(run)))
  if simulated and not ok then visited.series = nil end -- its counts are not there
  local extra, state = visited.extra, visited.state
  local phases = type(extra) == "table" and extra.phases or (type(state) == "table" and state.phases) or nil
  if tracing then run.trace:leave(visited.series and #visited.series or 0, phases) end
  if exp.teardown then exp.teardown(state, p, run.options) end
  if ok and visited.series == nil then visited.refused, visited.refuser = tostring(extra), exp.measure end
  return visited
end

--- Tear down what cell_setup made for each cell.
function M.tear_down(run)
  for _, cell in ipairs(run.cells) do
    local shared = cell.shared
    cell.shared = nil
    if shared and run.exp.cell_teardown then
      run.at = ("cell %s, cell_teardown"):format(cell.label)
      run.exp.cell_teardown(shared[1], restore({}, cell.levels), run.options)
    end
  end
end

return M
