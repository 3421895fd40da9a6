-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap show`: one wrapper, and what it wraps.

local out = require "pmlua.internal.wrap.say"
local try = require "pmlua.internal.try"
local say = out.say

local M = {
  summary = "show what a wrapper wraps",
  arguments = { { name = "NAME", key = "which", one = "wrapper",
    missing = "name the wrapper; pmlua wrap list shows them" } },
  about = [[
Shows an installed wrapper: its libraries, flags and functions, with the file and line of each, the twin of a variadic
function, and the recorded values.]],
  examples = { { "pmlua wrap show zlib", needs = { "libclang" } } },
}

local function line_of(f)
  local notes = {}
  if f.by then notes[#notes + 1] = "through " .. f.by end
  if f.records then notes[#notes + 1] = "records " .. table.concat(f.records, ", ") end
  local note = #notes > 0 and "  (" .. table.concat(notes, "; ") .. ")" or ""
  return ("  %s  %s  %s%s"):format(f.title or f.symbol, f.library, f.place, note)
end

---@return integer status
function M.run(o)
  local w = try(require("pmlua.internal.wrap.installed").find(o.which))
  say(("name       %s"):format(w.name))
  say(("language   %s"):format(w.language))
  say(("libraries  %s"):format(table.concat(w.libraries, " ")))
  say(("linked     %s"):format((w.ldflags .. " " .. w.libs):match("^%s*(.-)%s*$")))
  say("kinds      " .. (w.shared and "link time and run time; shared and static" or "link time, static"))
  say(("folder     %s"):format(w.dir))
  say(("functions  %d, %d left out"):format(#w.functions, w.left_out))
  for _, f in ipairs(w.functions) do say(line_of(f)) end
  return 0
end

return M
