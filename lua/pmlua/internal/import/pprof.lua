-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/import/pprof.lua - profiles of pprof: profile.proto.
--
-- Try:  curl -o cpu.pb.gz 'localhost:6060/debug/pprof/profile?seconds=5'; pmlua import cpu.pb.gz -o imported

local archives = require "pmlua.internal.import.archive"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local BYTES <const> = 1 << 28

-- ---- Protocol Buffers ----

local function varint(s, at)
  local v, shift = 0, 0
  while true do
    local b = s:byte(at)
    if not b or shift > 63 then error("cut", 0) end
    v = v | (b & 0x7f) << shift
    at, shift = at + 1, shift + 7
    if b < 0x80 then return v, at end
  end
end

--- Each field of a message: its number, and its integer or its bytes.
local function fields(s)
  local at = 1
  return function()
    if at > #s then return nil end
    local key, v
    key, at = varint(s, at)
    local kind = key & 7
    if kind == 0 then
      v, at = varint(s, at)
    elseif kind == 2 then
      local n
      n, at = varint(s, at)
      if n < 0 or n > #s - at + 1 then error("cut", 0) end
      v, at = s:sub(at, at + n - 1), at + n
    elseif kind == 1 or kind == 5 then
      local n = kind == 1 and 8 or 4
      if #s - at + 1 < n then error("cut", 0) end
      v, at = s:sub(at, at + n - 1), at + n
    else
      error("cut", 0)
    end
    return key >> 3, v
  end
end

--- Integers of a field that may be packed.
local function add_numbers(list, v)
  if type(v) ~= "string" then
    list[#list + 1] = v
    return
  end
  local at = 1
  while at <= #v do list[#list + 1], at = varint(v, at) end
end

local function message(s, names)
  local m = {}
  for field, v in fields(s) do
    local name = names[field]
    if name then m[name] = v end
  end
  return m
end

-- ---- profiles ----

local VALUE_TYPE <const>, FUNCTION <const> = { "type", "unit" }, { "id", "name", [4] = "file" }

local function location_of(s)
  local l = { lines = {} }
  for field, v in fields(s) do
    if field == 1 then l.id = v end
    if field == 3 then l.address = v end
    if field == 4 then l.lines[#l.lines + 1] = message(v, { "function_id", "line" }) end
  end
  return l
end

local function sample_of(s)
  local sample = { locations = {}, values = {} }
  for field, v in fields(s) do
    if field == 1 then add_numbers(sample.locations, v) end
    if field == 2 then add_numbers(sample.values, v) end
  end
  return sample
end

local function profile_of(s)
  local p = { kinds = {}, samples = {}, locations = {}, functions = {}, texts = {} }
  for field, v in fields(s) do
    if type(v) == "string" then
      if field == 1 then p.kinds[#p.kinds + 1] = message(v, VALUE_TYPE) end
      if field == 2 then p.samples[#p.samples + 1] = sample_of(v) end
      if field == 6 then p.texts[#p.texts + 1] = v end
      if field == 4 then
        local l = location_of(v)
        p.locations[l.id or 0] = l
      elseif field == 5 then
        local f = message(v, FUNCTION)
        p.functions[f.id or 0] = f
      end
    elseif field == 9 then
      p.time_ns = v
    end
  end
  return p
end

local function text_of(p, i) return type(i) == "number" and p.texts[i + 1] or "" end

--- The frames of a location, inner ones first: a function and those it was inlined into.
local function frames_of(p, id)
  local l = p.locations[id] or { lines = {} }
  if l.frames then return l.frames end
  l.frames = {}
  for i, line in ipairs(l.lines) do
    local f = p.functions[line.function_id or 0] or {}
    local file = text_of(p, f.file)
    local name = text_of(p, f.name)
    l.frames[i] = { name = name ~= "" and name or "?", file = file ~= "" and file or nil }
  end
  if #l.frames == 0 then l.frames[1] = { name = ("0x%x"):format(l.address or 0) } end
  return l.frames
end

local function stack_of(p, sample)
  local stack = {}
  for i = #sample.locations, 1, -1 do
    local frames = frames_of(p, sample.locations[i])
    for k = #frames, 1, -1 do stack[#stack + 1] = frames[k] end
  end
  return stack
end

--- The value that times are made of: one in ns, else the last.
local function time_value(p)
  for i, k in ipairs(p.kinds) do
    if text_of(p, k.unit) == "nanoseconds" then return i end
  end
  return #p.kinds
end

local TYPES <const> = { 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 2, 0, 2, 0, 0 } -- wire types of a Profile's fields: 0 integer, 2 bytes

--- Whether a text begins like this format: fields of a Profile, in any order, which no text is.
function M.is(head)
  local n, at = 0, 1
  local function step()
    local key, size
    key, at = varint(head, at)
    if TYPES[key >> 3] ~= key & 7 then error("other", 0) end
    size, at = varint(head, at)
    n, at = n + 1, key & 7 == 2 and at + size or at
  end
  local fine, why = true, nil
  while fine and at <= #head and at > 0 and n < 1000 do fine, why = pcall(step) end
  return n > 0 and (fine or why == "cut") and head:find "[%z\1-\8]" ~= nil
end

--- Times are made of the values: a sample lasts as many ns as its value, one after another.
---@param file file*
---@return table? archive, pmlua.Failure? failure
function M.read(file, name, dir)
  local content = file:read(BYTES)
  if content and file:read(0) then return refuse("EFBIG", name .. ": larger than 256 MiB") end
  local fine, p = pcall(profile_of, content or "")
  if not fine or #p.kinds == 0 then return refuse("EFORMAT", name .. ": not a profile of pprof, or cut") end
  if #p.kinds > 128 then return refuse("E2BIG", name .. ": more than 128 values") end
  local metrics, by, now = {}, time_value(p), 0
  for i, k in ipairs(p.kinds) do
    local kind = text_of(p, k.type)
    metrics[i] = { name = kind ~= "" and kind or "value " .. i, unit = text_of(p, k.unit) }
  end
  return archives.fill(dir, name, metrics, p.time_ns and p.time_ns > 0 and p.time_ns or nil, function(archive)
    local thread = archive:thread "all"
    for _, s in ipairs(p.samples) do
      local lasts = math.max(0, math.min(s.values[by] or 0, 1 << 50))
      for i = 1, #metrics do s.values[i] = s.values[i] or 0 end
      archive:sample(thread, now, now + lasts, stack_of(p, s), s.values)
      now = now + lasts
    end
  end)
end

return M
