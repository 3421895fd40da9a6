-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/kernels/roof.lua - the envelope from measured peaks and bandwidths, and the points under it.
--
-- Try:  print(require("kernels.roof").height({ peak = 60, bandwidth = 8 }, 0.5))

local compiled = require "kernels.compiled"
local report = require "kernels.report"

local derived = report.derived

-- Percent of a roof from which a point counts as above it; less may be rounding.
local over = 100.05

local M = {}

--- The rate that a roof allows at an intensity [flops per byte]: min(peak, intensity * bandwidth), Williams et al., equation 1.
---@param roof { peak: number, bandwidth: number? } GFLOPS, GB/s
function M.height(roof, intensity)
  return math.min(roof.peak, roof.bandwidth and intensity * roof.bandwidth or roof.peak)
end

local function point(text)
  local name, intensity, gflops, precision = text:match "^%s*([^:%s]+):([^:%s]+):([^:%s]+):?(%a*)%s*$"
  intensity, gflops = tonumber(intensity), tonumber(gflops)
  if precision == "" then precision = "double" end
  if not (name and intensity and gflops and intensity > 0 and gflops > 0 and intensity < math.huge and gflops < math.huge)
    or precision ~= "double" and precision ~= "single" then
    return nil, ("%q is not NAME:INTENSITY:GFLOPS[:single] with positive numbers"):format(text)
  end
  return { name = name, intensity = intensity, gflops = gflops, precision = precision }
end

--- Parse the user's points: separated by commas, or the lines of a file ('#' begins a comment).
---@param text string?
---@return {name: string, intensity: number, gflops: number, precision: string}[]?, string? err
function M.parse(text)
  local out = {}
  if not text then return out end
  local f <close> = not text:find(":", 1, true) and io.open(text) or nil
  if not f and not text:find(":", 1, true) then
    return nil, ("%q is neither NAME:INTENSITY:GFLOPS nor a file that can be read"):format(text)
  end
  for word in (f and f:read "a" or text):gmatch(f and "[^\n]+" or "[^,]+") do
    word = word:gsub("#.*", "")
    if word:find "%S" then
      local p, err = point(word)
      if not p then return nil, err end
      out[#out + 1] = p
    end
  end
  if #out == 0 then return nil, ("%q names no point"):format(text) end
  return out
end

-- A roof is the machine's limit, so it is the rate of the fastest batch; points under it are medians.
local function fastest(run, cell, amount)
  local s = cell.summary
  local ns = s and s.min - derived(run, cell, "overhead")
  return ns and ns > 0 and derived(run, cell, amount) / ns or nil
end

-- The best peak of each precision, and the table of all peaks.
local function peaks(run, lab)
  local best, rows = {}, {}
  for _, cell in ipairs(run.cells) do
    local p = cell.p
    if p.kernel == "peak" then
      local rate = fastest(run, cell, "flops")
      rows[#rows + 1] = { p.precision, p.build, rate, rate and rate * lab.cores, cell.status }
      if rate and rate > (best[p.precision] or 0) then best[p.precision] = rate end
    end
  end
  return best, { columns = {
    { "precision", "text", "precision of the elements" }, { "build", "text", "scalar, or width of the vectors in bits" },
    { "gflops", "GFLOPS", "rate per core" }, { "all", "GFLOPS", "rate of all cores in use" },
    { "state", "text", "ok, or why it was not measured" },
  }, rows = rows }
end

local moves = { load = true, copy = true, add = true }

-- The best bandwidth of each level, and the kernel that reached it.
local function bandwidths(run, lab)
  local best, by = {}, {}
  for _, cell in ipairs(run.cells) do
    local p = cell.p
    local rate = moves[p.kernel] and fastest(run, cell, "bytes")
    if rate and rate > (best[p.level] or 0) then
      best[p.level], by[p.level] = rate, ("%s %s %s"):format(p.kernel, p.precision, p.build)
    end
  end
  local rows = {}
  for i, level in ipairs(lab.levels) do
    local rate = best[level.name]
    rows[i] = { level.name, rate, rate and rate * lab.cores, level.set, by[level.name] or "not measured", level.source }
  end
  return best, { columns = {
    { "level", "text", "cache, or memory" }, { "gbytes", "GB/s", "bandwidth per core" },
    { "all", "GB/s", "bandwidth of all cores in use" }, { "set", "B", "working set of a core" },
    { "best", "text", "kernel that reached it" }, { "source", "text", "where the cache's size is from" },
  }, rows = rows }
end

-- Compare a measured point with the roof of its level, and a placed one with the highest roof.
local function judged(name, p, roof)
  local height = M.height(roof, p.intensity)
  local share = 100 * p.gflops / height
  return {
    name, p.precision, p.build or "-", p.level, p.intensity, p.gflops, height, share,
    share >= over and ("above the roof by %.1f %%"):format(share - 100) or "under it", p.counted or "the user",
  }
end

--- The sections of a run as points: the compiler's flop over the bytes of loads and stores, and over the time.
---@param folder string? as PMLUA_REPORT had it
---@return table[]? points, string? err
function M.sections(pml, folder)
  local out = {}
  if not folder then return out end
  local processes, err = pml.sections.read_all { folder }
  local built
  if processes then built, err = pml.report.build(processes) end
  if not built then return nil, err end
  for _, s in ipairs(built.sections) do
    local v = s.all.values
    local flops, loaded = v["sde:::BYFL::flop_count_I"], v["sde:::BYFL::load_count_I"]
    local bytes = loaded and loaded + (v["sde:::BYFL::store_count_I"] or 0)
    if flops and flops > 0 and bytes and bytes > 0 and s.all.total_ns > 0 then
      out[#out + 1] = { name = pml.report.short(pml.sections.show(s.label), 24):gsub("%s", "_"), intensity = flops / bytes,
        gflops = flops / s.all.total_ns, precision = "double", counted = pml.countfile.label(built.counted) }
    end
  end
  if #out > 0 then return out end
  return nil, folder .. ": the compiler counted no floating-point operations in these sections; compile with pmlua cc --count"
end

local TURNS = 3840 -- iterations of the counted loops: a multiple of the vector length of each build

-- Operations and bytes of an iteration, counted by the compiler or by hand.
local function per_turn(run, lab, cell, counted)
  local p = cell.p
  local key = p.kernel .. p.precision .. p.build
  if lab.way and counted[key] == nil then
    counted[key] = compiled.per_call(lab.way, { kernel = p.kernel, precision = p.precision, build = p.build, n = TURNS }) or false
  end
  local each = counted[key]
  if each then return each.flops / TURNS, each.bytes / TURNS, ("compiler, at %s"):format(lab.way.at) end
  return derived(run, cell, "flops"), derived(run, cell, "bytes"), "hand"
end

local function points(run, lab, peak, bandwidth)
  local rows, counted = {}, {}
  for _, cell in ipairs(run.cells) do
    local p, rate = cell.p, derived(run, cell, "gflops")
    if p.kernel ~= "peak" and rate and peak[p.precision] and bandwidth[p.level] then
      local flops, bytes, by = per_turn(run, lab, cell, counted)
      rows[#rows + 1] = judged(p.kernel, {
        precision = p.precision, build = p.build, level = p.level, gflops = rate, intensity = flops / bytes, counted = by,
      }, { peak = peak[p.precision], bandwidth = bandwidth[p.level] })
    end
  end
  for _, p in ipairs(lab.placed) do
    local highest
    for _, level in ipairs(lab.levels) do highest = math.max(highest or 0, bandwidth[level.name] or 0) end
    if peak[p.precision] and (highest or 0) > 0 then
      p.level = "placed"
      rows[#rows + 1] = judged(p.name, p, { peak = peak[p.precision], bandwidth = highest })
    end
  end
  return { columns = {
    { "name", "text", "kernel, or name of the section" }, { "precision", "text", "precision of the elements" },
    { "build", "text", "scalar, or width of the vectors in bits" },
    { "level", "text", "level whose roof it is under; placed: the highest roof" },
    { "intensity", "flops/B", "operations / bytes" }, { "gflops", "GFLOPS", "rate per core" },
    { "roof", "GFLOPS", "height of the roof at this intensity" }, { "share", "%", "rate over the roof" },
    { "verdict", "text", "under the roof or above it" }, { "counted", "text", "who counted operations and bytes" },
  }, rows = rows }
end

-- Print only the fastest build of a kernel, but every point above a roof.
local function worth_saying(t)
  local best, rows = {}, {}
  local function key(r) return r[1] .. r[2] .. r[4] end
  for _, r in ipairs(t.rows) do
    if not best[key(r)] or r[6] > best[key(r)] then best[key(r)] = r[6] end
  end
  for _, r in ipairs(t.rows) do
    if r[6] == best[key(r)] or r[8] >= over then rows[#rows + 1] = r end
  end
  return { columns = t.columns, rows = rows }
end

--- Write the tables of roofs, peaks and points, and print them.
function M.write(run, lab)
  local peak, peak_table = peaks(run, lab)
  local bandwidth, roof_table = bandwidths(run, lab)
  local point_table = points(run, lab, peak, bandwidth)
  run:write_table("peaks.dat", peak_table, "peak rates")
  run:write_table("roofs.dat", roof_table, "bandwidth of each level")
  run:write_table("points.dat", point_table, "points under the roofs")
  run:say_table(("Table 1. Peaks: chains of multiply-adds in registers, %d cores at work"):format(lab.cores), peak_table)
  run:say_table("Table 2. Bandwidths, read and written: the best of load, copy and add", roof_table)
  run:say_table("Table 3. Points under the roofs: the fastest build of each kernel", worth_saying(point_table))
end

return M
