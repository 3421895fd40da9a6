-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/import/input.lua - the file to import as plain bytes: unpacked if it is gzip, without a byte order mark.
--
-- Try:  pmlua import trace.json.gz -o imported

local refuse = require "pmlua.core".failure.refuse

local M = {}

local BLOCK <const>, BYTES <const>, HEAD <const> = 1 << 20, 1 << 30, 1 << 24
local GZIP <const>, MARK <const> = "\31\139", "\xef\xbb\xbf"

-- Unpack a block of gzip data, which may have several members. false: the following data is not gzip, and ignored.
local function unpack_block(unpacker, block, put)
  while #block > 0 do
    if not unpacker.inflate then
      block = unpacker.rest .. block
      unpacker.rest = ""
      if #block < 2 then
        unpacker.rest = block
        return true
      end
      if block:sub(1, 2) ~= GZIP then return false end -- padding of tapes and block devices
      unpacker.inflate, unpacker.before = require "zlib".inflate(), 0
    end
    local text, ended, taken = unpacker.inflate(block)
    if not put(text) then return false end
    if not ended then
      unpacker.before = taken
      return true
    end
    block = block:sub(taken - unpacker.before + 1)
    unpacker.inflate = nil
  end
  return true
end

--- Unpack a gzip file to a temporary file. A truncated or damaged file is unpacked up to the damage.
local function unpacked(file, name)
  local out <const>, unpacker, bytes = io.tmpfile(), { rest = "" }, 0
  if not out then return refuse("EACCES", name .. ": no temporary file to unpack it") end
  local function put(text)
    bytes = bytes + #text
    return bytes <= BYTES and out:write(text)
  end
  local fine = true
  for block in function() return file:read(BLOCK) end do
    local more
    fine, more = pcall(unpack_block, unpacker, block, put)
    if not fine or not more then break end
  end
  if bytes > BYTES then return refuse("EFBIG", name .. ": unpacks to more than 1 GiB") end
  if not out:flush() then return refuse("ENOSPC", name .. ": no space to unpack it") end
  local cut = not fine or unpacker.inflate ~= nil
  if bytes == 0 and cut then return refuse("EFORMAT", name .. ": damaged or cut: nothing of its gzip data can be unpacked") end
  out:seek "set"
  return out, cut and "the gzip data is damaged or cut; the part before is imported" or nil
end

-- A copy of the file from the current position on.
local function copy(file, name)
  local out = io.tmpfile()
  if not out then return refuse("EACCES", name .. ": no temporary file for its contents") end
  for block in function() return file:read(BLOCK) end do
    if not out:write(block) then return refuse("ENOSPC", name .. ": no space for a copy of it") end
  end
  out:seek "set"
  return out
end

--- Open a file.
---@return file*? file at its beginning
---@return pmlua.Failure|string|nil why with a file: what is missing of it
function M.open(name)
  local file, note = require("pmlua.internal.file").open(name)
  if not file then return nil, note end
  note = nil
  local first = file:read(2)
  file:seek "set"
  if first == GZIP then
    local plain
    plain, note = unpacked(file, name)
    file:close()
    if not plain then return nil, note end
    file = plain
  end
  if file:read(3) ~= MARK then
    file:seek "set"
    return file, note
  end
  local plain, err = copy(file, name)
  file:close()
  return plain, plain and note or err
end

--- The first bytes: enough for the first line of any of these files.
---@param file file*
function M.head(file)
  file:seek "set"
  local head = file:read(HEAD) or ""
  file:seek "set"
  return head
end

--- The first line that is neither empty nor a comment "# ...".
function M.first_line(head)
  for line in head:gmatch "[^\r\n]+" do
    if line:find "%S" and not line:find "^#" then return line end
  end
  return ""
end

return M
