-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/section_log.lua - logs of processes that never ran, as docs/log.md defines them.

local M = {}

local HEAD <const>, STEP <const> = 65536, 4096
local MISUSE <const> = { "unmatched", "foreign", "crossed", "abandoned", "work", "unread", "unrecorded", "unstarted", "overlap" }
local RECORD <const> = { none = 0, all = 1, sketch = 2 }

local function padded(text, bytes) return text .. ("\0"):rep(bytes - #text) end

local function definition(what, text)
  local bytes = (8 + #text + 7) // 8 * 8
  return padded(string.pack("<I4I4", what, bytes) .. text, bytes)
end

local function whole(text) return math.tointeger(tonumber(text)) end

--- The sum of the squares of calls, from their number, mean and standard deviation.
local function square_of(n, mean, deviation) return math.floor((n - 1) * deviation ^ 2 + n * mean ^ 2 + 0.5) end

local function sums_of(f, misuse)
  local n = whole(f[3])
  local counts = {}
  for i, name in ipairs(MISUSE) do counts[i] = misuse[name] or 0 end
  return string.pack("<I4I4I8I8I8I8I8I8I8dI8I8", whole(f[2]), 0, n, whole(f[4]), whole(f[6]), whole(f[7]),
    square_of(n, tonumber(f[8]), tonumber(f[9])), 0, whole(f[5]), tonumber(f[10]), whole(f[11]), 0)
    .. string.pack("<" .. ("I4"):rep(9), table.unpack(counts)) .. string.pack("<I4", 0)
end

local take = {}

function take.section(log, f)
  log.section = { label = f[1], type = f[2], exclusive = f[3], record = f[4], events = {}, rows = {} }
  table.insert(log.sections, log.section)
end

function take.event(log, f) table.insert(log.section.events, f) end

function take.row(log, f)
  log.row = { fields = f, values = {}, misuse = {} }
  table.insert(log.section.rows, log.row)
end

function take.values(log, f) log.row.values = f end
function take.misuse(log, f) log.row.misuse[f[1]] = whole(f[2]) end
function take.counter(log, f) table.insert(log.counters, f) end

local function define_section(index, s)
  local events, real = "", 0
  for i, e in ipairs(s.events) do
    events = events .. e[1] .. "\0"
    real = real | (e[2] == "real" and 1 << (i - 1) or 0)
  end
  return definition(1, string.pack("<I4I4I4I4I4I4", index, s.type == "communication" and 1 or 0,
    s.exclusive == "exclusive" and 1 or 0, RECORD[s.record], #s.events, real) .. s.label .. "\0" .. events)
end

local function row_values(row)
  local parts = {}
  for i = 1, 32 do parts[i] = string.pack("<i8", whole(row.values[i] or 0)) end
  return table.concat(parts)
end

--- Extents of the rows: one for each.
local function add_rows(log, extents)
  for i, s in ipairs(log.sections) do
    for _, row in ipairs(s.rows) do
      local thread = whole(row.fields[1])
      extents[#extents + 1] = { 3, i - 1, thread, sums_of(row.fields, row.misuse), 0 }
      if #s.events > 0 then extents[#extents + 1] = { 4, i - 1, thread, row_values(row), 0 } end
    end
  end
end

local function head_of(head, entries)
  return padded("PMLUALOG" .. string.pack("<I4I4i4i4i4i4I8I8I8d", 3, 0, head.pid or 7, 1, head.rank or -1, head.size or -1,
    head.born or 3, 1000, 0, 1e9) .. padded("tsc", 32) .. string.pack("<I8I4i4I4I4", 2000, head.ended or 1, 0, 0, entries)
    .. padded("node", 256) .. (head.command or "./solver -n 4"), STEP)
end

--- The bytes of a log; `body` has lines of fields with tabs in between: section LABEL TYPE exclusive|inclusive RECORD; below
--- it event NAME TYPE and row THREAD RUNNING COUNT TOTAL SELF MIN MAX MEAN STDDEV WORK ITERATIONS, in ns; below that values
--- and misuse NAME COUNT; counter NAME VALUE.
---@param head { pid: integer?, rank: integer?, size: integer?, born: integer?, ended: integer?, command: string? }
---@param body string
---@return string
function M.of(head, body)
  local log, definitions, extents, cells = { sections = {}, counters = {} }, {}, {}, {}
  for line in body:gmatch "[^\n]+" do
    local fields = {}
    for field in (line .. "\t"):gmatch "([^\t]*)\t" do fields[#fields + 1] = field end
    take[table.remove(fields, 1)](log, fields)
  end
  for i, s in ipairs(log.sections) do definitions[i] = define_section(i - 1, s) end
  for i, c in ipairs(log.counters) do
    definitions[#definitions + 1] = definition(5, string.pack("<I4I4I4I4", i, 3, 0, 0) .. c[1] .. "\0")
    cells[i] = string.pack("<i8I8I8I8I8I4I4", whole(c[2]), 0, 0, 0, 0, i, 1) .. ("\0"):rep(16)
  end
  local defined = table.concat(definitions)
  extents[1] = { 2, 0, 0, defined, #defined }
  if #cells > 0 then extents[2] = { 9, 0, 0, table.concat(cells), 0 } end
  add_rows(log, extents)
  local at, entries, parts = HEAD, {}, {}
  for i, e in ipairs(extents) do
    local bytes = math.max((#e[4] + STEP - 1) // STEP, 1) * STEP
    entries[i] = string.pack("<I4I4I8I8I8I8I8I8I8", e[1], e[2], e[3], at, #e[4], e[5], 0, 0, 0)
    parts[i], at = padded(e[4], bytes), at + bytes
  end
  return padded(head_of(head, #extents) .. table.concat(entries), HEAD) .. table.concat(parts)
end

return M
