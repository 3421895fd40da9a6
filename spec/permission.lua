-- SPDX-License-Identifier: BSD-3-Clause
-- spec/permission.lua - what events are called here: NAME:u where the kernel does not let this process count it, else NAME.
--
-- The kernel is asked by an event that says itself what it counts, which pmlua opens as it stands or not at all.

local M = {}

--- Of the line that explains it, after the name of the program.
M.sentence = "perf_event_paranoid is %d+, so events without a modifier count user space only %([^)]*:u%); as root, sysctl"

local suffix

local function suffix_here()
  if not suffix then
    local both = require("pmlua.core").counter.open "task-clock:uk"
    suffix = both and "" or ":u"
    if both then both:close() end
  end
  return suffix
end

--- What an event of the kernel that has no modifier is called in sets, tables and files.
function M.name(event)
  return event .. suffix_here()
end

--- That name as a pattern.
function M.pattern(event)
  return (M.name(event):gsub("%p", "%%%0"))
end

--- What a command said beside the line that explains the names: one where the kernel is not counted, else none.
function M.unexplained(said)
  local rest, lines = said:gsub("[^\n]*" .. M.sentence .. "[^\n]*\n", "")
  require("luassert").equal(suffix_here() == "" and 0 or 1, lines, said)
  return rest
end

return M
