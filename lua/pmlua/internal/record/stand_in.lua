-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/stand_in.lua - replacements for libraries of annotation interfaces that are not installed.
--
-- Try:  print(require("pmlua.internal.record.stand_in").variable("./app", "/usr/lib/pmlua/preload"))

local disk = require "pmlua.internal.file"

local M = {}

--- Libraries that pmlua has instead of an interface's own; each is in a folder of this name.
local LIBRARIES <const> = { "libcaliper.so.2" }

--- The text of the dynamic string table of an ELF file of 64 bits; "": none.
local function strings_of(path)
  local f <close> = disk.open(path)
  local head = f and f:read(64) or ""
  if #head < 64 or head:sub(1, 5) ~= "\127ELF\2" then return "" end
  local function bytes(at, n) return f:seek("set", at) and f:read(math.min(n, 1 << 24)) or "" end
  local at, size, n = string.unpack("=I8", head, 33), string.unpack("=I2I2", head, 55)
  local segments, loads, dynamic = bytes(at, size * n), {}, ""
  for i = 0, #segments // size - 1 do
    local kind, _, offset, address, _, length = string.unpack("=I4I4I8I8I8I8", segments, i * size + 1)
    if kind == 1 then loads[#loads + 1] = { offset = offset, address = address, length = length } end -- PT_LOAD
    if kind == 2 then dynamic = bytes(offset, length) end -- PT_DYNAMIC
  end
  local where, length = 0, 0
  for i = 1, #dynamic - 15, 16 do
    local tag, value = string.unpack("=I8I8", dynamic, i)
    if tag == 5 then where = value elseif tag == 10 then length = value end -- DT_STRTAB, DT_STRSZ
  end
  for _, l in ipairs(loads) do
    if where >= l.address and where < l.address + l.length then return bytes(where - l.address + l.offset, length) end
  end
  return ""
end

--- Whether the loader finds no @library for the program.
local function is_missing(path, library)
  local p = io.popen("LD_TRACE_LOADED_OBJECTS=1 " .. require("pmlua.internal.quote").shell(path) .. " 2>&1 </dev/null")
  local listed = p and p:read "a" or ""
  if p then p:close() end
  return listed:find(library .. " => not found", 1, true) ~= nil
end

--- LD_LIBRARY_PATH with which the loader finds a missing library of an interface; nil: the program needs none.
---@param path string the program
---@param preload string the folder of libraries that are preloaded
---@return string? variable
function M.variable(path, preload)
  local strings = strings_of(path)
  for _, library in ipairs(LIBRARIES) do
    if strings:find(library .. "\0", 1, true) and is_missing(path, library) then
      local others = os.getenv "LD_LIBRARY_PATH"
      local own = ("%s/%s"):format(preload, library)
      return "LD_LIBRARY_PATH=" .. (others and others ~= "" and others .. ":" .. own or own)
    end
  end
end

return M
