-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/simulation/report.lua - what a simulation counted, for people and as JSON: the whole, threads,
-- sections, functions.
--
-- Try:  pmlua stat --sim -- true

local sections = require "pmlua.sections"
local simulation = require "pmlua.internal.simulation.run"
local statistics = require("pmlua.core").statistics
local tabulate = require "pmlua.tabulate"

local M = {}

local TOP = 20 -- functions
local WARNINGS = 8

local about = {
  Ir = "instructions", Dr = "data reads", Dw = "data writes", I1mr = "instruction reads that miss the first level",
  D1mr = "data reads that miss the first level", D1mw = "data writes that miss the first level",
  ILmr = "instruction reads that miss the last level", DLmr = "data reads that miss the last level",
  DLmw = "data writes that miss the last level", Bc = "conditional branches", Bcm = "conditional branches mispredicted",
  Bi = "indirect branches", Bim = "indirect branches mispredicted",
}

--- Whether an event is counted as it happens, or depends on a model of caches or of branch prediction.
local modelled = {}
for _, name in ipairs { "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw", "Bcm", "Bim" } do modelled[name] = true end

--- The default columns, which fit on a line.
local usual = { 1, 2, 3, 5, 6, 8, 9, 11 }

local function every()
  local out = {}
  for i in ipairs(simulation.events) do out[i] = i end
  return out
end

local function header(first, places)
  local names = table.move(first, 1, #first, 1, {})
  for _, k in ipairs(places) do names[#names + 1] = simulation.events[k] end
  return names
end

local function row_of(first, counts, places)
  for _, k in ipairs(places) do first[#first + 1] = counts[k] end
  return first
end

local function shortened(name, most) return #name <= most and name or name:sub(1, most - 3) .. "..." end

local function totals(all, places, fd)
  local rows = {}
  for i, k in ipairs(places or every()) do
    local name = simulation.events[k]
    rows[i] = { "sim::" .. name, all.totals[k], about[name], modelled[name] and "by the model" or "counted" }
  end
  return tabulate({ "event", "count", "", "" }, rows, fd)
end

local function program(p) return p.command:match("^%S+"):match("[^/]*$") end

--- Threads, where there is more than the one.
local function threads(all, places, fd)
  local rows = {}
  for _, p in ipairs(all.processes) do
    for _, t in ipairs(p.threads) do rows[#rows + 1] = row_of({ p.pid, program(p), t.number }, t.totals, places) end
  end
  return #rows > 1 and tabulate(header({ "process", "program", "thread" }, places), rows, fd) or nil
end

--- Sections and all other regions of one process, merged over threads, and the counts outside all regions.
local function merge_regions(p, add)
  for _, r in ipairs(p.regions) do add(r.name, r.thread, r.calls, r.inclusive, r.exclusive) end
  if #p.regions == 0 then return end
  for _, o in ipairs(p.outside) do add(nil, o.thread, nil, nil, o.counts) end
end

--- A row for each name, of all threads and processes; the one without a name is the last.
local function regions_of(all)
  local byname, list = {}, {}
  for _, p in ipairs(all.processes) do
    merge_regions(p, function(name, thread, calls, inclusive, exclusive)
      local key = name or ""
      local row = byname[key]
      if not row then
        row = { name = name, calls = 0, inclusive = {}, exclusive = {}, threads = {}, nthreads = 0 }
        byname[key], list[#list + 1] = row, row
      end
      local who = p.pid .. "." .. thread
      if not row.threads[who] then row.threads[who], row.nthreads = true, row.nthreads + 1 end
      row.calls = row.calls + (calls or 0)
      statistics.add(row.inclusive, inclusive or {})
      statistics.add(row.exclusive, exclusive)
    end)
  end
  return list
end

--- Sort by exclusive cost, with the costs outside all regions last.
local function sort_regions(list, by)
  table.sort(list, function(a, b)
    if (a.name == nil) ~= (b.name == nil) then return b.name == nil end
    if a.exclusive[by] ~= b.exclusive[by] then return a.exclusive[by] > b.exclusive[by] end
    return (a.name or "") < (b.name or "")
  end)
end

local function regions(all, places, most, fd)
  local list, rows, sums = regions_of(all), {}, {}
  if #list == 0 then return nil end
  sort_regions(list, places[1])
  for i, r in ipairs(list) do
    local name = r.name and shortened(sections.show(r.name), most) or "(in none of them)"
    local calls, inclusive = r.name and r.calls or false, r.inclusive[places[1]] or false
    rows[i] = row_of({ name, r.nthreads, calls, inclusive }, r.exclusive, places)
    statistics.add(sums, r.exclusive)
  end
  rows[#rows + 1] = row_of({ "(sum)", false, false, false }, sums, places)
  for _, row in ipairs(rows) do
    for i = 2, 4 do row[i] = row[i] or nil end
  end
  local first = { "section (by itself)", "threads", "calls", simulation.events[places[1]] .. " with all inside" }
  return tabulate(header(first, places), rows, fd)
end

--- Functions of all processes together, the dearest first.
local function merged(all)
  local byname, list = {}, {}
  for _, p in ipairs(all.processes) do
    for _, f in ipairs(p.inherited and {} or p.functions) do
      local key = f.object .. "\0" .. f.name
      local m = byname[key]
      if not m then
        m = { object = f.object, name = f.name, calls = 0, cost = {} }
        byname[key], list[#list + 1] = m, m
      end
      m.calls = m.calls + f.calls
      statistics.add(m.cost, f.cost)
    end
  end
  return list
end

local function functions(all, places, top, most, fd)
  local list, rows = merged(all), {}
  local by = places[1]
  table.sort(list, function(a, b)
    if a.cost[by] ~= b.cost[by] then return a.cost[by] > b.cost[by] end
    if a.object ~= b.object then return a.object < b.object end
    return a.name < b.name
  end)
  for i, f in ipairs(list) do
    if i > top then break end
    local first = { shortened(f.object:match("[^/]*$"), most // 2), shortened(f.name, most) }
    if not all.section then first[3] = f.calls end -- callgrind counts some outside of it, too
    rows[i] = row_of(first, f.cost, places)
  end
  if #rows == 0 then return nil end
  local more = #list - #rows
  return tabulate(header({ "object", "function (by itself)", not all.section and "calls" or nil }, places), rows, fd)
    .. (more > 0 and ("\nand %d functions more; --top N and --json have them"):format(more) or "")
end

--- The tables.
---@param all table as simulation.count gives it
---@param options { places: integer[]?, top: integer?, name: integer, fd: integer? } fd: as for tabulate()
function M.text(all, options)
  if #all.processes == 0 then return "" end
  local places = options.places or usual
  local parts = { totals(all, options.places, options.fd) }
  parts[#parts + 1] = threads(all, places, options.fd)
  parts[#parts + 1] = regions(all, places, options.name, options.fd)
  parts[#parts + 1] = functions(all, places, options.top or TOP, options.name, options.fd)
  if all.section then parts[#parts + 1] = ("only instructions inside section %s"):format(sections.show(all.section)) end
  parts[#parts + 1] = all.own
  parts[#parts + 1] = ("caches of the model: %s"):format(all.model)
  return "\n" .. table.concat(parts, "\n\n") .. "\n"
end

--- Warnings about errors and omissions, one per line.
function M.warnings(all)
  local out = {}
  for _, p in ipairs(all.processes) do
    if p.inherited then
      out[#out + 1] = ("process %d is a fork of a program that ignores LD_PRELOAD: its counts include its parent's, "
        .. "and are left out of the sums"):format(p.pid)
    end
  end
  local never = all.section and all.totals[1] == 0
  if never then out[#out + 1] = ("nothing was counted: section %s was never started"):format(sections.show(all.section)) end
  for _, p in ipairs(all.processes) do
    if p.untold and not never then
      out[#out + 1] = ("process %d: no costs of its sections: %s"):format(p.pid, p.untold)
    end
    for _, r in ipairs(p.regions) do
      if r.open > 0 then
        out[#out + 1] = ("section %s was never stopped by thread %d of process %d; its counts go to the thread's end")
          :format(sections.show(r.name), r.thread, p.pid)
      end
    end
  end
  table.move(all.warnings, 1, #all.warnings, #out + 1, out)
  if #all.processes == 0 then out[#out + 1] = "nothing was counted: the program was killed, or never started" end
  if not all.fixed then
    out[#out + 1] = "addresses are random (setarch -R is not permitted): misses may differ from run to run"
  end
  local more = #out - WARNINGS
  for i = #out, WARNINGS + 1, -1 do out[i] = nil end
  if more > 0 then out[#out + 1] = ("and %d more warnings"):format(more) end
  return out
end

local function named(counts)
  local t = {}
  for i, name in ipairs(simulation.events) do t["sim::" .. name] = counts[i] end
  return t
end

local function add_csv_rows(add, p)
  add("process", p, nil, nil, p.command, nil, p.totals)
  for _, t in ipairs(p.threads) do add("thread", p, t.number, nil, nil, nil, t.totals) end
  for _, r in ipairs(p.regions) do add("section", p, r.thread, nil, sections.show(r.name), r.calls, r.inclusive) end
  for _, f in ipairs(p.functions) do add("function", p, nil, f.object, f.name, f.calls, f.cost) end
end

--- A row for each process, thread, section (inclusive) and function; a column for each event.
---@param places? integer[] of the events; nil: all
function M.csv(all, places)
  local shown, rows = places or every(), {}
  local names = header({ "of", "pid", "thread", "object", "name", "calls" }, shown)
  local function add(of, p, thread, object, name, calls, counts)
    local row = { of, p and p.pid, thread, object, name, not all.section and calls or nil }
    for i, place in ipairs(shown) do row[6 + i] = counts[place] end
    rows[#rows + 1] = row
  end
  add("all", nil, nil, nil, nil, nil, all.totals)
  for _, p in ipairs(all.processes) do add_csv_rows(add, p) end
  return require "pmlua.internal.cli.csv".table(names, rows)
end

function M.json(all, words)
  local json = require "pmlua.json"
  local processes = json.array()
  for i, p in ipairs(all.processes) do
    local threads_of, functions_of = json.array(), json.array()
    for k, t in ipairs(p.threads) do threads_of[k] = { thread = t.number, counts = named(t.totals) } end
    for k, f in ipairs(p.functions) do
      functions_of[k] = { object = f.object, name = f.name, calls = not all.section and f.calls or nil, counts = named(f.cost) }
    end
    local sections_of = json.array()
    for k, r in ipairs(p.regions) do
      sections_of[k] = { name = sections.show(r.name), thread = r.thread, calls = r.calls, open = r.open,
        inclusive = named(r.inclusive), exclusive = named(r.exclusive) }
    end
    processes[i] = { pid = p.pid, command = p.command, counts = named(p.totals), threads = threads_of,
      sections = sections_of, functions = functions_of, inherited = p.inherited or false }
  end
  return json.encode {
    command = json.array(words), ended = all.ended, counts = named(all.totals), processes = processes,
    simulation = { tool = "callgrind", section = all.section, own = all.own,
      caches = all.model, addresses = all.fixed and "fixed" or "random" },
    warnings = json.array(M.warnings(all)),
  }
end

return M
