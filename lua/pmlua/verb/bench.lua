-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua bench CMD CMD ...`: which command is faster, by how much, and how sure that is.
--
--     pmlua bench 'sort /etc/services' 'sort -r /etc/services'
--     pmlua bench -P level=1,6,9 -e page-faults 'gzip -{level}c /etc/services'

local common = require "pmlua.internal.cli.common"
local complain = require "pmlua.internal.cli.complain" "bench"
local printable = require "pmlua.internal.printable"
local tabulate = require "pmlua.tabulate"
local try = require "pmlua.internal.try"

local MOST_VALUES <const> = 10000

--- A word that was meant as a range: one of its ends is a number, or both are a letter. Texts such as v1..v2 are values.
local function meant_as_range(word)
  local first, last = word:match "^([^/]-)%.%.([^/:]*):?[^/]*$"
  return first and (tonumber(first) or tonumber(last) or first:find "^%a$" and last:find "^%a$") ~= nil
end

--- The numbers of FIRST..LAST, FIRST..LAST:STEP or FIRST..LAST:xFACTOR; nil: the word is not a range.
local function range_of(word)
  local first, last, times, step = word:match "^(%-?[%d.]-)%.%.(%-?[%d.]+):?(x?)([%d.]*)$"
  first, last, step = tonumber(first), tonumber(last), step ~= "" and tonumber(step) or step == "" and times == "" and 1 or nil
  if not (first and last and step) then
    return nil, meant_as_range(word) and ("'%s' is not a range of numbers; write 1..8, 0..1:0.25 or 1..64:x2"):format(word) or nil
  end
  if times == "x" and (step <= 1 or first <= 0) or step <= 0 or first > last then
    return nil, ("'%s' has no values; write FIRST <= LAST, a STEP above 0 and a FACTOR above 1"):format(word)
  end
  local values, v, i = {}, first, 0
  while v <= last do
    if #values == MOST_VALUES then return nil, ("'%s' has more than %d values"):format(word, MOST_VALUES) end
    values[#values + 1], i = v, i + 1
    v = times == "x" and v * step or first + i * step
  end
  return values
end

local function parameter_of(text)
  local name, list = text:match "^([%a_][%w_]*)=(.+)$"
  if not name or name == "command" then return nil, ("'%s' is not NAME=VALUE,VALUE... or NAME=FIRST..LAST"):format(text) end
  local values, numbers = {}, true
  for word in (list .. ","):gmatch "([^,]*)," do
    local range, err = range_of(word)
    if err then return nil, err end
    if range then
      table.move(range, 1, #range, #values + 1, values)
    else
      values[#values + 1] = word
      numbers = numbers and tonumber(word) ~= nil and word:find "^[%d.]+$" ~= nil
    end
  end
  for i, v in ipairs(values) do
    if numbers then values[i] = math.tointeger(tonumber(v)) or tonumber(v) else values[i] = tostring(v) end
  end
  return { name = name, values = values }
end

local FORMATS <const> = { "json", "csv", "markdown", "asciidoc", "org" }
local FORMAT_NAMES <const> = { "JSON", "CSV", "a Markdown table", "an AsciiDoc table", "an Org table" }

local function export_options()
  local all = {}
  for i, format in ipairs(FORMATS) do
    all[i] = { name = "export-" .. format, kind = "file", help = "also write the results into FILE as " .. FORMAT_NAMES[i] }
  end
  return table.unpack(all)
end

local M = {
  summary = "compare commands: which is faster, by how much, and how certain that is",
  arguments = { { name = "CMD", key = "commands", kind = "text", many = true,
    missing = "no command given", after = "quote each command, as in 'ls -l'" } },
  about = [[
Quote each CMD, because it is one word of the command line. Each round runs every command once, in random order, so that drift
of the machine affects all commands. The table shows the median of the elapsed time with a 95 % interval. For every command except
the first, it also shows the ratio of its median to the first command's median, the interval of this ratio, and the verdict of
pmlua compare --by. The results are stored in a folder like an experiment's, which pmlua plot and pmlua compare read.]],
  options = {
    { name = "runs", short = "r", kind = "integer", min = 1, help = "run each command N times" },
    { name = "time", short = "t", kind = "duration", such = "10s or 2m",
      help = "stop after the round in which TIME runs out, but not before 5 rounds (default, without --runs: 3 s per command, "
        .. "at least 10 and at most 500 rounds)" },
    { name = "until", kind = "percent", max = 99, key = "until_interval", help = "run each command until the 95 % interval of "
      .. "its median is within this percentage of it (default --time with --until: 60 s per command)" },
    { name = "until-verdict", help = "run the commands until each comparison has a verdict" },
    { name = "min-runs", kind = "integer", min = 1, help = "minimum number of runs without --runs" },
    { name = "max-runs", kind = "integer", min = 1, help = "maximum number of runs without --runs" },
    { name = "warmup", short = "w", kind = "integer", min = 0, shown = "1",
      help = "first run each command N times without measuring" },
    { name = "parameter", short = "P", kind = "text", value = "NAME=V,V...", many = true, key = "parameters",
      read = parameter_of, help = "replace {NAME} by each value; 1..8 stands for the numbers from 1 to 8, 0..1:0.25 for steps "
        .. "of 0.25, 1..64:x2 for doublings; several parameters run in every combination" },
    { name = "name", short = "n", kind = "text", many = true, key = "names",
      help = "name of the first command in tables and figures; the second --name names the second command, and so on" },
    common.with("event", { value = "EVENTS", key = "lists", help = "also count these events, separated by commas: kernel "
      .. "events of the command and its children (pmlua events lists them); counts of programs compiled by pmlua cc --count "
      .. "(sde:::BYFL::...); sim::Ir and other simulated events, in 5 more runs under valgrind" }),
    { name = "cause", help = "explain why two commands differ: other work, another layout (the same work at other addresses), "
      .. "both, or only the machine. Counts the instructions of each function in 2 more runs of each command under valgrind, "
      .. "and samples the time of functions with equal counts" },
    { name = "layouts", kind = "integer", min = 2, max = 64, needs = "cause", help = "start each command with N layouts: "
      .. "environments of different sizes, with fixed and with random addresses; and PROGRAM.2 to PROGRAM.N, if they exist, "
      .. "which pmlua cc --layouts links in another order" },
    { name = "setup", kind = "text", value = "CMD", help = "first run this command, once for each combination of command "
      .. "and parameters" },
    { name = "prepare", short = "p", kind = "text", value = "CMD",
      help = "run this command before each run, without measuring it" },
    { name = "cleanup", short = "c", kind = "text", value = "CMD",
      help = "run this command at the end, once for each combination, even after a failure" },
    { name = "shell", kind = "text", value = "none|SHELL", help = "run all commands without a shell, or by SHELL -c (default: "
      .. "by sh if one of them needs a shell); times and counts include the shell" },
    { name = "no-shell", short = "N", help = "the same as --shell none" },
    { name = "input", kind = "file", help = "standard input of the commands (default: /dev/null)" },
    { name = "output", kind = "text", value = "FILE|inherit", help = "standard output of the commands (default: /dev/null)" },
    { name = "show-output", help = "show the output of the commands" },
    { name = "ignore-failure", short = "i", help = "also measure commands whose exit status is not 0" },
    { name = "by", kind = "name", help = "compare the values of this parameter (default: the commands or, if there is only "
      .. "one, the values of the first parameter)" },
    { name = "reference", kind = "text", value = "CMD", help = "also run CMD, and compare the other commands with it" },
    { name = "threshold", kind = "percent", max = 99, default = "1", help = "treat differences up to this percentage as equal" },
    common.with "fail-on",
    { name = "time-unit", kind = "choice", choices = { "ns", "us", "ms", "s" }, shown = "depends on the times",
      help = "unit of times in tables" },
    { name = "seed", kind = "integer", help = "seed of the random order, which each run prints at its end" },
    common.with("folder", { help = "folder for the results", shown = "results" }),
    { name = "no-plot", help = "draw no figure" },
    common.with("json", { help = "print the results as JSON, with all digits" }),
    common.with("csv", { help = "print the results as CSV (RFC 4180)" }),
    common.with "html",
    { name = "markdown", help = "print the table in Markdown" },
    common.with("quiet", { help = "print no progress and no warnings on standard error" }),
  },
  exclusive = { { "json", "csv", "markdown" }, { "runs", "time" }, { "runs", "min-runs" }, { "runs", "max-runs" },
    { "runs", "until" }, { "runs", "until-verdict" },
    { "shell", "no-shell" }, { "output", "show-output" } },
  notes = [[
A command fails if its exit status is not 0. pmlua bench then stops measuring this command, continues with the others, and exits
with status 1. An interrupt (Ctrl-C) ends the run; pmlua bench stores and prints the results so far, and marks them incomplete.]],
  examples = {
    "pmlua bench 'sort /etc/services' 'sort -r /etc/services'",
    { "pmlua bench --cause --runs 5 'sort /etc/services' 'sort -r /etc/services'", needs = { "valgrind" } },
    "pmlua bench --time 1s -P level=1,9 -e page-faults 'gzip -{level}c /etc/services'",
    { "pmlua bench --runs 5 -e sim::Ir --markdown 'sort /etc/services' 'sort -r /etc/services'", needs = { "valgrind" } },
  },
}

table.move({ export_options() }, 1, #FORMATS, #M.options + 1, M.options)

function M.check(o)
  for i, text in ipairs(o.commands) do
    if not text:find "%S" then return ("command %d is empty"):format(i) end
  end
  if o.names and #o.names > #o.commands then
    return ("%d names for %d commands"):format(#o.names, #o.commands)
  end
  if o.lists then
    local err
    o.events, err = common.event_names(o.lists)
    if err then return err end
  end
  if o.until_interval == 0 then return "--until needs a percentage above 0" end
  if (o.min_runs or 1) > (o.max_runs or math.huge) then return "--min-runs is more than --max-runs" end
  if o.reference then table.insert(o.commands, 1, o.reference) end
  if o.reference and o.names then table.insert(o.names, 1, o.reference) end
  if o.no_shell then o.shell = "none" end
  if o.cause and (#o.commands ~= 2 or o.parameters) then return "--cause needs two commands and no --parameter" end
  local err
  o.benchmark, err = require "pmlua.internal.benchmark".new(o)
  return err
end

-- --- the tables ---

local units = { { 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" } }

--- The divisor and name of the unit asked for, or the largest one in which no median is below 1.
local function unit_for(cells, wanted)
  local least = math.huge
  for _, cell in ipairs(cells) do
    if cell.summary then least = math.min(least, cell.summary.median) end
  end
  local unit = units[1]
  for _, u in ipairs(units) do
    if wanted and wanted == u[2] or not wanted and least < math.huge and least >= u[1] then unit = u end
  end
  return table.unpack(unit)
end

local function range(low, high)
  return low and ("%s .. %s"):format(tabulate.number(low), tabulate.number(high)) or nil
end

local function metric_cells(v, divisor)
  if not v then return nil, nil end
  return v.median / divisor, range(v.low and v.low / divisor, v.high and v.high / divisor)
end

--- Why a cell was not measured any more; nil without --until.
local function stopped(cell) return cell.certain or cell.uncertain end

--- One row for each command: its time, and its counts.
local function results_of(run, benchmark)
  local divisor, unit = unit_for(run.cells, benchmark.time_unit)
  local names, rows = {}, {}
  for i, f in ipairs(run.factors) do names[i] = f.name end
  local last = #names
  table.move({ "runs", "median [" .. unit .. "]", "95 % interval", "min", "max", "user", "system" }, 1, 7, last + 1, names)
  for _, m in ipairs(benchmark:event_metrics()) do
    names[#names + 1] = m.unit == "" and m.name or ("%s [%s]"):format(m.name, m.unit)
    names[#names + 1] = "95 % interval"
  end
  local whole = true
  for r, cell in ipairs(run.cells) do
    local row, s = {}, cell.summary
    rows[r], whole = row, whole and cell.status == "ok"
    for i, f in ipairs(run.factors) do row[i] = cell.levels[f.name] end
    row[last + 1] = s and s.n or 0
    if s then
      row[last + 2], row[last + 3] = metric_cells({ median = s.median, low = s.median_lo, high = s.median_hi }, divisor)
      row[last + 4], row[last + 5] = s.min / divisor, s.max / divisor
      row[last + 6], row[last + 7] = metric_cells(s.metrics.user, divisor), metric_cells(s.metrics.system, divisor)
      for k, name in ipairs(benchmark.events) do
        row[last + 6 + 2 * k], row[last + 7 + 2 * k] = metric_cells(s.metrics[name], 1)
      end
    end
    row[last + 8 + 2 * #benchmark.events] = cell.status
  end
  if run.certain then
    local at = #names + 1
    names[at] = "stopped"
    for r, cell in ipairs(run.cells) do table.insert(rows[r], at, stopped(cell) or "-") end
  end
  if not whole then names[#names + 1] = "status" end
  return names, rows
end

--- One row for each pair and metric.
local function verdicts_of(benchmark)
  local names = { "A", "B", "metric", "B/A", "95 % interval", "verdict" }
  local rows, others = {}, false
  for _, result in ipairs(benchmark.comparisons) do
    for _, c in ipairs(result.cells) do
      others = others or c.label ~= "all"
      rows[#rows + 1] = { c.label, c.level_a, c.level_b, result.metric or "time", c.ratio and common.ratio(c.ratio) or nil,
        c.low and common.ratio(c.low) .. " .. " .. common.ratio(c.high) or nil, c.verdict }
    end
  end
  if others then table.insert(names, 1, "with") end
  for _, row in ipairs(others and {} or rows) do table.remove(row, 1) end
  return names, rows
end

-- Table syntax of documents: the text before a row, between cells, after a row, before and after all rows, and the parts of
-- the line below the names.
local documents = {
  markdown = { "| ", " | ", " |", "", "", { "| ", " | ", " |" } },
  org = { "| ", " | ", " |", "", "", { "|", "+", "|" } },
  asciidoc = { "| ", " | ", "", "[options=\"header\"]\n|===\n", "|===\n" },
}

local function document(form, names, rows)
  local d = documents[form]
  local function line(cells)
    local out = {}
    for i = 1, #names do
      local v = cells[i]
      out[i] = tostring(type(v) == "number" and tabulate.number(v) or v == nil and "-" or v):gsub("|", "\\|"):gsub("%c", " ")
    end
    return d[1] .. table.concat(out, d[2]) .. d[3] .. "\n"
  end
  local lines = { d[4], line(names) }
  if d[6] then lines[3] = d[6][1] .. ("---"):rep(#names, d[6][2]) .. d[6][3] .. "\n" end
  for _, row in ipairs(rows) do lines[#lines + 1] = line(row) end
  return table.concat(lines) .. d[5]
end

--- The verdict on a cell for each metric; the first cell of a group has no verdict.
local function verdict_on(result, cell)
  for _, c in ipairs(result.cells) do
    if c.cell == cell.index then return { c.ratio, c.low, c.high, c.adjusted, c.verdict } end
  end
  return {}
end

local function csv(run, benchmark)
  local names, rows = require "pmlua.internal.experiment.output".rows(run)
  for _, result in ipairs(benchmark.comparisons) do
    local first, of = #names, result.metric and result.metric .. "_" or ""
    for i, name in ipairs { "ratio", "low", "high", "p_holm", "verdict" } do names[first + i] = of .. name end
    for r, cell in ipairs(run.cells) do table.move(verdict_on(result, cell), 1, 5, first + 1, rows[r]) end
  end
  return require "pmlua.internal.cli.csv".table(names, rows)
end

local function json(run, benchmark)
  local encoder = require "pmlua.json"
  local object = require "pmlua.internal.experiment.output".object(run)
  object.shell, object.by, object.comparisons = benchmark.shell or "none", benchmark.by, encoder.array(benchmark.comparisons)
  object.cause = benchmark.cause
  for i, cell in ipairs(run.cells) do
    object.cells[i].exit_statuses, object.cells[i].stopped = encoder.array(benchmark:exit_statuses(cell.p)), stopped(cell)
  end
  return encoder.encode(object)
end

local function say(text) io.write(text, "\n") end

local function print_text(run, benchmark)
  local names, rows = results_of(run, benchmark)
  say("\n" .. tabulate(names, rows, 1) .. require "pmlua.internal.experiment.output".unsteady(run))
  names, rows = verdicts_of(benchmark)
  if #rows > 0 then say("\n" .. tabulate(names, rows, 1)) end
  if benchmark.cause then say("\n" .. printable(require "pmlua.internal.cause".text(benchmark.cause))) end
  local how = benchmark.shell and "by " .. benchmark.shell .. " -c, which the numbers include" or "without a shell"
  local status = run.status == "complete" and run.status or run.status .. ", so incomplete"
  say(("\n%s: %s, %d rounds in random order, seed %d, run %s"):format(printable(run.dir), status, run.meta.rounds_done, run.seed,
    printable(how)))
  for _, file in ipairs(run.plots or {}) do say("  plot     " .. printable(file)) end
end

--- The results as a table of a document.
local function as_document(form, run, benchmark)
  local text = document(form, results_of(run, benchmark))
  local names, rows = verdicts_of(benchmark)
  if #rows > 0 then text = text .. "\n" .. document(form, names, rows) end
  return benchmark.cause and text .. "\n" .. require "pmlua.internal.cause".text(benchmark.cause) .. "\n" or text
end

local writers = { json = json, csv = csv }
for form in pairs(documents) do
  writers[form] = function(run, benchmark) return as_document(form, run, benchmark) end
end

--- The page of the run, with the tables that are printed.
local function page_of(run, benchmark)
  local folder = try(require "pmlua.results".open(run.dir))
  local pages, disk = require "pmlua.internal.experiment.page", require "pmlua.internal.file"
  local page = pages.of(folder, run.plots and disk.read(run:path "plot.svg"))
  local names, rows = results_of(run, benchmark)
  local parts = { { heading = "Results", names = names, rows = rows } }
  names, rows = verdicts_of(benchmark)
  if #rows > 0 then parts[2] = { heading = "Comparison", names = names, rows = rows } end
  if benchmark.cause then parts[#parts + 1] = { note = require "pmlua.internal.cause".text(benchmark.cause) } end
  for _, result in ipairs(benchmark.comparisons) do
    parts[#parts + 1] = pages.ratios(result.metric or "Time", result.cells)
  end
  table.move(page.parts, 1, #page.parts, #parts + 1, parts)
  page.parts = parts
  return page
end

--- Write the files of --export-... and --html; whether all could be written.
local function export(o, run, benchmark)
  local done = true
  local function check(_, err)
    if err then complain(err) end
    done = done and not err
  end
  for _, form in ipairs(FORMATS) do
    local path = o["export_" .. form]
    if path then check(require "pmlua.internal.file".write(path, writers[form](run, benchmark))) end
  end
  if o.html then
    local page, err = try.catch(page_of, run, benchmark)
    check(page, err)
    if page then check(require "pmlua.internal.page".save(o.html, page)) end
  end
  return done
end

--- Whether a verdict is what --fail-on names, or could not be given.
local function fails(o, benchmark)
  local any = false
  for _, result in ipairs(o.bounds and benchmark.comparisons or {}) do
    for _, text in ipairs(common.bad_cells(o.bounds, result, true)) do
      complain((result.metric or "time") .. " of " .. text)
      any = true
    end
    local text, unjudged = common.unjudged(o.bounds, result)
    if text then complain((unjudged and "" or "warning: ") .. text) end
    any = any or unjudged
  end
  return any
end

---@return integer status
function M.run(o)
  local benchmark = o.benchmark
  local given = { out = o.out, no_plot = o.no_plot, seed = o.seed, quiet = o.quiet, json = o.json or o.csv or o.markdown }
  local run = try(benchmark:run(given, common.line()))
  local form = o.json and "json" or o.csv and "csv" or o.markdown and "markdown"
  if form then io.write(writers[form](run, benchmark)) else print_text(run, benchmark) end
  local exported = export(o, run, benchmark)
  if benchmark.failed and not o.quiet then
    complain "a command failed; measure it nevertheless with --ignore-failure"
  end
  local whole = run.status == "complete" and exported and not fails(o, benchmark)
  for _, cell in ipairs(run.cells) do whole = whole and cell.status == "ok" end
  return whole and 0 or 1
end

return M
