-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua flame RUN --out flame.svg`: a flame graph of recorded calls, sections or a trace.
--
--     pmlua record -o out -- ./solver; pmlua flame out --out flame.svg

local common = require "pmlua.internal.cli.common"
local windows = require "pmlua.internal.trace.window"
local kinds = require "pmlua.internal.record.kind"

local M = {
  summary = "draw a flame graph of calls, sections or a trace",
  arguments = { { name = "RUN", key = "path", kind = "file",
    missing = "name a folder of pmlua record, a log, or a trace (*.otf2)" } },
  about = [[
Each bar is a call path. Its width is the time in it; the bars above it are the functions that it called. RUN is the folder
of pmlua record, of PMLUA_REPORT or of an experiment, or a trace of any tool. It adds up all processes and threads. Sections
have no call paths: the bar of a section is its self time.

The picture is one SVG file that needs no other file. In a browser, a click on a bar enlarges it, "search" or Ctrl-F
marks bars by name and prints their share, and pointing at a bar shows its value.]],
  options = {
    common.with("out", { help = "write the picture into FILE instead of standard output" }),
    { name = "value", kind = "text", value = "WHAT", shown = "time", help = "width of the bars: time, calls, or a counter of the "
      .. "trace, such as sde:::BYFL::flop_count_I" },
    kinds.option "draw only calls of these kinds, such as python,mpi",
    windows.option "draw only this window of the trace, in seconds since its beginning; FROM or TO may be omitted",
    { name = "where", kind = "glob", value = "PATTERN",
      help = "draw only regions of the trace whose name matches, such as MPI_*" },
    { name = "title", kind = "text", value = "TEXT", help = "title of the picture (default: RUN)" },
    { name = "width", kind = "integer", min = 200, max = 20000, default = 1200, help = "width in pixels" },
    { name = "icicle", help = "draw the outermost calls on top" },
  },
  examples = { "pmlua flame out --out flame.svg", "pmlua flame trace/traces.otf2 --window :0.1 --icicle --out begin.svg" },
}

local say = require "pmlua.internal.cli.complain" "flame"
local try = require "pmlua.internal.try"
function M.complain(err) return say(require "pmlua.core".failure.sentence(err)) end

---@return integer status
function M.run(o)
  local where = (o.window or o.where) and { window = o.window, region = o.where } or nil
  local stacks = try(require("pmlua.internal.export.stacks").read(o.path, { value = o.value, where = where, kinds = o.kind }))
  try(not o.kind or #stacks.nodes > 0, o.path .. ": no call is of the kinds of --kind")
  for _, note in ipairs(stacks.notes) do say("note: " .. note) end
  local file = o.out and try(require "pmlua.internal.file".output(o.out)) or io.stdout
  try(require("pmlua.internal.export.flame").svg(stacks, function(text) file:write(text) end,
    { title = o.title or o.path, width = o.width, icicle = o.icicle }),
    ("%s: the %s of all calls is 0"):format(o.path, stacks.value))
  if o.out then try(file:close()) end
  return 0
end

return M
