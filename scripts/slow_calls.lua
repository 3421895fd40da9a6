-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/slow_calls.lua - how often pmlua report --outliers finds why slow calls were slow.
--
-- Try:  pmlua scripts/slow_calls.lua --quick
--
-- Records a program whose requests take longer for one planted cause, and looks for this cause at the first place of the list.
-- With the cause "none", any cause that is named is wrong.

local build = require "programs.build"
local outliers = require "pmlua.analysis.outliers"
local pml = require "pmlua"

local CALLS <const> = "--func '*' --lib 'libc*' --sym 'pthread_mutex_*' --sym 'pthread_cond_*' --sym read --sym poll"
  .. " --sym nanosleep"

-- How the list names each planted cause.
local CAUSES <const> = { "none", "size", "lock", "queue", "faults", "branch", "collector", "neighbour", "retry", "input",
  "backoff", "first", "poll" }
local NAMES <const> = { size = "visit", lock = "pthread_mutex_lock", queue = "pthread_cond_wait", faults = "page-faults",
  branch = "rebuild", collector = "mark", neighbour = "update", retry = "fetch", input = "read", backoff = "nanosleep",
  first = "first call of its thread", poll = "poll" }

local lab = {}

--- Compile the program when the factors are requested.
local function prepare()
  local cc
  lab.folder = assert(build.folder())
  lab.command = build.quote(assert(pml.sys.realpath "/proc/self/exe"))
  cc = assert(build.compiler "c")
  lab.folder.cc = ("%s cc --functions -- %s"):format(lab.command, cc)
  assert(lab.folder:program("slow_calls", { "slow_calls.c" }, "-lpthread"))
  return { { "cause", CAUSES } }
end

--- Record the program once, and compare its slow requests with the others.
local function compare(cause, requests)
  assert(lab.folder:run(("rm -rf r; %s record -q --trace %s %s -o r -- ./slow_calls %s %d"):format(lab.command, CALLS,
    cause == "faults" and "-e page-faults" or "", cause, requests), 60))
  local reader <close> = assert(pml.trace.open(lab.folder.path .. "/r"))
  return assert(outliers.of(reader, "request"))
end

return pml.experiment {
  name = "slow_calls",
  description = "planted causes of slow calls that pmlua report --outliers finds",
  factors = prepare,
  repeats = 10, rounds = 1, warmup = 0,
  quick = { repeats = 1 },
  unit = "effect",
  help = { cause = "why one in twenty requests takes 1 ms longer" },
  options = {
    { name = "requests", type = "integer", default = 600, min = 200, max = 100000, metavar = "N", help = "requests of a run" },
  },
  measure = function(_, p, n, options)
    local effect, found, named = {}, 0, 0
    for i = 1, n do
      local first = compare(p.cause, options.requests).causes[1]
      effect[i] = first and first.effect or 0
      named = named + (first and 1 or 0)
      found = found + (first and first.name == NAMES[p.cause] and 1 or 0)
    end
    return effect, { found = p.cause ~= "none" and found / n or nil, named = named / n }
  end,
  metrics = {
    { name = "found", description = "share of runs with the planted cause at the first place" },
    { name = "named", description = "share of runs with any cause; wrong without a planted one" },
  },
}
