-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/link_spec.lua - tests of the link: a question to a process that is slow, broken or gone.

local support = require "spec.core.support"
local it = support.it
local core = support.core

local dir

--- A server that runs this Python on the connection c; its socket.
local function server(code)
  local path = dir .. "/socket"
  os.remove(path)
  support.spit(dir .. "/server.py", ([[
import socket, os, signal, time
signal.alarm(60)
s = socket.socket(socket.AF_UNIX)
s.bind(%q)
s.listen(8)
c, _ = s.accept()
def question():  # "pmlua1 KIND BYTES\n" and the bytes, which may come apart
    head = got = c.recv(1)
    while got and got != b"\n":
        got = c.recv(1)
        head += got
    n = int(head.split()[2]) if got else 0
    return c.recv(n, socket.MSG_WAITALL) if n > 0 else b""
%s
]]):format(path, code))
  os.execute(("python3 %s/server.py >%s/out 2>&1 &"):format(dir, dir))
  return path
end

local function connect(path)
  return support.eventually(function()
    local link, _, code = core.link.connect(path)
    assert.is_truthy(link or code == "ENOENT" or code == "ECONNREFUSED", code)
    return link
  end) or error("no server")
end

local function code_of(...) return (select(3, ...)) end

before_each(function() dir = support.folder() end)
after_each(support.cleanup)

describe("A link", function()
  it("is refused without a socket, or without a listener", function()
    assert.equal("ENOENT", code_of(core.link.connect(dir .. "/nothing")))
    assert.equal("ECONNREFUSED", code_of(core.link.connect(support.spit(dir .. "/file", ""))))
    assert.equal("ENAMETOOLONG", code_of(core.link.connect(("/x"):rep(100))))
    assert.has_error(function() core.link.connect("a\0b") end)
  end)

  it("joins the pieces of a reply", function()
    local link <close> = connect(server [[
question()
for b in b"ok 5\nhello":
    c.sendall(bytes([b])); time.sleep(0.01)
question()
c.sendall(b"ok 0\n")]])
    assert.equal("hello", (link:ask("eval", "x")))
    assert.equal("", (link:ask("info")))
  end)

  it("can be used again after an error of the application", function()
    local link <close> = connect(server [[
question(); c.sendall(b"error 5\nwrong")
question(); c.sendall(b"ok 1\n1"); c.recv(1)]])
    local _, err, code = link:ask("eval", "x")
    assert.same({ "link.ask: EREMOTEIO: wrong", "EREMOTEIO" }, { tostring(err), code })
    assert.equal("1", (link:ask("eval", "x")))
  end)

  it("refuses a question that is too long, and stays usable", function()
    local link <close> = connect(server 'question(); c.sendall(b"ok 1\\n1"); c.recv(1)')
    assert.equal("EMSGSIZE", code_of(link:ask("eval", ("x"):rep(65537))))
    assert.equal("1", (link:ask("eval", "x")))
  end)

  for name, bytes in pairs {
    ["garbage"] = "GET / HTTP/1.1\\r\\n\\r\\n", ["a header without an end"] = ("x"):rep(100), ["a negative length"] = "ok -1\\n",
    ["a question"] = "pmlua1 eval 1\\nx", ["more than one answer"] = "ok 1\\n1ok 1\\n2", ["a length beyond all bounds"] =
      "ok 99999999\\n",
  } do
    it("closes on " .. name, function()
      local link = connect(server('question(); c.sendall(b"' .. bytes .. '"); c.recv(1)'))
      local _, err, code = link:ask("eval", "x")
      assert.is_true(code == "EFORMAT" or code == "EMSGSIZE", err)
      assert.has_error(function() link:ask("eval", "x") end, "link: the handle is closed")
    end)
  end

  it("waits for a reply until its time limit", function()
    local link = connect(server 'question(); c.recv(1)')
    assert.equal("ETIMEDOUT", code_of(link:ask("eval", "x", 0.05)))
    link = connect(server 'question(); c.sendall(b"ok 10\\n12345"); c.recv(1)')
    assert.equal("ETIMEDOUT", code_of(link:ask("eval", "x", 0.2)))
  end)

  it("notices the end of the application, and is not killed by it", function()
    local link = connect(server 'question()')
    assert.equal("ECONNRESET", code_of(link:ask("eval", "x", 5)))
    link = connect(server 'question(); c.sendall(b"ok 10\\n123")')
    assert.equal("ECONNRESET", code_of(link:ask("eval", "x", 5)))
    link = connect(server 'c.close()')
    core.sys.sleep(0.2)
    assert.equal("ECONNRESET", code_of(link:ask("eval", ("x"):rep(65536), 5)))
  end)

  it("ends its wait when it is interrupted", function()
    -- whose question was read, and who sleeps, waits for the answer
    local path = server [[
pid = int(question())
while open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != "S": time.sleep(0.01)
os.kill(pid, signal.SIGINT)
c.recv(1)]]
    local status, out = support.shell(([[%s/pmlua -e '
      local link
      repeat link = require "pmlua.core".link.connect(%q) until link
      pml.sys.on_interrupt()
      print(select(3, link:ask("eval", tostring(pml.sys.pid()), 60)))']]):format(support.build, path))
    assert.same({ 0, "EINTR\n" }, { status, out })
  end)
end)
