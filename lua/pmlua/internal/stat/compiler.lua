-- SPDX-License-Identifier: BSD-3-Clause
--- What a command counts itself that was compiled by `pmlua cc --count`, with all its processes; nothing of others.
--
--     pmlua cc --count -- clang -O2 program.c -o program; pmlua stat -- ./program

local countfile = require "pmlua.countfile"
local temporary = require "pmlua.internal.temporary"
local refuse = require "pmlua.core".failure.refuse

local M = { name = "compiler" }

local PREFIX = "sde:::BYFL::"
local usual = { "flop_count_I", "load_count_I", "store_count_I", "op_count_I" }
local units = { flop_count_I = "flop", load_count_I = "bytes", store_count_I = "bytes", fp_bits_count_I = "bits",
  op_bits_count_I = "bits" }

--- Is it an event of this source?
function M.takes(name) return name:sub(1, #PREFIX) == PREFIX end

local function row_of(counts, name)
  local short = name:sub(#PREFIX + 1)
  local row = { event = name, unit = units[short] or "", value = counts and (counts.events[short] or counts.operations[short]) }
  if not row.value and counts then row.value = 0 end
  if counts and counts.at_least then row.at_least = true end
  if not counts then row.reason = "the command counts nothing; compile it with pmlua cc --count" end
  return row
end

local function rows(self, ended)
  if not ended then return {} end
  local counts, out = countfile.read_all(self.path), {}
  if counts and #counts.processes == 0 then counts = nil end
  if not counts and not self.asked then return out end
  if counts then self.source = countfile.label(counts.at) end
  for i, name in ipairs(self.names) do out[i] = row_of(counts, name) end
  return out, counts and counts.notes
end

local function close(self) temporary.remove(self.folder) end

local function names_of(options)
  local names = {}
  for i, short in ipairs(usual) do names[i] = PREFIX .. short end
  if not options.events then return names end
  names = {}
  for _, name in ipairs(options.events) do
    if M.takes(name) then names[#names + 1] = name end
  end
  return names
end

local function known(names)
  local all, list = {}, {}
  for i, kind in ipairs(require "pmlua.core".count.kinds()) do all[kind.name], list[i] = true, kind.name end
  for _, name in ipairs(names) do
    local short = name:sub(#PREFIX + 1)
    if not all[short] then
      local nearest = require "pmlua.internal.nearest"(short, list)
      return refuse("ENOEVENT", name .. ": the compiler does not count this",
        nearest and "did you mean " .. PREFIX .. nearest .. "?" or "pmlua events 'sde:::BYFL::*' lists what it counts")
    end
  end
  return true
end

--- If the user has set PMLUA_COUNT, the counts are left alone.
local function elsewhere(names, asked)
  return { names = names, set = {}, rows = function()
    local out = {}
    for i, name in ipairs(asked and names or {}) do
      out[i] = { event = name, unit = "", reason = "PMLUA_COUNT is already set: the counts go there" }
    end
    return out
  end }
end

---@param options { events: string[]? }
---@return table? handle, pmlua.Failure? failure
function M.open(options)
  local names = names_of(options)
  local fine, err = known(names)
  if not fine then return nil, err end
  local wish = os.getenv "PMLUA_COUNT" or ""
  if #names == 0 or wish ~= "" and wish ~= "off" then return elsewhere(names, options.events) end
  local folder, why = temporary.folder "count"
  if not folder and options.events then return nil, why end
  if not folder then return { set = {}, rows = function() return {}, { "not counted by the compiler: " .. why } end } end
  return { names = names, asked = options.events and #names > 0, folder = folder, path = folder .. "/counts", rows = rows,
    close = close, set = { "PMLUA_COUNT=" .. folder .. "/counts" } }
end

return M
