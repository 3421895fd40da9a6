-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/instruction/report.lua - a row for each sequence, and what this machine does not let one know.
--
-- Try:  pmlua scripts/instruction.lua --quick --no-plot && cat results/instruction/latest/sequences.dat

local stats = require "pmlua.stats"
local tabulate = require "pmlua.tabulate"

local M = {}

local UNSTEADY = 1.05 -- frequencies of rounds that differ by more

local function sequences_table(run)
  local rows, of = {}, {}
  for _, cell in ipairs(run.cells) do
    local row = of[cell.p.code]
    if not row then
      row = { cell.p.code, nil, nil, nil, nil, nil, nil, n = 7 }
      of[cell.p.code], rows[#rows + 1] = row, row
    end
    local s, at = cell.summary, cell.p.way == "chain" and 2 or 5
    if s then row[at], row[at + 1], row[at + 2] = s.median, s.median_lo, s.median_hi end
  end
  return { columns = {
    { "code", "text", "" }, { "latency", "cycles", "of a copy in a chain" }, { "latency_low", "cycles", "of its 95 % interval" },
    { "latency_high", "cycles", "" }, { "throughput", "cycles", "of a copy when copies overlap" },
    { "throughput_low", "cycles", "of its 95 % interval" }, { "throughput_high", "cycles", "" },
  }, rows = rows }
end

local function collect(run, name)
  local out = {}
  for _, cell in ipairs(run.cells) do
    for _, round in ipairs(cell.rounds) do
      if round.extra and round.extra[name] then out[#out + 1] = round.extra[name] end
    end
  end
  table.sort(out)
  return out
end

local function warn(run, lab)
  local frequency, add = collect(run, "frequency"), collect(run, "add")
  if #frequency > 0 then
    run:say(("\nNo counter of cycles: by a chain of adds the clock frequency is %.3f GHz"):format(stats.median(frequency)))
    local low, high = frequency[#frequency // 4 + 1], frequency[#frequency * 3 // 4 + 1] or frequency[#frequency]
    if high > low * UNSTEADY then
      run:warn(("the frequency was %.2f to %.2f GHz in half of the rounds: another program, the host or the governor changed it")
        :format(low, high))
    end
  end
  local one = stats.median(add)
  if one and math.abs(one - 1) > 0.05 then
    run:warn(("%s counts %.2f cycles for a dependent add, which takes 1: its counts are not cycles"):format(lab.event, one))
  end
end

---@param lab table instruction.lab
function M.write(run, lab)
  local t, shown = sequences_table(run), {}
  run:write_table("sequences.dat", t, "latency and throughput of each sequence")
  for i, row in ipairs(t.rows) do
    local more = row[5] and row[5] > 0 and 1 / row[5] or nil
    shown[i] = { row[1], row[2], row[5], more }
  end
  run:say("\nCycles of a sequence: in a chain, when copies overlap, and copies a cycle\n"
    .. tabulate({ "code", "latency", "throughput", "a cycle" }, shown, 1))
  warn(run, lab)
end

return M
