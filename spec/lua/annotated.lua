-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/annotated.lua - helpers for the specs of annotations for other tools: record a program, and read its regions.

local recording = require "spec.lua.recording"
local support = require "spec.core.support"
local json = require "pmlua.json"

local M = {}

--- Functions for regions of one interface in a place of spec.lua.recording.
function M.of(at, interface)
  local here, number = {}, 0

  --- Record `./client WORDS`: calls by label, rows by label, the recording, status, standard error, output, folder.
  function here.record(words, options, environment)
    number = number + 1
    local folder = "r" .. number
    local _, all, status, err, out = at.recorded(("--lib libz %s -o %s -- ./client %s"):format(options or "", folder, words),
      environment)
    local calls, rows = {}, {}
    for _, f in ipairs(all.functions) do
      if f.library == interface then calls[f.name], rows[f.name] = f.calls, f end
    end
    return calls, rows, all, status, err, out, folder
  end

  --- Rows of pmlua report on the program: sections by label, counters and recorders by name.
  function here.reported(words)
    number = number + 1
    local folder = "s" .. number
    support.done(at.shell(("PMLUA_REPORT=$PWD/%s %s record -q -o %s-r -- ./client %s"):format(folder, recording.command,
      folder, words)))
    local report = json.decode(support.done(at.shell(("%s report %s --json"):format(recording.command, folder))))
    local events = {}
    for _, e in ipairs(report.events) do events[e.name] = e end
    return support.by(report.sections, "label"), events, report
  end

  return here
end

return M
