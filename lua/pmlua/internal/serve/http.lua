-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/http.lua - an HTTP/1.1 server for few clients on one machine, on one thread.
--
-- Try:  local server = assert(require("pmlua.internal.serve.http").listen("127.0.0.1:9477", {}))
--       server:run(function(request) return 200, "text/plain", "you asked for " .. request.path .. "\n" end)
--
-- GET, HEAD and POST are answered. A request has at most 8 KB, with a body of 64 KB, and a client 5 s to send it; an idle
-- connection ends after 60 s; more than 32 clients wait. A web page of another origin cannot read an answer or send a request:
-- every request needs the token if there is one, or else, on a loopback address, a Host header that names this machine. An
-- Origin header, which browsers add, must name the same host.

local core = require "pmlua.core"
local refuse = core.failure.refuse

local M = {}

local BODY <const> = 65536
local REQUEST <const>, CLIENTS <const>, IDLE_S <const>, KEEP_S <const> = 8192, 32, 5, 60
local TICK_S <const>, POLL_S <const> = 0.2, 0.01 -- longest waits, the second while a handler has not finished

local reasons = { [200] = "OK", [400] = "Bad Request", [401] = "Unauthorized", [403] = "Forbidden", [404] = "Not Found",
  [405] = "Method Not Allowed", [413] = "Content Too Large", [431] = "Request Header Fields Too Large",
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
  -- No client can connect until the socket listens.
  os.execute("chmod 600 " .. require "pmlua.internal.quote".shell(path))
  assert(socket:listen(CLIENTS))
  return socket
end

--- Listen.
---@param address string ADDR:PORT (port 0: any that is free) or unix:PATH
---@param options { token: string?, is_open: (fun(path: string): boolean)? } is_open: paths that need no token
---@return pmlua.HttpServer? server, pmlua.Failure? failure
function M.listen(address, options)
  local found, library = pcall(require, "socket")
  if not found then
    return refuse("ENOENT", "the Lua module 'socket' (LuaSocket) is not installed", "install it (Debian's package lua-socket)")
  end
  local self = setmetatable({ clients = {}, token = options.token, is_open = options.is_open }, Server)
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
---@return table? request, integer? status
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
  local given = (request.headers.authorization or ""):match "^Bearer +(%S+)$"
  local proven = self.token and equal(given or "", self.token)
  if self.token and not proven and not (self.is_open and self.is_open(request.path)) then return 401 end
  local host = (request.headers.host or ""):gsub(":%d+$", ""):gsub("^%[(.*)%]$", "%1")
  if self.loopback and not proven and not is_loopback(host) then return 403 end
  local origin = (request.headers.origin or ""):match "^https?://(.*)$"
  if origin and origin ~= request.headers.host then return 403 end
  if request.method ~= "GET" and request.method ~= "HEAD" and request.method ~= "POST" then return 405 end
end

--- The size of a request's body; nil and the status that refuses it.
local function body_size(request)
  local size = math.tointeger(tonumber(request.headers["content-length"] or "0"))
  if not size or size < 0 or request.headers["transfer-encoding"] then return nil, 400 end
  if size > 0 and request.method ~= "POST" then return nil, 400 end
  if size > BODY then return nil, 413 end
  return size
end

--- The header of a response.
local function header_of(request, status, kind, body)
  return ("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nCache-Control: no-store\r\n%s"
    .. "X-Content-Type-Options: nosniff\r\nConnection: %s\r\n\r\n"):format(status, reasons[status] or "Unknown",
    kind or "text/plain; charset=utf-8", #body, request.policy and "Content-Security-Policy: " .. request.policy .. "\r\n" or "",
    request.last and "close" or "keep-alive")
end

--- The body follows the header by itself: it is large, and not copied.
local function finish(client, request, status, kind, body)
  body = body or reasons[status] .. "\n"
  client.out, client.sent, client.last, client.later = header_of(request, status, kind, body), 0, request.last, nil
  client.body = request.method ~= "HEAD" and body or nil
end

local function refuse_request(client, request, status)
  request.last = true
  finish(client, request, status)
end

--- Answer a complete request. A handler that returns a function has not finished: it is called again until it returns a status.
local function answer(client, request, handler)
  local done, status, kind, body = pcall(handler, request)
  if not done then
    io.stderr:write("pmlua serve: ", require "pmlua.internal.printable"(status), "\n")
    return finish(client, request, 500)
  end
  if type(status) == "function" then
    client.later = function() return answer(client, request, status) end
  else finish(client, request, status, kind, body) end
end

-- --- clients ---

local function drop(self, i)
  self.clients[i].socket:close()
  table.remove(self.clients, i)
end

--- Remove a complete request from the input; nil if it is incomplete, or was refused.
local function take_request(self, client)
  local ends, behind = client.input:find "\r?\n\r?\n"
  if not ends then
    if #client.input > REQUEST then refuse_request(client, {}, 431) end
    return nil
  end
  local request, status = M.parse(client.input:sub(1, behind))
  local size
  status = status or refusal(self, request)
  if not status then size, status = body_size(request) end
  if status then return refuse_request(client, request or {}, status) end
  if #client.input < behind + size then return nil end
  request.body = client.input:sub(behind + 1, behind + size)
  client.input = client.input:sub(behind + size + 1)
  return request
end

--- Append arrived bytes to the input. False if the client closed the connection.
local function receive(client)
  local text, why, part = client.socket:receive(REQUEST)
  text = text or part or ""
  client.input = client.input .. text
  if text ~= "" then client.since_s = now_s() end
  return why ~= "closed" or text ~= ""
end

--- Send what the socket accepts. False: the connection ends.
local send
function send(client)
  local last, why, reached = client.socket:send(client.out, client.sent + 1)
  local sent = last or reached
  if sent > client.sent then client.since_s = now_s() end
  client.sent = sent
  if not last then return why == "timeout" end
  client.out, client.body, client.sent = client.body, nil, 0
  if client.out then return send(client) end
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

--- Receive from a client, answer it, and send. False: the connection ends.
local function serve_client(self, client, readable, handler)
  if client.later then client.later() end
  if client.later then return true end
  if not client.out then
    if readable and not receive(client) then return false end
    local request = client.input ~= "" and take_request(self, client)
    if request then answer(client, request, handler) end
  end
  if client.out then return send(client) end
  return client.later or now_s() - client.since_s < (client.input == "" and KEEP_S or IDLE_S)
end

--- Answer requests that have arrived, waiting for some at most a fifth of a second.
---@param handler fun(request: table): integer|fun(request: table), string?, string? status, content type and body
---@param most_s? number to wait, if it is less
function Server:step(handler, most_s)
  local wanted, writers, wait_s = { #self.clients < CLIENTS and self.socket or nil }, {}, math.min(TICK_S, most_s or TICK_S)
  for _, client in ipairs(self.clients) do
    local list = client.out and writers or not client.later and wanted
    if list then list[#list + 1] = client.socket else wait_s = math.min(wait_s, POLL_S) end
  end
  local readable = require "socket".select(wanted, writers, wait_s)
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
