-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/share.lua - the processes of a job read a folder's logs together: mpirun -n 8 pmlua report DIR
--
-- Try:  mpirun -n 2 pmlua report out
--
-- Rank r of n reads every n-th log and leaves what it read as a part in the folder; rank 0 reads its own share, takes the
-- parts in and prints. Rank 0 itself reads a part that does not come in time or is damaged.

local file = require "pmlua.internal.file"

local M = {}

local FORMAT = "<s4 i8 i8 s4 I8 I8 d d B"
local PATIENCE_S, STEP_S = 60, 0.02

--- Which process of how many this is; nil: it is alone.
---@return { rank: integer, size: integer }?
function M.job()
  local rank, size = require "pmlua.internal.job".rank()
  return rank and { rank = rank, size = size } or nil
end

local function part_of(folder, job, rank) return ("%s/report.%d.of%d.pmlpart"):format(folder, rank, job.size) end

--- Nothing could be read: rank 0 reads it itself and says why.
function M.give_up(folder, job) return file.write(part_of(folder, job, job.rank), "") end

--- What tells a log from the one that was there before.
local function state_of(path)
  local lfs = require "lfs"
  return path, lfs.attributes(path, "size") or -1, lfs.attributes(path, "modification") or -1
end

--- What was read of each log, and their summary.
---@param read table[] { path, text, brief } of each log of this rank's share
---@param summary userdata
---@return boolean? ok
---@return pmlua.Failure? failure
function M.leave(folder, job, read, summary)
  local packed, err = summary:pack()
  if not packed then return nil, err end
  local parts = { string.pack("<s8 I8", packed, #read) }
  for i, one in ipairs(read) do
    local b = one.brief
    local path, size, modified = state_of(one.path)
    parts[i + 1] = string.pack(FORMAT, path, size, modified, one.text, b.threads, b.rows, b.exclusive_ns, b.self_ns,
      (b.recorded and 1 or 0) + (b.sketch and 2 or 0))
  end
  return file.write(part_of(folder, job, job.rank), table.concat(parts))
end

local function unpacked(bytes)
  local packed, n, at = string.unpack("<s8 I8", bytes)
  local read = {}
  for i = 1, n do
    local path, size, modified, text, threads, rows, exclusive, own, flags
    path, size, modified, text, threads, rows, exclusive, own, flags, at = string.unpack(FORMAT, bytes, at)
    local brief = { threads = threads, rows = rows, exclusive_ns = exclusive, self_ns = own, recorded = flags & 1 ~= 0,
      sketch = flags & 2 ~= 0 }
    read[i] = { path = path, size = size, modified = modified, text = text, brief = brief }
  end
  return { read = read, summary = assert(require "pmlua.core".summary.unpack(packed)) }
end

--- Is it of this log, as it is now? A part that came too late may be of another run.
---@param one table of a part
---@param path string
---@return boolean
function M.is_current(one, path)
  local _, size, modified = state_of(path)
  return one.path == path and one.size == size and one.modified == modified
end

--- The part of another rank, which is removed; nil: it did not come or is damaged.
---@return { read: table[], summary: userdata }? part
function M.take(folder, job, rank)
  local lfs, sys = require "lfs", require "pmlua.core".sys
  local path, waited = part_of(folder, job, rank), 0.0
  while not lfs.attributes(path, "mode") and waited < PATIENCE_S do
    sys.sleep(STEP_S)
    waited = waited + STEP_S
  end
  local bytes = file.read(path, 1 << 34)
  os.remove(path)
  local ok, part = pcall(unpacked, bytes or "")
  return ok and part or nil
end

return M
