-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/trace/told.lua - what pmlua trace prints of an archive: what it is, its tables, what is odd.
--
-- Try:  pmlua trace out/traces.otf2 --top 5

local causes = require "pmlua.internal.trace.causes"
local csv = require "pmlua.internal.cli.csv"
local facts = require "pmlua.internal.trace.facts"
local json = require "pmlua.json"
local printable = require "pmlua.internal.printable"
local tables = require "pmlua.internal.report.job_tables"
local units = require "pmlua.internal.report.units"

local M = {}

local PAIRS <const>, NAME <const>, SUMS <const> = 10, 60, 8192

local function cut(name) return require "pmlua.tabulate".cut(printable(name), NAME) end

-- ---- what it is ----

local function title(read)
  local a = read.about
  local parts = { tables.plural(a.processes, a.ranks > 0 and "rank" or "process"):gsub("processs", "processes"),
    tables.plural(a.locations, "location") }
  if a.hosts > 0 then parts[#parts + 1] = tables.plural(a.hosts, "host") end
  parts[#parts + 1] = units.scaled(a.length_s, "s")
  parts[#parts + 1] = tables.plural(a.events, "event")
  if a.creator ~= "" then parts[#parts + 1] = "written by " .. cut(a.creator) end
  return table.concat(parts, ", ")
end

local function kinds_line(read)
  local parts = {}
  for i, k in ipairs(read.kinds) do parts[i] = ("%d %s"):format(k.events, k.kind) end
  return #parts > 0 and "events: " .. table.concat(parts, ", ") .. "\n" or ""
end

local function clocks_line(read)
  if #read.clocks == 0 then return "" end
  local n, least, most = 0, math.huge, -math.huge
  for _, c in ipairs(read.clocks) do
    n, least, most = n + c.offsets, math.min(least, c.least_s), math.max(most, c.most_s)
  end
  return ("clocks of %s are corrected by %s to %s, measured %d times\n"):format(tables.plural(#read.clocks, "location"),
    units.scaled(least, "s"), units.scaled(most, "s"), n)
end

local function ranks_line(read)
  local r = read.ranks
  if not r then return "" end
  return ("of the ranks' time %s %% is in MPI; outside of it: average %s, least %s (rank %d), most %s (rank %d); "
    .. "load balance %.3f, communication efficiency %.3f\n"):format(units.percent(r.mpi), units.scaled(r.average_s, "s"),
    units.scaled(r.least_s, "s"), r.least_rank, units.scaled(r.most_s, "s"), r.most_rank, r.balance, r.communication)
end

local function sampled(read)
  local n = 0
  for _, k in ipairs(read.kinds) do
    if k.kind:find "^CallingContext" then n = n + k.events end
  end
  return n
end

local function oddities(read)
  local list, odd = {}, read.odd
  local function say(n, text) if n > 0 then list[#list + 1] = text:format(n) end end
  say(odd.damaged, odd.damaged == 1 and "%d location is cut or damaged: its events are missing from there on, or all"
    or "%d locations are cut or damaged: their events are missing from there on, or all")
  say(odd.lost, "%d events that the definitions count are not in the files")
  say(odd.uncounted, "%d events are in the files that the definitions do not count; they are read")
  say(odd.unmatched, "%d enters and leaves have no partner")
  say(odd.backward, "%d events are before the one before them on their location; they count as simultaneous with it")
  say(odd.unknown, "%d events are of regions without a definition; they are left out")
  say(read.unknown, "%d messages go to receivers that the definitions do not tell; they are left out")
  say(read.unreceived, "%d messages were sent and not received")
  say(-read.unreceived, "%d messages were received and not sent")
  say(read.nans or 0, "%d values of metrics are no numbers; least and most are of the others")
  say(sampled(read), "%d events are of sampled call paths; they are in no table")
  return list
end

-- ---- tables ----

local function time(s) return s and units.scaled(s, "s") or "-" end

local function name_of(read, process)
  local p = read.processes[process]
  return p.rank and ("%d"):format(p.rank) or cut(p.name)
end

local function and_more(list, shown) return #list > shown and ("and %d more; --top lists them\n"):format(#list - shown) or "" end

local function table_of_regions(read, top)
  local rows = { { "REGION", "PARADIGM", "CALLS", "EXCLUSIVE", "SHARE", "INCLUSIVE", "MIN", "MAX", "MAX/AVG",
    read.about.ranks > 0 and "OF RANK" or "OF PROCESS" } }
  local all = 0
  for _, r in ipairs(read.regions) do all = all + r.exclusive_s end
  for i = 1, math.min(#read.regions, top) do
    local r = read.regions[i]
    rows[i + 1] = { cut(r.region), r.paradigm or "-", ("%d"):format(r.calls),
      time(r.exclusive_s), all > 0 and units.percent(r.exclusive_s / all) .. " %" or "-", time(r.inclusive_s), time(r.least_s),
      time(r.most_s), r.imbalance and ("%.3f"):format(r.imbalance) or "-",
      r.most_process and name_of(read, r.most_process) or "-" }
  end
  return tables.lined_up("Regions, time of all processes", rows, 2) .. and_more(read.regions, top)
end

local function depth_of(paths, i)
  local depth = 0
  while paths[i].parent do i, depth = paths[i].parent, depth + 1 end
  return depth
end

local function table_of_paths(read, top)
  if not read.paths then return "" end
  local rows = { { "CALL PATH", "CALLS", "INCLUSIVE", "EXCLUSIVE", "MIN", "MAX" } }
  for i = 1, math.min(#read.paths, top) do
    local p = read.paths[i]
    rows[i + 1] = { ("  "):rep(depth_of(read.paths, i)) .. cut(p.region), ("%d"):format(p.calls), time(p.inclusive_s),
      time(p.exclusive_s), time(p.least_s), time(p.most_s) }
  end
  return tables.lined_up("Call paths, time of all processes", rows, 1) .. and_more(read.paths, top)
end

local function table_of_messages(read)
  local rows = { { "FROM", "TO", "MESSAGES", "DATA" } }
  for i, m in ipairs(read.messages) do
    rows[i + 1] = { name_of(read, m.from), name_of(read, m.to), ("%d"):format(m.messages), units.scaled(m.bytes, "B") }
  end
  return tables.lined_up("Messages between ranks", rows, 0)
    .. ((read.pairs or 0) > PAIRS and ("and %d more pairs; --json lists all\n"):format(read.pairs - PAIRS) or "")
end

local function table_of_metrics(read)
  local rows = { { "METRIC", "UNIT", "LOCATIONS", "VALUES", "LEAST", "MOST", "AT THE END" } }
  local function number(v) return v and ("%.6g"):format(v) or "-" end
  for i, m in ipairs(read.metrics) do
    rows[i + 1] = { cut(m.metric), m.unit and cut(m.unit) or "-", ("%d"):format(m.locations), ("%d"):format(m.values),
      number(m.least), number(m.most), m.accumulated and number(m.last) or m.locations == 1 and number(m.last) or "-" }
  end
  return tables.lined_up("Metrics; at the end: the sum over locations of what is counted", rows, 2)
end

local function as_text(read, o)
  local text = title(read) .. "\n" .. kinds_line(read) .. clocks_line(read) .. ranks_line(read)
    .. table_of_regions(read, o.top) .. table_of_paths(read, o.top) .. table_of_messages(read) .. table_of_metrics(read)
    .. causes.of_waits(read) .. causes.of_critical_path(read, o.top)
  for _, line in ipairs(oddities(read)) do text = text .. "\n" .. line end
  return text:gsub("\n?$", "\n")
end

-- ---- for programs ----

local function messages_of(read)
  local list = json.array()
  for i, m in ipairs(read.messages) do
    list[i] = { from = read.processes[m.from].rank or m.from, to = read.processes[m.to].rank or m.to, messages = m.messages,
      bytes = m.bytes }
  end
  return list
end

--- The names of a call path from the outermost call on.
local function path_name(paths, i)
  local names = {}
  while i do
    table.insert(names, 1, paths[i].region)
    i = paths[i].parent
  end
  return table.concat(names, "/")
end

local function paths_of(read)
  if not read.paths then return nil end
  local list = json.array()
  for i, p in ipairs(read.paths) do
    list[i] = { path = path_name(read.paths, i), calls = p.calls, inclusive_s = p.inclusive_s, exclusive_s = p.exclusive_s,
      least_s = p.least_s, most_s = p.most_s }
  end
  return list
end

local columns = {
  regions = { "region", "paradigm", "calls", "unreturned", "exclusive_s", "inclusive_s", "least_s", "most_s", "imbalance",
    "most_rank" },
  paths = { "path", "calls", "inclusive_s", "exclusive_s", "least_s", "most_s" },
  messages = { "from", "to", "messages", "bytes" },
  metrics = { "metric", "unit", "locations", "values", "least", "most", "last" },
  kinds = { "kind", "events" },
  waits = causes.wait_columns,
  causes = causes.cause_columns,
  ["critical-path"] = causes.path_columns,
  ["critical-call-paths"] = causes.call_path_columns,
}

--- The tables that --csv can print.
M.tables = { "regions", "paths", "messages", "metrics", "kinds", "waits", "causes", "critical-path", "critical-call-paths" }

local function as_csv(read, which)
  local list = which == "messages" and messages_of(read) or which == "paths" and paths_of(read)
    or which == "causes" and causes.causes(read) or which == "critical-path" and read.critical_path.regions
    or which == "critical-call-paths" and read.critical_path.paths or read[which]
  local rows = {}
  for i, r in ipairs(list) do
    rows[i] = {}
    for k, column in ipairs(columns[which]) do rows[i][k] = r[column] or "" end
  end
  return csv.table(columns[which], rows)
end

local function as_json(read)
  return json.encode { about = read.about, processes = json.array(read.processes), regions = json.array(read.regions),
    kinds = json.array(read.kinds), clocks = json.array(read.clocks), ranks = read.ranks, messages = messages_of(read),
    metrics = json.array(read.metrics), waits = read.waits and json.array(read.waits), paths = paths_of(read),
    critical_path = causes.critical_path(read), oddities = json.array(oddities(read)) }
end

--- What pmlua trace prints of an archive.
---@param reader pmlua.TraceReader
---@param o { json: boolean?, csv: boolean?, table: string?, waits: boolean?, critical_path: boolean?, paths: boolean?,
---  top: integer, where: pmlua.TraceWhere }
---@return string? text
---@return pmlua.Failure? failure
function M.text(reader, o)
  local which = o.table or "regions"
  local function wants(asked, name, other) return asked or o.csv and (which == name or which == other) end
  local few = not o.json and not o.csv
  local read, why = facts.read(reader, o.where, { waits = wants(o.waits, "waits", "causes"), paths = wants(o.paths, "paths"),
    critical_path = wants(o.critical_path, "critical-path", "critical-call-paths"), pairs = few and PAIRS or nil,
    sums = few and SUMS or nil })
  if not read then return nil, why end
  if o.json then return as_json(read) end
  return o.csv and as_csv(read, which) or as_text(read, o)
end

return M
