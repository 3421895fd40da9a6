-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/serve_page_spec.lua - the browser's page of pmlua serve with a real program, in Chromium.
--
-- Slow: starts Chromium.

local support = require "spec.core.support"
package.path = "spec/?.lua;" .. package.path
local chromium = require "chromium"
local json = require "pmlua.json"
local quote = support.quote

local command = support.build .. "/pmlua"

--- A program that counts up until a question sets its level to 0.
local PROGRAM <const> = [[
local pml = require "pmlua"
local lib = pml.sde.library "DEMO"
local steps, level = lib:counter "steps", lib:counter("level", { instant = true })
level:add(42)
assert(pml.live.start { name = "APP" })
for _ = 1, 3000 do
  pml.section.start "<i>solve</i>"
  steps:add(1)
  pml.sys.sleep(0.1)
  pml.section.stop "<i>solve</i>"
end]]

describe("The page of pmlua serve", function()
  local dir, browser, url, pids = support.folder(), nil, nil, {}

  local function start(line)
    local pipe = io.popen(("cd %s && XDG_RUNTIME_DIR=%s exec timeout 300 %s & echo $!"):format(quote(dir), quote(dir), line))
    pids[#pids + 1] = pipe:read "n"
    pipe:close()
  end

  --- Requests elsewhere, exceptions, and violations of the policy.
  local function mishaps()
    local list, origin = {}, url:match "^.-//[^/]*"
    for _, event in ipairs(browser.events) do
      local p = event.params
      local asked = event.method == "Network.requestWillBeSent" and p.request.url
      if asked and asked:find "^http" and asked:sub(1, #origin) ~= origin then list[#list + 1] = asked end
      if event.method == "Runtime.exceptionThrown" then list[#list + 1] = p.exceptionDetails.text end
      if event.method == "Log.entryAdded" then list[#list + 1] = p.entry.text end
    end
    return list
  end

  local function value_of(text)
    local rows = "[...document.querySelectorAll('#series tbody tr')]"
    return ("%s.find(r => r.cells[0].textContent == %q)?.cells[1].textContent"):format(rows, text)
  end

  setup(function()
    if not chromium.command() then return end
    support.spit(dir .. "/app.lua", PROGRAM)
    start(command .. " app.lua >app.out 2>&1")
    start(command .. " serve --page --export 127.0.0.1:0 --every 100ms >address 2>errors")
    support.eventually(function()
      url = support.exists(dir .. "/address") and support.slurp(dir .. "/address"):match "^(%S+)\n"
      return url
    end)
    browser = chromium.open()
  end)

  teardown(function()
    -- Programs first: those that were started after the browser have its pipe, and it ends when no process has it.
    for _, pid in ipairs(pids) do os.execute("kill " .. pid .. " 2>/dev/null") end
    if browser then browser:close() end
  end)

  local function it(name, f)
    require "busted".it(name, function()
      if not browser then return pending(select(2, chromium.command())) end
      browser:go "about:blank"
      browser:go(url)
      browser:await(value_of "DEMO::steps" .. " > 0")
      f()
      assert.same({}, mishaps())
      assert.equal("", support.slurp(dir .. "/errors"))
    end)
  end

  it("shows values as they change, and fits a phone", function()
    for _, width in ipairs { 360, 1400 } do
      browser:size(width, 800)
      local first = browser:eval(value_of "DEMO::steps")
      browser:await(("%s > %s"):format(value_of "DEMO::steps", first))
      assert.equal("42", browser:eval(value_of "DEMO::level"))
      assert.is_true(browser:eval "document.scrollingElement.scrollWidth - innerWidth" <= 0)
    end
  end)

  it("draws the series that are selected, and stops while it pauses", function()
    browser:eval [[[...document.querySelectorAll('#series tbody tr')].slice(0, 2).forEach(r => r.click())]]
    browser:await "document.querySelectorAll('#legend span').length == 2"
    browser:await "csvText().trim().split('\\n').length > 3"
    browser:click "#pause"
    browser:eval "new Promise(done => setTimeout(done, 500))"
    local shown = browser:eval "csvText()"
    browser:eval "new Promise(done => setTimeout(done, 500))"
    assert.equal(shown, browser:eval "csvText()")
    assert.matches('^time_s,"sde_DEMO_', shown)
  end)

  it("has the names of programs as text", function()
    browser:await "document.querySelectorAll('#sections tbody tr').length == 1"
    assert.equal("<i>solve</i>", browser:eval "document.querySelector('#sections tbody td').textContent")
    assert.equal(0, browser:eval "document.querySelectorAll('main i').length")
  end)

  it("runs Lua in the program and completes it", function()
    browser:click "#code"
    browser:type "return 6 * 7"
    browser:eval "get('prompt').requestSubmit()"
    browser:await "get('output').textContent.includes('> return 6 * 7\\n42\\n')"
    browser:eval "get('code').value = 'return os'; get('prompt').requestSubmit()"
    browser:await "get('output').textContent.includes('> return os\\n')"
    browser:eval "get('code').value = 'pml.sde.fi'; get('code').onkeydown({ key: 'Tab', preventDefault() {} })"
    browser:await "get('code').value == 'pml.sde.find'"
  end)

  --- Fill the form of a rule, and save it.
  local function save_rule(name, event, every, code)
    browser:eval(([[(() => {
      const fields = get("rule").elements, rule = %s
      for (const name in rule) fields[name].value = rule[name]
      get("rule").requestSubmit()
    })()]]):format(json.line { name = name, event = event, every = every, code = code }))
  end

  local function row_of(name) return ("[...get('rules').rows].find(r => r.cells[0].textContent == '%s')"):format(name) end

  it("makes, changes and removes rules, and shows their errors in place", function()
    save_rule("broken", "DEMO::steps", "50ms", "if value > then")
    browser:await "get('wrong').textContent.startsWith('broken:1: ')"
    save_rule("seen", "DEMO::steps", "50ms", "print(#series > 1 and 'has a series' or 'new')")
    browser:await "get('said').textContent.includes('has a series')"
    save_rule("changed", "DEMO::level", "50ms", "error 'first text'")
    browser:await(row_of "changed:1: first text" .. " != null")
    browser:eval(row_of "changed" .. ".querySelector('button').click()")
    assert.equal("error 'first text'", browser:eval "get('rule').elements.code.value")
    save_rule("changed", "DEMO::level", "50ms", "return value +")
    browser:await "get('wrong').textContent.startsWith('changed:')"
    save_rule("changed", "DEMO::level", "50ms", "second = value")
    browser:await(row_of "changed:1: first text" .. " == null && Number(" .. row_of "changed" .. ".cells[2].textContent) > 3")
    -- The other rule has had one series all the time.
    browser:await "get('said').textContent.length > 0"
    assert.is_nil(browser:eval("get('said').textContent"):match "has a series.*new")
    for _, name in ipairs { "seen", "changed" } do
      browser:await(row_of(name) .. " != null")
      browser:eval(row_of(name) .. ".querySelectorAll('button')[1].click()")
      browser:await(row_of(name) .. " == null")
    end
  end)

  it("fills a call tree while it is open", function()
    browser:click "#tree summary"
    browser:await "get('tree').querySelectorAll('tbody tr').length == 1"
    local calls = "parseInt(get('tree').querySelector('tbody tr').cells[1].textContent)"
    browser:await(calls .. " >= 2")
    local inclusive, exclusive = browser:eval "get('tree').nodes[0].inclusive_s", browser:eval "get('tree').nodes[0].exclusive_s"
    assert.equal("<i>solve</i>", browser:eval "get('tree').nodes[0].name")
    assert.is_true(exclusive > 0 and inclusive >= exclusive) -- the section contains no other
  end)

  it("can be used without a mouse, and in light and dark", function()
    browser:eval "get('skip').click()"
    for _, key in ipairs { "ArrowDown", "ArrowUp", "Enter" } do
      for _, kind in ipairs { "keyDown", "keyUp" } do
        browser:call("Input.dispatchKeyEvent", { type = kind, key = key, code = key, windowsVirtualKeyCode = key == "Enter" and 13
          or nil })
      end
    end
    browser:await "document.querySelectorAll('#legend span').length == 1"
    browser:eval "get('chart').onkeydown({ key: '+', preventDefault() {} })"
    assert.is_true(browser:eval "zoom[1] - zoom[0] == 30 && !get('all').hidden")
    browser:eval "get('chart').onkeydown({ key: 'Escape', preventDefault() {} })"
    assert.is_true(browser:eval "zoom == null && get('all').hidden")
    local function paper() return browser:eval "getComputedStyle(document.body).backgroundColor" end
    local before = paper()
    browser:click "#theme"
    assert.not_equal(before, paper())
    browser:click "#theme"
    assert.equal(before, paper())
  end)

  it("says what is missing in an address without the token", function()
    browser:go(url:match "^[^#]*")
    browser:await "document.getElementById('state').textContent.includes('lacks the token')"
    browser.events = {}
    browser:go "about:blank"
    browser:go(url)
    browser:await(value_of "DEMO::steps" .. " > 0")
  end)

  it("stops a program by a rule, on the page of pmlua live", function()
    support.spit(dir .. "/victim.lua", (PROGRAM:gsub("[^\n]*live.start[^\n]*\n", "")))
    start(("sh -c %s >victim 2>&1"):format(quote(("%s live --page --every 100ms -- %s victim.lua; echo status $?"):format(
      command, command))))
    local own
    support.eventually(function()
      own = support.exists(dir .. "/victim") and support.slurp(dir .. "/victim"):match "page at (%S+)\n"
      return own
    end)
    browser:go "about:blank"
    browser:go(own)
    browser:await(value_of "DEMO::steps" .. " > 0")
    browser:eval "toggle(series.findIndex(s => titleOf(s) == 'DEMO::steps'))"
    browser:await "points.get(selected[0])?.times.some((t, i, all) => i > 0 && t - all[i - 1] < 0.5)"
    save_rule("stop", "DEMO::steps", "50ms", "if value > 3 then pml.live.stop_run 'enough steps' end")
    support.eventually(function() return support.slurp(dir .. "/victim"):find "status 143" end)
    assert.matches("the run is stopped: enough steps", support.slurp(dir .. "/victim"))
    browser.events = {} -- the server ends with the program
  end)

  it("shows what a program's log has from before the page", function()
    support.spit(dir .. "/older.lua", (PROGRAM:gsub("[^\n]*live.start[^\n]*\n", "")))
    start(command .. " live -q --report left -- " .. command .. " older.lua >/dev/null 2>&1")
    local first
    support.eventually(function()
      local status, text = support.shell(("cd %s && %s report left --history --csv"):format(quote(dir), command))
      first = tonumber(text:match "DEMO::steps,[%d.]+,(%d+)")
      return status == 0 and select(2, text:gsub("DEMO::steps", "")) >= 3
    end)
    local began_s = os.time()
    start(command .. " serve --page --export 127.0.0.1:0 >second 2>second.errors")
    local second
    support.eventually(function()
      second = support.exists(dir .. "/second") and support.slurp(dir .. "/second"):match "^(%S+)\n"
      return second
    end)
    browser:go "about:blank"
    browser:go(second)
    local find = "series.findIndex(s => titleOf(s) == 'DEMO::steps' && label(s, 'program') != 'APP')"
    browser:await(find .. " >= 0")
    browser:eval(("toggle(%s)"):format(find))
    assert.is_true(browser:eval "points.get(selected[0]).times[0]" < began_s)
    assert.equal(first, browser:eval "points.get(selected[0]).values[0]")
    local calls = "series.findIndex(s => titleOf(s) == '<i>solve</i> count' && label(s, 'program') != 'APP')"
    browser:await(calls .. " >= 0")
    browser:eval(("toggle(%s)"):format(calls))
    assert.is_true(browser:eval "points.get(selected[1]).times[0]" < began_s)
    assert.equal("", support.slurp(dir .. "/second.errors"))
    browser.events = {} -- they come from another origin
  end)
end)
