-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/processes.lua - the processes of a survey. Each log takes some hundred bytes, from which fields are
-- unpacked when they are read; processes share equal texts.
--
-- Try:  print(require("pmlua.internal.report.survey").read({ "out" }).processes[1].host)

local M = {}

local INTEGERS <const> = { "pid", "rank", "size", "started_ns", "written_ns", "born", "missing", "uncounted" }
local TEXTS <const> = { "host", "command", "ended", "clock", "refused", "permission", "counted", "others" }
local REST <const> = "<dI4I4ddB" -- ticks_per_second; then of a log: threads, rows, times, flags
local FORMAT <const> = "<" .. ("i8"):rep(#INTEGERS) .. ("I4"):rep(#TEXTS) .. REST:sub(2)
local NONE <const> = math.mininteger

local empty = setmetatable({}, { __newindex = function() error("a process of a survey has nothing of its own here", 2) end })

--- The number of a text; 0: none.
local function number_of(self, text)
  if text == nil then return 0 end
  local n = self.number[text]
  if not n then
    n = #self.text + 1
    self.text[n], self.number[text] = text, n
  end
  return n
end

local function pack(self, p)
  local v, b = {}, p.totals
  for i, name in ipairs(INTEGERS) do v[i] = p[name] or NONE end
  for i, name in ipairs(TEXTS) do v[#INTEGERS + i] = number_of(self, p[name]) end
  table.move({ p.ticks_per_second or 0.0, b.threads, b.rows, b.exclusive_ns, b.self_ns, (b.recorded and 1 or 0)
    + (b.sketch and 2 or 0) }, 1, 6, #v + 1, v)
  return FORMAT:pack(table.unpack(v))
end

--- How to read each field.
local field = {}

for i, name in ipairs(INTEGERS) do
  field[name] = function(self, kept)
    local v = string.unpack("<i8", self.packed[kept], 8 * i - 7)
    return v ~= NONE and v or nil
  end
end
for i, name in ipairs(TEXTS) do
  local at = 8 * #INTEGERS + 4 * i - 3
  field[name] = function(self, kept) return self.text[string.unpack("<I4", self.packed[kept], at)] end
end

local REST_AT <const> = 8 * #INTEGERS + 4 * #TEXTS + 1

function field.ticks_per_second(self, kept) return (string.unpack("<d", self.packed[kept], REST_AT)) end

function field.totals(self, kept)
  local _, threads, rows, exclusive, own, flags = string.unpack(REST, self.packed[kept], REST_AT)
  return { threads = threads, rows = rows, exclusive_ns = exclusive, self_ns = own, recorded = flags & 1 ~= 0,
    sketch = flags & 2 ~= 0 }
end

function field.log(self, kept) return self.log[kept] end
function field.name(self, kept) return self.name[kept] or self.log[kept] end
function field.counters(self, kept) return self.counters[kept] or empty end
function field.recorders(self, kept) return self.recorders[kept] or empty end
for _, name in ipairs { "sections", "timeline", "regions" } do field[name] = function() return empty end end

local view = {
  __index = function(process, name)
    local read = field[name]
    return read and read(process[1], process[2])
  end,
  __newindex = function() error("a process of a survey cannot be changed", 2) end,
}

local function view_of(self, kept) return setmetatable({ self, kept }, view) end

---@class pmlua.report.Processes a list, read like an array
local Processes = {}

local function process_at(list, i)
  local self = rawget(list, Processes)
  local kept = self.order[i]
  if not kept then return nil end
  return view_of(self, kept)
end

local class = {
  __index = function(list, i)
    if math.type(i) == "integer" then return process_at(list, i) end
    return Processes[i]
  end,
  __len = function(list) return #rawget(list, Processes).order end,
}

--- An empty list.
---@return pmlua.report.Processes
function M.new()
  return setmetatable({ [Processes] = { packed = {}, log = {}, name = {}, counters = {}, recorders = {}, order = {}, rank = {},
    text = {}, number = {} } }, class)
end

--- Keep process @number, packed.
function Processes:keep(number, process)
  local list = rawget(self, Processes)
  list.rank[number] = process.rank or math.huge
  list.packed[number], list.log[number] = pack(list, process), process.log
  if process.name ~= process.log then list.name[number] = process.name end
  if #process.counters > 0 then list.counters[number] = process.counters end
  if #process.recorders > 0 then list.recorders[number] = process.recorders end
end

--- Put the processes in order: `before` decides where ranks are the same, or missing.
---@param before fun(a: table, b: table): boolean
---@return table<integer, integer> place of each by its number
function Processes:sort(before)
  local list = rawget(self, Processes)
  local place, rank = {}, list.rank
  for number in pairs(rank) do list.order[#list.order + 1] = number end
  table.sort(list.order, function(a, b)
    if rank[a] ~= rank[b] then return rank[a] < rank[b] end
    return a ~= b and before(view_of(list, a), view_of(list, b))
  end)
  for i, number in ipairs(list.order) do place[number] = i end
  return place
end

return M
