-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/timeline.lua - a Gantt chart of the sections that each thread was in, from enters and leaves.
--
-- Try:  PMLUA_REPORT=out PMLUA_REPORT_TIMELINE=on ./program; pmlua report out --timeline timeline.svg
--
-- Times of several processes share one axis by their hosts' clocks. Calls that are too short to be visible are merged: each
-- piece of a thread has the colour of the region that took most of it.

local lists = require "pmlua.internal.lists"
local picture = require "pmlua.internal.picture"
local quote = require "pmlua.internal.quote"
local report = require "pmlua.report"
local sections = require "pmlua.sections"

local M = {}

local PIECES = 1500 -- pieces of the width: shorter calls are not visible
local LANES, DEPTHS, COLOURS = 64, 6, 8

--- Calls of one thread: { first, last, name, depth } in ns, in the order of their ends. An enter without its leave lasts
--- to the thread's last event; a leave without its enter began before the timeline, and is left out.
---@param lane table of pmlua.SectionProcess.timeline
---@param regions table<integer, string>
---@return table[] calls, integer open how many of them were cut
function M.calls(lane, regions)
  local calls, stack = {}, {}
  for _, e in ipairs(lane.events) do
    local top = stack[#stack]
    if not e.leave then stack[#stack + 1] = { first = e.ns, name = regions[e.region], region = e.region, depth = #stack }
    elseif top and top.region == e.region then
      top.last = math.max(e.ns, top.first)
      calls[#calls + 1], stack[#stack] = top, nil
    end
  end
  local open, last = #stack, #lane.events > 0 and lane.events[#lane.events].ns or 0
  for i = #stack, 1, -1 do
    stack[i].last = math.max(last, stack[i].first)
    calls[#calls + 1] = stack[i]
  end
  return calls, open
end

--- The name that took most of a piece.
local function most(times)
  local best, longest = nil, -1
  for name, ns in pairs(times) do
    if ns > longest or ns == longest and name < best then best, longest = name, ns end
  end
  return best
end

--- Convert the calls of a depth to boxes: visible calls one by one, the others merged into pieces of `step` ns.
---@return table[] boxes first, last, name
function M.boxes(calls, depth, step)
  local boxes, pieces, order = {}, {}, {}
  for _, c in ipairs(lists.filter(calls, function(c) return c.depth == depth end)) do
    if c.last - c.first >= step then boxes[#boxes + 1] = { first = c.first, last = c.last, name = c.name }
    else
      local k = c.first // step
      if not pieces[k] then pieces[k], order[#order + 1] = {}, k end
      pieces[k][c.name] = (pieces[k][c.name] or 0) + math.max(c.last - c.first, 1)
    end
  end
  table.sort(order)
  local box
  for _, k in ipairs(order) do
    local name = most(pieces[k])
    if box and box.name == name and box.last == k * step then box.last = (k + 1) * step
    else
      box = { first = k * step, last = (k + 1) * step, name = name }
      boxes[#boxes + 1] = box
    end
  end
  return boxes
end

-- --- lanes: the threads of all processes, on one axis ---

local function by_thread(a, b) return a.thread < b.thread end

local function lanes_of(r)
  local lanes, dropped, begun, unseen = {}, 0, math.huge, 0
  for i, process in ipairs(r.processes) do
    local p = sections.read(process.log) or process
    unseen = unseen + (p.unseen or 0)
    local own = table.move(p.timeline, 1, #p.timeline, 1, {})
    table.sort(own, by_thread)
    for _, t in ipairs(own) do
      local calls = M.calls(t, p.regions)
      for _, c in ipairs(calls) do
        c.first, c.last = c.first + p.started_ns, c.last + p.started_ns
        begun = math.min(begun, c.first)
      end
      dropped = dropped + t.dropped
      if #calls > 0 then
        lanes[#lanes + 1] = { name = ("%s, thread %d"):format(report.process_name(r, i), t.thread), calls = calls }
      end
    end
  end
  return lanes, dropped, begun, unseen
end

--- Begin at 0; the end of the last call, the deepest, and names by their time.
local function measure(lanes, begun)
  local ended, depth, times, names = 0, 0, {}, {}
  for _, lane in ipairs(lanes) do
    for _, c in ipairs(lane.calls) do
      c.first, c.last = c.first - begun, c.last - begun
      ended, depth = math.max(ended, c.last), math.max(depth, math.min(c.depth, DEPTHS - 1))
      if not times[c.name] then times[c.name], names[#names + 1] = 0, c.name end
      times[c.name] = times[c.name] + c.last - c.first
    end
  end
  table.sort(names, require "pmlua.internal.order".most(times))
  return ended, depth + 1, names
end

--- Lines for gnuplot: from, to [s], lane, depth, colour.
local function data_of(lanes, ended, depths, colour)
  local lines, step = {}, math.max(ended / PIECES, 1)
  for i, lane in ipairs(lanes) do
    for depth = 0, depths - 1 do
      for _, b in ipairs(M.boxes(lane.calls, depth, step)) do
        local last = math.min(b.last, ended)
        lines[#lines + 1] = ("%.12g %.12g %d %d %d"):format(b.first / 1e9, last / 1e9, i, depth, colour[b.name])
      end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

--- The colour of each name, those with most time first, and the names beside the colours, of which the last is all others'.
---@param shown? fun(name: string): string
---@return table<string, integer> colour, string[] keys
function M.keys(names, shown)
  local colour, keys = {}, {}
  for i, name in ipairs(names) do
    colour[name] = math.min(i, COLOURS)
    if i < COLOURS or #names == COLOURS then keys[i] = report.short(shown and shown(name) or name, 30) end
  end
  if #names > COLOURS then keys[COLOURS] = ("%d others"):format(#names - COLOURS + 1) end
  return colour, keys
end

local function note_of(all, shown, dropped)
  local parts = {}
  if shown < all then parts[#parts + 1] = ("%d of %d threads"):format(shown, all) end
  if dropped > 0 then parts[#parts + 1] = ("cut: %d later events of threads are missing"):format(dropped) end
  return table.concat(parts, "; ")
end

--- Draw the timeline.
---@param r pmlua.Report
---@param path string .svg or .png
---@return boolean? ok, string? err
function M.draw(r, path)
  local lanes, dropped, begun, unseen = lanes_of(r)
  local all = #lanes + unseen
  if #lanes == 0 then
    return nil, r.processes[1].name .. ": no timeline; also set PMLUA_REPORT_TIMELINE=on for the program"
  end
  for i = #lanes, LANES + 1, -1 do lanes[i] = nil end
  local ended, depths, names = measure(lanes, begun)
  local colour, keys = M.keys(names, sections.show)
  local titles = lists.map(lanes, function(lane) return lane.name end)
  local run = picture.run_gp("Sections of each thread: " .. report.short(r.processes[1].command, 60), {
    "lanes = " .. #lanes, "depths = " .. depths, "colours = " .. #keys, ("ended = %.12g"):format(ended / 1e9),
    "timeline_note = " .. quote.gnuplot(note_of(all, #lanes, dropped)), picture.array("lane_name", titles),
    picture.array("colour_name", keys) })
  return picture.draw("timeline", { ["run.gp"] = run, ["timeline.dat"] = data_of(lanes, ended, depths, colour) }, path)
end

return M
