-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- System functions that experiments need and Lua lacks: processes, cpus, sleeping, files, interrupts.
---
---     pml.sys.pin(pml.sys.affinity()[1]); print(pml.sys.cpu())
---@class pml.sys
local sys = {}

--- The number of this process.
---@return integer pid
function sys.pid() end

--- The result of uname(2).
---@return pmlua.Uname? uname, pmlua.Failure? failure, string? code
function sys.uname() end

--- Is a descriptor a terminal?
---@param fd integer 0 standard input, 1 standard output, 2 standard error
---@return boolean
function sys.isatty(fd) end

--- How wide a terminal is.
---@param fd integer
---@return integer? columns nil if it is not a terminal, or its width is unknown
function sys.columns(fd) end

--- The place of this process in a parallel job, by the variables that its launcher sets.
---@return integer? rank, integer? size
function sys.launched() end

--- The cpus that this thread may run on.
---@return integer[]? cpus, pmlua.Failure? failure, string? code
function sys.affinity() end

--- Let this thread run on some cpus only.
---@param cpus integer|integer[] one, or an array as `affinity()` gives it
---@return boolean? done, pmlua.Failure? failure, string? code
function sys.pin(cpus) end

--- The cpu that this thread runs on.
---@return integer cpu
function sys.cpu() end

--- How many cpus are online.
---@return integer
function sys.nprocs() end

--- The processor time that all threads of a process have had, with those that ended, and the moment of the reading.
---@param pid? integer nil: this process
---@return integer? ns, integer|pmlua.Failure at_ns by `pml.clock.ns`; or the failure
---@return string? code
function sys.cpu_time(pid) end

--- Become another program. Buffered output is written first, finalizers do not run. It returns on failure only.
---@param words string[] the program, looked for in PATH, and its arguments
---@param variables? table<string, string> set in the environment beside the others
---@return nil, pmlua.Failure failure, string code
function sys.exec(words, variables) end

--- Sleep. An interrupt that `on_interrupt` handles ends it with EINTR.
---@param seconds number 0 to 1e9
---@return boolean? done, pmlua.Failure? failure, string? code
function sys.sleep(seconds) end

--- Write a file's data through to the disk.
---@param path string
---@return boolean? done, pmlua.Failure? failure, string? code
function sys.fsync(path) end

--- The path without links, "." and "..".
---@param path string
---@return string? real, pmlua.Failure? failure, string? code
function sys.realpath(path) end

--- Does executing a file give rights that this user does not have?
---@param path string
---@return "set-uid"|"set-gid"? kind nil: it does not, or is not there
function sys.setid(path) end

--- Use the decimal point on this thread until the result is closed, regardless of the application's locale.
---@return pmlua.Point point to be `<close>`d
function sys.with_point() end

---@class pmlua.Point
local Point = {}

--- The locale of before is back.
function Point:close() end

--- Add to an error message about a nil value the last refusal, which is probably where the nil came from.
---@param message string
---@return string
function sys.explained(message) end

--- The sentence of the last refusal, once; then nil.
---@return string? sentence
function sys.refusal() end

--- Handle SIGINT and SIGTERM: the first sets a flag and raises an error a little later, the third ends the process.
---@param on? boolean true; false: the signals' default action again
function sys.on_interrupt(on) end

--- Choose what a signal does: raise an error in the next instruction of Lua, or only set the flag of `interrupted()`.
---@param on boolean
function sys.raise_interrupt(on) end

--- Did a signal come? Asking takes the pending error away.
---@return boolean
function sys.interrupted() end

--- For prompts: SIGINT clears the line that is typed.
---@param prompt string
function sys.at_prompt(prompt) end

--- Whether lines can be edited at a prompt: readline(3) is looked up by the first call.
---@return boolean
function sys.edit() end

--- Read a line with editing. It goes into the history, unless it is the same as the line before.
---@param prompt string
---@return string? line nil at the end of the input, or if standard input is not a terminal
function sys.edit_line(prompt) end

--- Choose what completes words.
---@param f fun(left: string): string[] gets the line up to the cursor; returns what its last word may become
function sys.edit_completer(f) end

--- Read the lines of former sessions.
---@param path string
---@param keep integer most lines in memory
function sys.edit_history(path, keep) end

--- Add this session's lines to the file.
---@param path string
---@param keep integer lines that the file keeps
function sys.edit_save(path, keep) end

--- Create a file that only its user can read, and its parent folders. An existing file must belong to the user.
---@param path string
---@return boolean? done, pmlua.Failure? failure, string? code
function sys.private_file(path) end

---@class pmlua.Uname
---@field sysname string
---@field nodename string
---@field release string
---@field version string
---@field machine string
