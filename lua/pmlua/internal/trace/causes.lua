-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/trace/causes.lua - what pmlua trace prints of waits and of the critical path.
--
-- Try:  pmlua trace out/traces.otf2 --waits --critical-path

local json = require "pmlua.json"
local printable = require "pmlua.internal.printable"
local tables = require "pmlua.internal.report.job_tables"
local units = require "pmlua.internal.report.units"

local M = {}

local WAITS <const>, CAUSES <const>, PARTS <const>, NAME <const>, SHORT <const> = 20, 10, 15, 60, 40

M.wait_columns = { "kind", "region", "rank", "for_rank", "waits", "wait_s", "path", "location", "for_location", "for_path" }
M.cause_columns = { "cause", "for_rank", "for_location", "wait_s", "kind", "path", "rank", "location" }
M.path_columns = { "region", "path_s", "all_s", "most_rank", "most_s" }
M.call_path_columns = { "path", "path_s", "all_s", "most_rank", "most_s" }

local function cut(name) return require "pmlua.tabulate".cut(printable(name), NAME) end

--- A name of which the end says most, as a call path.
local function cut_left(name, most)
  most = most or NAME
  name = printable(name)
  local n = utf8.len(name)
  return n and n > most and "..." .. name:sub(utf8.offset(name, n - most + 4)) or cut(name)
end

local function time(s) return units.scaled(s, "s") end

local function share(part, whole) return whole > 0 and units.percent(part / whole) .. " %" or "-" end

--- A rank or process; for a thread that is not its first, also the thread.
local function who(read, process, location)
  local p = read.processes[process]
  local name = p.rank and ("%d"):format(p.rank) or read.about.processes > 1 and cut(p.name)
  if not read.threads.first[process] or location == read.threads.first[process] and name then return name or "-" end
  local thread = cut(read.threads.name[location])
  return name and ("%s (%s)"):format(name, thread) or thread
end

--- Each cause of each wait.
---@param waits pmlua.analysis.Wait[]
---@return table[] rows with cause_columns
function M.causes(waits)
  local rows = {}
  for _, w in ipairs(waits) do
    for _, c in ipairs(w.causes) do
      rows[#rows + 1] = { cause = c.path, for_rank = w.for_rank, for_location = w.for_location, for_process = w.for_process,
        wait_s = c.wait_s, kind = w.kind, path = w.path, rank = w.rank, location = w.location }
    end
  end
  return rows
end

local function table_of_causes(read, ranks)
  local list, all = read.wait_sums.late, read.wait_sums.wait_s
  local rows = { { "WAS IN", ranks and "RANK" or "THREAD", "OTHERS WAITED", "SHARE" } }
  for i = 1, math.min(#list, CAUSES) do
    local c = list[i]
    rows[i + 1] = { cut_left(c.cause), who(read, c.process, c.location), time(c.wait_s), share(c.wait_s, all) }
  end
  return tables.lined_up("Regions in which late ranks and threads were meanwhile", rows, 1)
    .. (#list > CAUSES and ("and %d more; --csv --table causes lists all\n"):format(#list - CAUSES) or "")
end

--- A line on the waits that are not listed.
local function other_waits(read)
  local n, dropped = #read.waits - WAITS, read.wait_sums.dropped
  if dropped.waits == 0 then return n > 0 and ("and %d more; --json lists all\n"):format(n) or "" end
  return ("and %d more, and %d waits of shorter sums, %s in all, which were not kept: each sum is at most %s too small; "
    .. "--json lists all\n"):format(math.max(n, 0), dropped.waits, time(dropped.wait_s), time(dropped.most_s))
end

---@param read pmlua.trace.Facts
function M.of_waits(read)
  if not read.waits then return "" end
  if #read.waits == 0 then return "\nno rank and no thread waited for another\n" end
  local ranks = read.about.ranks > 0
  local rows = { { "WAIT", "IN", "LATE ONE WAS IN", ranks and "RANK" or "THREAD", ranks and "FOR RANK" or "FOR THREAD", "TIMES",
    "TIME" } }
  for i = 1, math.min(#read.waits, WAITS) do
    local w = read.waits[i]
    local cause = w.causes[1]
    rows[i + 1] = { w.kind, cut_left(w.path),
      cause and ("%s, %s"):format(cut_left(cause.path, SHORT), share(cause.wait_s, w.wait_s)) or "-",
      who(read, w.process, w.location), who(read, w.for_process, w.for_location), ("%d"):format(w.waits), time(w.wait_s) }
  end
  local title = "Waits of ranks and threads for each other, of the whole " .. (read.window and "window" or "run")
  return tables.lined_up(title, rows, 3) .. other_waits(read) .. table_of_causes(read, ranks)
end

-- ---- the critical path ----

local function path_regions(path, top, ranks, window)
  local rows = { { "REGION", "ON THE PATH", "SHARE", "OF ALL ITS TIME", ranks and "MOST OF RANK" or nil } }
  for i = 1, math.min(#path.regions, top) do
    local r = path.regions[i]
    rows[i + 1] = { cut(r.region), time(r.path_s), share(r.path_s, path.length_s), share(r.path_s, r.all_s),
      ranks and (r.most_rank and ("%d"):format(r.most_rank) or "-") or nil }
  end
  local title = ("Critical path, %s of the whole %s; it goes over to another rank or thread %s"):format(time(path.length_s),
    window and "window" or "run", path.waits == 1 and "once" or units.plural(path.waits, "time"))
  return tables.lined_up(title, rows, 1)
    .. (#path.regions > top and ("and %d more; --top lists them\n"):format(#path.regions - top) or "")
end

--- The same by call path, if more than 1 % is in calls inside others.
local function path_calls(path, top, ranks)
  local rows, deep = { { "CALL PATH", "ON THE PATH", "SHARE", "OF ALL ITS TIME", ranks and "MOST OF RANK" or nil } }, false
  for i = 1, math.min(#path.paths, top) do
    local p = path.paths[i]
    deep = deep or p.path:find("/", 1, true) ~= nil and p.path_s > path.length_s / 100
    rows[i + 1] = { cut_left(p.path), time(p.path_s), share(p.path_s, path.length_s), share(p.path_s, p.all_s),
      ranks and (p.most_rank and ("%d"):format(p.most_rank) or "-") or nil }
  end
  return deep and tables.lined_up("Critical path by call path", rows, 1)
    .. (#path.paths > top and ("and %d more; --top lists them\n"):format(#path.paths - top) or "") or ""
end

local function path_ranks(path, ranks)
  if not ranks then return "" end
  local rows = { { "RANK", "ON THE PATH", "SHARE" } }
  for i = 1, math.min(#path.ranks, PARTS) do
    local r = path.ranks[i]
    rows[i + 1] = { r.rank and ("%d"):format(r.rank) or ("process %d"):format(r.process), time(r.path_s),
      share(r.path_s, path.length_s) }
  end
  return tables.lined_up("Critical path by rank", rows, 0)
    .. (#path.ranks > PARTS and ("and %d more; --json lists all\n"):format(#path.ranks - PARTS) or "")
end

--- The longest parts, in the order of time.
local function path_parts(read, path)
  local longest = table.move(path.parts, 1, #path.parts, 1, {})
  local earlier = require "pmlua.internal.order".by("from_s", "to_s")
  table.sort(longest, function(a, b)
    local x, y = a.to_s - a.from_s, b.to_s - b.from_s
    if x ~= y then return x > y end
    return earlier(a, b)
  end)
  local shown = table.move(longest, 1, math.min(#longest, PARTS), 1, {})
  table.sort(shown, earlier)
  local rows = { { "MOSTLY IN", "BEGAN AFTER", read.about.ranks > 0 and "RANK" or "THREAD", "FROM", "TO", "TIME", "SHARE" } }
  for i, p in ipairs(shown) do
    rows[i + 1] = { cut_left(p.path), p.after and ("%s, %s"):format(p.after, cut_left(p.waited_in, SHORT)) or "-",
      who(read, p.process, p.location), time(p.from_s), time(p.to_s), time(p.to_s - p.from_s),
      share(p.to_s - p.from_s, path.length_s) }
  end
  return tables.lined_up(#shown < #path.parts and "Its longest parts, in the order of time" or "Its parts, in the order of time",
    rows, 2) .. (#shown < #path.parts and ("and %d more; --json lists all\n"):format(#path.parts - #shown) or "")
end

--- A line on time on the path that may be waiting, in calls that the analysis cannot follow.
local function path_unknown(path)
  local names = {}
  for _, r in ipairs(path.regions) do if r.unknown and r.path_s > 0 then names[#names + 1] = cut(r.region) end end
  if #names == 0 then return "" end
  local more = #names > 4 and (", and %d more"):format(#names - 4) or ""
  return ("%s of the path (%s) is in calls whose waiting is unknown: %s%s\n"):format(time(path.unknown_s),
    share(path.unknown_s, path.length_s), table.concat(names, ", ", 1, math.min(#names, 4)), more)
end

---@param read pmlua.trace.Facts
---@param top integer regions
function M.of_critical_path(read, top)
  local path = read.critical_path
  if not path then return "" end
  if #path.parts == 0 then return "\nno critical path: the trace has no calls\n" end
  local ranks = read.about.ranks > 0
  return path_regions(path, top, ranks, read.window) .. path_unknown(path) .. path_calls(path, top, ranks)
    .. path_ranks(path, ranks) .. path_parts(read, path)
end

--- The same for JSON.
---@param read pmlua.trace.Facts
---@return table?
function M.critical_path(read)
  local path = read.critical_path
  return path and { length_s = path.length_s, waits = path.waits, unknown_s = path.unknown_s, regions = json.array(path.regions),
    paths = json.array(path.paths), ranks = json.array(path.ranks), parts = json.array(path.parts) }
end

return M
