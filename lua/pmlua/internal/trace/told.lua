-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/trace/told.lua - what pmlua trace says of an archive: what it is, its regions, its messages.
--
-- Try:  pmlua trace out/traces.otf2 --top 5

local balance = require "pmlua.analysis.balance"
local core = require "pmlua.core"
local csv = require "pmlua.internal.cli.csv"
local json = require "pmlua.json"
local printable = require "pmlua.internal.printable"
local tables = require "pmlua.internal.report.job_tables"
local units = require "pmlua.internal.report.units"
local waits = require "pmlua.analysis.waits"

local M = {}

local PAIRS <const>, WAITS <const>, NAME <const> = 10, 20, 60

-- ---- what it is ----

local function hosts(processes)
  local seen, n = {}, 0
  for _, p in ipairs(processes) do
    if p.host and not seen[p.host] then seen[p.host], n = true, n + 1 end
  end
  return n
end

local function title(read)
  local a = read.about
  local parts = { tables.plural(a.processes, a.ranks > 0 and "rank" or "process"):gsub("processs", "processes"),
    tables.plural(a.locations, "location") }
  local n = hosts(read.processes)
  if n > 0 then parts[#parts + 1] = tables.plural(n, "host") end
  parts[#parts + 1] = units.scaled(a.length_s, "s")
  parts[#parts + 1] = tables.plural(a.events, "event")
  if a.creator ~= "" then parts[#parts + 1] = "written by " .. a.creator end
  return table.concat(parts, ", ")
end

local function oddities(read)
  local list = {}
  local function say(n, text) if n > 0 then list[#list + 1] = text:format(n) end end
  say(read.odd.unmatched, "%d enters and leaves have no partner")
  say(read.odd.backward, "%d events are before the one before them on their location; they count as simultaneous with it")
  say(read.odd.unknown, "%d events are of regions without a definition; they are left out")
  say(read.unknown, "%d messages go to receivers that the definitions do not tell; they are left out")
  return list
end

-- ---- reading ----

--- All that is told, of an open trace.
---@param reader pmlua.TraceReader
---@param where pmlua.TraceWhere
---@param with_waits boolean?
---@return table? read
---@return pmlua.Failure? failure
function M.read(reader, where, with_waits)
  local regions, odd = balance.of(reader, where)
  if not regions then return nil, odd end
  local pairs_of, unknown = reader:messages { where = where }
  if not pairs_of then return nil, unknown end
  local waited
  if with_waits then
    local err
    waited, err = waits.of(reader)
    if not waited then return nil, err end
  end
  return { about = reader:about(), processes = reader:processes(), regions = regions, odd = odd, messages = pairs_of,
    unknown = unknown, waits = waited }
end

-- ---- tables ----

local function time(s) return s and units.scaled(s, "s") or "-" end

local function name_of(read, process)
  local p = read.processes[process]
  return p.rank and ("%d"):format(p.rank) or printable(p.name)
end

local function table_of_regions(read, top)
  local rows = { { "REGION", "PARADIGM", "CALLS", "EXCLUSIVE", "SHARE", "INCLUSIVE", "MIN", "MAX", "MAX/AVG",
    read.about.ranks > 0 and "OF RANK" or "OF PROCESS" } }
  local all = 0
  for _, r in ipairs(read.regions) do all = all + r.exclusive_s end
  for i = 1, math.min(#read.regions, top) do
    local r = read.regions[i]
    rows[i + 1] = { require "pmlua.tabulate".cut(printable(r.region), NAME), r.paradigm or "-", ("%d"):format(r.calls),
      time(r.exclusive_s), all > 0 and units.percent(r.exclusive_s / all) .. " %" or "-", time(r.inclusive_s), time(r.least_s),
      time(r.most_s), r.imbalance and ("%.3f"):format(r.imbalance) or "-",
      r.most_process and name_of(read, r.most_process) or "-" }
  end
  local more = #read.regions - top
  return tables.lined_up("Regions, time of all processes", rows, 2)
    .. (more > 0 and ("and %d more; --top lists them\n"):format(more) or "")
end

local function table_of_messages(read)
  local list = table.move(read.messages, 1, #read.messages, 1, {})
  table.sort(list, function(a, b)
    if a.bytes ~= b.bytes then return a.bytes > b.bytes end
    return a.from < b.from or a.from == b.from and a.to < b.to
  end)
  local rows = { { "FROM", "TO", "MESSAGES", "DATA" } }
  for i = 1, math.min(#list, PAIRS) do
    local m = list[i]
    rows[i + 1] = { name_of(read, m.from), name_of(read, m.to), ("%d"):format(m.messages), units.scaled(m.bytes, "B") }
  end
  return tables.lined_up("Messages between ranks", rows, 0)
    .. (#list > PAIRS and ("and %d more pairs; --json lists all\n"):format(#list - PAIRS) or "")
end

local function table_of_waits(read)
  if not read.waits then return "" end
  if #read.waits == 0 then return "\nno rank waited for another\n" end
  local rows = { { "WAIT", "IN", "RANK", "FOR RANK", "TIMES", "TIME" } }
  for i = 1, math.min(#read.waits, WAITS) do
    local w = read.waits[i]
    rows[i + 1] = { w.kind, printable(w.region), ("%d"):format(w.rank), ("%d"):format(w.for_rank), ("%d"):format(w.waits),
      time(w.wait_s) }
  end
  return tables.lined_up("Waits of ranks for each other, of the whole run", rows, 2)
    .. (#read.waits > WAITS and ("and %d more; --json lists all\n"):format(#read.waits - WAITS) or "")
end

local function as_text(read, o)
  local text = title(read) .. "\n" .. table_of_regions(read, o.top) .. table_of_messages(read) .. table_of_waits(read)
  for _, line in ipairs(oddities(read)) do text = text .. "\n" .. line end
  return text:gsub("\n?$", "\n")
end

local columns = { "region", "paradigm", "calls", "unreturned", "exclusive_s", "inclusive_s", "least_s", "most_s", "imbalance",
  "most_rank" }

local function as_csv(read)
  local rows = {}
  for i, r in ipairs(read.regions) do
    rows[i] = {}
    for k, column in ipairs(columns) do rows[i][k] = r[column] or "" end
  end
  return csv.table(columns, rows)
end

local function as_json(read)
  local messages = json.array()
  for i, m in ipairs(read.messages) do
    messages[i] = { from = read.processes[m.from].rank or m.from, to = read.processes[m.to].rank or m.to, messages = m.messages,
      bytes = m.bytes }
  end
  return json.encode { about = read.about, processes = json.array(read.processes), regions = json.array(read.regions),
    messages = messages, waits = read.waits and json.array(read.waits), oddities = json.array(oddities(read)) }
end

--- What pmlua trace prints of an archive.
---@param path string
---@param o { json: boolean?, csv: boolean?, waits: boolean?, top: integer, where: pmlua.TraceWhere }
---@return string? text
---@return pmlua.Failure? failure
function M.text(path, o)
  local reader <close>, err = core.trace.read(path)
  if not reader then return nil, err end
  local read, why = M.read(reader, o.where, o.waits)
  if not read then return nil, why end
  if o.json then return as_json(read) end
  return o.csv and as_csv(read) or as_text(read, o)
end

return M
