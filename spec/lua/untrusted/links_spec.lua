-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/untrusted/links_spec.lua - tests of links and special files in a folder: no file is written through a link, and
-- nothing but regular files is read.

local support = require "spec.core.support"
local lfs = require "lfs"
local disk = require "pmlua.internal.file"
local quote = require "pmlua.internal.quote".shell

local command = support.build .. "/pmlua"

describe("A link in a folder", function()
  local dir, target
  before_each(function()
    dir, target = support.folder(), support.folder() .. "/precious"
    support.spit(target, "precious")
  end)

  local function untouched() assert.equal("precious", support.slurp(target)) end

  it("is replaced by a file, completely or not at all", function()
    for _, link in ipairs { target, dir .. "/dangling", "/dev/full", dir } do
      local path = dir .. "/x"
      assert(lfs.link(link, path, true))
      assert.is_true(disk.write(path, "text"))
      assert.equal("file", lfs.symlinkattributes(path, "mode"))
      assert.equal("text", support.slurp(path))
      os.remove(path)
      assert(lfs.link(link, path, true))
      local f = assert(disk.create(path))
      f:write "te"
      assert.equal("link", lfs.symlinkattributes(path, "mode")) -- not yet
      f:write "xt"
      assert.is_true(f:close())
      assert.equal("text", support.slurp(path))
      os.remove(path)
      assert(lfs.link(link, path, true))
      local none, err, code = disk.new(path)
      assert.is_nil(none)
      assert.equal("EEXIST", code)
      assert.equal(path .. ": File exists", tostring(err))
      os.remove(path)
    end
    untouched()
    assert.is_nil(lfs.attributes(dir .. "/dangling", "mode"))
    for entry in lfs.dir(dir) do assert.is_true(entry == "." or entry == "..", entry) end -- nothing of a half file
  end)

  it("that the user names as output may be a device", function()
    local out = support.done(support.shell(("%s stat -e page-faults --json --out /dev/stdout -- true | cat"):format(command)))
    assert.matches("page%-faults", out)
    assert(lfs.link(target, dir .. "/table", true))
    assert.equal(0, (support.shell(("%s stat -e page-faults --out %s/table -- true"):format(command, dir))))
    untouched()
    assert.equal("file", lfs.symlinkattributes(dir .. "/table", "mode"))
  end)

  it("that the user names as output may be a FIFO, which waits for its reader with a time limit", function()
    local fifo = dir .. "/fifo"
    os.execute("mkfifo " .. quote(fifo))
    local late = ("(sleep 0.3; cat %s >%s/read) & timeout 60 %s stat -e page-faults --json --out %s -- true; e=$?; wait; exit $e")
    local status, _, err = support.shell(late:format(quote(fifo), quote(dir), command, quote(fifo)))
    assert.equal(0, status, err)
    assert.matches("page%-faults.*}%s*$", support.slurp(dir .. "/read"))
    status, _, err = support.shell(("timeout 60 %s events --out %s"):format(command, quote(fifo)))
    assert.equal(1, status, err)
    assert.equal(("pmlua events: %s: no program opened this FIFO to read within 5 s; start the reader first\n"):format(fifo), err)
    assert.equal("named pipe", lfs.attributes(fifo, "mode"))
  end)

  it("under the name of a recorded process's results is replaced", function()
    local name = ('for n in calls calls.new; do ln -s %s %s/out/$$.$n; done; exec true'):format(target, dir)
    support.done(support.shell(("%s record -o %s/out -- sh -c %s"):format(command, dir, quote(name))))
    untouched()
  end)

  it("under the name of a program's log is left alone, and the log is made beside it", function()
    local name = ("PMLUA_REPORT=%s; export PMLUA_REPORT; f=%s/$(uname -n).$$.pmlog; ln -s %s $f; "
      .. "exec %s -e 'pml.section.start \"a\" pml.section.stop \"a\"'"):format(dir, dir, target, command)
    support.done(support.shell(name))
    untouched()
    local files = {}
    for entry in lfs.dir(dir) do
      if entry:find "%.pmlog$" then files[lfs.symlinkattributes(dir .. "/" .. entry, "mode")] = entry end
    end
    assert.matches("%.2%.pmlog$", files.file)
    assert.matches("%d%.pmlog$", files.link)
  end)

  it("in the place of a trace's files makes the trace impossible", function()
    for _, name in ipairs { "traces.otf2", "traces.def", "traces" } do
      local folder = support.folder()
      assert(lfs.link(folder .. "/dangling", folder .. "/" .. name, true))
      local trace, err = support.core.trace.create(folder, { metrics = {} })
      if trace then trace:close() end
      assert.is_nil(trace, err)
      assert.is_nil(lfs.attributes(folder .. "/dangling", "mode"))
    end
  end)
end)
