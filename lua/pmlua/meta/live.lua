-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- The live service inside this process, which `pmlua query` and `pmlua attach` connect to, and functions for watch rules.
---
--- The service runs on a separate thread; only the user and root may connect to its socket.
---
---     print(pml.live.start { name = "SOLVER" })
---@class pml.live
local live = {}

--- Start the service. A process in which it is already running is not changed.
---@param options? pmlua.LiveOptions
---@return string|boolean? path of the socket; true with `unasked`
---@return pmlua.Failure? failure, string? code
function live.start(options) end

---@class pmlua.LiveOptions
---@field name? string by which the process is found; nil: PMLUA_LIVE_NAME, or the program's
---@field rules? string a file of watch rules; nil: PMLUA_LIVE_RULES
---@field unasked? boolean no socket: rules alone

--- Answer no more.
---@return boolean? done, pmlua.Failure? failure, string? code
function live.stop() end

--- The socket of this process.
---@return string? path, pmlua.Failure? failure, string? code
function live.path() end

--- The folder of the sockets of this user.
---@return string? folder, pmlua.Failure? failure, string? code
function live.folder() end

--- Send the code of a rule to the service. `pml.sde.watch` does it.
---@param text string
---@return integer? id, pmlua.Failure? failure, string? code
function live.rule(text) end

--- Cancel a rule that was handed over.
---@param id integer
---@return boolean? done, pmlua.Failure? failure, string? code
function live.cancel(id) end

--- The state of the rules as JSON: events, counts, errors.
---@return string? json, pmlua.Failure? failure, string? code
function live.rules() end

--- Names of the functions that the application lends to rules (`pmlua_live_function` in C).
---@return string[]? names, pmlua.Failure? failure, string? code
function live.functions() end

--- Call such a function; in rules and questions only, whose thread it runs on.
---@param name string
---@param ... any at most 16 numbers, or what the function was defined with (`pmlua_live_define` in C)
---@return any result, pmlua.Failure? failure, string? code
function live.call(name, ...) end

--- Whether this state is of a service in the application's own loop (`pmlua_live_dispatch` in C).
---@return boolean
function live.own_loop() end

--- Run code in the Lua state that the application lends to questions (`pmlua_live_start_with` in C). In questions the results
--- are copies of the code's results: numbers, strings, booleans and tables.
---@param code string
---@return any ... results; nil, pmlua.Failure, code if there is no such state or the code failed
function live.state(code) end

--- Stop the run by the action that the application chose at its start, or by SIGTERM; an experiment ends as after an
--- interrupt.
---@param reason string
---@return boolean? first false: it was stopped before
---@return pmlua.Failure? failure, string? code
function live.stop_run(reason) end

--- Print a line on stderr, without waiting for a thread that holds stdio's lock.
---@param line string
function live.say(line) end

--- Call a function of Lua's own, such as xpcall, where the thread of a question may be cancelled; not for scripts.
---@param f function
---@param ... any
---@return any ... its results
function live.interruptible(f, ...) end
