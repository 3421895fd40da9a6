-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/scrape.lua - the events, sections and rules of running programs, read together.
--
-- Try:  local all = require("pmlua.internal.serve.scrape").new {}
--       print(all:read():text "openmetrics")
--
-- Each question is sent to all programs at the same time and has one deadline. A program without a reply has
-- pmlua_program_up 0 and gets no question for some seconds, so that it delays no other reading. A connection stays open,
-- because a new one costs the program a thread and a Lua state.

local core = require "pmlua.core"
local directory = require "pmlua.internal.live.directory"
local openmetrics = require "pmlua.internal.serve.openmetrics"
local own_plugins = require "pmlua.internal.own_plugins"
local view = require "pmlua.internal.live.view"

local M = {}

local PATIENCE <const>, AGAIN <const> = 0.9, 5 -- seconds

local function now_s() return core.clock.ns() / 1e9 end

---@class pmlua.Scrape
local Scrape = {}
Scrape.__index = Scrape

--- A reader of running programs.
---@param options { which: string[]?, patience: number?, patterns: string[]? } which: pids and globs of names; nil: all programs
---that this user may ask. patterns: globs of events; nil: all
function M.new(options)
  return setmetatable({ which = options.which, patience = options.patience or PATIENCE, programs = {},
    patterns = table.concat(options.patterns or { "*" }, "\n") }, Scrape)
end

function Scrape:close()
  for _, program in pairs(self.programs) do
    if program.link then program.link:close() end
  end
  if self.folder then require "pmlua.internal.temporary".remove(self.folder) end
  self.programs, self.folder = {}, nil
end

local function is_chosen(which, app)
  if not which or #which == 0 then return true end
  for _, word in ipairs(which) do
    if tonumber(word) == app.pid or app.name:find(own_plugins.pattern_of(word)) then return true end
  end
  return false
end

--- The programs to ask, each with its open connection.
local function refresh(self)
  local applications, err = directory.list()
  if not applications then return nil, err end
  local still = {}
  for _, app in ipairs(applications) do
    if is_chosen(self.which, app) then still[app.path] = self.programs[app.path] or { app = app, again_s = 0 } end
  end
  for path, program in pairs(self.programs) do
    if not still[path] and program.link then program.link:close() end
  end
  self.programs = still
  local list = {}
  for _, app in ipairs(applications) do list[#list + 1] = still[app.path] end
  return list
end

local function fail(program, code)
  if program.link then program.link:close() end
  program.link, program.up, program.info = nil, false, nil
  if code == "ETIMEDOUT" then program.again_s = now_s() + AGAIN end
end

local function connect(program)
  if program.link then return true end
  if now_s() < program.again_s then return false end
  local link, _, code = directory.connect(program.app)
  program.link = link
  if not link then fail(program, code) end
  return link ~= nil
end

--- Send a question to some programs, and use the replies that arrive in time.
---@param programs table[]
---@param kind string
---@param payload_of fun(program: table): string
---@param patience number seconds for all of them
---@param take fun(program: table, answer: string)
local function ask(programs, kind, payload_of, patience, take)
  local asked, ends_s = {}, now_s() + patience
  local function left() return math.max(0, ends_s - now_s()) end
  for _, program in ipairs(programs) do
    if connect(program) then
      program.link.link:send(kind, payload_of(program), 0)
      asked[#asked + 1] = program
    end
  end
  for _, program in ipairs(asked) do
    local text, _, code = program.link:receive(kind, left, payload_of(program))
    if text then take(program, text) elseif code ~= "EREMOTEIO" then fail(program, code) end
  end
end

local function nothing() return "" end

local function ask_about(programs, patience)
  local up = {}
  ask(programs, "info", nothing, patience, function(program, text)
    program.info = directory.decoded(program.app, "info", text)
    program.up = program.info ~= nil
    if program.up then up[#up + 1] = program end
  end)
  return up
end

--- Read the events of programs page by page. The answer has the place of the next page.
local function read_events(programs, patterns, patience)
  for _, program in ipairs(programs) do program.from = 0 end
  while #programs > 0 do
    local more = {}
    local function question(program) return ("<%d\n"):format(program.from) .. patterns end
    ask(programs, "read", question, patience, function(program, text)
      local answer = directory.decoded(program.app, "read", text)
      if not answer then return fail(program) end
      table.move(view.restore(answer).rows, 1, #answer.rows, #program.rows + 1, program.rows)
      local next_from = math.tointeger(answer.next)
      if next_from and next_from > program.from then program.from, more[#more + 1] = next_from, program end
    end)
    programs = more
  end
end

--- The report of the sections in a log that a program sent; nil without sections. It is valid until the next call.
local function report_of(self, bytes)
  self.folder = self.folder or require "pmlua.internal.temporary".folder "serve"
  local survey = self.folder and require "pmlua.internal.report.survey".of(bytes, "program", self.folder)
  return survey and require "pmlua.report".build(survey, "label") or nil
end

--- When a process began, in seconds of the epoch, the same in each reading: the kernel counts 100 ticks a second since its boot.
local function start_of(pid)
  local function text_of(path)
    local f <close> = io.open(path, "rb")
    return f and f:read "a" or ""
  end
  local boot = text_of("/proc/stat"):match "\nbtime (%d+)"
  local ticks = text_of(("/proc/%d/stat"):format(pid)):match("^.*%) %S+" .. (" %S+"):rep(18) .. " (%d+)")
  return boot and ticks and tonumber(boot) + tonumber(ticks) / 100 or nil
end

--- The labels of a program, and when it began.
local function identity(program)
  program.since_s = program.since_s or start_of(program.app.pid)
  return { "program", program.app.name, "pid", ("%d"):format(program.app.pid) }, program.since_s
end

local function add_rules(families, program_labels, rules)
  for _, rule in ipairs(rules) do
    local pairs_of = { table.unpack(program_labels) }
    table.move({ "rule", tostring(rule.name), "event", tostring(rule.event) }, 1, 4, #pairs_of + 1, pairs_of)
    families:own("rule_runs", "counter", "how often the function of a watch rule ran", pairs_of, tonumber(rule.fired) or 0)
    families:own("rule_failed", "gauge", "1 if the last error of a watch rule is set, or it was cancelled", pairs_of,
      rule.error and 1 or 0)
  end
end

local function add_program(families, program)
  local info, own, since_s = program.info, identity(program)
  families:own("program_up", "gauge", "1 if the program answered in time", own, program.up and 1 or 0)
  if not program.up then return end
  local show = require "pmlua.sections".show
  families:info { own[1], own[2], own[3], own[4], "command", show(info.command), "version", info.version }
  if info.up_s then families:own("program_uptime_seconds", "gauge", "since the program began", own, info.up_s) end
  local missing = 0
  for _, row in ipairs(program.rows) do
    if not families:event(own, row, since_s) then missing = missing + 1 end
  end
  families:own("events_without_value", "gauge", "events that could not be read, or are not registered yet", own, missing)
  add_rules(families, own, info.rules)
end

--- The programs of the last reading, by pid.
---@return table[]
function Scrape:list()
  local list = {}
  for _, program in pairs(self.programs) do list[#list + 1] = program end
  table.sort(list, function(a, b) return a.app.pid < b.app.pid end)
  return list
end

--- Read the events of all programs once.
---@return table[]? programs each with app, up, and, if it is up, info and rows
---@return table[]|pmlua.Failure up those that are up; or the failure
function Scrape:events()
  local programs, err = refresh(self)
  if not programs then return nil, err end
  for _, program in ipairs(programs) do program.rows, program.up = {}, false end
  local up = ask_about(programs, self.patience)
  read_events({ table.unpack(up) }, self.patterns, self.patience)
  return programs, up
end

--- Read all programs once.
---@return pmlua.Families? families, pmlua.Failure? failure
function Scrape:read()
  local began_s, families = now_s(), openmetrics.new()
  local programs, up = self:events()
  if not programs then return nil, up end
  ask(up, "sections", nothing, self.patience, function(program, bytes)
    local report, own, since_s = report_of(self, bytes), identity(program)
    if report then families:sections(own, report, since_s) end
  end)
  for _, program in ipairs(programs) do add_program(families, program) end
  families:own("scrape_seconds", "gauge", "what reading all programs took", {}, now_s() - began_s)
  return families
end

return M
