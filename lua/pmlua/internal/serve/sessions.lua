-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/sessions.lua - the page's sessions in running programs: its prompt, its watch rules, its call trees.
--
-- Try:  pmlua serve --page
--
-- A session is a connection, as pmlua attach opens one. Its variables, rules and profile end with the connection. Therefore
-- a session of rules stays open as long as the program runs, and a session of a call tree closes if no page asked for some
-- seconds, because a profile costs the program some instructions for each call. Only one question at a time is in a
-- session; later ones wait.

local core = require "pmlua.core"
local directory = require "pmlua.internal.live.directory"
local json = require "pmlua.json"

local M = {}

local PATIENCE <const> = 12 -- seconds for an answer; the service itself stops code after 5, and another question may be before
local TREE_S <const>, PATHS <const> = 10, 1000
local TEXT <const>, OUTPUT <const> = 32768, 20 -- bytes of a rule; lines of what rules printed

local function now_s() return core.clock.ns() / 1e9 end

---@class pmlua.PageSessions
local Sessions = {}
Sessions.__index = Sessions

function M.new() return setmetatable({ open = {}, rules = {}, last_rule = 0 }, Sessions) end

local function close(self, key)
  local session = self.open[key]
  if session then session.link:close() end
  self.open[key] = nil
end

function Sessions:close()
  for key in pairs(self.open) do close(self, key) end
end

--- The session for a purpose in a program, opened if needed.
local function session_of(self, purpose, pid)
  local key = purpose .. " " .. pid
  if self.open[key] then return self.open[key] end
  local app, err = directory.find(("%d"):format(pid))
  local link = app
  if app then link, err = directory.connect(app) end
  if not link then return nil, core.failure.sentence(err) end
  self.open[key] = { link = link, key = key, pid = pid }
  return self.open[key]
end

local function send(session, kind, text)
  local sent, refused = session.link.link:send(kind, text, 1)
  session.busy, session.asked_s = sent ~= nil, now_s()
  return sent, refused
end

--- Ask a question as soon as the session is free, and take its answer when it has come.
---@param purpose string
---@param pid integer
---@param kind string eval or complete
---@param text string
---@param take fun(ok: boolean, text: string): integer, string?, string? status, content type and body
---@return fun() look as pmlua.internal.serve.http takes it
function Sessions:ask(purpose, pid, kind, text, take)
  local session, ends_s = nil, now_s() + PATIENCE
  local function fail(why)
    if session then close(self, session.key) end
    return take(false, core.failure.sentence(why))
  end
  local function look()
    if not session then
      local found, why = session_of(self, purpose, pid)
      if not found then return take(false, why) end
      if found.busy then return now_s() < ends_s and look or take(false, "the program still answers another question") end
      session = found
      local sent, refused = send(session, kind, text)
      if not sent then return fail(refused) end
    end
    if self.open[session.key] ~= session then return take(false, "the program ended or closed the connection") end
    if not session.link.link:ready() and now_s() < ends_s then return look end
    local answer, failure, code = session.link.link:receive(0.5)
    session.busy = false
    if not answer and code ~= "EREMOTEIO" then return fail(failure) end
    return take(answer ~= nil, answer or core.failure.sentence(failure))
  end
  return look
end

--- Close the sessions of programs that have ended, and of call trees that nobody looks at.
---@param programs { app: pmlua.Application }[]
function Sessions:refresh(programs)
  local runs = {}
  for _, program in ipairs(programs) do runs[program.app.pid] = true end
  for key, session in pairs(self.open) do
    local unseen = key:find "^tree " and now_s() - session.asked_s > TREE_S
    if unseen or not runs[session.pid] then close(self, key) end
  end
  for pid in pairs(self.rules) do
    if not runs[pid] then self.rules[pid] = nil end
  end
end

-- --- the call tree ---

local TREE_CODE <const> = ([[
page_profile = page_profile or assert(pml.profile.open())
local nodes = assert(page_profile:nodes())
for i = 1, math.min(#nodes, %d) do
  local n = nodes[i]
  print(("%%d %%d %%d %%.0f %%.0f %%s"):format(n.depth, n.count, n.running, n.inclusive_ns, n.exclusive_ns,
    n.name:gsub("%%c", " ")))
end
print(#nodes)]]):format(PATHS)

--- The nodes of a call tree, each with depth, calls, running calls, inclusive and exclusive seconds and name.
local function nodes_of(text)
  local nodes = json.array()
  for depth, count, running, inclusive, exclusive, name in text:gmatch "(%d+) (%d+) (%d+) (%d+) (%d+) ([^\n]*)" do
    nodes[#nodes + 1] = { depth = tonumber(depth), count = tonumber(count), running = tonumber(running),
      inclusive_s = tonumber(inclusive) / 1e9, exclusive_s = tonumber(exclusive) / 1e9, name = name }
  end
  return nodes
end

--- The calls since the tree was first asked for; parents before children.
function Sessions:tree(pid, reply)
  return self:ask("tree", pid, "eval", TREE_CODE, function(ok, text)
    if not ok then return reply { ok = false, text = text } end
    return reply { ok = true, nodes = nodes_of(text), paths = tonumber(text:match "(%d+)%s*$") }
  end)
end

-- --- watch rules ---

-- Only a rule that could be made takes the place of its former text.
local RULE_CODE <const> = [[
local f, wrong = load(%q, %q)
if not f then error(wrong, 0) end
local made = pml.sde.watch(%q, %q, f(), { name = %q })
page_rules = page_rules or {}
if page_rules[%d] then page_rules[%d]:cancel() end
page_rules[%d] = made]]

local CANCEL_CODE <const> = "if page_rules and page_rules[%d] then page_rules[%d]:cancel() page_rules[%d] = nil end"

-- A zero byte separates the output of the rules from their state.
local LIST_CODE <const> = [[
print "\0"
for id, r in pairs(page_rules or {}) do
  print(("%d %d %s\t%s"):format(id, r:fired(), r:last() or "-", (r:error() or ""):gsub("%c", " ")))
end]]

local function rules_of(self, pid)
  self.rules[pid] = self.rules[pid] or { output = json.array() }
  return self.rules[pid]
end

local function place_of(rules, id)
  for i, rule in ipairs(rules) do
    if rule.id == id then return i end
  end
end

local function code_of(r, id)
  local name = r.name ~= "" and r.name or "rule"
  local f = "return function(value, series) " .. r.code .. "\nend"
  return RULE_CODE:format(f, "=" .. name, r.event, r.every, name, id, id, id)
end

--- Make a rule, give it another text, or remove it.
---@param r table pid, and name, event, every and code; id: of the rule that is changed; remove: it ends
---@param reply fun(answer: table): integer, string, string
---@return function? look nil: fields are missing
function Sessions:change_rule(r, reply)
  local pid, id = math.tointeger(r.pid), math.tointeger(r.id)
  if not pid or not r.remove and not (type(r.name) == "string" and type(r.event) == "string" and type(r.every) == "string"
    and type(r.code) == "string" and #r.code <= TEXT) then return nil end
  local rules = rules_of(self, pid)
  if not id then self.last_rule, id = self.last_rule + 1, self.last_rule + 1 end
  local code = r.remove and CANCEL_CODE:format(id, id, id) or code_of(r, id)
  return self:ask("rules", pid, "eval", code, function(ok, text)
    local i = place_of(rules, id)
    if ok and r.remove then
      if i then table.remove(rules, i) end
    elseif ok then rules[i or #rules + 1] = { id = id, name = r.name, event = r.event, every = r.every, code = r.code } end
    return reply { ok = ok, text = text }
  end)
end

--- Keep the last lines that rules printed.
local function keep_output(rules, text)
  for line in text:gmatch "[^\n]+" do rules.output[#rules.output + 1] = line end
  while #rules.output > OUTPUT do table.remove(rules.output, 1) end
end

--- The rules that the page made in a program.
function Sessions:list_rules(pid, reply)
  local rules = rules_of(self, pid)
  if #rules == 0 then return reply { ok = true, rules = json.array(), output = rules.output } end
  return self:ask("rules", pid, "eval", LIST_CODE, function(ok, text)
    if not ok then return reply { ok = false, text = text } end
    local printed, states = text:match "^(.-)%z\n?(.*)$"
    keep_output(rules, printed or "")
    local list, known = json.array(), {}
    for id, fired, last, err in (states or ""):gmatch "(%d+) (%d+) ([^\t\n]*)\t([^\n]*)" do
      known[tonumber(id)] = { fired = tonumber(fired), last = last, error = err ~= "" and err or nil }
    end
    for i, rule in ipairs(rules) do
      local state = known[rule.id] or { error = "its session has ended; save it again" }
      list[i] = { id = rule.id, name = rule.name, event = rule.event, every = rule.every, code = rule.code,
        fired = state.fired, last = state.last, error = state.error }
    end
    return reply { ok = true, rules = list, output = rules.output }
  end)
end

return M
