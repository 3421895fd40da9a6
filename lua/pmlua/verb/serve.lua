-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua serve`: the events, sections and rules of running programs for Prometheus.
--
--     pmlua serve SOLVER --export 127.0.0.1:9477

local core = require "pmlua.core"
local try = require "pmlua.internal.try"

--- Take a metric such as host::load_1; the error.
local function metric(o, text)
  local own_plugins, wanted = require "pmlua.internal.own_plugins", {}
  local wrong = require "pmlua.internal.host.beside".take(wanted, text)
  local name, tokens = next(wanted)
  if wrong or name == "uncore" then return wrong or text .. ": only metrics of host and process are served" end
  local found, err = own_plugins.find(name, tokens[1])
  if not found then return core.failure.sentence(err) end
  o.metrics = o.metrics or {}
  o.metrics[name] = table.move(tokens, 1, 1, #(o.metrics[name] or {}) + 1, o.metrics[name] or {})
end

local M = {
  summary = "serve metrics of running programs to Prometheus",
  arguments = { { name = "PID|NAME", key = "which", kind = "application", many = true, optional = true } },
  about = [[
Serves http://ADDR:PORT/metrics, which has the software-defined events, sections and watch rules of the programs named, or
of all programs of this user that pmlua query lists, in the format OpenMetrics or, for clients that do not support it, in
Prometheus's text format. Prints its address, and runs until Ctrl-C, or until the last of the programs that were named has ended.

The programs' own threads do no work for it: a service thread in each program answers, at most once per --every.]],
  options = {
    { name = "export", kind = "text", value = "ADDR:PORT|unix:PATH", default = "127.0.0.1:9477", help = "where to listen "
      .. "(port 0: any): a loopback address, a Unix socket that only this user can open, or any address together with --token" },
    { name = "token", kind = "file", help = "answer only requests with the header Authorization: Bearer TOKEN; FILE "
      .. "contains the token, and only its user may read it" },
    { name = "page", help = "also serve a page for a browser: values as they change, charts of the last hour, sections, "
      .. "a call tree, rules to write, and a prompt that runs Lua as pmlua attach does; the printed "
      .. "address contains a token, unless --token FILE has it" },
    { name = "every", kind = "duration", default = "1s", min = 0.001, help = "read the programs at most this often; "
      .. "requests in between get the last reading" },
    { name = "metric", kind = "event", value = "NAME", take = metric, help = "serve a metric of the host or of each program's "
      .. "process, such as 'host::disk_*' or process::faults (pmlua events plugin:: lists them), instead of those that the "
      .. "plugin recommends; may be repeated" },
    { name = "dashboard", kind = "file", help = "write a Grafana dashboard (JSON) of the present metrics into FILE, and exit" },
    { name = "alerts", kind = "file", help = "write Prometheus alerts (YAML) into FILE, and exit: programs that do not "
      .. "reply, watch rules that fail or no longer run" },
  },
  examples = { { "pmlua serve --page --export :0", seconds = 3, status = 124 },
    { "pmlua serve SOLVER --export unix:solver.socket", seconds = 3, status = 124 },
    "pmlua serve SOLVER --dashboard solver.json --alerts solver.yml" },
}

local complain = require "pmlua.internal.cli.complain" "serve"

--- The token in a file that others cannot read.
local function token_of(path)
  local text, err = require "pmlua.internal.file".read(path)
  if not text then return nil, err end
  local permissions = require "lfs".attributes(path, "permissions")
  if permissions:sub(4) ~= "------" then return nil, path .. ": others may read it; use chmod 600 " .. path end
  local token = text:match "^%s*(%S+)%s*$"
  if not token or #token < 16 then return nil, path .. ": a token must be one word of at least 16 characters" end
  return token
end

--- The last reading of all programs, or a new one if that is due; its number, and seconds until the next is due.
local function reader(scrape, every_s)
  local families, due_s, number = nil, core.clock.ns() / 1e9, 0
  return function()
    if core.clock.ns() / 1e9 >= due_s then
      local err
      families, err = scrape:read()
      if not families then error(core.failure.sentence(err), 0) end
      due_s, number = math.max(due_s + every_s, core.clock.ns() / 1e9), number + 1
    end
    return families, scrape:list(), number, due_s - core.clock.ns() / 1e9
  end
end

local function handler_of(read, page)
  local types, texts, last = require "pmlua.internal.serve.openmetrics".content_type, {}, nil
  return function(request)
    if request.path ~= "/metrics" then
      if not page then return 404 end
      local status, kind, body = page:handle(request)
      return status or 404, kind, body
    end
    if request.method == "POST" then return 405 end
    local families, _, number = read()
    if number ~= last then texts, last = {}, number end
    local form = (request.headers.accept or ""):find("application/openmetrics-text", 1, true) and "openmetrics" or "text"
    texts[form] = texts[form] or families:text(form)
    return 200, types[form], texts[form]
  end
end

local function is_running(pid) return pid and require "lfs".attributes("/proc/" .. pid, "mode") ~= nil end

--- The programs named. One named by its pid need not answer yet.
local function pids_of(which)
  local pids = {}
  for i, word in ipairs(which or {}) do
    pids[i] = math.tointeger(tonumber(word))
    if not is_running(pids[i]) then
      pids[i] = try(require "pmlua.internal.live.directory".find(word)).pid
    end
  end
  return pids
end

local function any_runs(pids)
  for _, pid in ipairs(pids) do
    if is_running(pid) then return true end
  end
  return #pids == 0
end

--- Write the files that the options name, from one reading.
local function write_files(o)
  local scrape = require "pmlua.internal.serve.scrape".new { which = o.which, patience = 5, metrics = o.metrics }
  local families, err = scrape:read()
  scrape:close()
  local dashboard, disk = require "pmlua.internal.serve.dashboard", require "pmlua.internal.file"
  local done = families ~= nil
  if done and o.dashboard then done, err = disk.write(o.dashboard, dashboard.grafana(families, o.which[1] or "pmlua")) end
  if done and o.alerts then done, err = disk.write(o.alerts, dashboard.alerts(families)) end
  return done and 0 or complain(err)
end

--- A random token of 128 bits.
local function new_token()
  local f <close> = assert(io.open("/dev/urandom", "rb"))
  return (f:read(16):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

--- The server, and the address to print.
local function listen(o)
  local token, err
  if o.token then
    token, err = token_of(o.token)
    if not token then return nil, "--token " .. err end
  end
  local assets = o.page and require "pmlua.internal.serve.assets"
  local function is_open(path) return assets and (assets[path] or path == "/metrics" and not o.token) and true or false end
  token = token or o.page and new_token() or nil
  local server = try(require "pmlua.internal.serve.http".listen(o.export, { token = token, is_open = is_open }))
  local path = o.page and "/#" .. (o.token and "TOKEN" or token) or "/metrics"
  return server, server.path and server.address or server.address .. path
end

---@param o table
---@return integer status
function M.run(o)
  local pids = pids_of(o.which)
  if o.dashboard or o.alerts then return write_files(o) end
  local server, address = try(listen(o))
  print(address)
  io.stdout:flush()
  core.sys.on_interrupt()
  core.sys.raise_interrupt(false)
  collectgarbage("incremental", 300) -- most memory is permanent: collect rarely
  local scrape = require "pmlua.internal.serve.scrape".new { which = o.which, complain = complain, metrics = o.metrics }
  local read = reader(scrape, o.every)
  local page = o.page and require "pmlua.internal.serve.page".new(read) or nil
  local handler = handler_of(read, page)
  while not core.sys.interrupted() and any_runs(pids) do
    server:step(handler, page and page:refresh())
  end
  server:close()
  scrape:close()
  if page then page:close() end
  return 0
end

return M
