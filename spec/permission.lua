-- SPDX-License-Identifier: BSD-3-Clause
-- spec/permission.lua - the names of events on this machine: NAME:u if this process may not count the kernel, else NAME.
--
-- Opens an event with an explicit modifier, which pmlua never changes, to learn what the kernel permits.

local M = {}

--- The line that explains it, after the name of the program.
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

--- The name of a kernel event without a modifier in sets, tables and files. Clocks have no modes.
function M.name(event)
  return event .. (event:lower():find("task%-clock$") and "" or suffix_here())
end

--- That name as a pattern.
function M.pattern(event)
  return (M.name(event):gsub("%p", "%%%0"))
end

--- The output of a command without the line that explains the names, which occurs once if the kernel is not counted.
function M.unexplained(said)
  local rest, lines = said:gsub("[^\n]*" .. M.sentence .. "[^\n]*\n", "")
  require("luassert").equal(suffix_here() == "" and 0 or 1, lines, said)
  return rest
end

return M
