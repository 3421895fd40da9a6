-- SPDX-License-Identifier: BSD-3-Clause
--- What a command counts itself that was compiled by `pmlua cc --count`, with all its processes; nothing of others.
--
--     pmlua cc --count -- clang -O2 program.c -o program; pmlua stat -- ./program

local countfile = require "pmlua.countfile"
local lfs = require "lfs"

local M = { name = "compiler" }

local PREFIX = "sde:::BYFL::"
local usual = { "flop_count_I", "load_count_I", "store_count_I", "op_count_I" }
local units = { flop_count_I = "flop", load_count_I = "bytes", store_count_I = "bytes", fp_bits_count_I = "bits",
  op_bits_count_I = "bits" }

--- Is it an event of this source?
---@param name string
---@return boolean
function M.takes(name) return name:sub(1, #PREFIX) == PREFIX end

local function row_of(counts, name)
  local short = name:sub(#PREFIX + 1)
  local row = { event = name, unit = units[short] or "", value = counts and (counts.events[short] or counts.operations[short]) }
  if not row.value and counts then row.value = 0 end
  if not counts then row.reason = "the command counts nothing; compile it by pmlua cc --count" end
  return row
end

local function rows(self)
  local counts, out = countfile.read_all(self.path), {}
  if counts and #counts.processes == 0 then counts = nil end
  if not counts and not self.asked then return out end
  if counts then self.source = countfile.label(counts.at) end
  for i, name in ipairs(self.names) do out[i] = row_of(counts, name) end
  return out, counts and counts.notes
end

local function close(self)
  for entry in lfs.dir(self.folder) do
    if entry ~= "." and entry ~= ".." then os.remove(self.folder .. "/" .. entry) end
  end
  lfs.rmdir(self.folder)
end

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
  local all = {}
  for _, kind in ipairs(require "pmlua.core".count.kinds()) do all[PREFIX .. kind.name] = true end
  for _, name in ipairs(names) do
    if not all[name] then
      local list = {}
      for full in pairs(all) do list[#list + 1] = full end
      table.sort(list)
      local nearest = require "pmlua.cmd.help".nearest(name, list)
      return nil, ("%s: the compiler counts no such thing%s"):format(name, nearest and "; did you mean " .. nearest .. "?" or
        "; pmlua events 'sde:::BYFL::*' lists what there is")
    end
  end
  return true
end

--- Where the user has the counts written himself, they are left to him.
local function elsewhere(names, asked)
  return { names = names, set = {}, rows = function()
    local out = {}
    for i, name in ipairs(asked and names or {}) do
      out[i] = { event = name, unit = "", reason = "PMLUA_COUNT is set already: the counts go where it says" }
    end
    return out
  end }
end

---@param options { events: string[]? }
---@return table? handle
---@return string? err
function M.open(options)
  local names = names_of(options)
  local fine, err = known(names)
  if not fine then return nil, err end
  local wish = os.getenv "PMLUA_COUNT" or ""
  if #names == 0 or wish ~= "" and wish ~= "off" then return elsewhere(names, options.events) end
  local folder = os.tmpname()
  os.remove(folder)
  local made, why = lfs.mkdir(folder)
  if not made then return nil, ("%s: %s"):format(folder, why) end
  return { names = names, asked = options.events and #names > 0, folder = folder, path = folder .. "/counts", rows = rows,
    close = close, set = { "PMLUA_COUNT=" .. folder .. "/counts" } }
end

return M
