-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/live.lua - the live service of this process (core.live), and connections to other applications.
--
-- Try:  local app = assert(pml.live.connect "SOLVER"); print(app:eval "6 * 7", app:read("SOLVER::*")[1].value)

local core = require "pmlua.core"

--- Loaded at the first connection: most scripts only start a service.
local function directory() return require "pmlua.internal.live.directory" end

---@class pml.live
local M = {}
for name, value in pairs(core.live) do M[name] = value end

local PATIENCE <const> = 5

--- A session in another application.
---@class pmlua.LiveConnection
local Connection = {}
Connection.__index = Connection
Connection.__name = "live connection"

--- Connect to an application with a live service.
---@param which string|integer its name or pid
---@return pmlua.LiveConnection? connection
---@return pmlua.Failure? failure
---@return string? code
function M.connect(which)
  local app, err, code = directory().find(tostring(which))
  if not app then return nil, err, code end
  local link, why, why_code = directory().connect(app)
  if not link then return nil, why, why_code end
  return setmetatable({ app = app, link = link }, Connection)
end

--- The link of a connection that the script has not closed.
local function link_of(self)
  if self.closed then error("the live connection is closed", 3) end
  return self.link
end

--- Run Lua in the application, in this connection's session, as `pmlua attach` does.
---@param code string
---@param seconds? number to wait for the answer; nil: 5
---@return string? text the results and what was printed
---@return pmlua.Failure? failure
---@return string? code_name EREMOTEIO: an error of the code
function Connection:eval(code, seconds)
  return directory().ask(self.app, link_of(self), "eval", code, seconds or PATIENCE)
end

--- Read events.
---@param patterns string|string[] "LIB::EVENT" with * and ?
---@param seconds? number to wait for the answer; nil: 5
---@return { name: string, value: number?, kind: string, reason: string? }[]? rows
---@return pmlua.Failure? failure
---@return string? code
function Connection:read(patterns, seconds)
  local reading = require "pmlua.internal.live.reading".new(type(patterns) == "table" and patterns or { patterns })
  local answer, err, code = reading:ask(self.app, link_of(self), seconds or PATIENCE)
  if not answer then return nil, err, code end
  return answer.rows
end

--- Describe the application: pid, name, command, version, events, functions, rules.
---@param seconds? number to wait for the answer; nil: 5
---@return table? info
---@return pmlua.Failure? failure
---@return string? code
function Connection:info(seconds)
  return directory().information(self.app, link_of(self), seconds or PATIENCE)
end

--- End the session.
function Connection:close()
  self.closed = true
  self.link:close()
end
Connection.__close, Connection.__gc = Connection.close, Connection.close

return M
