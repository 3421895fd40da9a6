-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/command.lua - run a program: in one call, or in steps between which counters can be attached to it.
--
-- Try:  print(assert(pml.command.run { "sleep", "0.1" }).real_ns)

local core = require "pmlua.core"
local fields = require "pmlua.internal.fields"
local refuse = core.failure.refuse

---@class pml.command
local M = {}
for name, f in pairs(core.command) do M[name] = f end

local known = { environment = true, input = true, output = true, error = true, bound = true, seconds = true, unchecked = true }

---@class pmlua.CommandRunOptions: pmlua.CommandOptions
---@field seconds? number kill it after this time, ETIMEDOUT; nil: wait as long as it takes
---@field unchecked? boolean an exit status other than 0, or a signal, is no failure

--- Run a program to its end: spawn, start, wait and check in one call.
---
---     local ended = assert(pml.command.run({ "cc", "-c", "solver.c" }, { error = "errors" }))
---     print(ended.real_ns, ended.maxrss_bytes)
---@param words string[] the program, looked for in PATH, and its arguments; no shell is involved
---@param options? pmlua.CommandRunOptions
---@return pmlua.CommandEnd? ended, pmlua.Failure? failure ECHILD: it ended with a status other than 0, or by a signal
---@return string? code
function M.run(words, options)
  fields.options(options, known, "command.run")
  if type(words) ~= "table" or type(words[1]) ~= "string" then error("command.run: a list of words expected", 2) end
  local o = options or {}
  local command <close>, err = core.command.spawn(words, { environment = o.environment, input = o.input, output = o.output,
    error = o.error, bound = o.bound })
  if not command then return refuse(err, words[1]) end
  local started, refused = command:start()
  if not started then return refuse(refused, words[1]) end
  local ended, late, code = command:wait(o.seconds)
  if code == "ETIMEDOUT" then return refuse(code, ("%s took longer than %g s and was killed"):format(words[1], o.seconds)) end
  if not ended then return refuse(late, words[1]) end
  if o.unchecked or ended.status == 0 then return ended end
  return refuse("ECHILD", ended.signal and ("%s was ended by signal %d"):format(words[1], ended.signal)
    or ("%s ended with exit status %d"):format(words[1], ended.status))
end

return M
