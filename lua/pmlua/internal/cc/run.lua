-- SPDX-License-Identifier: BSD-3-Clause
--- lua/pmlua/internal/cc/run.lua - carries out the steps of a compilation that counts.

local shell = require "pmlua.internal.wrap.shell"
local sorted = require "pmlua.internal.sorted"
local temporary = require "pmlua.internal.temporary"

local M = {}

local function quoted(words)
  local list = {}
  for name, value in sorted(words.environment or {}) do list[#list + 1] = name .. "=" .. shell.quote(value) end
  for _, word in ipairs(words) do list[#list + 1] = shell.quote(word) end
  return table.concat(list, " ")
end

--- Prints what would be run.
function M.show(steps)
  for _, step in ipairs(steps) do
    print(step.instrument and ("# counters into " .. shell.quote(step.instrument)) or quoted(step))
  end
end

--- The bitcode is a temporary file, of which the user knows nothing.
local function refusal(step, err)
  local version = err:match("is not bitcode of LLVM (%d+)") or err:match("which LLVM (%d+)[%d.]* does not read")
  local from, to = err:find(step.instrument, 1, true)
  if from then err = err:sub(1, from - 1) .. "what the compiler makes of it" .. err:sub(to + 1) end
  return ("%s: %s%s"):format(step.name, err, version and "; use clang-" .. version or "")
end

--- Add counters to a bitcode file; code that they cannot count is reported, once per function.
local function instrument(step, o)
  local module, err = require("pmlua.internal.cc.llvm").instrumenter(o.version)
  if not module then return err end
  local uncounted
  uncounted, err = module.file(step.instrument, step.instrument, step.name, o.at == "final", o.lines, step.optimised)
  if not uncounted then return refusal(step, err) end
  for _, u in ipairs(uncounted) do
    local more = u.places > 1 and (", in %d places"):format(u.places) or ""
    o.tell(("%s: in %s: %s, not counted%s"):format(u.where, u.fn, u.what, more))
  end
end

--- Runs the steps until one fails.
---@return integer status as a shell has it
---@return string? why if it is not the compiler that complained
function M.steps(steps, o)
  for _, step in ipairs(steps) do
    if step.instrument then
      local err = instrument(step, o)
      if err then return 1, err end
    else
      local done, how, code = os.execute(quoted(step))
      if not done then return how == "signal" and 128 + code or code end
    end
  end
  return 0
end

--- Removes what the steps left; returns @status.
function M.clean(o, status)
  if o.folder then temporary.remove(o.folder) end
  return status
end

return M
