-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua compare A B`: whether runs differ, or variants within a run, where, and by how much; or two traces.
--
--     pmlua compare results/read_overhead/20261121T013000Z results/read_overhead/latest
--     pmlua compare results/read_overhead/latest --by path

local common = require "pmlua.internal.cli.common"
local complain = require "pmlua.internal.cli.complain" "compare"
local printable = require "pmlua.internal.printable"
local try = require "pmlua.internal.try"

local M = {
  summary = "report whether runs, or variants within a run, differ, where, and by how much",
  usage = { "[OPTIONS] A B", "[--json|--csv] [--fail-on WORD[:PERCENT]] A.otf2 B.otf2",
    "[OPTIONS] A... -- B...", "[OPTIONS] RUN --by FACTOR", "[OPTIONS] RUN --cause" },
  arguments = { { name = "RUN", key = "a", kind = "dir", many = true, missing = "name two folders" } },
  about = [[
A and B are folders of runs; A is the reference. For each combination of factors that both have, the table shows the ratio
of the medians B/A with a 95 % interval, and a verdict: same, faster or slower by how much, or cannot tell and why. The
ratio is the median of the ratios of all pairs of rounds (Hodges and Lehmann). p values of the rank-sum test over rounds are
corrected for the number of cells (Holm): a false "faster" or "slower" among all cells has a chance of 5 %.

A single run of the program for each side does not show the variation between runs. The interval therefore includes the deviation
between runs that --between-starts states, and a drift over the rounds. If each side has several runs, before and
after --, each run contributes the median of its samples, and the interval and p come from Welch's test of the logarithms.

--by compares the values of one factor within one run, which measured them alternately, each with the first. Rounds are then
paired, so that drift from round to round affects neither the interval nor p (Wilcoxon's signed-rank test; with 5 to 7 rounds
Student's t test of the logarithms).

If A and B are traces (*.otf2, or folders of pmlua record --trace), the table lists the call paths that became slower or faster:
their exclusive time in all locations, and their part of the whole difference. The parts add up to the whole.]],
  options = {
    { name = "by", kind = "name", value = "FACTOR", help = "compare the values of this factor within one run" },
    { name = "cause", help = "also explain why the two commands of a run of pmlua bench --cause differ" },
    { name = "metric", kind = "name", help = "compare this metric of the runs (of pmlua bench: user, system, maxrss, events) "
      .. "instead of the samples" },
    { name = "threshold", kind = "percent", max = 99, default = "1", help = "treat differences up to this as equal" },
    { name = "between-starts", kind = "percent", max = 99, default = "2.5", help = "standard deviation between runs of one "
      .. "program, which the interval includes if each side is one run" },
    common.with "fail-on",
    common.with("json", { help = "the same as a JSON object, with all digits" }),
    common.with("csv", { help = "the cells as CSV, with all digits" }),
    common.with "html", common.with "out", common.with "quiet",
  },
  command = { name = "B", behind = true, optional = true },
  exclusive = { { "json", "csv" }, { "by", "cause" }, { "cause", "metric" } },
  output = true,
  notes = "The exit status is 0 whatever the verdict, unless --fail-on names it or nothing could be judged for --fail-on, and 1 "
    .. "when a folder cannot be read.",
  examples = {
    "pmlua compare results/read_overhead/20261121T013000Z results/read_overhead/latest",
    "pmlua compare results/read_overhead/latest --by path",
    { "pmlua compare --cause results/bench/latest", needs = { "valgrind" } },
    "pmlua compare --html page.html results/read_overhead/latest --by path",
    "pmlua compare before/traces.otf2 after/traces.otf2",
    "pmlua compare --fail-on slower:2% results/read_overhead/20261121T013000Z results/read_overhead/latest",
  },
}

--- How many folders are expected depends on --by and on what follows --.
function M.check(o)
  if o.cause and (o.command or #o.a > 1) then
    return "--cause needs one run that measured both commands alternately; make it with pmlua bench --cause A B"
  end
  o.by = o.cause and "command" or o.by
  if o.by and (o.command or #o.a > 1) then return "--by compares within one run; name one folder" end
  if o.by then return nil end
  if o.command then
    return #o.command == 0 and "name the folders to compare with after --" or nil
  end
  if #o.a < 2 then return "name a second folder, or a factor (--by)" end
  if #o.a > 2 then return "more than one pair of folders; put -- between several starts of A and of B" end
  o.a, o.command = { o.a[1] }, { o.a[2] }
end

local fields = { "label", "a", "b", "ratio", "low", "high", "adjusted", "verdict" }

local function csv(r, by)
  local names, rows = { "cell", "median_a", "median_b", "ratio", "low", "high", "p_holm", "verdict" }, {}
  local before = by and 2 or 0
  for i, c in ipairs(r.cells) do
    rows[i] = by and { c.level_a, c.level_b } or {}
    for k, field in ipairs(fields) do rows[i][before + k] = c[field] end
  end
  if by then names = { "level_a", "level_b", table.unpack(names) } end
  return require "pmlua.internal.cli.csv".table(names, rows)
end

local function say(text) io.write(text, "\n") end

--- The table as names and rows, for the terminal and the page.
local function table_of(r, by)
  local unit = r.unit and r.unit ~= "" and (" [" .. r.unit .. "]") or ""
  local names = { "cell", "median A" .. unit, "median B" .. unit, "B/A", "95 % interval", "verdict" }
  local rows = {}
  for i, c in ipairs(r.cells) do
    local interval = c.low and common.ratio(c.low) .. " .. " .. common.ratio(c.high) or nil
    rows[i] = { c.label, c.a, c.b, c.ratio and common.ratio(c.ratio) or nil, interval, c.verdict }
    if by then
      table.insert(rows[i], 2, c.level_b)
      table.insert(rows[i], 2, c.level_a)
    end
  end
  if by then table.move({ "A", "B", table.unpack(names, 2) }, 1, 7, 2, names) end
  return names, rows
end

--- Lines below the table: cells of one side, and cells that are not steady.
local function remarks_on(r, by)
  local lines = {}
  for _, label in ipairs(r.only_a or {}) do lines[#lines + 1] = "only in A: " .. label end
  for _, label in ipairs(r.only_b or {}) do lines[#lines + 1] = "only in B: " .. label end
  for _, c in ipairs(r.cells) do
    local where = c.label ~= "all" and c.label .. ", " or ""
    if c.shape_a then lines[#lines + 1] = ("%s%s: %s"):format(where, by and c.level_a or "A", c.shape_a) end
    if c.shape_b then lines[#lines + 1] = ("%s%s: %s"):format(where, by and c.level_b or "B", c.shape_b) end
  end
  return lines
end

local function scope_of(r, o)
  if o.by then
    return "All were measured alternately in one run; the intervals exclude variation between runs."
  elseif math.max(r.starts_a, r.starts_b) == 1 then
    return ("Each side is one run of the program; the intervals allow for a deviation of %.3g %% between runs."):format(
      o.between_starts * 100)
  end
  return ("A is %d runs of the program, B is %d; the intervals include the variation between runs."):format(r.starts_a,
    r.starts_b)
end

local function heads_of(r, by)
  local metric = r.metric and ", metric " .. r.metric or ""
  if by then return { ("%s by %s%s"):format(r.run, by, metric) } end
  return { "A: " .. r.a, "B: " .. r.b .. metric }
end

local function print_result(r, o)
  for _, line in ipairs(heads_of(r, o.by)) do say(printable(line)) end
  local names, rows = table_of(r, o.by)
  say("\n" .. require "pmlua.tabulate"(names, rows, 1))
  for _, line in ipairs(remarks_on(r, o.by)) do say(printable(line)) end
  say("\n" .. printable(r.overall))
  if r.cause then say(printable(require "pmlua.internal.cause".text(r.cause))) end
  say(scope_of(r, o))
end

--- The machine and versions of each side.
local function machines_of(o)
  local facts = {}
  for side, dir in pairs { A = o.a[1], B = not o.by and o.command[1] or nil } do
    local run = require "pmlua.results".open(dir)
    facts[side] = run and { machine = run.meta.machine, versions = run.meta.versions, started = run.meta.started } or nil
  end
  return { heading = "Machine", facts = o.by and facts.A or facts }
end

local function page_of(r, o)
  local names, rows = table_of(r, o.by)
  local title = ("%s%s"):format(o.by and r.run .. " by " .. o.by or r.a .. " and " .. r.b, r.metric and ", " .. r.metric or "")
  local parts = { require "pmlua.internal.experiment.page".ratios("Ratios", r.cells),
    { heading = "Cells", names = names, rows = rows } }
  for _, line in ipairs(remarks_on(r, o.by)) do parts[#parts + 1] = { note = line } end
  parts[#parts + 1] = machines_of(o)
  local about = r.overall .. (r.cause and "; " .. require "pmlua.internal.cause".text(r.cause) or "")
  return { title = title, about = about, state = scope_of(r, o), warnings = r.warnings, parts = parts }
end

local function traces(o)
  local compared = require "pmlua.internal.trace.compared"
  local r = try(compared.compare(o.a[1], o.command[1]))
  if o.json then io.write(require "pmlua.json".encode(r))
  elseif o.csv then io.write(compared.csv(r))
  else io.write(compared.text(r)) end
  local bad = compared.bad(r, o.bounds)
  if bad then complain(bad) end
  if o.html then
    local names, rows = compared.rows(r)
    try(require "pmlua.internal.page".save(o.html, { title = r.a .. " and " .. r.b,
      parts = { { heading = "Time in calls without the calls inside", names = names, rows = rows } } }))
  end
  return bad and 1 or 0
end

---@return integer status
function M.run(o)
  local is_trace = require "pmlua.internal.trace.compared".is_trace
  if not o.by and #o.a == 1 and #o.command == 1 and is_trace(o.a[1]) and is_trace(o.command[1]) then return traces(o) end
  local compare = require "pmlua.compare"
  local how = { threshold = o.threshold, metric = o.metric, seed = o.seed }
  local cause = o.cause and try(require "pmlua.internal.cause".of(o.a[1], how)) or nil
  local r = o.by and try(compare.by(o.a[1], o.by, how)) or try(compare.compare(o.a, o.command, how))
  r.cause = cause
  for _, w in ipairs(o.quiet and {} or r.warnings) do complain("warning: " .. w) end
  if o.json then io.write(require "pmlua.json".encode(r))
  elseif o.csv then io.write(csv(r, o.by))
  else print_result(r, o) end
  local bad = common.bad_cells(o.bounds, r, o.by)
  for _, text in ipairs(bad) do complain(text) end
  local text, fails = common.unjudged(o.bounds, r)
  if text then complain((fails and "" or "warning: ") .. text) end
  if o.html then try(require "pmlua.internal.page".save(o.html, page_of(r, o))) end
  return (#bad > 0 or fails) and 1 or 0
end

return M
