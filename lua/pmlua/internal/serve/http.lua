-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/http.lua - an HTTP/1.1 server for few clients on one machine, on one thread.
--
-- Try:  local server = assert(require("pmlua.internal.serve.http").listen("127.0.0.1:9477", {}))
--       server:run(function(request) return 200, "text/plain", "you asked for " .. request.path .. "\n" end)
--
-- Only GET and HEAD are answered. A request has at most 8 KB and a client 5 s to send it; an idle connection ends after 60 s;
-- more than 32 clients wait. A web page of another origin cannot read an answer: every request needs the token if there is
-- one, or else, on a loopback address, a Host header that names this machine.

local core = require "pmlua.core"
local refuse = core.failure.refuse

local M = {}

local REQUEST <const>, CLIENTS <const>, IDLE_S <const>, KEEP_S <const>, TICK_S <const> = 8192, 32, 5, 60, 0.2

local reasons = { [200] = "OK", [400] = "Bad Request", [401] = "Unauthorized", [403] = "Forbidden", [404] = "Not Found",
  [405] = "Method Not Allowed", [408] = "Request Timeout", [431] = "Request Header Fields Too Large",
  [500] = "Internal Server Error" }

local function now_s() return core.clock.ns() / 1e9 end

---@class pmlua.HttpServer
---@field address string that clients can use
local Server = {}
Server.__index = Server

local function is_loopback(host) return host == "localhost" or host:find "^127%.%d+%.%d+%.%d+$" ~= nil or host == "::1" end

--- The host and port of an address: ADDR:PORT, [ADDR]:PORT or :PORT.
local function parts_of(address)
  local host, port = address:match "^%[([%x:]+)%]:(%d+)$"
  if not host then host, port = address:match "^([%w.-]*):(%d+)$" end
  port = math.tointeger(tonumber(port))
  if not port or port > 65535 then return nil end
  return host == "" and "127.0.0.1" or host, port
end

--- Listen on a Unix socket that only this user can open. A socket without a listener is replaced.
local function listen_unix(path)
  local lfs, unix = require "lfs", require "socket.unix"
  if lfs.symlinkattributes(path, "mode") == "socket" and not unix():connect(path) then os.remove(path) end
  local socket = unix()
  local bound, why = socket:bind(path)
  if not bound then return refuse("EADDRINUSE", ("%s: %s"):format(path, why), "name another path") end
  os.execute("chmod 600 " .. require "pmlua.internal.quote".shell(path)) -- nobody can connect before it listens
  assert(socket:listen(CLIENTS))
  return socket
end

--- Listen.
---@param address string ADDR:PORT (port 0: any that is free) or unix:PATH
---@param options { token: string? }
---@return pmlua.HttpServer? server
---@return pmlua.Failure? failure
function M.listen(address, options)
  local found, library = pcall(require, "socket")
  if not found then
    return refuse("ENOENT", "LuaSocket is not installed", "install it (Debian's package lua-socket)")
  end
  local self = setmetatable({ clients = {}, token = options.token }, Server)
  local path = address:match "^unix:(.+)$"
  local err
  if path then
    self.socket, err = listen_unix(path)
    self.path, self.address = path, address
  else
    local host, port = parts_of(address)
    if not host then return refuse("EINVAL", ("'%s' is not ADDR:PORT or unix:PATH"):format(address)) end
    if not is_loopback(host) and not options.token then
      return refuse("EPERM", host .. " can be reached from other machines", "give a token with --token FILE, and use TLS")
    end
    local socket, why = library.bind(host, port)
    if not socket then return refuse("EADDRINUSE", ("%s: %s"):format(address, why), "choose another port") end
    local name, at = socket:getsockname()
    self.socket, self.loopback = socket, is_loopback(host)
    self.address = ("http://%s:%d"):format(name:find ":" and "[" .. name .. "]" or name, at)
  end
  if not self.socket then return nil, err end
  self.socket:settimeout(0)
  return self
end

-- --- requests ---

--- Compare without an early end: how long it takes tells nothing about the token.
local function equal(a, b)
  local difference = #a ~ #b
  for i = 1, #a do difference = difference | a:byte(i) ~ (b:byte(i) or 0) end
  return difference == 0
end

--- The request of a header, or the status that refuses it.
---@param text string up to its empty line
---@return table? request
---@return integer? status
function M.parse(text)
  local line, rest = text:match "^([^\r\n]*)\r?\n(.*)$"
  local method, target, version = (line or ""):match "^(%u+) (/[^ ]*) HTTP/1%.([01])$"
  if not method then return nil, 400 end
  local headers = {}
  for name, value in rest:gmatch "([%w-]+):[ \t]*([^\r\n]*)" do headers[name:lower()] = value end
  return { method = method, path = target:match "^[^?]*", query = target:match "%?(.*)$", headers = headers,
    last = version == "0" or (headers.connection or ""):lower():find("close", 1, true) ~= nil }
end

--- The status that refuses a request; nil: it may be answered.
local function refusal(self, request)
  local host = (request.headers.host or ""):gsub(":%d+$", ""):gsub("^%[(.*)%]$", "%1")
  if self.loopback and not self.token and not is_loopback(host) then return 403 end
  local given = (request.headers.authorization or ""):match "^Bearer +(%S+)$"
  if self.token and not equal(given or "", self.token) then return 401 end
  if request.method ~= "GET" and request.method ~= "HEAD" then return 405 end
  if tonumber(request.headers["content-length"] or 0) ~= 0 or request.headers["transfer-encoding"] then return 400 end
end

local function response(request, status, kind, body)
  body = body or reasons[status] .. "\n"
  return ("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nCache-Control: no-store\r\n"
    .. "X-Content-Type-Options: nosniff\r\nConnection: %s\r\n\r\n"):format(status, reasons[status] or "Unknown",
    kind or "text/plain; charset=utf-8", #body, request.last and "close" or "keep-alive")
    .. (request.method == "HEAD" and "" or body)
end

local function answer(self, client, header, handler)
  local request, status = M.parse(header)
  if not request then request = { last = true } end
  status = status or refusal(self, request)
  if status then
    request.last = true
    client.out = response(request, status)
  else
    local done, code, kind, body = pcall(handler, request)
    if not done then
      io.stderr:write("pmlua serve: ", require "pmlua.internal.printable"(code), "\n")
      code, kind, body = 500, nil, nil
    end
    client.out = response(request, code, kind, body)
  end
  client.sent, client.last = 0, request.last
end

-- --- clients ---

local function drop(self, i)
  self.clients[i].socket:close()
  table.remove(self.clients, i)
end

--- Receive what has arrived, and answer a request that is complete. False: the client has gone.
local function receive(self, client, handler)
  local text, why, part = client.socket:receive(REQUEST)
  client.input = client.input .. (text or part or "")
  if (text or part or "") ~= "" then client.since_s = now_s() end
  local ends, behind = client.input:find "\r?\n\r?\n"
  if ends then
    local header = client.input:sub(1, behind)
    client.input = client.input:sub(behind + 1)
    answer(self, client, header, handler)
  elseif #client.input > REQUEST then
    client.out, client.sent, client.last = response({ last = true }, 431), 0, true
  elseif why == "closed" then return false end
  return true
end

--- Send what the socket accepts. False: the connection ends.
local function send(client)
  local last, why, reached = client.socket:send(client.out, client.sent + 1)
  local sent = last or reached
  if sent > client.sent then client.since_s = now_s() end
  client.sent = sent
  if not last then return why == "timeout" end
  client.out = nil
  return not client.last
end

local function accept(self)
  while #self.clients < CLIENTS do
    local socket = self.socket:accept()
    if not socket then return end
    socket:settimeout(0)
    self.clients[#self.clients + 1] = { socket = socket, input = "", since_s = now_s() }
  end
end

local function serve_client(self, client, readable, handler)
  if client.out then return send(client) end
  if not readable and client.input == "" then return now_s() - client.since_s < KEEP_S end
  local good = receive(self, client, handler)
  if good and client.out then return send(client) end
  return good and now_s() - client.since_s < IDLE_S
end

--- Answer requests that have arrived, waiting for some at most a fifth of a second.
---@param handler fun(request: table): integer, string, string status, content type and body
function Server:step(handler)
  local wanted, writers = { #self.clients < CLIENTS and self.socket or nil }, {}
  for _, client in ipairs(self.clients) do
    local list = client.out and writers or wanted
    list[#list + 1] = client.socket
  end
  local readable = require "socket".select(wanted, writers, TICK_S)
  if readable[self.socket] then accept(self) end
  for i = #self.clients, 1, -1 do
    local client = self.clients[i]
    if not serve_client(self, client, readable[client.socket], handler) then drop(self, i) end
  end
end

function Server:close()
  for i = #self.clients, 1, -1 do drop(self, i) end
  self.socket:close()
  if self.path then os.remove(self.path) end
end

return M
