-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua guard`: a build fails when a program's functions or sections take more instructions than they did.
--
--     pmlua guard --save counts.guard -- ./program
--     pmlua guard counts.guard -- ./program

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local guard = require "pmlua.internal.guard"
local preload = require "pmlua.internal.preload"
local sections = require "pmlua.sections"
local simulation = require "pmlua.internal.simulation.run"
local try = require "pmlua.internal.try"

local BOUND, LEAST, RUNS = "1", 16, 2

local function place_of(event)
  local short = event:gsub("^sim::", "")
  for i, name in ipairs(simulation.events) do
    if name == short then return i end
  end
end

local function event_of(text)
  if place_of(text) then return "sim::" .. text:gsub("^sim::", "") end
  return nil, ("a simulation has no event '%s'; choose one of %s"):format(text, table.concat(simulation.events, " "))
end

local function glob_of(text)
  if text:find "%s" then return nil, ("'%s' contains a blank; write ? instead"):format(text) end
  return text
end

local M = {
  summary = "save instruction counts of a program, and fail when they grow",
  usage = { "--save FILE [--event EVENT] [--object GLOB] [--function GLOB] [--runs N] [--] CMD [ARGS]",
    "FILE [--bound PERCENT] [--least N] [--per-call] [--json] [--] CMD [ARGS]", "--budget[=FILE] [--] CMD [ARGS]" },
  arguments = { { name = "FILE", key = "file", kind = "file", when = function(o) return not (o.save or o.budget) end,
    missing = "name the file: --save FILE to save counts, FILE to compare with them" } },
  about = [[
With --save, pmlua guard runs CMD and writes the counts of its sections and functions to FILE, a text file to keep with the
sources. Without, it runs CMD and compares: if anything grew by more than the bound, it prints a table and exits with
status 1. The counts come from the simulator (pmlua stat --sim): they are equal on all machines of one architecture with one
compiler.
With --budget, it runs CMD and checks that each section keeps its budget of calls and events: those that PML_BUDGET states in
CMD, and the lines of FILE, such as "lookup: malloc=0 write=1 page-faults=0".]],
  options = {
    { name = "save", kind = "file", help = "run CMD and save its counts in FILE" },
    { name = "budget", kind = "file", optional = true, help = "check the budgets of sections in CMD, and in FILE. Items are "
      .. "functions of libraries, events of the kernel or the simulator (sim::Ir), allocations and locks (all functions that "
      .. "allocate or lock). Calls and kernel events take a run of CMD each, and exceeded budgets of calls another" },
    { name = "bound", kind = "percent", shown = BOUND, help = "accept growth of a count up to this percentage" },
    { name = "least", kind = "integer", min = 0, shown = LEAST, help = "ignore growth below N instructions" },
    common.with("event", { many = false, key = "event", shown = "sim::Ir", read = event_of,
      help = "the event to count (sim::Ir, instructions); misses depend on addresses, so give them a larger bound" }),
    { name = "object", kind = "glob", many = true, key = "objects", read = glob_of, help = "guard functions of these programs "
      .. "and libraries ('*': all). Default: CMD and libraries outside of /lib and /usr/lib, because the cost of the C "
      .. "library depends on the cpu" },
    { name = "function", kind = "glob", many = true, key = "functions", read = glob_of, help = "guard only these functions" },
    { name = "runs", kind = "integer", min = 1, max = 100, shown = RUNS,
      help = "number of runs for --save: later runs may differ as much as these runs differ from each other" },
    { name = "per-call", help = "compare the average per call, not the totals" },
    common.with("json", { help = "print the verdict as JSON on standard output" }),
    common.with("csv", { help = "print counts that grew, fell, are new or are missing as CSV on standard output" }),
    common.with("out", { help = "write the JSON or CSV into FILE, apart from the output of CMD" }),
    common.with("quiet", { help = "report only counts that grew by more than the bound" }),
  },
  exclusive = { { "json", "csv" } },
  output = true,
  command = { missing = "no command given; it follows --" },
  notes = [[
Sections are guarded including all functions they call. On x86-64 the C library avoids the newest instructions, so that it
behaves the same everywhere. New and missing functions are listed, but are not failures by themselves: the sum over all
functions is also guarded. pmlua reports lower counts: save again to make them the new limit. If the compiler, architecture,
event or object differs from FILE's, nothing is compared: the status is 1, and the difference is printed.]],
  examples = {
    { "pmlua guard --save counts.guard -- ./program", needs = { "valgrind" } },
    { "pmlua guard counts.guard --bound 0.5 -- ./program", needs = { "valgrind" } },
    "pmlua guard --budget=sections.budget -- ./solver",
  },
}

local LINES = 20 -- for new and vanished functions

local complain = require "pmlua.internal.cli.complain" "guard"

function M.check(o)
  if (o.command[1] or ""):find("=", 1, true) then return "a command with '=' in its name cannot be counted" end
  if o.budget and (o.save or o.file) then return "--budget saves and compares no counts; its file is --budget=FILE" end
  if o.budget and (o.bound or o.least or o.per_call or o.json or o.csv or o.out) then
    return "--bound, --least, --per-call, --json, --csv and --out go with FILE (comparing), not with --budget"
  end
  if o.save and o.file then return "either --save FILE or FILE, then -- and the command" end
  if o.save and (o.bound or o.least or o.per_call or o.json or o.csv) then
    return "--bound, --least, --per-call, --json and --csv go with FILE (comparing), not with --save"
  end
  if (o.budget or not o.save) and (o.event or o.objects or o.functions or o.runs) then
    return "--event, --object, --function and --runs go with --save; FILE has them"
  end
end

-- --- a run ---

--- The compilers' identification strings in the program: "GCC: (Debian 12.2.0-14) 12.2.0", sorted, without duplicates.
local function compiler_of(path)
  local text, seen, list = require("pmlua.internal.file").read(path) or "", {}, {}
  for _, pattern in ipairs { "GCC: %b() [%d.]+", "[%w ]*clang version [%d.]+", "rustc version [%d.]+" } do
    for found in text:gmatch(pattern) do
      if not seen[found] then seen[found], list[#list + 1] = true, found end
    end
  end
  table.sort(list)
  return #list > 0 and table.concat(list, ", ") or "unknown"
end

local steady = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX,-BMI2,-ERMS,-FSRM,-LZCNT,-MOVBE:"
  .. "glibc.cpu.x86_data_cache_size=32768:glibc.cpu.x86_shared_cache_size=1048576:"
  .. "glibc.cpu.x86_non_temporal_threshold=786432"

local function caches_of(text)
  local caches = {}
  for level, value in text:gmatch("(%w+)=([%d,]+)") do
    if simulation.caches[level] and simulation.check_cache(level, value) then caches[level] = value end
  end
  return caches
end

local function words_of(text)
  local words = {}
  for one in text:gmatch("%S+") do words[#words + 1] = one end
  return words
end

local function run(o, about, program)
  local set = about.architecture == "x86_64" and not os.getenv("GLIBC_TUNABLES") and { steady } or nil
  local all = try(simulation.count(o.command, { caches = caches_of(about.caches), set = set }))
  if all.ended.status ~= 0 then
    local how = all.ended.signal and "was ended by signal" or "exited with status"
    try(nil, ("%s %s %d; nothing is compared or saved"):format(o.command[1], how, all.ended.signal or all.ended.status))
  end
  try(#all.processes > 0, "nothing was counted in " .. o.command[1])
  for _, warning in ipairs(require("pmlua.internal.simulation.report").warnings(all)) do complain(warning) end
  local objects = about.objects ~= "own" and words_of(about.objects) or nil
  local functions = about.functions ~= "all" and words_of(about.functions) or nil
  return try(guard.rows(all, place_of(about.event), core.sys.realpath(program) or program, objects, functions))
end

--- The parameters and the environment that counts depend on.
local function about_here(o, program, version)
  return {
    architecture = core.sys.uname().machine, compiler = compiler_of(program), event = o.event or "sim::Ir",
    objects = o.objects and table.concat(o.objects, " ") or "own",
    functions = o.functions and table.concat(o.functions, " ") or "all", caches = simulation.model(),
    tool = "callgrind-" .. version, command = table.concat(o.command, " "),
  }
end

-- --- the report ---

local function title(row) return (row.object and row.object .. ":" or "") .. sections.show(row.name) end

--- The relative growth of a count; with `per_call`, of the count per call.
local function change(pair, per_call)
  local was, is = pair.row.count, pair.now.count
  if per_call then was = was * pair.now.calls / pair.row.calls end
  return was > 0 and ("%+.2f %%"):format(100 * (is - was) / was) or "from 0"
end

local function table_of(pairs_of, per_call)
  local rows = {}
  for i, pair in ipairs(pairs_of) do
    local row, now = pair.row, pair.now
    rows[i] = { row.kind, title(row), row.count, now.count, change(pair, per_call), row.calls, now.calls }
  end
  return rows
end

local function name_some(rows, what, event)
  for i, row in ipairs(rows) do
    if i > LINES then
      complain(("and %d more are %s"):format(#rows - LINES, what))
      break
    end
    complain(("%s %s is %s: %d %s"):format(row.kind, title(row), what, row.count, event))
  end
end

--- Fewer, new and gone: no failure.
local function tell_changes(verdict, about, bound, per_call)
  name_some(verdict.new, "new", about.event)
  name_some(verdict.gone, "gone", about.event)
  for _, pair in ipairs(verdict.fallen) do
    complain(("%s %s fell by more than %g %%: %s (%d %s, saved %d%s); save again to guard the lower count"):format(pair.row.kind,
      title(pair.row), bound * 100, change(pair, per_call), pair.now.count, about.event, pair.row.count,
      per_call and ("; calls %d, saved %d"):format(pair.now.calls, pair.row.calls) or ""))
  end
end

local function tell(verdict, about, bound, o)
  local names = { "", "name", "saved", "now", "change", "calls saved", "calls now" }
  if not o.quiet then tell_changes(verdict, about, bound, o.per_call) end
  if #verdict.grown == 0 and o.quiet then return end
  if #verdict.grown == 0 then
    complain(("ok: none of %d counts (%s) grew by more than %g %%"):format(verdict.compared, about.event, bound * 100))
    return
  end
  io.stderr:write("\n", require("pmlua.tabulate")(names, table_of(verdict.grown, o.per_call), 2), "\n")
  complain(("%d of %d counts of %s grew by more than %g %%"):format(#verdict.grown, verdict.compared, about.event, bound * 100))
end

local function print_json(verdict, about, bound)
  local json = require "pmlua.json"
  for _, key in ipairs { "grown", "fallen", "new", "gone" } do json.array(verdict[key]) end
  verdict.conditions, verdict.bound = about, bound
  io.write(json.encode(verdict), "\n")
end

local function print_csv(verdict, per_call)
  local rows = {}
  local function add(what, kind, row, was, now, change_text)
    rows[#rows + 1] = { what, kind, title(row), was and was.count, now and now.count, change_text, was and was.calls,
      now and now.calls }
  end
  for _, what in ipairs { "grown", "fallen" } do
    for _, pair in ipairs(verdict[what]) do
      add(what, pair.row.kind, pair.row, pair.row, pair.now, change(pair, per_call))
    end
  end
  for _, row in ipairs(verdict.new) do add("new", row.kind, row, nil, row) end
  for _, row in ipairs(verdict.gone) do add("gone", row.kind, row, row, nil) end
  local csv = require "pmlua.internal.cli.csv"
  io.write(csv.table({ "what", "kind", "name", "kept", "now", "change", "calls_kept", "calls_now" }, rows))
end

-- --- save and compare ---

local function save(o, program, version)
  local about, runs = about_here(o, program, version), {}
  for i = 1, o.runs or RUNS do
    runs[i] = run(o, about, program)
  end
  local rows = guard.spread(runs)
  if #rows == 1 and rows[1].count == 0 then
    if o.functions then return nil, "no --function was counted; pmlua stat --sim --top 1000 lists those that are" end
    return nil, ("no function of %s was counted; name the objects to guard with --object GLOB"):format(program)
  end
  try(guard.save(o.save, { about = about, rows = rows }))
  if not o.quiet then complain(("%d counts of %s saved in %s"):format(#rows, about.event, o.save)) end
  return 0
end

local function compare(o, program, version)
  local kept = try(guard.load(o.file))
  local here = about_here(o, program, version)
  for _, key in ipairs { "event", "objects", "functions" } do here[key] = kept.about[key] end
  for _, key in ipairs(guard.conditions) do
    if kept.about[key] ~= here[key] then
      return nil, ("%s has counts for another %s (%s, now %s); save them again"):format(o.file, key, kept.about[key], here[key])
    end
  end
  if not place_of(kept.about.event) then return nil, ("%s: no event '%s'"):format(o.file, kept.about.event) end
  if kept.about.tool ~= here.tool then
    complain(("the counts were saved by %s, this is %s"):format(kept.about.tool, here.tool))
  end
  local rows = run(o, kept.about, program)
  local bound = o.bound or tonumber(BOUND) / 100
  local verdict = guard.compare(kept, rows, { bound = bound, least = o.least or LEAST, per_call = o.per_call })
  if o.json then print_json(verdict, kept.about, bound)
  elseif o.csv then print_csv(verdict, o.per_call)
  else tell(verdict, kept.about, bound, o) end
  return #verdict.grown > 0 and 1 or 0
end

local function check_budgets(o, program)
  local said, n = try(require "pmlua.internal.budget_run".judge(o.command, program,
    type(o.budget) == "string" and o.budget or nil))
  for _, line in ipairs(said) do complain(line) end
  if #said == 0 and not o.quiet then complain(("ok: %d budget%s kept"):format(n, n == 1 and " is" or "s are")) end
  return #said > 0 and 1 or 0
end

---@return integer status
function M.run(o)
  local version = not o.budget and select(2, try(simulation.available())) or nil
  local program = try(preload.locate(o.command[1]))
  return (o.budget and check_budgets or o.save and save or compare)(o, program, version)
end

return M
