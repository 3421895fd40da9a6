-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/directory.lua - running applications with a live service, and connections to them.
--
-- Try:  for _, app in ipairs(require("pmlua.internal.live.directory").list()) do print(app.pid, app.name) end
--
-- Each has a socket PID.NAME in its user's runtime folder. A socket without a listener was left by a terminated process and is
-- removed. Root finds the applications of all users, unless XDG_RUNTIME_DIR names a folder. Data from another user's server is
-- validated, because the server may not be pmlua.

local core = require "pmlua.core"
local json = require "pmlua.json"
local nearest = require "pmlua.internal.nearest"
local refuse = core.failure.refuse

local ENDS = "stopped, because the service ends" -- as bindings/live/limit.c says it

local M = {}

local STALE_S <const> = 5

---@class pmlua.Application
---@field pid integer
---@field name string
---@field path string of the socket

local function is_socket(path)
  return require "lfs".symlinkattributes(path, "mode") == "socket"
end

--- Iterate over the entries of a folder; an unreadable folder counts as empty.
local function entries(folder)
  local found, iterator, state = pcall(require "lfs".dir, folder)
  if not found then return function() end end
  return iterator, state
end

local function is_root() return require "lfs".attributes("/proc/self", "uid") == 0 end

--- Where a login has it, or nowhere. Who sets it to anything else looks at that folder alone.
local function is_usual(runtime) return not runtime or runtime == "" or runtime:find "^/run/user/%d+/?$" ~= nil end

--- The runtime folders of other users, as the service chooses them. A folder that others can access is ignored, because its
--- creator could mislead root.
local function folders_of_others(own, add)
  local lfs = require "lfs"
  local function consider(folder, uid)
    local a = lfs.symlinkattributes(folder)
    if folder ~= own and a and a.mode == "directory" and a.uid == uid and a.permissions == "rwx------" then add(folder) end
  end
  for entry in entries "/tmp" do
    local uid = tonumber(entry:match("^pmlua%-(%d+)$"))
    if uid then consider("/tmp/" .. entry, uid) end
  end
  for entry in entries "/run/user" do
    local uid = tonumber(entry:match("^%d+$"))
    if uid then consider("/run/user/" .. entry .. "/pmlua", uid) end
  end
end

--- The runtime folder that a process was started with, if it is not one of the usual ones.
local function folder_of(pid)
  local f <close> = io.open("/proc/" .. pid .. "/environ", "rb")
  local text = f and "\0" .. (f:read("a") or "") .. "\0"
  local runtime = text and text:match("%zXDG_RUNTIME_DIR=(/[^%z]*)%z")
  local lfs = require "lfs"
  local a = runtime and lfs.symlinkattributes(runtime .. "/pmlua")
  local mine = a and a.mode == "directory" and a.uid == lfs.attributes("/proc/" .. pid, "uid")
  return mine and a.permissions == "rwx------" and runtime .. "/pmlua" or nil
end

local function add_applications(applications, folder, remove)
  local lfs = require "lfs"
  for entry in entries(folder) do
    local pid, name = entry:match("^(%d+)%.([%w_.-]+)$")
    local path = folder .. "/" .. entry
    if pid and is_socket(path) then
      if lfs.attributes("/proc/" .. pid, "mode") ~= nil then
        applications[#applications + 1] = { pid = math.tointeger(tonumber(pid)), name = name, path = path }
      elseif remove then os.remove(path) end
    end
  end
end

--- The applications that have a socket, by pid. Whether they answer is not asked here.
---@return pmlua.Application[]? applications, pmlua.Failure? failure
function M.list()
  local folder, err = core.live.folder()
  if not folder then return refuse(err) end
  local applications = {}
  add_applications(applications, folder, true)
  if is_root() and is_usual(os.getenv "XDG_RUNTIME_DIR") then
    folders_of_others(folder, function(other) add_applications(applications, other, false) end)
  end
  table.sort(applications, function(a, b) return a.pid < b.pid end)
  return applications
end

local function unknown(which, applications)
  if #applications == 0 then
    local name = which:find("^[%w_.-]*%a[%w_.-]*$") and ("--name %s "):format(which) or ""
    return refuse("ENOENT", ("%s: no running program %s serves questions (none does)"):format(which,
      which:find("^%d+$") and "with this pid" or "of this name"), ("start it with pmlua live %s-- COMMAND"):format(name))
  end
  local names = {}
  for i, app in ipairs(applications) do names[i] = app.name end
  local near = not which:find("^%d+$") and nearest(which, names)
  return refuse("ENOENT", ("no running application is called '%s'"):format(which),
    near and ("did you mean '%s'?"):format(near) or "pmlua query lists all")
end

local function ambiguous(which, matches)
  local pids = {}
  for i, app in ipairs(matches) do pids[i] = ("%d"):format(app.pid) end
  return refuse("EINVAL", ("%d applications are called '%s'"):format(#matches, which),
    "choose one by its pid: " .. table.concat(pids, ", "))
end

--- The application with that pid or name.
---@param which string
---@return pmlua.Application? application, pmlua.Failure? failure one line
function M.find(which)
  local applications, err = M.list()
  if not applications then return nil, err end
  local matches, pid = {}, tonumber(which)
  for _, app in ipairs(applications) do
    if app.pid == pid then return app end
    if app.name == which then matches[#matches + 1] = app end
  end
  local folder = #matches == 0 and math.type(pid) == "integer" and is_root() and folder_of(pid)
  if folder then
    local there = {}
    add_applications(there, folder, false)
    for _, app in ipairs(there) do
      if app.pid == pid then return app end
    end
  end
  if #matches == 1 then return matches[1] end
  return (#matches == 0 and unknown or ambiguous)(which, #matches == 0 and applications or matches)
end

--- A link to an application. A program that has closed every descriptor, as daemons do, notices it when a client
--- connects: that connection ends, and the next one is served.
local Link = {}
Link.__index = Link

function Link:ask(...)
  local open, text, err, code = pcall(self.link.ask, self.link, ...)
  if not open then text, err, code = refuse("ECONNRESET", "the connection is closed") end -- no question could be sent
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

--- Receive the answer to the sent question. If the daemon closed the link, connect and ask again, as in ask().
---@param left fun(): number seconds
---@param payload? string
function Link:receive(kind, left, payload)
  local done, text, err, code = pcall(self.link.receive, self.link, left())
  if not done then text, err, code = refuse("ECONNRESET", "the connection is closed") end
  if code ~= "ECONNRESET" or left() == 0 then return text, err, code end
  return self:ask(kind, payload or "", left())
end

function Link:close() self.link:close() end

Link.__close = Link.close

--- A socket that is new may belong to a program between bind(2) and listen(2).
local function remove_stale(path)
  local modified_s = require "lfs".symlinkattributes(path, "modification")
  if modified_s and os.time() - modified_s > STALE_S then os.remove(path) end
end

--- Connect to an application. A socket without a listener is removed.
---@param app pmlua.Application
---@return pmlua.Link? link, pmlua.Failure? failure one line
function M.connect(app)
  local link, err, code = core.link.connect(app.path)
  if link then return setmetatable({ link = link, path = app.path }, Link) end
  if code == "ECONNREFUSED" then
    remove_stale(app.path)
    return refuse(code, ("%s (%d) no longer listens: it ended, or stopped serving"):format(app.name, app.pid))
  end
  if code == "ENOENT" then return refuse(code, ("%s (%d) has ended"):format(app.name, app.pid)) end
  return refuse(err, ("%s (%d)"):format(app.name, app.pid))
end

--- The text, or what went wrong as a person would say it.
local function answered(app, patience, text, err, code)
  if text then return text end
  -- an application that ends stops what it was asked meanwhile, and this is its last answer
  if code == "EREMOTEIO" and err:sentence() == ENDS then code = "ECONNRESET" end
  if code == "ETIMEDOUT" then
    return refuse(code, ("%s (%d) did not answer within %g s: is it stopped or overloaded?"):format(app.name, app.pid,
      patience), "wait longer with --patience")
  elseif code == "ECONNRESET" then
    return refuse(code, ("%s (%d) ended or closed the connection"):format(app.name, app.pid))
  end
  return refuse(err)
end

--- Ask a question; failures are expressed for users.
---@param app pmlua.Application
---@param link pmlua.Link
---@param kind string
---@param payload string
---@param patience number seconds
---@return string? text, pmlua.Failure? failure one line
---@return string? code
function M.ask(app, link, kind, payload, patience)
  return answered(app, patience, link:ask(kind, payload, patience))
end

-- --- validation of replies in JSON ---

local function is(kind) return function(v) return type(v) == kind end end
local function optional(check) return function(v) return v == nil or check(v) end end

--- A table whose named fields pass; others are not looked at.
local function fields_of(checks)
  return function(v)
    if type(v) ~= "table" then return false end
    for name, check in pairs(checks) do
      if not check(v[name]) then return false, name end
    end
    return true
  end
end

local function list_of(check)
  return function(v)
    if type(v) ~= "table" then return false end
    local n = 0
    for key, item in pairs(v) do
      if math.type(key) ~= "integer" or not check(item) then return false end
      n = n + 1
    end
    return n == #v
  end
end

local number, text = is "number", is "string"

local info = fields_of { pid = number, name = optional(text), command = text, version = optional(text), up_s = optional(number),
  events = number, functions = list_of(text), rules = list_of(is "table") }

--- The information in an answer, if it is such.
local function decoded(app, text_, err, code)
  if not text_ then return nil, err, code end
  local answer, why = json.decode(text_)
  local good, field = info(answer)
  if good then return answer end
  return refuse("EFORMAT", ("%s (%d): cannot read the answer: %s"):format(app.name, app.pid,
    why or field and ("'%s' is missing or has another type"):format(field) or "not an object"))
end

--- Ask a program for information about itself.
---@return table? info, pmlua.Failure? failure, string? code
function M.information(app, link, patience)
  return decoded(app, M.ask(app, link, "info", "", patience))
end

--- Ask many for information at once: all have answered, or failed, when the patience with the slowest is over.
---@param applications pmlua.Application[]
---@param patience number seconds for all of them
---@param take fun(app: pmlua.Application, answer: table?, err: pmlua.Failure?, code: string?) in their order
function M.ask_all(applications, patience, take)
  local links, failures, ends = {}, {}, core.clock.ns() / 1e9 + patience
  local function left() return math.max(0, ends - core.clock.ns() / 1e9) end
  for i, app in ipairs(applications) do
    local link, err, code = M.connect(app)
    if link then link.link:send("info", "", 0) else failures[i] = { err, code } end
    links[i] = link or false
  end
  for i, app in ipairs(applications) do
    local link <close> = links[i] or nil
    if failures[i] then take(app, nil, table.unpack(failures[i], 1, 2))
    else take(app, decoded(app, answered(app, patience, link:receive("info", left)))) end
  end
end

return M
