-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/prompt_spec.lua - the prompt of pmlua -i in a terminal: Ctrl-C, editing, history, completion, values.

local support = require "spec.core.support"

local it = it
local json = require "pmlua.json"
local has_readline = support.core.sys.edit()

--- Type into `pmlua ARGUMENTS` in a terminal: its output, its status, and the folder used as HOME.
local function typed(steps, arguments, home)
  home = home or support.folder()
  local line = "unset XDG_STATE_HOME; HOME=%s TERM=xterm python3 %s/spec/terminal.py 80 %s -- %s/pmlua %s"
  local code, out, err = support.shell(line:format(home, support.root, support.quote(json.line(steps)), support.build,
    arguments or "-i"))
  assert.is_true(code ~= 99, out .. err)
  return out, code, home
end

local CTRL_C, CTRL_D = "\3", "\4"

describe("The prompt in a terminal", function()
  it("discards typed input on Ctrl-C, also several lines, at any number of presses", function()
    if not has_readline then return pending "libreadline is not installed" end
    local steps = { { "expect", "> " } }
    local function say(what, text) steps[#steps + 1] = { what, text } end
    for _ = 1, 4 do
      say("send", "x = 1 garbage") say("expect", "garbage") say("send", CTRL_C) say("expect", "> ")
    end
    say("send", "for i = 1, 3 do\n") say("expect", ">> ") say("send", CTRL_C) say("expect", "\n> ")
    say("send", "40 + 2\n") say("expect", "\r42") say("expect", "> ")
    say("send", "print(7 * 11) while true do end\n") say("expect", "77") say("send", CTRL_C)
    say("expect", "pmlua: interrupted")
    say("expect", "> ") say("send", "x == nil\n") say("expect", "true") say("expect", "> ") say("send", CTRL_D)
    local _, code = typed(steps)
    assert.equal(0, code)
  end)

  it("explains how to get line editing without readline, and also clears the line there", function()
    local out, code = typed({ { "expect", "> " }, { "wait", "0.5" }, { "send", "x = 1 garbage" }, { "expect", "garbage" },
      { "wait", "0.5" }, { "send", CTRL_C }, { "expect", "\n> " }, { "send", "40 + 2\n" }, { "expect", "42" },
      { "expect", "> " }, { "send", CTRL_D } },
      [[-e 'require "pmlua.core".sys.edit = function() return false end' -i]])
    assert.equal(0, code)
    assert.matches("no line editing, history or completion; install libreadline", out)
  end)

  it("keeps its history for the user alone, and completes members and events", function()
    if not has_readline then return pending "libreadline is not installed" end
    local _, code, home = typed { { "expect", "> " }, { "send", "pml.clo\t.n\t() > 0\n" }, { "expect", "true" },
      { "expect", "> " }, { "send", "pml.eventset { 'task-clo\t" }, { "expect", "task-clock" }, { "send", CTRL_C },
      { "expect", "> " }, { "send", CTRL_D } }
    assert.equal(0, code)
    local path = home .. "/.local/state/pmlua/history"
    assert.equal("pml.clock.ns() > 0\n", support.slurp(path))
    assert.equal("600\n", select(2, support.shell("stat -c %a " .. path)))
    assert.equal("700\n", select(2, support.shell("stat -c %a " .. home .. "/.local/state/pmlua")))
    -- Another session reads the history and appends its own lines.
    typed({ { "expect", "> " }, { "send", "\27[A\n" }, { "expect", "true" }, { "expect", "> " }, { "send", "6 * 7\n" },
      { "expect", "\r42" }, { "expect", "> " }, { "send", "6 * 7\n" }, { "expect", "\r42" }, { "expect", "> " },
      { "send", CTRL_D } }, "-i", home)
    assert.equal("pml.clock.ns() > 0\npml.clock.ns() > 0\n6 * 7\n", support.slurp(path))
  end)
end)

describe("A value at the prompt", function()
  local show = require "pmlua.internal.prompt.show"

  it("is shown with its contents, bounded in depth and width", function()
    assert.equal("text", show "text")
    assert.equal('{ 1, "two", { a = 1.5 }, [true] = nil', (show { 1, "two", { a = 1.5 }, [true] = false }:gsub("false }", "nil")))
    assert.equal("{}", show {})
    local ring = {}
    ring[1] = ring
    assert.equal("{ (the table around it) }", show(ring))
    local long = {}
    for i = 1, 1000 do long[i] = i end
    assert.matches("%.%.%. 936 more", show(long))
    assert.equal("{ { { { { {...} } } } } }", show { { { { { { 1 } } } } } })
    assert.equal('{ "a\\n\\27b" }', show { "a\n\27b" })
    assert.equal("named", show(setmetatable({ 1 }, { __tostring = function() return "named" end })))
  end)
end)

describe("Completion", function()
  local complete = require "pmlua.internal.prompt.complete"

  it("is of members, without calling anything, of keywords, and of events inside of strings", function()
    assert.same({ "string.rep", "string.reverse" }, complete "x = string.re")
    assert.same({ "function" }, complete "func")
    _G.spec_trap = setmetatable({}, { __index = function() error "called" end })
    finally(function() _G.spec_trap = nil end)
    assert.same({}, complete "spec_trap.x.y")
    assert.same({ "page-faults" }, complete "pml.eventset { 'page-f")
    assert.same({}, complete "x -- 'page-f")
    _G.pml = require "pmlua"
    assert.same({}, complete "pml.there_is_no_such_thing.x")
    local found = table.concat(complete "pml.", " ")
    for _, name in ipairs { "pml.clock", "pml.experiment", "pml.eventset" } do assert.is_truthy(found:find(name, 1, true)) end
  end)
end)
