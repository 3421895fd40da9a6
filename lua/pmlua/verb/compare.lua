-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua compare A B`: whether two runs differ, where, and by how much.
--
--     pmlua compare results/read_overhead/20261121T013000Z results/read_overhead/latest

local common = require "pmlua.internal.cli.common"
local printable = require "pmlua.internal.printable"

local M = {
  summary = "say whether two runs differ, where, and by how much",
  arguments = { { name = "A", key = "a", kind = "dir", missing = "name two folders" },
    { name = "B", key = "b", kind = "dir", missing = "two folders are compared; name the second", one = "pair of folders" } },
  about = [[
A and B are folders of runs; A is the reference. For each combination of factors that both have: the ratio of the medians
B/A with a 95 % interval (bootstrap over rounds), and a verdict: same, faster or slower by so much, or cannot tell and why.
p values of the rank-sum test over rounds are corrected for the number of cells (Holm). Two runs are one start of the program
each: what changes from start to start is not in the interval.]],
  options = {
    { name = "threshold", kind = "percent", max = 99, default = "1", help = "call a difference up to that the same" },
    common.with("json", { help = "the same as an object, every number in full" }),
    common.with("csv", { help = "the cells as CSV, every number in full" }),
    common.with "out", common.with "quiet",
  },
  exclusive = { { "json", "csv" } },
  output = true,
  notes = "The exit status is 0 whatever the verdict, 1 when a folder cannot be read.",
  examples = { "pmlua compare results/read_overhead/20261121T013000Z results/read_overhead/latest" },
}

local fields = { "label", "a", "b", "ratio", "low", "high", "adjusted", "verdict" }

local function cells_csv(r)
  local rows = {}
  for i, c in ipairs(r.cells) do
    rows[i] = {}
    for k, field in ipairs(fields) do rows[i][k] = c[field] end
  end
  local csv = require "pmlua.internal.cli.csv"
  return csv.table({ "cell", "median_a", "median_b", "ratio", "low", "high", "p_holm", "verdict" }, rows)
end

local function say(text) io.write(text, "\n") end

local function print_result(r)
  local tabulate = require "pmlua.tabulate"
  local rows = {}
  for i, c in ipairs(r.cells) do
    local interval = c.low and ("%.4f .. %.4f"):format(c.low, c.high) or nil
    rows[i] = { c.label, c.a, c.b, c.ratio and ("%.4f"):format(c.ratio) or nil, interval, c.verdict }
  end
  local unit = r.unit and (" [" .. r.unit .. "]") or ""
  say(("A: %s\nB: %s\n"):format(printable(r.a), printable(r.b)))
  say(tabulate({ "cell", "median A" .. unit, "median B" .. unit, "B/A", "95 % interval", "verdict" }, rows, 1))
  for _, label in ipairs(r.only_a) do say("only in A: " .. printable(label)) end
  for _, label in ipairs(r.only_b) do say("only in B: " .. printable(label)) end
  say("\n" .. printable(r.overall))
  say("Each side is one start of the program; what changes from start to start is not in the intervals.")
end

---@param o table
---@return integer status
function M.run(o)
  local r, err = require "pmlua.compare".compare(o.a, o.b, o)
  if not r then
    io.stderr:write("pmlua compare: ", printable(err), "\n")
    return 1
  end
  for _, w in ipairs(o.quiet and {} or r.warnings) do
    io.stderr:write("pmlua compare: warning: ", printable(w), "\n")
  end
  if o.json then io.write(require "pmlua.json".encode(r))
  elseif o.csv then io.write(cells_csv(r))
  else print_result(r) end
  return 0
end

return M
