-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Run a program: `run` to its end in one call. After `spawn` it waits before its first instruction, so that counters can be
--- attached to it.
---
---     local c <close> = assert(pml.command.spawn { "sleep", "0.1" })
---     local set = assert(pml.eventset({ "task-clock" }, { pid = c:pid(), inherit = true, on_exec = true }))
---     c:start(); print(c:wait().real_ns, set:read())
---@class pml.command
local command = {}

--- Make a child that waits to become a program. It has this process's folder, standard streams and process group.
---@param words string[] the program, looked for in PATH, and its arguments; no shell is involved
---@param options? pmlua.CommandOptions
---@return pmlua.Command? command, pmlua.Failure? failure, string? code
function command.spawn(words, options) end

---@class pmlua.CommandOptions
---@field environment? string[] "NAME=value", at most 64, set beside the variables of this process
---@field input? string a file for its standard input, instead of this process's
---@field output? string a file for its standard output, made or emptied
---@field error? string a file for its standard error, made or emptied
---@field bound? boolean kill it (SIGKILL) when this process's thread ends before it

---@class pmlua.Command
local Command = {}

--- Its number; 0 once its end was seen.
---@return integer pid
function Command:pid() end

--- Let the child become its program. Why it could not (no such file, no permission) is the failure.
---@return pmlua.Command? self, pmlua.Failure? failure, string? code
function Command:start() end

--- Wait for its end. An interrupt from the terminal reaches the program as it reaches this process, and does not end the wait.
---@param seconds? number at most so long, then ETIMEDOUT; 0 to 1e6; nil: as long as it takes
---@return pmlua.CommandEnd? ended, pmlua.Failure? failure, string? code
function Command:wait(seconds) end

--- Send it a signal.
---@param signal integer 0: only ask whether it is there
---@return boolean? done, pmlua.Failure? failure, string? code
function Command:kill(signal) end

--- Kill it (SIGKILL) if it is still there.
function Command:close() end

---@class pmlua.CommandEnd
---@field status? integer exit status
---@field signal? integer instead: the signal that ended it
---@field real_ns integer from its start to its end
---@field user_ns integer processor time of it and of the children it waited for
---@field system_ns integer the same, in the kernel
---@field maxrss_bytes integer largest resident set of it or one of these children; less than the next is not seen
---@field maxrss_floor_bytes integer half a megabyte that its start takes
