-- docs/architecture.lua - the picture in ARCHITECTURE.md, from what the code includes; run by `make architecture`.
-- Try: lua5.4 docs/architecture.lua | dot -Tsvg >architecture.svg
--
-- A box is a family of core with its folders, or a layer above core. An arrow leads from the including folder to the
-- included folder. Arrows that a path of other arrows implies are omitted. A dashed pair of arrows is a cycle.

local root = arg[1] or "."

-- The text of a box after the folder's name: the folder's concepts.
local WHAT = {
  bindings = "the command, the embedded state; a file for each handle",
  interface = "headers of interfaces that others defined",
  ["interface/sde"] = "libsde", ["interface/pmlib"] = "PMlib", ["interface/scorep"] = "plugins",
  base = "error, clock, region, thread, process, file",
  ["base/stream"] = "enter and leave, from adapters to substrates",
  ["base/text"] = "lines, near names",
  record = "recorder, sums, histogram, buffer, samples",
  ["record/log"] = "one file for each process",
  ["record/events"] = "event buffers, sums",
  ["record/recorder"] = "values of threads, in lanes",
  ["record/quantile"] = "exact, or by a sketch",
  source = "event, event set, table of sources",
  ["source/base"] = "what entries of the table are made from",
  ["source/clock"] = "clocks",
  ["source/compiler"] = "what the compiler counts",
  ["source/kernel"] = "counter, group, rdpmc",
  ["source/plugin"] = "metric plugins",
  ["source/sde"] = "software-defined events",
  ["source/simulation"] = "callgrind's counts",
  program = "command line, filter, variable, watchpoint",
  instrument = "LLVM: code that counts",
  adapter = "raises enter and leave",
  ["adapter/arch"] = "thunks, return slots, loader hooks by processor",
  ["adapter/intercept"] = "calls of libraries, rebound",
  ["adapter/openmp"] = "constructs of OpenMP, by OMPT",
  ["adapter/mpi"] = "messages and communicators",
  ["adapter/section"] = "named stretches of code",
  ["adapter/wrap"] = "generated wrappers",
  substrate = "consumes enter and leave",
  ["substrate/flow"] = "event flow graph",
  ["substrate/profile"] = "call paths",
  ["substrate/scorep"] = "hosts Score-P's plugins",
  read = "reads what a process left",
  ["read/log"] = "extents and definitions",
  ["read/recording"] = "recorded calls",
  ["read/section"] = "sections, software-defined events",
  ["read/job"] = "summary of an MPI job",
  ["read/summary"] = "sums by name",
  ["read/archive"] = "one trace of many processes",
  ["read/otf2"] = "OTF2",
  ["read/export"] = "other formats of traces",
  control = "acts on the machine at enter and leave",
  ["control/balance"] = "slows waiting cpus",
  ["control/tune"] = "sets knobs at regions",
  compat = "interfaces of other projects",
  ["compat/pmlib"] = "PMlib",
  preload = "what LD_PRELOAD brings into a program",
}

local function lines_of(command)
  local p <close> = assert(io.popen(command))
  local list = {}
  for line in p:lines() do list[#list + 1] = line end
  return list
end

local function sorted(set)
  local list = {}
  for key in pairs(set) do list[#list + 1] = key end
  table.sort(list)
  return list
end

-- Adds an arrow from @from to each family that a file includes.
local function note_includes(arrows, from, path)
  arrows[from] = arrows[from] or {}
  for line in io.lines(path) do
    local to = line:match '^%s*#%s*include%s*"(%w+)/'
    if to and to ~= from and WHAT[to] then arrows[from][to] = true end
    if line:find('"pml.h"', 1, true) then note_includes(arrows, from, root .. "/core/pml.h") end
  end
end

local function reached_without(arrows, from, to)
  local been, queue = { [from] = true }, {}
  for at in pairs(arrows[from]) do
    if at ~= to then queue[#queue + 1] = at end
  end
  while #queue > 0 do
    local at = table.remove(queue)
    if at == to then return true end
    if not been[at] then
      been[at] = true
      for further in pairs(arrows[at] or {}) do queue[#queue + 1] = further end
    end
  end
  return false
end

-- The family's name, its description, and a line for each folder in it.
local function label(family)
  local rows = { ("<b>%s</b>  %s"):format(family, WHAT[family] or "") }
  for _, dir in ipairs(lines_of(("cd '%s/core' && find . -path './%s/*' -prune -type d | sort"):format(root, family))) do
    dir = dir:sub(3)
    if WHAT[dir] then rows[#rows + 1] = ("%s/  <i>%s</i>"):format(dir:match "[^/]+$", WHAT[dir]) end
  end
  return ("<%s<br align='left'/>>"):format(table.concat(rows, "<br align='left'/>"))
end

local arrows = {}
for _, path in ipairs(lines_of(("find '%s/core' '%s/bindings' -name '*.[ch]' | sort"):format(root, root))) do
  local below = path:sub(#root + 2)
  local family = below:match "^core/(%w+)/" or below:match "^bindings"
  if family then note_includes(arrows, family, path) end
end

local out = {
  "digraph pmlua {",
  '  graph [rankdir=TB, nodesep=0.3, ranksep=0.5];',
  '  node [shape=box, style="rounded,filled", fillcolor="#f4f6f8", color="#5b6b7b", fontname="Helvetica", fontsize=11];',
  '  edge [color="#5b6b7b", arrowsize=0.7];',
  '  scripts [label=<<b>scripts, plots</b>  experiments; drawings of result files<br align="left"/>>, fillcolor="#fff4dc"];',
  '  lua [label=<<b>lua</b>  modules, verbs, analysis<br align="left"/>>, fillcolor="#fff4dc"];',
  "  scripts -> lua -> bindings;",
}
for _, family in ipairs(sorted(arrows)) do
  out[#out + 1] = ("  %s [label=%s];"):format(family, label(family))
end
for _, from in ipairs(sorted(arrows)) do
  for _, to in ipairs(sorted(arrows[from])) do
    local circle = arrows[to] and arrows[to][from]
    if circle or not reached_without(arrows, from, to) then
      out[#out + 1] = ("  %s -> %s%s;"):format(from, to, circle and " [style=dashed]" or "")
    end
  end
end
out[#out + 1] = "}"
print(table.concat(out, "\n"))
