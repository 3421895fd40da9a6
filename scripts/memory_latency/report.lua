-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/memory_latency/report.lua - the knees of each curve beside the caches that the kernel describes.
--
-- Try:  pmlua scripts/memory_latency.lua --quick --no-plot && cat results/memory_latency/latest/knees.dat

local caches = require "kernels.caches"
local knees = require "memory_latency.knees"
local median = require("pmlua.stats").median
local pml = require "pmlua"
local tabulate = require "pmlua.tabulate"

local M = {}

local SHARE = 0.03 -- precision of a knee, relative to its size
local AGAIN = 9 -- batches at each further size
local COARSE = 0.05 -- largest rounding by the clock, relative to a latency

-- Curves by stride and pages, in the order of the cells.
local function curves(run)
  local list, by = {}, {}
  for _, cell in ipairs(run.cells) do
    local key = cell.p.stride .. " " .. cell.p.pages
    if not by[key] then
      by[key] = { stride = cell.p.stride, pages = cell.p.pages, points = {} }
      list[#list + 1] = by[key]
    end
    if cell.summary then table.insert(by[key].points, { cell.p.bytes, cell.summary.median }) end
  end
  for _, curve in ipairs(list) do table.sort(curve.points, function(a, b) return a[1] < b[1] end) end
  return list
end

local function again(lab, curve)
  return function(bytes)
    local samples = lab:measure({ bytes = bytes, stride = curve.stride, pages = curve.pages }, AGAIN)
    return samples and median(samples)
  end
end

local function size(bytes)
  for _, u in ipairs { { 1 << 30, "GiB" }, { 1 << 20, "MiB" }, { 1 << 10, "KiB" } } do
    if bytes >= u[1] then return ("%.3g %s"):format(bytes / u[1], u[2]) end
  end
  return ("%d B"):format(bytes)
end

local function levels(simulated)
  if simulated then return simulated.caches end
  local out = {}
  for _, l in ipairs(caches.levels(1, pml.sys.affinity()[1])) do
    if l.bytes > 0 then out[#out + 1] = { l.name, l.bytes, l.shared, l.source } end
  end
  return out
end

local function warn_of_clock(run, lab)
  local least = math.huge
  for _, cell in ipairs(run.cells) do least = math.min(least, cell.summary and cell.summary.median or least) end
  if lab.grain <= COARSE * least then return end
  run:warn(("the clock rounds a latency to %.2g ns, the shortest is %.2g ns: too coarse for the nearest caches"):format(lab.grain,
    least))
end

-- The knees of all curves: rows of knees.dat, and of the terminal's table.
local function measured(run, lab)
  local rows, shown = {}, {}
  for _, curve in ipairs(curves(run)) do
    for _, knee in ipairs(knees.find(curve.points)) do
      if not run.interrupted then knees.refine(knee, again(lab, curve), SHARE, math.max(64, curve.stride)) end
      rows[#rows + 1] = { curve.stride, curve.pages, knee.fits, knee.exceeds, knee.before, knee.after }
      shown[#shown + 1] = { curve.stride, curve.pages, size(knee.fits), size(knee.exceeds), knee.before, knee.after }
    end
  end
  return rows, shown
end

--- The curve of the smallest stride on huge pages where there are some, else on small ones: caches without TLBs.
---@param list table[] curves
---@return table? curve with `first`, bytes from which on pages are huge
function M.joined(list)
  local least = math.huge
  for _, curve in ipairs(list) do least = math.min(least, curve.stride) end
  local by = {}
  for _, curve in ipairs(list) do
    if curve.stride == least then by[curve.pages] = curve.points end
  end
  local huge, points = by.huge or {}, {}
  local first = huge[1] and huge[1][1] or math.huge
  for _, p in ipairs(by.small or {}) do
    if p[1] < first then points[#points + 1] = p end
  end
  table.move(huge, 1, #huge, #points + 1, points)
  return #points > 0 and { stride = least, first = first, points = points } or nil
end

-- levels.dat: the latency of a load in each cache, from the nearest, and in memory.
local function write_levels(run, lab)
  local curve, rows, last = M.joined(curves(run)), {}, nil
  for i, knee in ipairs(curve and knees.find(curve.points) or {}) do
    if not run.interrupted then
      knees.refine(knee, function(bytes)
        return again(lab, { stride = curve.stride, pages = bytes < curve.first and "small" or "huge" })(bytes)
      end, SHARE, math.max(64, curve.stride))
    end
    rows[i], last = { knee.fits, knee.before }, knee
  end
  if last then rows[#rows + 1] = { 0, last.after } end
  run:write_table("levels.dat", { columns = { { "bytes", "B", "that fit; 0: beyond all that was found" },
    { "ns", "ns", "latency of a load" } }, rows = rows })
end

-- The same of the simulated caches, with misses instead of times; misses.dat has the curves.
local function simulated_knees(run, lab)
  local rows, shown, points = {}, {}, {}
  for _, curve in ipairs(curves(run)) do
    for _, level in ipairs(curve.pages == "small" and lab.simulated:curves(lab, curve, knees, SHARE) or {}) do
      for _, p in ipairs(level.points) do points[#points + 1] = { curve.stride, level.name, p[1], p[2] } end
      for _, k in ipairs(level.knees) do
        rows[#rows + 1] = { curve.stride, level.name, k.fits, k.exceeds, k.before, k.after }
        shown[#shown + 1] = { curve.stride, level.name, size(level.bytes), size(k.fits), size(k.exceeds), k.before, k.after }
      end
    end
  end
  run:write_table("misses.dat", { columns = { { "stride", "B", "from one slot to the next" }, { "cache", "text", "" },
    { "bytes", "B", "working set" }, { "misses", "", "of a load, by the model" } }, rows = points })
  return rows, shown
end

--- knees.dat and caches.dat, and both on the terminal.
---@param lab table memory_latency.lab
---@param largest integer bytes of the largest working set
function M.write(run, lab, largest)
  local simulated, known = lab.simulated, levels(lab.simulated)
  local rows, shown = (simulated and simulated_knees or measured)(run, lab)
  local unit, what = simulated and "" or "ns", simulated and "misses of a load" or "latency"
  run:write_table("knees.dat", { columns = {
    { "stride", "B", "from one slot to the next" },
    { simulated and "cache" or "pages", "text", simulated and "" or "small or huge" },
    { "fits", "B", "largest working set on the plateau" }, { "exceeds", "B", "smallest one above it" },
    { "before", unit, what .. " on the plateau" }, { "after", unit, what .. " on the next one" },
  }, rows = rows })
  run:write_table("caches.dat", { columns = { { "level", "text", "" }, { "size", "B", "" },
    { "shared", "", "cpus that share it" }, { "source", "text", "" } }, rows = known })
  if simulated then
    run:say("\nWorking sets at which a load misses a simulated cache\n"
      .. tabulate({ "stride [B]", "cache", "size", "fits", "exceeds", "misses before", "after" }, shown, 2))
    return
  end
  write_levels(run, lab)
  run:say("\nWorking sets at which a load takes longer\n"
    .. tabulate({ "stride [B]", "pages", "fits", "exceeds", "before [ns]", "after [ns]" }, shown, 2))
  warn_of_clock(run, lab)
  local last = known[#known]
  if last and last[2] * 2 > largest then
    run:warn(("the latency of memory was not measured: %s has %s, the largest working set is %s; raise --largest"):format(
      last[1], size(last[2]), size(largest)))
  end
end

return M
