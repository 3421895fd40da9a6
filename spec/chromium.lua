-- SPDX-License-Identifier: BSD-3-Clause
-- spec/chromium.lua - a headless Chromium for specs of pages: it loads pages, clicks, types and evaluates JavaScript.
--
-- Try:  lua5.4 -e 'package.path = "spec/?.lua;./?.lua;" .. package.path; local b = require "chromium".open()
--                  b:go "file:///usr/share/doc/"; print(b:eval "document.title"); b:close()'
--
-- The DevTools protocol runs over a pair of FIFOs: a message is JSON and a zero byte. `events` has all events since it was
-- last emptied.

local cjson = require "cjson"
local support = require "spec.core.support"

local M = {}
M.__index = M

--- The browser's command, or nil and the reason.
function M.command()
  for _, name in ipairs { "chromium-headless-shell", "chromium" } do
    if os.execute("command -v " .. name .. " >/dev/null") then return name end
  end
  return nil, "chromium-headless-shell is not installed"
end

function M:receive()
  local bytes = {}
  repeat
    local byte = assert(self.output:read(1), "the browser has ended")
    bytes[#bytes + 1] = byte
  until byte == "\0"
  local message = cjson.decode(table.concat(bytes, "", 1, #bytes - 1))
  if message.method then self.events[#self.events + 1] = message end
  return message
end

--- Call a method; return its result.
function M:call(method, parameters)
  self.id = self.id + 1
  local message = { id = self.id, method = method, params = parameters, sessionId = self.session }
  self.input:write(cjson.encode(message), "\0")
  self.input:flush()
  local answer
  repeat answer = self:receive() until answer.id == self.id
  if answer.error then error(method .. ": " .. answer.error.message, 2) end
  return answer.result
end

--- Wait for an event that has not been returned yet.
function M:wait(method)
  for i, event in ipairs(self.events) do
    if event.method == method then table.remove(self.events, i) return event.params end
  end
  repeat local message = self:receive() until message.method == method
  return table.remove(self.events).params
end

--- The value of a JavaScript expression; promises are awaited.
function M:eval(expression)
  local result = self:call("Runtime.evaluate", { expression = expression, awaitPromise = true, returnByValue = true,
    userGesture = true })
  if result.exceptionDetails then error(result.exceptionDetails.exception.description .. "\nin " .. expression, 2) end
  return result.result.value
end

--- Wait until a JavaScript expression is true, at most 10 s.
function M:await(expression)
  self:eval(([[new Promise((done, fail) => {
    const until = Date.now() + 10000
    const look = () => { if (%s) done(); else if (Date.now() > until) fail(new Error("not true")); else setTimeout(look, 20) }
    look()
  })]]):format(expression))
end

--- Load a page.
function M:go(url)
  self.events = {}
  self:call("Page.navigate", { url = url })
  self:wait "Page.loadEventFired"
end

--- Click at the middle of the first element that a CSS selector matches and that is displayed, as a mouse does.
function M:click(selector)
  local at = self:eval(([[(() => {
    const element = [...document.querySelectorAll(%s)].find(e => e.getClientRects().length)
    if (!element) throw new Error("nothing is displayed")
    element.scrollIntoView({ block: "center", inline: "center" })
    const box = element.getClientRects()[0]
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  })()]]):format(cjson.encode(selector)))
  for _, kind in ipairs { "mouseMoved", "mousePressed", "mouseReleased" } do
    self:call("Input.dispatchMouseEvent", { type = kind, x = at.x, y = at.y, button = "left", clickCount = 1 })
  end
end

--- Type a text into the focused element.
function M:type(text) self:call("Input.insertText", { text = text }) end

--- The size of the window.
function M:size(width, height)
  self:call("Emulation.setDeviceMetricsOverride", { width = width, height = height, deviceScaleFactor = 1, mobile = false })
end

--- Write what the window shows to a PNG file.
function M:picture(path)
  local data = self:call("Page.captureScreenshot", { format = "png" }).data
  local pipe <close> = assert(io.popen("base64 -d >" .. path, "w"))
  pipe:write(data)
end

function M:close()
  self.input:close()
  self.output:close()
  self.process:close()
  os.execute("rm -rf " .. self.folder)
end

--- Start the browser with a page without content.
function M.open()
  local self = setmetatable({ id = 0, events = {}, folder = support.folder() }, M)
  assert(os.execute(("mkfifo %s/in %s/out"):format(self.folder, self.folder)))
  self.process = assert(io.popen(("exec timeout 500 %s --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
    .. "--user-data-dir=%s/profile --remote-debugging-pipe 3<%s/in 4>%s/out >%s/log 2>&1"):format(
    assert(M.command()), self.folder, self.folder, self.folder, self.folder)))
  self.input = assert(io.open(self.folder .. "/in", "w"))
  self.output = assert(io.open(self.folder .. "/out", "r"))
  local target = self:call("Target.createTarget", { url = "about:blank" }).targetId
  self.session = self:call("Target.attachToTarget", { targetId = target, flatten = true }).sessionId
  for _, domain in ipairs { "Page", "Runtime", "Network", "Log" } do self:call(domain .. ".enable") end
  return self
end

return M
