-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/scrape.lua - the events, sections and rules of running programs, read together.
--
-- Try:  local all = require("pmlua.internal.serve.scrape").new {}
--       print(all:read():text "openmetrics")
--
-- Each question is sent to all programs at the same time and has one deadline. A program without a reply has
-- pmlua_program_up 0 and gets no question for some seconds, so that it delays no other reading. A connection stays open,
-- because a new one costs the program a thread.

local core = require "pmlua.core"
local json = require "pmlua.json"
local directory = require "pmlua.internal.live.directory"
local host = require "pmlua.internal.serve.host"
local openmetrics = require "pmlua.internal.serve.openmetrics"
local own_plugins = require "pmlua.internal.own_plugins"
local reading = require "pmlua.internal.live.reading"

local M = {}

local PATIENCE <const>, AGAIN <const> = 0.9, 5 -- seconds
local SECTIONS_S <const>, SECTIONS_SHARE <const> = 1, 50 -- the most between two copies, and how many times as long as one takes

local function now_s() return core.clock.ns() / 1e9 end

---@class pmlua.Scrape
local Scrape = {}
Scrape.__index = Scrape

---@class pmlua.ScrapeOptions
---@field which? string[] pids and globs of names; nil: all programs that this user may ask
---@field patience? number
---@field patterns? string[] globs of events; nil: all
---@field complain? fun(sentence: string) gets a sentence on a program whose values cannot be read
---@field metrics? table<string, string[]> tokens of metrics of the host and of processes, by plugin

--- A reader of running programs.
---@param options pmlua.ScrapeOptions
function M.new(options)
  return setmetatable({ which = options.which, patience = options.patience or PATIENCE, programs = {},
    complain = options.complain, metrics = options.metrics or {}, patterns = options.patterns }, Scrape)
end

function Scrape:close()
  for _, program in pairs(self.programs) do
    if program.link then program.link:close() end
  end
  if self.folder then require "pmlua.internal.temporary".remove(self.folder) end
  self.programs, self.folder = {}, nil
end

Scrape.__close = Scrape.close

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

--- The text of a file of a process; "" if it cannot be read.
local function text_of(path)
  local f <close> = io.open(path, "rb")
  return f and f:read "a" or ""
end

--- A process that a signal stopped does not reply, so nobody waits for it.
local function is_stopped(pid) return text_of(("/proc/%d/stat"):format(pid)):find "^.*%) [Tt]" ~= nil end

local function connect(program)
  program.stopped = is_stopped(program.app.pid)
  if program.stopped then return false end
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
---@param refused? fun(program: table, why: pmlua.Failure) the program answered with an error
local function ask(programs, kind, payload_of, patience, take, refused)
  local asked, ends_s = {}, now_s() + patience
  local function left() return math.max(0, ends_s - now_s()) end
  for _, program in ipairs(programs) do
    if connect(program) then
      program.link.link:send(kind, payload_of(program), 0)
      asked[#asked + 1] = program
    end
  end
  for _, program in ipairs(asked) do
    local text, why, code = program.link:receive(kind, left, payload_of(program))
    if text then take(program, text)
    elseif code ~= "EREMOTEIO" then fail(program, code)
    elseif refused then refused(program, why) end
  end
end

local function nothing() return "" end

--- The report of the sections in a log that a program sent; nil without sections. It is valid until the next call.
local function report_of(self, bytes)
  self.folder = self.folder or require "pmlua.internal.temporary".folder "serve"
  local job_summary = self.folder and require "pmlua.internal.report.job_summary".of(bytes, "program", self.folder)
  return job_summary and require "pmlua.report".build(job_summary, "label") or nil
end

--- When a process began, in seconds of the epoch, the same in each reading: the kernel counts 100 ticks a second since its boot.
local function start_of(pid)
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

local function add_program(self, families, program)
  local info, own, since_s = program.info, identity(program)
  families:own("program_up", "gauge", "1 if the program answered in time", own, program.up and 1 or 0)
  if not program.up then return end
  local show = require "pmlua.sections".show
  families:info { own[1], own[2], own[3], own[4], "command", show(info.command), "version", info.version }
  if since_s then
    info.up_s = core.clock.realtime_ns() / 1e9 - since_s
    families:own("program_uptime_seconds", "gauge", "since the program began", own, info.up_s)
  end
  program.process = program.process or host.new("process", self.metrics.process, program.app.pid)
  if program.process then program.process:add(families, own) end
  families:own("events_without_value", "gauge", "events that could not be read, or are not registered yet", own,
    program.reading.missing)
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

--- A program whose values cannot be read, because its pmlua is of another version.
local function refuse_values(self, program, why)
  fail(program, "ETIMEDOUT")
  if program.refused or not self.complain then return end
  program.refused = true
  self.complain(("%s (%d): %s; start the program with this version of pmlua"):format(program.app.name, program.app.pid,
    core.failure.sentence(why)))
end

local function take_values(self, program, bytes)
  local answer, why = program.reading:take(bytes)
  if not answer then return refuse_values(self, program, why) end
  program.up = true
  if answer.text == program.text then return end
  local more, rules = json.decode(answer.text), {}
  more = type(more) == "table" and more or {}
  for i, rule in ipairs(type(more.rules) == "table" and more.rules or {}) do
    rules[i] = type(rule) == "table" and rule or {}
  end
  program.text, program.more = answer.text, more
  local command = text_of(("/proc/%d/cmdline"):format(program.app.pid)):gsub("%z$", ""):gsub("%z", " ")
  program.info = { command = command, version = tostring(more.version), rules = rules }
end

local ranks = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "SLURM_PROCID" }

--- The rank of a program, which its environment has (core/base/pml_launched.c).
---@param program table
---@return integer?
function Scrape.rank_of(program)
  local environment = "\0" .. text_of(("/proc/%d/environ"):format(program.app.pid))
  for _, name in ipairs(ranks) do
    local rank = math.tointeger(tonumber(environment:match("%z" .. name .. "=(%d+)%z")))
    if rank then return rank end
  end
end

--- Ask all programs to stop their runs, or to run a line of Lua as pmlua attach does.
---@param kind "stop"|"eval"
---@param text string the reason, or the line
---@param patience number
---@param take fun(program: table, ok: boolean, text: string)
function Scrape:act(kind, text, patience, take)
  local programs, left = self:list(), {}
  for _, program in ipairs(programs) do left[program] = true end
  ask(programs, kind, function() return text end, patience,
    function(program, reply) left[program] = take(program, true, reply) end,
    function(program, why) left[program] = take(program, false, core.failure.sentence(why)) end)
  for _, program in ipairs(programs) do
    if left[program] then take(program, false, "no reply") end
  end
end

--- Read the values of all programs once.
---@return table[]? programs each with app, up, and, if it is up, info and reading
---@return table[]|pmlua.Failure up those that are up; or the failure
function Scrape:values()
  local programs, err = refresh(self)
  if not programs then return nil, err end
  local up = {}
  for _, program in ipairs(programs) do
    program.up = false
    if not program.link then program.reading, program.text = reading.new(self.patterns), nil end
  end
  local function question(program) return program.reading:question() end
  ask(programs, "values", question, self.patience, function(program, bytes) take_values(self, program, bytes) end,
    function(program, why) refuse_values(self, program, why) end)
  for _, program in ipairs(programs) do up[#up + 1] = program.up and program or nil end
  return programs, up
end

--- Make an event the row of program number i: its values become places, and the event itself is the place of the first.
local function row_of(i, event)
  event.program, event.value = i, event
  openmetrics.place(event)
  if event.kind ~= "recorder" then return event end
  event.recorder = { count = event }
  for k, name in ipairs { "dropped", "nans", "min", "q1", "median", "q3", "max" } do
    event.recorder[name] = openmetrics.place { program = i, word = event.word + k }
  end
  return event
end

--- The families of the programs' events, made again when the programs or their events changed.
local function families_of_events(self, programs)
  local words = {}
  for i, program in ipairs(programs) do
    words[i] = program.up and ("%s %d"):format(program.app.path, program.reading.known) or ""
  end
  local key = table.concat(words, "\n")
  if key ~= self.key then
    self.key, self.families = key, openmetrics.new()
    for i, program in ipairs(programs) do
      local own, since_s = identity(program)
      for _, event in ipairs(program.up and program.reading.events or {}) do
        if event.kind ~= "placeholder" then self.families:event(own, row_of(i, event), since_s) end
      end
    end
  end
  for i, program in ipairs(programs) do self.families.answers[i] = program.up and program.reading.bytes or false end
  local fallen = self.families:fallen()
  for _, row in ipairs(fallen) do row.falls = true end
  if #fallen == 0 then return self.families end
  self.key = nil
  return families_of_events(self, programs)
end

--- The families of sections, which extend the families of events. A copy of the sections costs a program some 50 us for each
--- section. Therefore copies take at most a 50th of the time, unless that makes the values older than a second.
local function families_of_sections(self, events, up)
  local last = self.sections
  if last and last.others == events and now_s() < self.sections_due_s then return last end
  local families, with_sections, began_s = openmetrics.new(events), {}, now_s()
  for _, program in ipairs(up) do
    with_sections[#with_sections + 1] = program.more.sections ~= 0 and program or nil
  end
  ask(with_sections, "sections", nothing, self.patience, function(program, bytes)
    local report, own, since_s = report_of(self, bytes), identity(program)
    if report then families:sections(own, report, since_s) end
  end)
  local took_s = now_s() - began_s
  self.sections, self.sections_due_s = families, began_s + math.min(SECTIONS_S, SECTIONS_SHARE * took_s)
  return families
end

--- Read all programs once.
---@return pmlua.Families? families, pmlua.Failure? failure
function Scrape:read()
  local began_s, programs, up = now_s(), self:values()
  if not programs then return nil, up end
  local families = openmetrics.new(families_of_sections(self, families_of_events(self, programs), up))
  for _, program in ipairs(programs) do add_program(self, families, program) end
  self.host = self.host or assert(host.new("host", self.metrics.host))
  self.host:add(families, {})
  families:own("scrape_seconds", "gauge", "time to read all programs", {}, now_s() - began_s)
  return families
end

return M
