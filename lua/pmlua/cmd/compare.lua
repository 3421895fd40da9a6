-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua compare A B`: whether two runs differ, where, and by how much.
--
--     pmlua compare results/read_overhead/20261121T013000Z results/read_overhead/latest

local printable = require "pmlua.printable"

local M = {
  summary = "say whether two runs differ, where, and by how much",
  usage = "pmlua compare [--json] [--threshold PERCENT] A B",
  help = [[
A and B are folders of runs; A is the reference. For each combination of factors that both have: the ratio of the medians
B/A with a 95 % interval (bootstrap over rounds), and a verdict: same, faster or slower by so much, or cannot tell and why.
p values of the rank-sum test over rounds are corrected for the number of cells (Holm). Two runs are one start of the program
each: what changes from start to start is not in the interval.

  --threshold PERCENT   a difference up to that is called the same (default 1)
  --json                the same as an object, every number in full

The exit status is 0 whatever the verdict, 1 when a folder cannot be read.

    pmlua compare results/read_overhead/20261121T013000Z results/read_overhead/latest]],
}

local function parse(args)
  local options, i = { dirs = {} }, 1
  while args[i] do
    local arg = args[i]
    if arg == "--json" then options.json = true
    elseif arg == "--threshold" then
      i = i + 1
      local percent = tonumber(args[i] or "")
      if not percent or not (percent >= 0 and percent < 100) then return nil, "--threshold needs a percentage below 100" end
      options.threshold = percent / 100
    elseif arg:find("^%-") then return nil, "no such option: " .. arg
    else options.dirs[#options.dirs + 1] = arg end
    i = i + 1
  end
  if #options.dirs ~= 2 then return nil, ("two folders are compared, not %d"):format(#options.dirs) end
  return options
end

local function print_result(r)
  local tabulate = require "pmlua.tabulate"
  local rows = {}
  for i, c in ipairs(r.cells) do
    local interval = c.low and ("%.4f .. %.4f"):format(c.low, c.high) or nil
    rows[i] = { c.label, c.a, c.b, c.ratio and ("%.4f"):format(c.ratio) or nil, interval, c.verdict }
  end
  local unit = r.unit and (" [" .. r.unit .. "]") or ""
  print(("A: %s\nB: %s\n"):format(printable(r.a), printable(r.b)))
  print(tabulate({ "cell", "median A" .. unit, "median B" .. unit, "B/A", "95 % interval", "verdict" }, rows, 1))
  for _, label in ipairs(r.only_a) do print("only in A: " .. printable(label)) end
  for _, label in ipairs(r.only_b) do print("only in B: " .. printable(label)) end
  print("\n" .. printable(r.overall))
  print("Each side is one start of the program; what changes from start to start is not in the intervals.")
end

---@param args string[]
---@return integer status
function M.run(args)
  local options, misuse = parse(args)
  if not options then
    io.stderr:write("pmlua compare: ", misuse, "; usage: ", M.usage, "\n")
    return 2
  end
  local r, err = require "pmlua.compare".compare(options.dirs[1], options.dirs[2], options)
  if not r then
    io.stderr:write("pmlua compare: ", printable(err), "\n")
    return 1
  end
  for _, w in ipairs(r.warnings) do io.stderr:write("pmlua compare: warning: ", printable(w), "\n") end
  if options.json then io.write(require "pmlua.json".encode(r)) else print_result(r) end
  return 0
end

return M
