-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/child.lua - run a command to its end despite interrupts, and explain why one cannot be run.
--
-- Try:  print(require("pmlua.internal.child").run({ "sleep", "0.1" }).real_ns)

local core = require "pmlua.core"
local refuse = core.failure.refuse

local M = {}

---@class pmlua.ChildOptions
---@field environment? string[] "NAME=value", more of it
---@field input? string a file for standard input; nil: the caller's
---@field output? string
---@field error? string
---@field bound? boolean the command is killed when this process is
---@field meanwhile? fun() called once, when the command has begun
---@field every? { seconds: number, call: fun() } called again and again while the command runs
---@field shielded? boolean the caller has handlers for interrupts and asks for them afterwards

local function spawn(words, o)
  local environment = o.environment and #o.environment > 0 and o.environment or nil
  return core.command.spawn(words, { environment = environment, input = o.input, output = o.output, error = o.error,
    bound = o.bound })
end

--- When the next interval ends, at least half of one from now: those that passed meanwhile become part of it.
---@param due number seconds, of the interval that has ended
---@return number due
function M.next_due(due, seconds, now)
  return due + seconds * math.max(1, (now - due + seconds / 2) // seconds + 1)
end

--- Wait for the end of a command, with calls in between.
local function wait(command, every)
  if not every then return command:wait() end
  local due = core.clock.ns() / 1e9
  while true do
    local now = core.clock.ns() / 1e9
    due = M.next_due(due, every.seconds, now)
    local ended, err, code = command:wait(due - now)
    if ended or code ~= "ETIMEDOUT" then return ended, err end
    every.call()
  end
end

--- Run a command. The command handles an interrupt from the terminal; an interrupt to pmlua alone is forwarded to it. Either
--- way pmlua waits for the command, so that its results can be reported.
---@param ready? fun(pid: integer): boolean?, string? called while the command waits to begin; false: it shall not, and why
---@param options? pmlua.ChildOptions
---@return table? ended the result of command:wait()
---@return pmlua.Failure? failure
function M.run(words, ready, options)
  local o = options or {}
  local command <close>, err = spawn(words, o)
  if not command then return refuse(err) end
  if ready then
    local go, why = ready(command:pid())
    if go == false then return nil, why end
  end
  if not o.shielded then core.sys.on_interrupt() end
  local started, refused = command:start()
  local pid, ended, lost = command:pid(), nil, nil
  if started and o.meanwhile then o.meanwhile() end
  if started then ended, lost = wait(command, o.every) end
  if not o.shielded then
    core.sys.interrupted()
    core.sys.on_interrupt(false)
  end
  if not started then return refuse(refused) end
  if not ended then return refuse(lost) end
  ended.pid = pid
  return ended
end

--- The exit status that says how a command ended, as shells do.
function M.status(ended) return ended.signal and 128 + ended.signal or ended.status end

return M
