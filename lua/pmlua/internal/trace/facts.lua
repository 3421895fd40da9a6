-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/trace/facts.lua - all that pmlua trace says of an archive, read in a few passes over its events.
--
-- Try:  local t = assert(pml.trace.open "out/traces.otf2")
--       print(#assert(require("pmlua.internal.trace.facts").read(t, {})).regions)

local balance = require "pmlua.analysis.balance"
local critical_path = require "pmlua.analysis.critical_path"
local waits = require "pmlua.analysis.waits"
local try = require "pmlua.internal.try"

local M = {}

local CLOCKS <const> = 4096 -- locations whose definitions are opened to look for corrections
local PAIRS <const> = 1 << 17 -- of ranks, that are in memory at once

local function by_name(counts)
  local list = {}
  for name, events in pairs(counts) do list[#list + 1] = { kind = name, events = events } end
  table.sort(list, require "pmlua.internal.order".by("-events", "kind"))
  return list
end

--- Metrics over all locations that recorded them, in the order of their numbers. A sum with a value that is not a number is nil.
local function metrics_of(series)
  local by, list = {}, {}
  for _, s in ipairs(series) do
    local m = by[s.number]
    if not m then
      m = { metric = s.metric, unit = s.unit ~= "" and s.unit or nil, number = s.number, accumulated = s.accumulated,
        locations = 0, values = 0, last = 0 }
      by[s.number], list[#list + 1] = m, m
    end
    m.locations, m.values = m.locations + 1, m.values + s.counts[1]
    if s.counts[1] > 0 then
      if s.least[1] then
        m.least, m.most = math.min(m.least or math.huge, s.least[1]), math.max(m.most or -math.huge, s.most[1])
      end
      m.last = s.values[1] and m.last and m.last + s.values[1]
    end
  end
  for _, m in ipairs(list) do m.last = m.values > 0 and m.last or nil end
  table.sort(list, function(a, b) return a.number < b.number end)
  return list
end

local function clocks_of(reader, about) return about.locations <= CLOCKS and reader:clocks() or {} end

---@class pmlua.trace.Facts
---@field about pmlua.TraceAbout
---@field processes table[]
---@field regions pmlua.analysis.Balance[]
---@field odd pmlua.TraceOddities
---@field kinds { kind: string, events: integer }[]
---@field ranks pmlua.analysis.Ranks?
---@field messages table[]
---@field unknown integer
---@field unreceived integer messages that were sent and not received; negative: received and not sent
---@field metrics table[]
---@field nans integer? values of metrics that are no numbers
---@field clocks table[]
---@field pairs integer? pairs of ranks with messages
---@field waits pmlua.analysis.Wait[]?
---@field wait_sums pmlua.analysis.WaitSums?
---@field threads { first: table<integer, integer>, name: string[] }? with waits or the critical path: the first location of
---  each process with several, and the names of locations
---@field critical_path pmlua.analysis.CriticalPath?
---@field paths table[]?

--- Names of locations, and the first of each process that has several.
local function threads_of(reader)
  local first, name, count = {}, {}, {}
  for i, l in ipairs(reader:locations()) do
    first[l.process], name[i], count[l.process] = first[l.process] or i, l.name, (count[l.process] or 0) + 1
  end
  for process, n in pairs(count) do if n == 1 then first[process] = nil end end
  return { first = first, name = name }
end

--- Messages sent less those received, of a whole archive.
local function unreceived(counts, where)
  if where.window or where.region or where.kind or where.process or where.rank or where.location then return 0 end
  return (counts.MpiSend or 0) + (counts.MpiIsend or 0) - (counts.MpiRecv or 0) - (counts.MpiIrecv or 0)
end

--- Numbers from first to last, at most n of them.
local function numbers(first, n, last)
  local list = {}
  for i = first, math.min(first + n - 1, last) do list[#list + 1] = i end
  return list
end

local function larger(a, b)
  if a.bytes ~= b.bytes then return a.bytes > b.bytes end
  return a.from < b.from or a.from == b.from and a.to < b.to
end

--- Pairs of ranks with messages, of some senders after another; how many messages have an unknown receiver; how many pairs.
local function messages_of(reader, where, processes, also)
  local selected = where.process or where.rank or where.location
  local block = selected and processes or also.senders or math.max(1, PAIRS // processes)
  local list, unknown, count = {}, 0, 0
  for first = 1, processes, block do
    local senders = block < processes and { window = where.window, process = numbers(first, block, processes) } or where
    local part, unknown_of_part, pairs_of_part = reader:messages { where = senders, top = also.pairs }
    if not part then return nil, unknown_of_part end
    unknown, count = unknown + unknown_of_part, count + pairs_of_part
    for _, pair in ipairs(part) do
      if also.pair then also.pair(pair) else list[#list + 1] = pair end
    end
    if also.pairs and (#list > also.pairs or first + block > processes) then
      table.sort(list, larger)
      list = table.move(list, 1, math.min(#list, also.pairs), 1, {})
    end
  end
  return list, unknown, count
end

--- Everything of an open trace.
---@param also { waits: boolean?, critical_path: boolean?, paths: boolean?, pairs: integer?, senders: integer?,
---  pair: fun(pair: table)?, sums: integer?, sum: fun(sum: pmlua.analysis.Wait)? }? pairs: most pairs, those with most bytes;
---  senders: most ranks whose messages are processed at once, nil: as memory allows; pair gets each pair instead of the list;
---  sums: most sums of waits at once, and sum gets the shorter ones; nil: all
---@return pmlua.trace.Facts? facts, pmlua.Failure? failure
M.read = try.catching(function(reader, where, also)
  also = also or {}
  local about = reader:about()
  local facts = { about = about, window = where.window, processes = reader:processes(), messages = {}, unknown = 0, metrics = {},
    clocks = clocks_of(reader, about) }
  local odd
  facts.regions, odd, facts.ranks = try(balance.of(reader, where))
  facts.odd, facts.kinds, facts.unreceived = odd, by_name(odd.kinds), unreceived(odd.kinds, where)
  if odd.damaged + odd.undefined > 0 then facts.ranks = nil end -- the balance of a part of the events would be misleading
  if about.ranks > 0 then
    facts.messages, facts.unknown, facts.pairs = try(messages_of(reader, where, about.processes, also))
  end
  if about.metrics > 0 then
    local series, columns = try(reader:series { columns = 1, where = { window = where.window } })
    facts.metrics, facts.nans = metrics_of(series), columns.nans
  end
  if also.waits or also.critical_path then facts.threads = threads_of(reader) end
  if also.waits then
    facts.waits, facts.wait_sums = try(waits.of(reader, where.window, also.sums, also.sum))
  end
  if also.critical_path then facts.critical_path = try(critical_path.of(reader, where.window)) end
  if also.paths then facts.paths = try(reader:paths { where = where }) end
  return facts
end)

return M
