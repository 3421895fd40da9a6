-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/archive.lua - samples.csv.gz: every raw sample, in the order of measuring, streamed.
--
-- Try:  zcat results/read_overhead/latest/samples.csv.gz | head
--
-- Columns: cell (as in data.dat), round from 1, index in the round from 0, value as measured. Compressed because a full
-- run is 1e8 rows. The stream is flushed after each block of one cell and round, so that a file that ends in the middle
-- (kill -9, full disk) still decompresses up to the last whole block.

local disk = require "pmlua.internal.file"
local zlib = require "zlib"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local Archive = {}
Archive.__index = Archive

local gzip_wrapper = 15 + 16 -- zlib's windowBits: the largest window, + 16 for a gzip header and trailer

--- Create the file.
---@return table? archive, pmlua.Failure? failure
function M.create(path)
  local f, err = disk.new(path)
  if not f then return nil, err end
  local self = setmetatable({ path = path, file = f, deflate = zlib.deflate(1, gzip_wrapper) }, Archive)
  local ok, why = self:put("cell,round,index,value\n", "sync")
  if not ok then return nil, why end
  return self
end

-- `torn` stays set when an interrupt occurs between deflate and write: bytes are then missing, and a trailer
-- after the gap would turn a truncated file into a corrupt one.
function Archive:put(text, flush)
  self.torn = true
  local ok, err = self.file:write((self.deflate(text, flush)))
  if ok and flush then ok, err = self.file:flush() end
  if not ok then
    self.file:close()
    self.file = nil
    return refuse("EIO", ("%s: %s: the following samples are lost"):format(self.path, err))
  end
  self.torn = false
  return true
end

local function put_array(self, prefix, series)
  local rows = {}
  for i = 1, #series do
    local value = ("%.17g"):format(series[i]):gsub("[^%w+-]+", ".") -- replaces the locale's decimal point
    rows[#rows + 1] = ("%s%d,%s\n"):format(prefix, i - 1, value)
    if #rows == 4096 then
      local ok, err = self:put(table.concat(rows))
      if not ok then return nil, err end
      rows = {}
    end
  end
  return self:put(table.concat(rows), "sync")
end

--- Append a block.
---@param series userdata|number[]
---@return boolean? ok, pmlua.Failure? failure only once: after a failure the archive stands still
function Archive:add(cell, round, series)
  if not self.file then return true end
  local prefix = ("%d,%d,"):format(cell, round)
  if type(series) ~= "userdata" then return put_array(self, prefix, series) end
  local first = 1
  while first do
    local text, next_first = series:format(prefix, first)
    local ok, err = self:put(text, not next_first and "sync" or nil)
    if not ok then return nil, err end
    first = next_first
  end
  return true
end

--- Write the trailer and close; idempotent.
---@return boolean? ok, pmlua.Failure? failure
function Archive:close()
  if not self.file then return true end
  local ok, err = true, nil
  if not self.torn then ok, err = self:put("", "finish") end
  if self.file then
    local closed, why = self.file:close()
    self.file = nil
    if ok and not closed then ok, err = nil, ("%s: %s"):format(self.path, why) end
  end
  return ok, err
end

---@class pmlua.ArchivedVisit
---@field cell integer
---@field round integer
---@field values number[] as measured

local BLOCK <const>, LINE <const> = 1 << 16, 1 << 10

--- The visits in a file that may end anywhere, in the order of measuring; the last may be a part of one.
---@param most? integer stop after so many samples
---@return pmlua.ArchivedVisit[] visits none if there is no file
function M.visits(path, most)
  local visits, visit, left = {}, {}, most or math.maxinteger
  local file <close> = disk.open(path)
  local inflate, rest = zlib.inflate(), ""
  for block in function() return file and #rest < LINE and left > 0 and file:read(BLOCK) or nil end do
    local ok, text = pcall(inflate, block)
    if not ok then break end
    text = rest .. text
    local from = 1
    for cell, round, value, after in text:gmatch "(%d+),(%d+),%d+,([^,\n]+)\n()" do
      local v = tonumber(value)
      cell, round, from = math.tointeger(cell), math.tointeger(round), after
      if visit.cell ~= cell or visit.round ~= round then
        visit = { cell = cell, round = round, values = {} }
        visits[#visits + 1] = visit
      end
      if v and v - v == 0 then visit.values[#visit.values + 1], left = v, left - 1 end
    end
    rest = text:sub(from)
  end
  return visits
end

return M
