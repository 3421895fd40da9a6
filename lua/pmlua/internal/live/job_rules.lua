-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/job_rules.lua - rules over all ranks of a running job: one process reads the ranks, decides, and acts.
--
-- Try:  pmlua query --job SOLVER --rules stop_nan.lua
--
-- A file of rules runs in the sandbox of pmlua attach, in the process that reads the ranks. `pml.job.watch` adds a rule: a
-- function that gets the values of an event by rank, and the job. The job's actions run in each rank, whose own output has each
-- decision. The first failure of a rule is reported; ten failures in a row cancel the rule.

local core = require "pmlua.core"
local refuse = core.failure.refuse
local sandbox = require "pmlua.internal.live.sandbox"

local M = {}

local SHORTEST_S <const>, STRIKES <const>, ACT_S <const> = 0.01, 10, 5
local RULE_S <const> = 1 -- time limit of one call of a rule
local derived = { CNT = 0, MIN = 3, Q1 = 4, MED = 5, Q3 = 6, MAX = 7 } -- words of a recorder, from its first

local function now_s() return core.clock.ns() / 1e9 end

---@class pmlua.JobRules
local Rules = {}
Rules.__index = Rules

--- The values of an event by rank, including NaN and infinities. A rank that does not reply, or that lacks the event, has none.
local function values_of(programs, event)
  local values = {}
  local recorder, which = event:match "^(.*):(%u%w*)$"
  for i, program in ipairs(programs) do
    local words = program.words
    local word = words[event] or derived[which] and words[recorder] and words[recorder] + derived[which]
    values[program.rank or i - 1] = word and core.metrics.value(program.reading.bytes, word)
  end
  return values
end

--- The words of a program's events by name, made again when the events changed.
local function index(program)
  if program.indexed == program.reading.events then return end
  program.indexed, program.words = program.reading.events, {}
  for _, event in ipairs(program.indexed) do program.words[event.name] = event.word end
end

--- Act in all ranks, and report it, and each rank that failed.
local function act(self, rule, what, kind, payload)
  local n, failed = 0, {}
  self.scrape:act(kind, payload, math.max(ACT_S, self.scrape.patience), function(program, ok, text)
    if ok or not require "lfs".attributes("/proc/" .. program.app.pid, "mode") then n = n + 1
    else failed[#failed + 1] = ("rank %s: %s"):format(program.rank or "of pid " .. program.app.pid, text) end
  end)
  self.say(("rule %s: %s in %d ranks"):format(rule.name, what, n))
  for _, line in ipairs(failed) do self.say(("rule %s: %s: %s"):format(rule.name, what, line)) end
  return n
end

--- The job as a rule sees it.
local function job_of(self, rule, programs, time_s)
  local job = { time_s = time_s, ranks = #programs, silent = self.silent }
  function job.stop(_, reason)
    reason = tostring(reason or "a rule of the job"):gsub("%c", " "):sub(1, 400)
    self.stopped = true
    return act(self, rule, "stopped the run (" .. reason .. ")", "stop", reason)
  end
  function job.call(_, name, ...)
    local words = { ("%q"):format(tostring(name)) }
    for i, v in ipairs { ... } do words[i + 1] = ("%q"):format(assert(tonumber(v), "job:call passes numbers")) end
    return act(self, rule, "called " .. tostring(name), "eval", ("assert(pml.live.call(%s))"):format(table.concat(words, ", ")))
  end
  job.stop, job.call = sandbox.host(job.stop), sandbox.host(job.call)
  return job
end

--- Add a rule; raises for wrong arguments.
local function watch(self, event, every, f, options)
  local wrong = require "pmlua.internal.live.rules".wrong(event, every, f, options)
  if wrong then error(wrong, 0) end
  local period_s = require "pmlua.plugin".seconds(type(every) == "string" and every:gsub("^([%d.]+)$", "%1s") or every)
  if not period_s or period_s < SHORTEST_S then error("every must be a time from 10ms on", 0) end
  local info = debug.getinfo(f, "S")
  self.rules[#self.rules + 1] = { event = (event:gsub("^sde:::", "")), every_s = period_s, f = f, strikes = 0, due_s = 0,
    name = options and options.name or ("%s:%d"):format(info.short_src, info.linedefined) }
end

--- Load a file of rules.
---@param path string
---@param scrape pmlua.Scrape of the job's ranks
---@param say fun(line: string)
---@return pmlua.JobRules? rules
---@return pmlua.Failure|string? failure
function M.load(path, scrape, say)
  local self = setmetatable({ rules = {}, scrape = scrape, say = say }, Rules)
  local env = sandbox.new(say, { job = { watch = sandbox.host(function(...) watch(self, ...) end) } })
  self.env = env
  local f, err = loadfile(path, "t", env)
  if not f then return nil, err end
  sandbox.enter(env, RULE_S)
  local good, why = pcall(f)
  sandbox.leave()
  if not good then return nil, tostring(why) end
  if #self.rules == 0 then return refuse("EINVAL", path .. " has no rule", "add one with pml.job.watch") end
  return self
end

local function failed(self, rule, message)
  message = tostring(message):gsub("%s*\n.*", "")
  rule.strikes = rule.strikes + 1
  if message ~= rule.message then self.say(("rule %s: %s"):format(rule.name, message)) end
  rule.message = message
  if rule.strikes < STRIKES then return end
  self.say(("rule %s: cancelled: it failed %d times in a row"):format(rule.name, STRIKES))
  rule.cancelled = true
end

local function run(self, rule, programs, time_s)
  local values = values_of(programs, rule.event)
  if next(values) == nil then return end
  rule.ran = true
  sandbox.enter(self.env, RULE_S)
  local good, result = pcall(rule.f, values, job_of(self, rule, programs, time_s))
  sandbox.leave()
  if not good then return failed(self, rule, result) end
  rule.strikes = 0
  if result == false then rule.cancelled = true end
end

--- Run the rules that are due, once.
---@return number? seconds until the next is due; nil: no rule is left, or the job was stopped or has ended
---@return string? why
function Rules:tick()
  local time_s, soonest_s = now_s(), math.huge
  local programs, up = self.scrape:values()
  if not programs then return nil, core.failure.sentence(up) end
  if #programs == 0 then return nil, self.seen and "the job has ended" or "no rank replies" end
  self.silent = {}
  for i, program in ipairs(programs) do
    program.rank = program.rank or self.scrape.rank_of(program)
    if not program.up then self.silent[#self.silent + 1] = program.rank or i - 1 end
  end
  self.seen = self.seen or #up > 0
  for _, program in ipairs(up) do index(program) end
  for _, rule in ipairs(self.rules) do
    if not rule.cancelled and not self.stopped and time_s >= rule.due_s then
      rule.due_s = time_s + rule.every_s
      run(self, rule, up, time_s)
    end
    if not rule.cancelled then soonest_s = math.min(soonest_s, rule.due_s) end
  end
  if self.stopped then return nil, "stopped" end
  if soonest_s == math.huge then return nil, "no rule is left" end
  return math.max(0, soonest_s - now_s())
end

--- The events of rules that never ran.
---@return string[]
function Rules:unused()
  local lines = {}
  for _, rule in ipairs(self.rules) do
    if not rule.ran then lines[#lines + 1] = ("rule %s never ran: no rank has the event %s"):format(rule.name, rule.event) end
  end
  return lines
end

return M
