-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/job.lua - a job of MPI as rows: its sections and calls over all ranks, and its messages.
--
-- Try:  mpirun -n 4 pmlua record -o out -- ./solver; pmlua export out --table pairs

local job_text = require "pmlua.internal.report.job_text"
local sections = require "pmlua.sections"

local M = {}

--- A row for each section and function, over all ranks.
function M.totals(source, sink)
  for _, of in ipairs { { "section", source.job.sections }, { "function", source.job.calls } } do
    for _, row in ipairs(of[2]) do
      local r = job_text.row_of(row, source.job)
      sink.row { of[1], sections.show(r.name), r.library and sections.show(r.library), r.ranks, r.threads, r.calls, r.total_ns,
        r.average_ns, r.least_ns, r.least_rank, r.most_ns, r.most_rank, r.imbalance, r.waited_ns }
    end
  end
  return true
end

--- A row for each class of sizes.
function M.messages(source, sink)
  for _, direction in ipairs { "sent", "received" } do
    for bits = 0, 64 do
      local of = source.job.sizes[direction][bits]
      if of then
        local most = bits < 64 and (1 << bits) - 1 or nil
        sink.row { direction, bits > 0 and 1 << (bits - 1) or 0, most, of.messages, of.bytes, of.time }
      end
    end
  end
  return true
end

--- A row for each pair of ranks, or of blocks of ranks, that sent messages.
function M.pairs(source, sink)
  local job = source.job
  local function first(block) return block * job.block end
  local function last(block) return math.min((block + 1) * job.block, job.size) - 1 end
  for _, p in ipairs(job.pairs) do
    sink.row { first(p.from), last(p.from), first(p.to), last(p.to), p.messages, p.bytes }
  end
  return true
end

--- A row for each collective operation.
function M.collectives(source, sink)
  for _, c in ipairs(source.job.collectives) do sink.row { c.operation, c.calls, c.sent, c.received } end
  return true
end

--- A row for each function of MPI that read or wrote a file.
function M.files(source, sink)
  for _, f in ipairs(source.job.files) do sink.row { f["function"], f.calls, f.bytes, f.most, f.most_rank } end
  return true
end

return M
