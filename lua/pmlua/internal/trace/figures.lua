-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/trace/figures.lua - figures of a trace: activity of threads, time by region, messages, metrics.
--
-- Try:  pmlua trace out/traces.otf2 --plot timeline

local balance = require "pmlua.analysis.balance"
local bars = require "pmlua.internal.report.bars"
local core = require "pmlua.core"
local picture = require "pmlua.internal.picture"
local quote = require "pmlua.internal.quote"
local report = require "pmlua.report"
local traffic = require "pmlua.internal.report.traffic"
local units = require "pmlua.internal.report.units"
local try = require "pmlua.internal.try"

local M = {}

local COLUMNS <const> = 800 -- columns of the width: narrower boxes are not visible
local LANES <const>, BLOCKS <const>, SERIES <const> = 64, 64, 12
local NONE <const> = false -- no region

local refuse = core.failure.refuse

local function title_of(path) return report.short(path, 60) end

-- ---- timeline ----

--- The region that has most of each column of a location; more time in none: NONE.
local function columns_of(rows, step_s)
  local lanes = {}
  for _, r in ipairs(rows) do
    local lane = lanes[r.location] or {}
    lanes[r.location] = lane
    local column = lane[r.column] or { inside = 0, most = 0 }
    lane[r.column] = column
    column.inside = column.inside + r.exclusive_s
    if r.exclusive_s > column.most then column.most, column.region = r.exclusive_s, r.region end
  end
  for _, lane in pairs(lanes) do
    for i, column in pairs(lane) do
      lane[i] = step_s - column.inside > column.most and NONE or column.region
    end
  end
  return lanes
end

--- Regions by their columns, most first.
local function regions_of(lanes)
  local times, names = {}, {}
  for _, lane in pairs(lanes) do
    for _, region in pairs(lane) do
      if region and not times[region] then times[region], names[#names + 1] = 0, region end
      if region then times[region] = times[region] + 1 end
    end
  end
  table.sort(names, require "pmlua.internal.order".most(times))
  return names
end

--- Boxes of one lane: columns of one region that follow each other are one.
local function boxes_of(lane, from_s, step_s, place, colour, lines)
  local first, region
  for i = 1, COLUMNS + 1 do
    local now = lane[i] or NONE
    if now ~= region then
      if region then
        lines[#lines + 1] = ("%.12g %.12g %d 0 %d"):format(from_s + (first - 1) * step_s, from_s + (i - 1) * step_s, place,
          colour[region])
      end
      first, region = i, now
    end
  end
end

local function lane_name(reader, location)
  local l = reader:locations()[location]
  local p = reader:processes()[l.process]
  return report.short((p.rank and ("rank %d"):format(p.rank) or p.name) .. ", " .. l.name, 40)
end

local function window_of(reader, where)
  local window = where.window or {}
  local from = window[1] or 0
  return from, math.min(window[2] or math.huge, reader:about().length_s)
end

M.timeline = try.catching(function(reader, where, name, path)
  local from, to = window_of(reader, where)
  if to <= from then return refuse("ENODATA", "the window is empty: there is nothing to draw") end
  local rows = try(reader:group { by = { "location", "region", "column" }, columns = COLUMNS, sum = { "exclusive" },
    where = where })
  if #rows == 0 then return refuse("ENODATA", "no call lies in the window: there is nothing to draw") end
  local step = (to - from) / COLUMNS
  local lanes, lines, titles = columns_of(rows, step), {}, {}
  local colour, keys = require "pmlua.internal.report.timeline".keys(regions_of(lanes))
  local order = require "pmlua.internal.keys"(lanes)
  for place = 1, math.min(#order, LANES) do
    boxes_of(lanes[order[place]], from, step, place, colour, lines)
    titles[place] = lane_name(reader, order[place])
  end
  local note = #order > #titles and ("%d of %d locations"):format(#titles, #order) or ""
  local run = picture.run_gp("Regions over time: " .. title_of(name), { "lanes = " .. #titles, "depths = 1",
    "colours = " .. #keys, ("began = %.12g"):format(from), ("ended = %.12g"):format(to),
    "timeline_note = " .. quote.gnuplot(note), 'time_label = "time since the beginning of the trace"',
    picture.array("lane_name", titles), picture.array("colour_name", keys) })
  return picture.draw("timeline", { ["run.gp"] = run, ["timeline.dat"] = table.concat(lines, "\n") .. "\n" }, path)
end)

-- ---- profile ----

M.profile = try.catching(function(reader, where, name, path)
  local regions = try(balance.of(reader, where))
  if #regions == 0 then return refuse("ENODATA", "no call is in the trace: there is nothing to draw") end
  local list, all = {}, 0
  for _, r in ipairs(regions) do all = all + r.exclusive_s end
  for i, r in ipairs(regions) do
    local total = 1e9 * math.max(r.inclusive_s, r.exclusive_s)
    list[i] = { label = report.short(r.region, 40), total_ns = total, own_ns = 1e9 * r.exclusive_s, least_ns = 0, most_ns = total,
      other = r.paradigm == "MPI", said = ("%s, %s %%, %d call%s"):format(units.scaled(r.exclusive_s, "s"),
        all > 0 and units.percent(r.exclusive_s / all) or "-", r.calls, r.calls == 1 and "" or "s") }
  end
  return bars.bars(list, { title = "Time in regions, all locations: " .. title_of(name), what = "regions", several = false },
    path)
end)

-- ---- messages ----

M.matrix = try.catching(function(reader, where, _, path)
  local messages = try(reader:messages { where = where })
  local processes, size, by, list = reader:processes(), reader:about().ranks, {}, {}
  local block = math.max(1, (size + BLOCKS - 1) // BLOCKS)
  for _, m in ipairs(messages) do
    local from, to = processes[m.from].rank, processes[m.to].rank
    if from and to then
      local key = from // block * BLOCKS * 2 + to // block
      local pair = by[key] or { from = from // block, to = to // block, messages = 0, bytes = 0 }
      if not by[key] then by[key], list[#list + 1] = pair, pair end
      pair.messages, pair.bytes = pair.messages + m.messages, pair.bytes + m.bytes
    end
  end
  return traffic.draw({ pairs = list, size = size, block = block }, path)
end)

-- ---- metrics ----

--- The plotted points of a series: its values, or, if they accumulate, the rate since the previous value.
local function points_of(s, columns, unit_s)
  local x, y, before, began = {}, {}, nil, nil
  for i, v in ipairs(s.values) do
    local at = columns.from_s + (i - 0.5) * columns.step_s
    if s.counts[i] > 0 then
      if not s.accumulated then x[#x + 1], y[#y + 1] = at / unit_s, v end
      if s.accumulated and before then x[#x + 1], y[#y + 1] = at / unit_s, (v - before) / (at - began) end
      before, began = v, at
    end
  end
  return x, y
end

local function time_unit(longest_s)
  if longest_s < 1e-6 then return 1e-9, "ns" end
  if longest_s < 1e-3 then return 1e-6, "µs" end
  return longest_s < 1 and 1e-3 or 1, longest_s < 1 and "ms" or "s"
end

M.metrics = try.catching(function(reader, where, name, path)
  local series, columns = try(reader:series { columns = COLUMNS // 4, where = { window = where.window } })
  local list, several = {}, {}
  local unit_s, unit_name = time_unit(columns.from_s + columns.step_s * COLUMNS / 4)
  for _, s in ipairs(series) do several[s.number] = (several[s.number] or 0) + 1 end
  for _, s in ipairs(series) do
    local x, y = points_of(s, columns, unit_s)
    if #x > 0 and #list < SERIES then
      local unit = s.unit ~= "" and s.unit ~= "#" and s.unit ~= "1" and s.unit or s.accumulated and "1" or nil
      list[#list + 1] = { name = report.short(s.metric, 40) .. (several[s.number] > 1 and ", "
        .. lane_name(reader, s.location) or ""), x = x, y = y, unit = unit and s.accumulated and unit .. "/s" or unit,
        x_label = ("time since the beginning of the trace [%s]"):format(unit_name) }
    end
  end
  if #list == 0 then return refuse("ENODATA", "no values of metrics are in the trace: there is nothing to draw") end
  return require("pmlua.internal.live.series").picture({ list = list }, "Metrics: " .. title_of(name), path)
end)

M.kinds = { "timeline", "profile", "matrix", "metrics" }

return M
