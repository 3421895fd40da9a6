-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua import FILE -o DIR`: a trace of what another tool measured.
--
--     perf script >perf.txt; pmlua import perf.txt -o imported; pmlua flame imported --out flame.svg

local printable = require "pmlua.internal.printable"
local common = require "pmlua.internal.cli.common"

local FORMS <const> = { "chrome", "perf", "pprof", "folded" } -- in the order that a file is tried

local M = {
  summary = "convert the measurement of another tool to a trace",
  arguments = { { name = "FILE", key = "path", kind = "file", missing = "name the file that the other tool wrote" } },
  about = [[
pmlua trace, flame, export and pml.trace.open read the trace, DIR/traces.otf2, like a recorded trace.

perf: the text of perf script. A sampled stack lasts until the thread's next sample, but at most one period for cpu-clock and
task-clock, and one second for other events. Functions that consecutive stacks share form one call. Counters of the trace add up
the periods, so pmlua flame --value cycles shows the counts of perf.

chrome: JSON of Chrome's trace viewer; B, E and X are calls.

pprof and folded have no times: call paths follow one another, each as long as its time, or 1 ns for each unit of its value.
Counters of the trace contain all values.]],
  options = {
    common.with("folder", { shown = "FILE.trace", help = "the folder for the trace; it is created" }),
    { name = "from", kind = "choice", choices = FORMS, shown = "detected", help = "format of the file" },
  },
  examples = { "pmlua import stacks.folded -o imported", "pmlua import profile.pb.gz --from pprof -o profile" },
}

local say = require "pmlua.internal.cli.complain" "import"
local try = require "pmlua.internal.try"
function M.complain(err) return say(require "pmlua.core".failure.sentence(err)) end

local function form_of(head)
  for _, name in ipairs(FORMS) do
    if require("pmlua.internal.import." .. name).is(head) then return name end
  end
end

---@return integer status
function M.run(o)
  local input = require "pmlua.internal.import.input"
  local file <close>, note = try(input.open(o.path))
  local form = try(o.from or form_of(input.head(file)),
    o.path .. ": neither perf script, Chrome's JSON, pprof nor folded stacks; name its form with --from")
  local archive = try(require("pmlua.internal.import." .. form).read(file, o.path, o.out or o.path .. ".trace"))
  if note then archive:remark(note) end
  try(archive:close())
  for _, remark in ipairs(archive.remarks) do say("note: " .. remark) end
  print(printable(archive.path))
  return 0
end

return M
