-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/trace/report.lua - the text output of pmlua trace: properties of an archive, tables, anomalies.
--
-- Try:  pmlua trace out/traces.otf2 --top 5

local causes = require "pmlua.internal.trace.causes"
local csv = require "pmlua.internal.cli.csv"
local facts = require "pmlua.internal.trace.facts"
local json = require "pmlua.json"
local lists = require "pmlua.internal.lists"
local printable = require "pmlua.internal.printable"
local tables = require "pmlua.internal.report.job_tables"
local units = require "pmlua.internal.report.units"
local refuse = require "pmlua.core".failure.refuse
local try = require "pmlua.internal.try"

local M = {}

local PAIRS <const>, NAME <const>, SUMS <const>, COPIED <const> = 10, 60, 8192, 65536

local function cut(name) return require "pmlua.tabulate".cut(printable(name), NAME) end

-- ---- what it is ----

local function title(read)
  local a = read.about
  local parts = { units.plural(a.processes, a.ranks > 0 and "rank" or "process", a.ranks == 0 and "processes" or nil),
    units.plural(a.locations, "location") }
  if a.hosts > 0 then parts[#parts + 1] = units.plural(a.hosts, "host") end
  parts[#parts + 1] = units.scaled(a.length_s, "s")
  parts[#parts + 1] = units.plural(a.events, "event")
  if a.creator ~= "" then parts[#parts + 1] = "written by " .. cut(a.creator) end
  return table.concat(parts, ", ")
end

local function kinds_line(read)
  local parts = lists.map(read.kinds, function(k) return ("%d %s"):format(k.events, k.kind) end)
  return #parts > 0 and "events: " .. table.concat(parts, ", ") .. "\n" or ""
end

local function clocks_line(read)
  if #read.clocks == 0 then return "" end
  local n, least, most = 0, math.huge, -math.huge
  for _, c in ipairs(read.clocks) do
    n, least, most = n + c.offsets, math.min(least, c.least_s), math.max(most, c.most_s)
  end
  return ("clocks of %s are corrected by %s to %s, measured %d times\n"):format(units.plural(#read.clocks, "location"),
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
  say(odd.undefined, "%d locations lack their file of definitions (traces/LOCATION.def), without which names may be wrong; "
    .. "their events are left out")
  say(odd.lost, "%d events that the definitions count are not in the files")
  say(odd.uncounted, "%d events are in the files that the definitions do not count; they are read")
  say(odd.unmatched, "%d enters and leaves have no partner")
  say(odd.backward, "%d events are earlier than the previous event of their location; they count as simultaneous with it")
  say(odd.unknown, "%d events are of regions without a definition; they are left out")
  say(read.unknown, "%d messages go to receivers that the definitions lack; they are omitted")
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
  return tables.lined_up("Metrics; at the end: the sum of counts over locations", rows, 2)
end

local function as_text(read, o)
  local text = title(read) .. "\n" .. kinds_line(read) .. clocks_line(read) .. ranks_line(read)
    .. table_of_regions(read, o.top) .. table_of_paths(read, o.top) .. table_of_messages(read) .. table_of_metrics(read)
    .. causes.of_waits(read) .. causes.of_critical_path(read, o.top)
  for _, line in ipairs(oddities(read)) do text = text .. "\n" .. line end
  return text:gsub("\n?$", "\n")
end

-- ---- for programs ----

local function message_of(processes, m)
  return { from = processes[m.from].rank or m.from, to = processes[m.to].rank or m.to, messages = m.messages, bytes = m.bytes }
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

local function line_of(which, row)
  local cells = lists.map(columns[which], function(column) return row[column] or "" end)
  return csv.line(cells, #cells)
end

--- Rows that are not kept in memory: lines of a file without a name.
local function spool()
  local file = try(require "pmlua.internal.temporary".file "trace")
  local rows = { file = file }
  function rows.add(line)
    local ok, why = file:write(line)
    if not ok then rows.failed = why end
  end
  --- nil and why, if a row could not be written.
  function rows.rewind()
    local ok, why = file:seek "set"
    rows.failed = rows.failed or not ok and why or nil
    if not rows.failed then return true end
    return refuse("EIO", "rows in a temporary file: " .. rows.failed, "set TMPDIR to a folder with room")
  end
  return setmetatable(rows, { __close = function() file:close() end })
end

--- A list's elements, then lines of rows, for JSON.
local function items(list, rows)
  local i = 0
  return function()
    i = i + 1
    if i <= #list then return list[i] end
    local line = rows.file:read()
    return line and json.written(line)
  end
end

--- The rows of a table.
local function list_of(read, which)
  return which == "paths" and paths_of(read) or which == "causes" and causes.causes(read.waits)
    or which == "critical-path" and read.critical_path.regions or which == "critical-call-paths" and read.critical_path.paths
    or read[which]
end

local function write_csv(read, which, rows, write)
  local list = list_of(read, which)
  write(csv.line(columns[which], #columns[which]))
  for _, row in ipairs(list) do write(line_of(which, row)) end
  for bytes in rows.file:lines(COPIED) do write(bytes) end
end

local function write_json(read, messages, waits, write)
  json.write({ about = read.about, processes = json.array(read.processes), regions = json.array(read.regions),
    kinds = json.array(read.kinds), clocks = json.array(read.clocks), ranks = read.ranks, messages = items({}, messages),
    metrics = json.array(read.metrics), waits = read.waits and items(read.waits, waits), paths = paths_of(read),
    critical_path = causes.critical_path(read), oddities = json.array(oddities(read)) }, write)
end

--- For programs: shorter sums of waits, and pairs of ranks, wait in files until they are written.
local function write_rows(reader, o, also, write)
  local which, processes = o.table or "regions", reader:processes()
  local messages <close> = spool()
  local waits <close> = spool()
  local function line(of, row) return o.csv and line_of(of, row) or json.line(row) .. "\n" end
  function also.pair(m)
    if o.json or which == "messages" then messages.add(line("messages", message_of(processes, m))) end
  end
  function also.sum(sum)
    if which ~= "causes" then return waits.add(line("waits", sum)) end
    for _, cause in ipairs(causes.causes { sum }) do waits.add(line("causes", cause)) end
  end
  local read = try(facts.read(reader, o.where, also))
  for _, rows in ipairs { messages, waits } do
    try(rows.rewind())
  end
  if o.json then write_json(read, messages, waits, write)
  else write_csv(read, which, which == "messages" and messages or waits, write) end
  return true
end

--- Write what pmlua trace prints of an archive.
---@param o { json: boolean?, csv: boolean?, table: string?, waits: boolean?, critical_path: boolean?, paths: boolean?,
---  top: integer, where: pmlua.TraceWhere, sums: integer?, senders: integer? } sums, senders: as facts.read() has them
---@param write fun(...: string)
---@return boolean? ok, pmlua.Failure? failure
M.write = try.catching(function(reader, o, write)
  local which = o.table or "regions"
  local function wants(asked, name, other) return asked or o.csv and (which == name or which == other) end
  local also = { waits = wants(o.waits, "waits", "causes"), paths = wants(o.paths, "paths"),
    critical_path = wants(o.critical_path, "critical-path", "critical-call-paths"), sums = o.sums or SUMS, senders = o.senders }
  if o.json or o.csv then return write_rows(reader, o, also, write) end
  also.pairs = PAIRS
  local read = try(facts.read(reader, o.where, also))
  write((as_text(read, o)))
  return true
end)

-- ---- as a page ----

local HEADINGS <const> = { { "critical-path", "Critical path by region" },
  { "critical-call-paths", "Critical path by call path" },
  { "waits", "Waits" }, { "causes", "Causes of waits" }, { "regions", "Regions" }, { "paths", "Call paths" },
  { "metrics", "Metrics" }, { "kinds", "Events" } }

--- Everything of an archive as a page: every event is read three times.
---@param o { dir: string, where: pmlua.TraceWhere }
---@return pmlua.page.Page?, pmlua.Failure? failure
M.page = try.catching(function(reader, o)
  local page, figures = require "pmlua.internal.page", require "pmlua.internal.trace.figures"
  local read = try(facts.read(reader, o.where, { waits = true, paths = true, critical_path = true, pairs = PAIRS, sums = SUMS }))
  local parts = { { note = clocks_line(read) .. ranks_line(read) } }
  for _, kind in ipairs { "timeline", "matrix" } do
    parts[#parts + 1] = page.drawn(kind == "matrix" and "Messages between ranks" or "Timeline", function(path)
      return figures[kind](reader, o.where, o.dir, path)
    end)
  end
  parts[#parts + 1] = page.flame(o.dir, (o.where.window or o.where.region or o.where.kind) and o.where or nil)
  for _, h in ipairs(HEADINGS) do
    local list = list_of(read, h[1])
    if #list > 0 then
      parts[#parts + 1] = { heading = h[2], names = columns[h[1]], rows = page.rows(columns[h[1]], list) }
    end
  end
  local messages = {}
  for i, m in ipairs(read.messages) do messages[i] = message_of(read.processes, m) end
  if #messages > 0 then
    parts[#parts + 1] = { heading = "Largest pairs", names = columns.messages, rows = page.rows(columns.messages, messages) }
  end
  return { title = o.dir, about = title(read), warnings = oddities(read), parts = parts }
end)

return M
