-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/page.lua - replies to the browser's page of running programs.
--
-- Try:  pmlua serve --page
--
-- The page is three texts of pmlua.internal.serve.assets. It polls /data for the newest values, asks /history for the series
-- that it draws, and sends code to /ask, where it runs as in pmlua attach. All but the texts need the token, which the
-- browser has from the address's fragment and sends as a header.

local core = require "pmlua.core"
local json = require "pmlua.json"
local assets = require "pmlua.internal.serve.assets"
local recent = require "pmlua.internal.serve.recent"
local sessions = require "pmlua.internal.serve.sessions"

local M = {}

local POLICY <const> = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:"
  .. "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
local HTML <const>, JSON <const> = "text/html; charset=utf-8", "application/json"

---@class pmlua.ServedPage
local Page = {}
Page.__index = Page

---@param read fun(): pmlua.Families, table[], integer, number families, programs, number of the reading, seconds until the next
function M.new(read)
  return setmetatable({ read = read, recent = recent.new(), sessions = sessions.new() }, Page)
end

function Page:close() self.sessions:close() end

--- The samples of families as series: constants are left out.
local function samples_of(families)
  local samples = {}
  for _, family in ipairs(families.list) do
    for _, s in ipairs(family.samples) do
      if family.kind ~= "info" then
        samples[#samples + 1] = { key = family.name .. s.suffix .. "{" .. s.labels .. "}", value = tonumber(s.value),
          name = family.name .. s.suffix, labels = s.labels, unit = family.unit, help = family.help,
          rising = family.kind == "counter" or s.suffix == "_count" or s.suffix == "_sum" }
      end
    end
  end
  return samples
end

--- Read once more if it is time.
---@return number seconds until the next reading
function Page:refresh()
  local families, programs, number, next_s = self.read()
  if number ~= self.number then
    self.number, self.programs = number, programs
    self.recent:add(core.clock.realtime_ns() / 1e9, samples_of(families))
    self.sessions:refresh(programs)
  end
  return math.max(0, next_s)
end

--- NaN and infinities are null.
local function finite(v) return v == v and v ~= math.huge and v ~= -math.huge and ("%.17g"):format(v) or "null" end

local function numbers(values)
  local out = {}
  for i, v in ipairs(values) do out[i] = finite(v) end
  return "[" .. table.concat(out, ",") .. "]"
end

local function parameter(request, name) return (("&" .. (request.query or "")):match("&" .. name .. "=([^&]*)")) end

function Page:data(request)
  local next_s = self:refresh()
  local known, series = math.tointeger(tonumber(parameter(request, "known"))) or 0, json.array()
  for i = math.max(0, known) + 1, #self.recent.series do
    local s = self.recent.series[i]
    series[#series + 1] = { name = s.name, labels = s.labels, unit = s.unit, help = s.help, rising = s.rising }
  end
  local programs = json.array()
  for i, program in ipairs(self.programs) do
    local info = program.info or {}
    programs[i] = { pid = program.app.pid, name = program.app.name, up = program.up, command = info.command, up_s = info.up_s,
      rules = json.array(info.rules) }
  end
  return 200, JSON, ('{"time_s":%.3f,"next_s":%.3f,"series":%s,"programs":%s,"values":%s}'):format(self.recent.time_s,
    next_s, json.line(series), json.line(programs), numbers(self.recent.last))
end

--- The values of a series in its program's log from before a time: the program may have run for longer than the page.
---@return number[] times_s
---@return number[] values
local function logged(s, since_s, before_s)
  local pid, event = s.labels:match 'pid="(%d+)"', s.labels:match 'event="([^"\\]*)"'
  local section = s.labels:match 'section="([^"\\]*)"'
  local statistic = s.name:match "^pmlua_section_seconds_(%l+)$"
  if section then event = statistic and ("section:%s:%s"):format(section, statistic) end
  local log = pid and event and not s.labels:find "quantile=" and require "pmlua.internal.report.history".log_of(pid)
  local times, values = {}, {}
  for _, part in ipairs(log and core.log.history(log, event) or {}) do
    for i, t in ipairs(part.times_s) do
      if t >= since_s and t < before_s then times[#times + 1], values[#values + 1] = t, part.values[i] end
    end
  end
  return times, values
end

function Page:history(request)
  local wanted = {}
  for word in (parameter(request, "series") or ""):gmatch "%d+" do wanted[#wanted + 1] = math.tointeger(tonumber(word)) end
  if #wanted > 16 then return 400 end
  local since_s = tonumber(parameter(request, "since")) or 0
  local columns, out = self.recent:history(wanted, since_s), {}
  local series = #wanted == 1 and self.recent.series[wanted[1]]
  if series then
    for k, older in ipairs { logged(series, since_s, columns[1][1] or math.huge) } do
      columns[k] = table.move(columns[k], 1, #columns[k], #older + 1, older)
    end
  end
  for i, column in ipairs(columns) do out[i] = numbers(column) end
  return 200, JSON, "[" .. table.concat(out, ",") .. "]"
end

local function object(body)
  local value = json.decode(body)
  return type(value) == "table" and value or {}
end

--- Send code to a program, or a line to complete.
function Page:ask(request, kind)
  local question = object(request.body)
  local pid = math.tointeger(question.pid)
  if not pid or type(question.text) ~= "string" then return 400 end
  return self.sessions:ask("prompt", pid, kind, question.text, function(ok, text)
    return 200, JSON, json.line { ok = ok, text = text }
  end)
end

--- The call tree of a program, its rules made here, or a change of these.
function Page:session(request)
  local function reply(answer) return 200, JSON, json.line(answer) end
  if request.method == "POST" then
    if request.path == "/tree" then return 405 end
    return self.sessions:change_rule(object(request.body), reply) or 400
  end
  local pid = math.tointeger(tonumber(parameter(request, "pid")))
  if not pid then return 400 end
  return self.sessions[request.path == "/tree" and "tree" or "list_rules"](self.sessions, pid, reply)
end

--- Answer a request; nil: it is not for the page.
---@param request table
---@return integer|function|nil status
function Page:handle(request)
  local asset = assets[request.path]
  if asset then
    request.policy = POLICY
    return request.method == "POST" and 405 or 200, asset.type or HTML, asset.text
  end
  if request.path == "/data" then return self:data(request) end
  if request.path == "/history" then return self:history(request) end
  if request.path == "/rules" or request.path == "/tree" then return self:session(request) end
  local kind = ({ ["/ask"] = "eval", ["/complete"] = "complete" })[request.path]
  if kind then
    if request.method ~= "POST" then return 405 end
    return self:ask(request, kind)
  end
end

return M
