-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/profiles.lua - call paths as profiles that other programs draw: folded stacks, pprof, speedscope.
--
-- Try:  pmlua export out --to folded | flamegraph.pl >flame.svg

local json = require "pmlua.json"
local lists = require "pmlua.internal.lists"

local M = {}

local function rounded(v) return math.floor(v + 0.5) end

--- The nodes from one up to the outermost, with the place of each.
local function each_above(nodes, i)
  return function(_, at)
    if at == 0 then return i, nodes[i] end
    local parent = nodes[at].parent
    if parent then return parent, nodes[parent] end
  end, nil, 0
end

-- ---- folded stacks ----

-- A semicolon and a line break end a name.
local function folded_name(name) return (name:gsub("[;%c]", ",")) end

--- A line for each call path: its names from the outermost on, and its own value. Values are rounded to integers.
---@param write fun(text: string)
function M.folded(stacks, write)
  local paths = {}
  for i, n in ipairs(stacks.nodes) do
    local name = folded_name(n.name)
    paths[i] = n.parent and paths[n.parent] .. ";" .. name or name
    local v = rounded(n.own)
    if v ~= 0 then write(("%s %d\n"):format(paths[i], v)) end
  end
end

-- ---- pprof ----

local function varint(n)
  local bytes = {}
  while n < 0 or n > 0x7f do
    bytes[#bytes + 1] = string.char(n & 0x7f | 0x80)
    n = n >> 7
  end
  bytes[#bytes + 1] = string.char(n)
  return table.concat(bytes)
end

local function number(field, n) return n == 0 and "" or varint(field << 3) .. varint(n) end
local function bytes(field, text) return varint(field << 3 | 2) .. varint(#text) .. text end

local function packed(field, list)
  local parts = lists.map(list, varint)
  return bytes(field, table.concat(parts))
end

--- Numbers of texts, from 0 on, which is the empty one.
local function string_table()
  local list, number_of = { "" }, { [""] = 0 }
  return list, function(text)
    if not utf8.len(text) then text = text:gsub("[\128-\255]", "?") end
    if not number_of[text] then
      number_of[text] = #list
      list[#list + 1] = text
    end
    return number_of[text]
  end
end

-- Field numbers are from pprof's profile.proto: Profile, ValueType, Sample, Location, Line and Function.
local function value_types(stacks, text)
  local kinds = { { "calls", "count" }, { "time", "nanoseconds" } }
  if stacks.value ~= "time" and stacks.value ~= "calls" then kinds[3] = { stacks.value, stacks.unit } end
  local parts = lists.map(kinds, function(k) return bytes(1, number(1, text(k[1])) .. number(2, text(k[2]))) end)
  return table.concat(parts), #kinds
end

local function function_of(id, n, text)
  return bytes(5, number(1, id) .. number(2, text(n.name)) .. number(3, text(n.name)) .. number(4, text(n.file or ""))
    .. number(5, n.line or 0))
end

local function location_of(id, n)
  return bytes(4, number(1, id) .. bytes(4, number(1, id) .. number(2, n.line or 0)))
end

--- The profile of pprof, compressed. Each function is a location; samples have calls, own time, and a counter.
---@param write fun(text: string)
function M.pprof(stacks, write)
  local deflate = require "zlib".deflate(6, 15 + 16)
  local function put(text) write((deflate(text))) end
  local strings, text = string_table()
  local types, values = value_types(stacks, text)
  put(types)
  local ids, known, last = {}, {}, 0
  for i, n in ipairs(stacks.nodes) do
    local key = n.name .. "\0" .. (n.file or "")
    if not known[key] then
      last = last + 1
      known[key] = last
      put(function_of(last, n, text) .. location_of(last, n))
    end
    ids[i] = known[key]
    local path = {}
    for at in each_above(stacks.nodes, i) do path[#path + 1] = ids[at] end
    local sample = { n.calls, rounded(n.own_ns), values == 3 and rounded(n.own) or nil }
    if n.calls ~= 0 or sample[2] ~= 0 or (sample[3] or 0) ~= 0 then put(bytes(2, packed(1, path) .. packed(2, sample))) end
  end
  local shown = number(14, text(stacks.value))
  for _, s in ipairs(strings) do put(bytes(6, s)) end
  write((deflate(shown, "finish")))
end

-- ---- speedscope ----

local SPEEDSCOPE_UNITS <const> = { ns = "nanoseconds", B = "bytes" }

--- A profile of speedscope: the call paths with their own values.
---@param write fun(text: string)
function M.speedscope(stacks, write, title)
  local frames, frame, number_of, samples, weights, sum = {}, {}, {}, {}, {}, 0
  for i, n in ipairs(stacks.nodes) do
    local key = n.name .. "\0" .. (n.file or "")
    if not number_of[key] then
      number_of[key] = #frames
      frames[#frames + 1] = { name = n.name, file = n.file, line = n.line }
    end
    frame[i] = number_of[key]
    if n.own > 0 then
      local path = {}
      for at in each_above(stacks.nodes, i) do table.insert(path, 1, frame[at]) end
      samples[#samples + 1], weights[#weights + 1], sum = json.array(path), n.own, sum + n.own
    end
  end
  write(json.line {
    ["$schema"] = "https://www.speedscope.app/file-format-schema.json", exporter = "pmlua", name = title,
    shared = { frames = json.array(frames) },
    profiles = json.array { { type = "sampled", name = title, unit = SPEEDSCOPE_UNITS[stacks.unit] or "none", startValue = 0,
      endValue = sum, samples = json.array(samples), weights = json.array(weights) } },
  })
  write "\n"
end

return M
