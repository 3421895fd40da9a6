-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/library_time/report.lua - write library.dat, function.dat, distribution.dat and shares.dat, and print the tables.
--
-- Try:  pmlua scripts/library_time.lua --quick --no-plot gnuplot --version
--
-- Shows the run with the median time of each view. Shares refer to this time; for a sampled run, to its samples.

local lists = require "pmlua.internal.lists"
local tabulate = require "pmlua.tabulate"
local views = require "library_time.views"

local M = {}

M.rest = "(not recorded)"
local none = "(no library)" -- in comparisons: the command, libc, loader, kernel
local shown_libraries = 9 -- in the figure and the table of shares
local bottom = { [views.program] = true, [views.kernel] = true, [M.rest] = true }

-- The round that took the median time.
local function median_round(cell)
  local rounds = table.move(cell.rounds, 1, #cell.rounds, 1, {})
  table.sort(rounds, function(a, b) return a.median < b.median end)
  return rounds[(#rounds + 1) // 2]
end

--- The functions that a view recorded in the run with the median time.
function M.seen(cell) return cell.rounds and #cell.rounds > 0 and median_round(cell).extra or nil end

local function whole_time(seen)
  return seen.samples and seen.samples / views.samples_per_second or seen.seconds
end

local longest_first = require "pmlua.internal.order".by("-exclusive_s", "name")

-- Sums over the functions of each library, and a row for the time that the view does not attribute.
local function libraries(seen)
  local by, out, told = {}, {}, 0
  for _, f in ipairs(seen.functions) do
    local l = by[f.library]
    if not l then
      l = { name = f.library, exclusive_s = 0, calls = f.calls and 0 }
      by[f.library], out[#out + 1] = l, l
    end
    l.exclusive_s, told = l.exclusive_s + f.exclusive_s, told + f.exclusive_s
    l.calls = l.calls and l.calls + (f.calls or 0)
  end
  if not seen.samples then
    out[#out + 1] = { name = M.rest, exclusive_s = math.max(0, seen.seconds - told) }
  end
  table.sort(out, longest_first)
  return out
end

-- The measured cells whose views see functions.
local function looking(run)
  return lists.filter(run.cells, function(cell) return cell.summary and cell.p.view ~= "plain" end)
end

local function library_table(cells)
  local rows = {}
  for _, cell in ipairs(cells) do
    local seen = M.seen(cell)
    if #rows > 0 then rows[#rows + 1] = false end
    for _, l in ipairs(libraries(seen)) do
      rows[#rows + 1] = { cell.p.view, l.name, l.calls, l.calls and l.calls / seen.seconds, l.exclusive_s,
        100 * l.exclusive_s / whole_time(seen) }
    end
  end
  return { rows = rows, columns = {
    { "view", "text", "how the run was observed" },
    { "library", "text", views.program .. ": the command; " .. M.rest .. ": the rest, such as libc and the command itself" },
    { "calls", "", "calls of its functions" }, { "rate", "1/s", "calls per second of the run" },
    { "time", "s", "time in it, without the functions that it called, of all threads" },
    { "share", "%", "share of the run; several threads together may exceed 100" },
  } }
end

-- A C++ name without its arguments, for the figure.
local function label(name)
  local short = name:gsub("%b()", ""):gsub("%b<>", ""):gsub("%s+const$", "")
  return short ~= "" and #short > 2 and short or name
end

local function function_table(cells)
  local rows = {}
  for _, cell in ipairs(cells) do
    local seen = M.seen(cell)
    if #rows > 0 then rows[#rows + 1] = false end
    table.sort(seen.functions, longest_first)
    for rank, f in ipairs(seen.functions) do
      rows[#rows + 1] = { cell.p.view, rank, f.library, f.name, label(f.name), f.calls, f.calls and f.calls / seen.seconds,
        f.inclusive_s, f.exclusive_s, 100 * f.exclusive_s / whole_time(seen), f.min_ns, f.median_ns, f.max_ns }
    end
  end
  return { rows = rows, columns = {
    { "view", "text", "how the run was observed" }, { "rank", "", "rank by exclusive time" },
    { "library", "text", "as in library.dat" }, { "function", "text", "name of the function" },
    { "label", "text", "the name without arguments" }, { "calls", "", "number of calls" },
    { "rate", "1/s", "calls per second of the run" }, { "inclusive", "s", "time in it and in the functions that it called" },
    { "exclusive", "s", "time without the functions that it called" }, { "share", "%", "exclusive time, share of the run" },
    { "min", "ns", "shortest call, inclusive" }, { "median", "ns", "median call, inclusive" },
    { "max", "ns", "longest call, inclusive" },
  } }
end

local function distribution_table(cells)
  local rows = {}
  for _, cell in ipairs(cells) do
    for rank, f in ipairs(M.seen(cell).functions) do
      local most = 0
      for _, b in ipairs(f.histogram or {}) do most = math.max(most, b.count) end
      if most > 0 and #rows > 0 then rows[#rows + 1] = false end
      for _, b in ipairs(f.histogram or {}) do
        rows[#rows + 1] = { rank, f.library, f.name, b.low, b.high, b.count, math.log(1 + b.count) / math.log(1 + most) }
      end
    end
  end
  return { rows = rows, columns = {
    { "rank", "", "as in function.dat, view interception" }, { "library", "text", "library of the function" },
    { "function", "text", "name of the function" }, { "low", "ns", "shortest duration in the bin" },
    { "high", "ns", "upper end of the bin, exclusive" }, { "count", "", "calls in the bin" },
    { "height", "", "log(1 + count) over that of the function's fullest bin" },
  } }
end

-- Libraries as the figure compares them; everything outside of libraries is one row, the last.
local function shares(cells)
  local by, order = {}, {}
  for i, cell in ipairs(cells) do
    local seen = M.seen(cell)
    for _, l in ipairs(libraries(seen)) do
      local library = l.name:find "%.so" and not l.name:find "^ld%-linux" and not l.name:find "^libc%.so" and
        not bottom[l.name]
      local key = library and l.name or none
      if not by[key] then by[key], order[#order + 1] = {}, key end
      by[key][i] = (by[key][i] or 0) + 100 * l.exclusive_s / whole_time(seen)
    end
  end
  local function most(key)
    local m = 0
    for i = 1, #cells do m = math.max(m, by[key][i] or 0) end
    return key == none and -1 or m
  end
  table.sort(order, function(a, b)
    if most(a) ~= most(b) then return most(a) > most(b) end
    return a < b
  end)
  return by, order
end

local function share_table(cells)
  local by, order = shares(cells)
  local columns, rows = { { "library", "text", none .. ": the command, libc, the loader, the kernel" } }, {}
  for i, cell in ipairs(cells) do columns[i + 1] = { cell.p.view, "%", "share of the run in this view" } end
  local several = 0 -- libraries without a separate row
  local other = {}
  for place, key in ipairs(order) do
    local row = { key }
    for i = 1, #cells do row[i + 1] = by[key][i] end
    if key == none or place <= shown_libraries then
      rows[#rows + 1] = row
    else
      several = several + 1
      for i = 1, #cells do other[i] = row[i + 1] and (other[i] or 0) + row[i + 1] or other[i] end
    end
  end
  if several > 0 then
    table.insert(rows, #rows, { ("(%d more)"):format(several), table.unpack(other, 1, #cells) })
  end
  return { rows = rows, columns = columns }
end

local function say_functions(run, cell, most)
  local seen, rows = M.seen(cell), {}
  for i, f in ipairs(seen.functions) do
    if i > most then break end
    rows[i] = { f.library, f.name, f.calls, f.calls and f.calls / seen.seconds, f.exclusive_s,
      100 * f.exclusive_s / whole_time(seen), f.min_ns, f.median_ns, f.max_ns }
  end
  run:say(("\nFunctions by %s: the first %d of %d"):format(cell.p.view, #rows, #seen.functions))
  run:say(tabulate({ "library", "function", "calls", "calls/s", "exclusive [s]", "share [%]", "min [ns]", "median [ns]",
    "max [ns]" }, rows, 1))
end

-- Warn of a view that changes the command's exit status, and of a view that recorded nothing.
local function warn(run)
  local plain
  for _, cell in ipairs(run.cells) do
    local seen = cell.summary and M.seen(cell)
    plain = plain or seen and seen.status
    if seen and seen.status ~= plain then
      run:warn(("the command ended with status %d while observed, with %d otherwise"):format(seen.status, plain))
    end
    if seen and seen.remark then run:warn(seen.remark) end
  end
end

--- Write the tables and print them.
---@param most integer functions to print for each view
function M.write(run, most)
  local cells = looking(run)
  warn(run)
  local share = share_table(cells)
  run:write_table("library.dat", library_table(cells), "time and calls by library")
  run:write_table("function.dat", function_table(cells), "time and calls by function")
  run:write_table("distribution.dat", distribution_table(cells), "calls of each function by their duration")
  run:write_table("shares.dat", share, "share of each library by each view")
  if #cells > 0 then
    run:say_table("Share of the run by library; (no library) is the command itself, libc, the loader and the kernel", share)
  end
  for _, cell in ipairs(cells) do say_functions(run, cell, most) end
end

return M
