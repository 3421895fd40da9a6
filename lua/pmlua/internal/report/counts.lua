-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/counts.lua - what programs counted that left files of counts: as a table, JSON or CSV.
--
-- Try:  PMLUA_COUNT=counts ./solver; pmlua report counts

local core = require "pmlua.core"
local countfile = require "pmlua.countfile"
local csv = require "pmlua.internal.cli.csv"
local json = require "pmlua.json"
local sections = require "pmlua.sections"
local tabulate = require "pmlua.tabulate"

local M = {}

local ENTRY, COUNTS = 4096, 12 -- where a log says what its first extent is, and that it has counts (docs/log.md)

--- Is it a log of counts, whole or not?
function M.is_one(path)
  if require "lfs".attributes(path, "mode") ~= "file" then return false end
  local f <close> = io.open(path, "rb")
  if not f or f:read(8) ~= "PMLUALOG" then return false end
  f:seek("set", ENTRY)
  local kind = f:read(4)
  return kind ~= nil and #kind == 4 and string.unpack("=I4", kind) == COUNTS
end

--- Sums and kinds of operation that there were, in the order of the library, with what counts() gives for a name.
local function rows_of(kinds, counts)
  local rows = {}
  for _, kind in ipairs(kinds) do
    local n = counts(kind.name)
    if n then rows[#rows + 1] = { name = kind.name, value = n, description = kind.description } end
  end
  return rows
end

local function counts_of(c)
  return rows_of(core.count.kinds(), function(name) return c.events[name] or c.operations[name] end)
end

local function name_of(p) return sections.show(p.command) end

local function how(p)
  if p.underway > 0 then return "at least" end
  return nil
end

local function text_of(all, detail)
  local out = { ("%d %s: counted by the %s"):format(#all.processes, #all.processes == 1 and "process" or "processes",
    countfile.label(all.at)) }
  local function add(c, at_least)
    local rows = {}
    for i, r in ipairs(counts_of(c)) do rows[i] = { r.name, r.value, at_least and "at least" or "", r.description } end
    out[#out + 1] = tabulate({ "event", "count", "", "what" }, rows, 1)
  end
  if not detail then add(all, all.at_least) end
  for _, p in ipairs(detail and all.processes or {}) do
    out[#out + 1] = ("\n%d %s: %d %s"):format(p.pid, name_of(p), p.threads, p.threads == 1 and "thread" or "threads")
    add(p, how(p))
  end
  table.move(all.notes, 1, #all.notes, #out + 1, out)
  return table.concat(out, "\n") .. "\n"
end

local function json_of(all)
  local out = { at = all.at, at_least = all.at_least, events = all.events, operations = all.operations,
    notes = json.array(all.notes), processes = json.array() }
  for i, p in ipairs(all.processes) do
    out.processes[i] = { pid = p.pid, parent = p.parent, command = name_of(p), started_ns = p.started_ns, ended = p.ended,
      at = p.at, at_least = p.underway > 0, threads = p.threads, events = p.events, operations = p.operations }
  end
  return json.encode(out)
end

local function csv_of(all)
  local names = { "process", "command", "event", "count", "counted_by", "stage", "at_least" }
  local out = { csv.line(names, #names) }
  for _, p in ipairs(all.processes) do
    for _, r in ipairs(counts_of(p)) do
      out[#out + 1] = csv.line({ p.pid, name_of(p), r.name, r.value, "compiler", p.at, p.underway > 0 and "yes" or "no" },
        #names)
    end
  end
  return table.concat(out)
end

--- Format the counts of a file and its siblings, or of several files.
---@param o { json: boolean?, csv: boolean?, detail: boolean? }
---@return string? text, string? err
function M.format(paths, o)
  local all, err = countfile.read_all(paths[1], paths[2] and paths or nil)
  if not all then return nil, err end
  if o.json then return json_of(all) end
  return o.csv and csv_of(all) or text_of(all, o.detail)
end

return M
