-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/child.lua - running a command to its end, whatever interrupts, and what there is to say when it cannot be.
--
-- Try:  print(require("pmlua.internal.child").run({ "sleep", "0.1" }).real_ns)

local core = require "pmlua.core"

local sentence = core.failure.sentence

local M = {}

--- Run a command. An interrupt from the terminal is the command's; one that was sent to us alone is passed on. Either way
--- it is waited for, so that what it leaves can be told.
---@param words string[]
---@param ready? fun(pid: integer): boolean?, string? called while the command waits to begin; false: it shall not, and why
---@param set? string[] "NAME=value", more of its environment
---@return table? ended as command:wait() says it
---@return string? err
function M.run(words, ready, set)
  local command <close>, err = core.command.spawn(words, set and #set > 0 and { environment = set } or nil)
  if not command then return nil, sentence(err) end
  if ready then
    local go, why = ready(command:pid())
    if go == false then return nil, why end
  end
  core.sys.on_interrupt()
  local started, refused = command:start()
  local ended, lost
  if started then ended, lost = command:wait() end
  core.sys.interrupted()
  core.sys.on_interrupt(false)
  if not started then return nil, sentence(refused) end
  return ended, lost and sentence(lost)
end

--- The exit status that says how a command ended, as shells do.
---@param ended table
---@return integer
function M.status(ended)
  return ended.signal and 128 + ended.signal or ended.status
end

return M
