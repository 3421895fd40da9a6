-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/live/directory.lua - the applications that can be asked, and how to get at one of them.
--
-- Try:  for _, app in ipairs(require("pmlua.live.directory").list()) do print(app.pid, app.name) end
--
-- Each has a socket PID.NAME in the runtime folder. One that nobody listens to was left by a process that is gone, and is
-- removed.

local core = require "pmlua.core"
local json = require "pmlua.json"
local nearest = require "pmlua.cmd.help".nearest

local ENDS = "stopped, because the service ends" -- as bindings/limit.c says it

local M = {}

---@class pmlua.Application
---@field pid integer
---@field name string
---@field path string of the socket

--- The sentence of a refusal without the function and the code before it.
function M.sentence(err)
  return (tostring(err):gsub("^[%w_.]+: E%w+: ", ""))
end

local function is_socket(path)
  return require "lfs".symlinkattributes(path, "mode") == "socket"
end

--- The applications that have a socket, by pid. Whether they answer is not asked here.
---@return pmlua.Application[]? applications
---@return string? err
function M.list()
  local lfs = require "lfs"
  local folder, err = core.live.folder()
  if not folder then return nil, M.sentence(err) end
  local applications = {}
  local found, iterator, state = pcall(lfs.dir, folder)
  if not found then return applications end
  for entry in iterator, state do
    local pid, name = entry:match("^(%d+)%.([%w_.-]+)$")
    local path = folder .. "/" .. entry
    if pid and is_socket(path) then
      if lfs.attributes("/proc/" .. pid, "mode") == nil then os.remove(path)
      else applications[#applications + 1] = { pid = math.tointeger(tonumber(pid)), name = name, path = path } end
    end
  end
  table.sort(applications, function(a, b) return a.pid < b.pid end)
  return applications
end

local how = "start it with pmlua live -- COMMAND, or let it call pmlua_live_start()"

local function unknown(which, applications)
  if #applications == 0 then return ("no application can be asked; %s"):format(how) end
  local names = {}
  for i, app in ipairs(applications) do names[i] = app.name end
  local near = not which:find("^%d+$") and nearest(which, names)
  return ("no application called '%s' can be asked; %s"):format(which,
    near and ("did you mean '%s'?"):format(near) or "pmlua query lists those that can")
end

local function ambiguous(which, matches)
  local pids = {}
  for i, app in ipairs(matches) do pids[i] = ("%d"):format(app.pid) end
  return ("%d applications are called '%s'; choose one by its pid: %s"):format(#matches, which, table.concat(pids, ", "))
end

--- The application with that pid or name.
---@param which string
---@return pmlua.Application? application
---@return string? err one line
function M.find(which)
  local applications, err = M.list()
  if not applications then return nil, err end
  local matches, pid = {}, tonumber(which)
  for _, app in ipairs(applications) do
    if app.pid == pid then return app end
    if app.name == which then matches[#matches + 1] = app end
  end
  if #matches == 1 then return matches[1] end
  return nil, #matches == 0 and unknown(which, applications) or ambiguous(which, matches)
end

--- A link to an application. A program that has closed every descriptor, as daemons do, notices so when somebody
--- connects: that connection ends, and the next one is served.
local Link = {}
Link.__index = Link

function Link:ask(...)
  local text, err, code = self.link:ask(...)
  if code == "ECONNRESET" and not self.answered then
    self.answered = true
    core.sys.sleep(0.1)
    local again = core.link.connect(self.path)
    if again then
      self.link = again
      return again:ask(...)
    end
  end
  self.answered = true
  return text, err, code
end

function Link:close() self.link:close() end

Link.__close = Link.close

--- Connect to an application. A socket that nobody listens to is removed.
---@param app pmlua.Application
---@return pmlua.Link? link
---@return string? err one line
function M.connect(app)
  local link, err, code = core.link.connect(app.path)
  if link then return setmetatable({ link = link, path = app.path }, Link) end
  if code == "ECONNREFUSED" then
    os.remove(app.path)
    return nil, ("%s (%d) does not listen any more: it ended, or stopped serving"):format(app.name, app.pid), code
  end
  if code == "ENOENT" then return nil, ("%s (%d) has ended"):format(app.name, app.pid), code end
  return nil, ("%s (%d): %s"):format(app.name, app.pid, M.sentence(err)), code
end

--- Ask; what goes wrong is said as a person would.
---@param app pmlua.Application
---@param link pmlua.Link
---@param kind string
---@param payload string
---@param patience number seconds
---@return string? text
---@return string? err one line
---@return string? code
function M.ask(app, link, kind, payload, patience)
  local text, err, code = link:ask(kind, payload, patience)
  if text then return text end
  -- an application that ends stops what it was asked meanwhile, and this is its last answer
  if code == "EREMOTEIO" and M.sentence(err) == ENDS then code = "ECONNRESET" end
  if code == "ETIMEDOUT" then
    return nil, ("%s (%d) did not answer within %g s; it may be stopped or overloaded (--patience waits longer)"):format(
      app.name, app.pid, patience), code
  elseif code == "ECONNRESET" then
    return nil, ("%s (%d) ended or closed the connection"):format(app.name, app.pid), code
  end
  return nil, M.sentence(err), code
end

--- Ask, and read the answer's JSON.
function M.ask_json(app, link, kind, payload, patience)
  local text, err, code = M.ask(app, link, kind, payload, patience)
  if not text then return nil, err, code end
  local value, why = json.decode(text)
  if type(value) ~= "table" then
    return nil, ("%s (%d): the answer cannot be read: %s"):format(app.name, app.pid, why or "no object"), "EFORMAT"
  end
  return value
end

return M
