-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/traffic.lua - bytes sent between each pair of ranks of an MPI job, as a picture.
--
-- Try:  pmlua report DIR --plot traffic.svg

local picture = require "pmlua.internal.picture"
local units = require "pmlua.internal.report.units"
local refuse = require "pmlua.core".failure.refuse

local M = {}

--- Draw the messages between the ranks of a job.
---@param path string .svg or .png
---@return boolean? ok, pmlua.Failure? err
function M.draw(job, path)
  local lines, most, least, messages, bytes = {}, 1, math.huge, 0, 0
  for i, p in ipairs(job.pairs) do
    lines[i] = ("%d %d %d %d"):format(p.from, p.to, p.messages, p.bytes)
    messages, bytes = messages + p.messages, bytes + p.bytes
    most, least = math.max(most, p.bytes), math.min(least, math.max(p.bytes, 1))
  end
  if #lines == 0 then return refuse("ENODATA", "no message between ranks was counted: there is nothing to draw") end
  local blocks = (job.size + job.block - 1) // job.block
  local title = ("%d message%s with %s between %d ranks"):format(messages, messages == 1 and "" or "s", units.scaled(bytes, "B"),
    job.size)
  local run = picture.run_gp(title, { "blocks = " .. blocks, "ranks_of_block = " .. job.block,
    ("most_bytes = %.9g"):format(most), ("least_bytes = %.9g"):format(least) })
  return picture.draw("traffic", { ["run.gp"] = run, ["traffic.dat"] = table.concat(lines, "\n") .. "\n" }, path)
end

return M
