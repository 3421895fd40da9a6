-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua attach`: a prompt inside a running application.
--
--     pmlua attach SOLVER

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local directory = require "pmlua.internal.live.directory"

local M = {
  summary = "open a Lua prompt inside a running application",
  arguments = { { name = "PID|NAME", key = "which", kind = "application", one = "application",
    missing = "name the application, by its PID or NAME" } },
  about = [[
The prompt runs in its own Lua state inside the application, on its own thread, without files, processes or modules, and
with limits on instructions, memory and time. It can read and write events, watch them, and call the functions that the
application offers, and nothing else. Globals and watch rules last as long as the session.

  pml.sde.list()                         lists the events
  pml.sde.find "LIB::EVENT" :read()      its value; :write(v) if it is writable; :info()
  pml.sde.find "LIB::RECORDER" :open()   :values(first, n), :quantile(percent), :count()
  pml.sde.watch(name, seconds, function(value) ... end)
  pml.profile.open()                     records the program's calls from now on, by call path: :nodes(), :close()
  pml.live.functions(), pml.live.call(name, numbers...), pml.live.stop_run(reason), pml.live.info()

On a terminal, Tab completes event names, globals and methods. Commands may be piped in, also a file of rules for pmlua live,
which may begin with require "pmlua": its rules end when the input ends.]],
  options = { common.with("patience", { default = "10s" }), common.with("quiet", { help = "print no greeting" }) },
  examples = { "pmlua attach SOLVER", [[echo 'pml.sde.find "SOLVER::tolerance":write(1e-6)' | pmlua attach SOLVER]],
    "(cat rule.lua; sleep 60) | pmlua attach SOLVER" },
}

local complain = require "pmlua.internal.cli.complain" "attach"
local try = require "pmlua.internal.try"

local Session = {}
Session.__index = Session

function Session:connect()
  local link, err = directory.connect(self.app)
  self.link = link
  return link ~= nil, err
end

--- Send code and print what it gives. false: the application is gone.
function Session:evaluate(code)
  if not self.link then return false end
  core.sys.on_interrupt()
  local text, err, kind = directory.ask(self.app, self.link, "eval", code, self.patience)
  core.sys.at_prompt ""
  if text then
    if text ~= "" then print(require "pmlua.internal.printable".lines(text)) end
    return true
  end
  self.failed = true
  if kind == "EINTR" then
    complain "interrupted: the application may still be busy; its answer will not be shown"
    return true
  end
  complain(err)
  if kind == "ECONNRESET" then return false end
  return kind == "EREMOTEIO" or kind == "EMSGSIZE" or self:reconnect()
end

--- An answer that was not waited for would come in place of the next.
function Session:reconnect()
  if self.link then self.link:close() end
  self.failed = true
  local ok, err = self:connect()
  complain(ok and "a new session begins; variables and functions of the last one are gone" or err)
  return ok
end

function Session:complete(left)
  if not self.link then return {} end
  local text, _, kind = self.link:ask("complete", left, 1)
  if not text and kind ~= "EREMOTEIO" and kind ~= "EMSGSIZE" then self:reconnect() end
  local words, start = {}, left:match("[^%s'\"()=,{}%[%]+*/<>~^#%%;]*$")
  for word in (text or ""):gmatch("[^\n]+") do
    -- Readline replaces its idea of the word; the rest of a candidate must agree with the text before it.
    if word:sub(1, #start) == start then words[#words + 1] = word end
  end
  return words
end

local function greet(app, info)
  io.stderr:write(("inside %s (%d): %s\n"):format(app.name, app.pid, require "pmlua.internal.printable"(info.command)),
    "watch rules made here end with the session; end with Ctrl-D\n")
end

---@return integer status
function M.run(o)
  local session = setmetatable({ app = try(directory.find(o.which)), patience = o.patience }, Session)
  try(session:connect())
  local info = try(directory.information(session.app, session.link, o.patience))
  if not o.quiet then greet(session.app, info) end
  local interactive = core.sys.isatty(0)
  require "pmlua.internal.prompt.repl".loop(interactive and session.app.name or nil,
    function(code) return session:evaluate(code) end, function(left) return session:complete(left) end)
  if interactive then print() end
  if session.link then session.link:close() end
  return not interactive and session.failed and 1 or 0
end

return M
