-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua serve`: the events, sections and rules of running programs for Prometheus.
--
--     pmlua serve SOLVER --export 127.0.0.1:9477

local core = require "pmlua.core"

local M = {
  summary = "serve metrics of running programs to Prometheus",
  arguments = { { name = "PID|NAME", key = "which", kind = "application", many = true, optional = true } },
  about = [[
Serves http://ADDR:PORT/metrics, which has the software-defined events, sections and watch rules of the programs named, or
of all programs of this user that pmlua query lists, in the format OpenMetrics or, for clients that do not know it, in
Prometheus's text format. Prints its address, and runs until Ctrl-C, or until the last of the programs that were named has ended.

The programs' own threads do no work for it: a service thread in each program answers, at most once per --every.]],
  options = {
    { name = "export", kind = "text", value = "ADDR:PORT|unix:PATH", default = "127.0.0.1:9477", help = "where to listen: "
      .. "a loopback address, a Unix socket that only this user can open, or any address together with --token" },
    { name = "token", kind = "file", help = "answer only requests with the header Authorization: Bearer TOKEN; FILE "
      .. "contains the token, and only its user may read it" },
    { name = "every", kind = "duration", default = "1s", min = 0.001, help = "read the programs at most this often; "
      .. "requests in between get the last reading" },
    { name = "dashboard", kind = "file", help = "only write a Grafana dashboard (JSON) of what is served now into FILE" },
    { name = "alerts", kind = "file", help = "only write Prometheus alerts (YAML) into FILE: programs that do not answer, "
      .. "watch rules that fail or no longer run" },
  },
  examples = { "pmlua serve", "pmlua serve SOLVER --export unix:/tmp/solver.socket",
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

--- The last reading, or a new one when that is too old.
local function reader(scrape, every_s)
  local texts, due_s = {}, 0
  return function(form)
    local now_s = core.clock.ns() / 1e9
    if now_s >= due_s then
      local families, err = scrape:read()
      if not families then error(core.failure.sentence(err), 0) end
      texts, due_s = { families = families }, now_s + every_s
    end
    texts[form] = texts[form] or texts.families:text(form)
    return texts[form]
  end
end

local function handler_of(read)
  local types = require "pmlua.internal.serve.openmetrics".content_type
  return function(request)
    if request.path ~= "/metrics" then return 404 end
    local form = (request.headers.accept or ""):find("application/openmetrics-text", 1, true) and "openmetrics" or "text"
    return 200, types[form], read(form)
  end
end

local function is_running(pid) return pid and require "lfs".attributes("/proc/" .. pid, "mode") ~= nil end

--- The programs named. One named by its pid need not answer yet.
local function pids_of(which)
  local pids = {}
  for i, word in ipairs(which or {}) do
    pids[i] = math.tointeger(tonumber(word))
    if not is_running(pids[i]) then
      local app, err = require "pmlua.internal.live.directory".find(word)
      if not app then return nil, err end
      pids[i] = app.pid
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
  local scrape = require "pmlua.internal.serve.scrape".new { which = o.which, patience = 5 }
  local families, err = scrape:read()
  scrape:close()
  local dashboard, disk = require "pmlua.internal.serve.dashboard", require "pmlua.internal.file"
  local done = families ~= nil
  if done and o.dashboard then done, err = disk.write(o.dashboard, dashboard.grafana(families, o.which[1] or "pmlua")) end
  if done and o.alerts then done, err = disk.write(o.alerts, dashboard.alerts(families)) end
  return done and 0 or complain(err)
end

---@param o table
---@return integer status
function M.run(o)
  local token, unusable
  if o.token then token, unusable = token_of(o.token) end
  if unusable then return complain("--token " .. unusable) end
  local pids, err = pids_of(o.which)
  if not pids then return complain(err) end
  if o.dashboard or o.alerts then return write_files(o) end
  local server, refused = require "pmlua.internal.serve.http".listen(o.export, { token = token })
  if not server then return complain(refused) end
  print((server.path and server.address or server.address .. "/metrics"))
  io.stdout:flush()
  core.sys.on_interrupt()
  core.sys.raise_interrupt(false)
  local scrape = require "pmlua.internal.serve.scrape".new { which = o.which }
  local handler = handler_of(reader(scrape, o.every))
  while not core.sys.interrupted() and any_runs(pids) do server:step(handler) end
  server:close()
  scrape:close()
  return 0
end

return M
