-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/live_socket_spec.lua - tests of the folder of the services' sockets: names, stale sockets, and permission to connect.

local support = require "spec.core.support"
local it = support.it
local sys = support.core and support.core.sys

local dir

local function lua(code, environment)
  return support.shell(("XDG_RUNTIME_DIR=%s %s/pmlua -e %s"):format(environment or dir, support.build, support.quote(code)))
end

--- The output of a Python script.
local function python(code)
  local script = support.spit(dir .. "/client.py", "import os, socket, sys\n" .. code)
  return (select(2, support.shell(("python3 - %s <%s 2>&1"):format(dir, script))))
end

local SERVE = "XDG_RUNTIME_DIR=%s %s/pmlua -e %s"

--- A service with this name, which ends when its input does.
local function serve(name)
  local code = ("assert(pml.live.start { name = %q }) io.read()"):format(name)
  return assert(io.popen(SERVE:format(dir, support.build, support.quote(code)), "w"))
end

local function exists(path) return os.execute("test -e " .. support.quote(path)) == true end

describe("The service's sockets", function()
  before_each(function() dir = support.folder() end)
  after_each(support.cleanup)

  it("are in a folder that belongs to the user", function()
    local function folder(environment)
      local status, out, err = lua("local f, err, code = pml.live.folder() print(f or code, err)", environment)
      assert.same({ 0, "" }, { status, err })
      return out
    end
    assert.equal(dir .. "/pmlua\tnil\n", folder())
    assert.equal("700\n", select(2, support.shell("stat -c %a " .. dir .. "/pmlua")))
    for how, says in pairs { ["chmod 750 F"] = "^EPERM\t.*750", ["rm -r F; ln -s /tmp F"] = "^EPERM",
      ["rm -r F; touch F"] = "^EPERM" } do
      assert(os.execute((("mkdir -p F; " .. how):gsub("F", dir .. "/pmlua"))))
      assert.matches(says, folder())
      assert(os.execute("rm -rf " .. dir .. "/pmlua"))
    end
    assert.matches("^/tmp/pmlua%-%d+\t", folder(dir .. "/nowhere"))
    local deep = dir .. "/" .. ("1"):rep(100)
    assert(os.execute("mkdir " .. deep))
    assert.matches("^ENAMETOOLONG", folder(deep))
  end)

  it("have the process's id and a valid file name", function()
    for name, is in pairs { ["solver-1.x_Y"] = "solver-1.x_Y", ["a/../b c\n\xc3\xa9"] = "a_.._b_c___",
      [("0123456789"):rep(4)] = ("0123456789"):rep(4):sub(1, 32), [""] = "pmlua" } do
      local server = serve(name)
      assert.equal(is, support.wait_for_socket(dir):match "/%d+%.([^/]*)$")
      server:close()
    end
  end)

  it("are removed if no process listens, but no other file, and no new socket of a live process", function()
    local text = python [[
os.makedirs(sys.argv[1] + "/pmlua", 0o700)
for name, age in (("999999999.dead", 0), ("%d.fresh" % os.getppid(), 0), ("%d.late" % os.getppid(), 1)):
    path = sys.argv[1] + "/pmlua/" + name
    socket.socket(socket.AF_UNIX).bind(path)
    if age: os.utime(path, (1e9, 1e9))
open(sys.argv[1] + "/pmlua/999999998.file", "w").close()
print(os.getppid())]]
    assert.matches("^%d+\n$", text)
    -- the parent of Python is gone by now; a process that lives has its sockets
    local pid = sys.pid()
    local function path(name) return dir .. "/pmlua/" .. name end
    for _, name in ipairs { "fresh", "late" } do
      assert(os.execute(("mv %s %s"):format(path(text:match "%d+" .. "." .. name), path(pid .. "." .. name))))
    end
    local server = serve "own"
    for _ = 1, 1200 do
      if not exists(path "999999999.dead") then break end
      sys.sleep(0.05)
    end
    assert.same({ false, false, true, true }, { exists(path "999999999.dead"), exists(path(pid .. ".late")),
      exists(path(pid .. ".fresh")), exists(path "999999998.file") })
    server:close()
  end)

  it("refuse questions from other users, with any modes", function()
    if select(2, support.shell "id -u") ~= "0\n" then return pending "only root can ask as another user" end
    local server = serve "mine"
    local path = support.wait_for_socket(dir)
    assert(os.execute(("chmod 755 %s %s/pmlua && chmod 666 %s"):format(dir, dir, path)))
    local ask = ([[
s = socket.socket(socket.AF_UNIX)
s.connect(%q)
try: s.sendall(b"pmlua1 eval 1\n1")
except BrokenPipeError: pass # the answer came before
print(s.recv(100))]]):format(path)
    assert.matches("may not ask", python("os.setuid(65534)\n" .. ask))
    assert.matches("ok 1\\n1", python(ask), 1, true)
    server:close()
  end)

  it("are not made for rules alone, which act on a busy program, until requested", function()
    support.spit(dir .. "/rules.lua", [[
      local pml = require "pmlua"
      pml.sde.watch("UNASKED::n", "1ms", function(n)
        if n < 1000 then return end
        pml.sde.find "UNASKED::stop":write(1)
        return false
      end)]])
    support.spit(dir .. "/busy.lua", [[
      local pml = require "pmlua"
      local library = assert(pml.sde.library "UNASKED")
      local n, stop = library:counter "n", library:counter "stop"
      for _ = 1, 2 do
        assert(pml.live.start { rules = arg[1], unasked = true })
        print((pml.live.path()))
      end
      local till = pml.clock.ns() + 60e9
      while stop:read() == 0 and pml.clock.ns() < till do
        n:add(1)
        pml.sys.sleep(0)
      end
      print(stop:read(), n:read() >= 1000)
      assert(pml.live.start { name = "asked" })
      print(pml.live.path():match "%.([^.]*)$")]])
    local status, out, err = support.shell_in(dir, ("XDG_RUNTIME_DIR=%s %s/pmlua busy.lua rules.lua"):format(dir,
      support.build), 120)
    assert.same({ 0, "nil\nnil\n1\ttrue\nasked\n", "" }, { status, out, err })
  end)
end)
