-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/sampler.lua - samples of an event by location: functions, lines, data pages, threads.
--
-- Try:  pmlua sample -- sort /etc/services
--
-- The functions of core.sampler (open) are available here as well.

local core = require "pmlua.core"
local try = require "pmlua.internal.try"

---@class pml.sampler
local M = setmetatable({}, { __index = core.sampler })

local Z95 <const> = 1.959963984540054 -- normal distribution, two-sided 95 %

---@class pmlua.SamplerBar
---@field samples integer
---@field period integer about how many events these were
---@field share number of the events, 0 to 1
---@field low number of its 95 % interval, as if the samples were independent of each other
---@field high number
---@field object? string the file, or "[kernel]", "[heap]", "//anon", "[unknown]"
---@field func? string nil: by other things, or the file has no symbol there
---@field file? string by line: the source, nil: the file has no debug information
---@field line? integer
---@field page? integer address of the page
---@field value? integer by value: the value of a probe's argument
---@field variable? string by data: nil where no variable is known, as on a heap or a stack
---@field path? string[] by path: names from the outermost caller to where the event happened
---@field pid? integer
---@field tid? integer
---@field cpu? integer

--- Wilson's score interval of a share (E. B. Wilson, JASA 22, 1927): it stays within 0 and 1 and holds for small counts.
---@param share number
---@param n number
---@return number low, number high
local function wilson(share, n)
  local z2 = Z95 * Z95
  local middle, reach = share + z2 / (2 * n), Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
  return math.max(0, (middle - reach) / (1 + z2 / n)), math.min(1, (middle + reach) / (1 + z2 / n))
end

--- The function, file and line of a code address, as far as known.
local function place_of(sampler, row, kernel)
  if row.object == "[kernel]" then return { func = kernel.name(row.place) } end
  if not row.object:find "^/[^/]" then return {} end
  return (sampler:place(row.object, row.place)) or {}
end

local function by_code(sampler, by)
  local rows = try(sampler:fold "code")
  local kernel, bars = require("pmlua.internal.sample.kernel").open(), {}
  for i, row in ipairs(rows) do
    local at = by == "object" and {} or place_of(sampler, row, kernel)
    if by == "function" then at.file, at.line = nil, nil end
    at.object, at.samples, at.period = row.object, row.samples, row.period
    bars[i] = at
  end
  return bars
end

--- Which field of a bar the place of a row becomes.
local fields = { page = "page", thread = "tid", cpu = "cpu" }

--- A function that names frames; it looks each address up once.
local function namer(sampler)
  local kernel, known = require("pmlua.internal.sample.kernel").open(), {}
  return function(frame)
    local key = frame.object .. "\0" .. frame.place
    if not known[key] then
      known[key] = place_of(sampler, frame, kernel).func or ("[%s]"):format(frame.object:match "([^/%[%]]+)%]?$")
    end
    return known[key]
  end
end

local function by_path(sampler)
  local rows = try(sampler:fold "path")
  local name, bars = namer(sampler), {}
  for i, row in ipairs(rows) do
    local path, n = {}, #row.frames
    for k, frame in ipairs(row.frames) do path[n + 1 - k] = name(frame) end
    bars[i] = { path = path, samples = row.samples, period = row.period }
  end
  return bars
end

local function by_data(sampler)
  local rows = try(sampler:fold "data")
  for _, row in ipairs(rows) do
    local at = row.frames and row.frames[1]
    row.variable = at and (sampler:variable(at.object, at.place)) or nil
    if row.variable then row.object = at.object end
    row.place, row.frames = nil, nil
  end
  return rows
end

local function by_place(sampler, by)
  local rows = try(sampler:fold(by))
  for _, row in ipairs(rows) do row[fields[by]], row.place = row.place, nil end
  return rows
end

local function by_value(sampler, _, operands)
  return (require "pmlua.internal.sample.arguments".histogram(sampler, operands))
end

local ways = { path = by_path, data = by_data, value = by_value }

--- Bars of the same name are one.
local function merge(bars)
  local out, known = {}, {}
  for _, bar in ipairs(bars) do
    local path = bar.path and table.concat(bar.path, ";") or ""
    local key = table.concat({ path, bar.variable or "", bar.object or "", bar.func or "", bar.file or "", bar.line or "",
      bar.page or "", bar.pid or "", bar.tid or "", bar.cpu or "", bar.value or "" }, "\0")
    local same = known[key]
    if same then
      same.samples, same.period = same.samples + bar.samples, same.period + bar.period
    else
      known[key], out[#out + 1] = bar, bar
    end
  end
  return out
end

--- The sort key of bars of equal size.
local function label(bar)
  return table.concat({ bar.object or "", bar.func or bar.variable or "", bar.path and table.concat(bar.path, ";") or "" }, "\0")
end

--- Count the samples that a sampler has by what they are of. The largest bar comes first.
---@param sampler pmlua.Sampler
---@param by "function"|"line"|"object"|"path"|"page"|"data"|"thread"|"cpu"|"value"
---@param operands? table<integer, table> by value: where a probe's argument is at each of its places
---@return pmlua.SamplerBar[]? bars, pmlua.Failure? failure
function M.histogram(sampler, by, operands)
  local bars, err = try.catch(ways[by] or fields[by] and by_place or by_code, sampler, by, operands)
  if not bars then return nil, err end
  bars = merge(bars)
  local events, samples = 0, 0
  for _, bar in ipairs(bars) do events, samples = events + bar.period, samples + bar.samples end
  for _, bar in ipairs(bars) do
    bar.share = bar.period / events
    bar.low, bar.high = wilson(bar.share, samples)
  end
  table.sort(bars, function(a, b)
    if a.period ~= b.period then return a.period > b.period end
    local x, y = label(a), label(b)
    if x ~= y then return x < y end
    return (a.page or a.line or a.tid or a.cpu or a.value or 0) < (b.page or b.line or b.tid or b.cpu or b.value or 0)
  end)
  return bars
end

return M
