-- SPDX-License-Identifier: BSD-3-Clause

local demo = require "spec.lua.demo"
local support = require "spec.core.support"
local lfs = require "lfs"
local results = require "pmlua.results"

describe("results", function()
  it("makes a folder per run and points latest to the newest", function()
    local base = support.folder()
    local a = assert(results.create(base .. "/deep/er", "demo"))
    local b = assert(results.create(base .. "/deep/er", "demo"))
    assert.is_not.equal(a.path, b.path)
    assert.matches("/demo/%d%d%d%d%d%d%d%dT%d%d%d%d%d%dZ", a.path)
    assert.equal(b.path:match("[^/]*$"), lfs.symlinkattributes(base .. "/deep/er/demo/latest", "target"))
    for entry in lfs.dir(base .. "/deep/er/demo") do assert.is_nil(entry:match("^%.latest")) end
  end)

  it("refuses a folder that is no run", function()
    local dir = support.folder()
    local run, err = results.open(dir)
    assert.is_nil(run)
    assert.equal(dir .. ": not the folder of a run: it has no meta.json; name a folder such as results/NAME/latest",
      tostring(err))
  end)

  it("gives in one line the reason why a folder cannot be made", function()
    local base = support.folder()
    support.spit(base .. "/file", "")
    local folder, err = results.create(base .. "/file/x", "demo")
    assert.is_nil(folder)
    assert.matches("^cannot make the folder [^\n]*file/x[^\n]*$", err)
  end)

  it("keeps the last complete version when a write fails", function()
    local dir = support.folder()
    if os.execute("test $(id -u) != 0") or not os.execute(("mount -t tmpfs -o size=16k pmlua %s 2>/dev/null"):format(dir)) then
      return pending "a small file system cannot be mounted here"
    end
    local folder = assert(results.create(dir, "demo"))
    assert(folder:write("data.dat", "whole\n"))
    local ok, err = folder:write("data.dat", ("x"):rep(100000))
    local left = support.slurp(folder.path .. "/data.dat")
    local litter = lfs.attributes(folder.path .. "/data.dat.tmp", "mode")
    os.execute("umount " .. dir)
    assert.is_nil(ok)
    assert.matches("data.dat: No space left on device", err)
    assert.equal("whole\n", left)
    assert.is_nil(litter)
  end)

  it("opens written results", function()
    local run = assert(results.open(demo.run_folder { { 1, 2, 3 }, {} } .. "/"))
    assert.is_true(run.complete)
    assert.equal(2, run.data.rows[1].median)
    assert.equal("needs a PMU", run.data.rows[2].status)
    assert.equal(3, #run.rounds.rows)
  end)

  it("calls a run incomplete if its process is gone, and running while it lives", function()
    local gone = { pid = 4194303, start_time = 1 }
    assert.equal("incomplete", assert(results.open(demo.run_folder({ { 1 } }, { status = "running", process = gone }))).status)
    local pid = tonumber(support.slurp("/proc/self/stat"):match("^%d+"))
    local alive = results.process(pid)
    assert.equal("running", assert(results.open(demo.run_folder({ { 1 } }, { status = "running", process = alive }))).status)
    local none, why = results.open(demo.run_folder({ {} }, { status = "running", process = alive }))
    assert.is_nil(none)
    assert.matches("no cell has been measured yet: the run is running; look again later", why)
    alive.start_time = alive.start_time + 1 -- the pid belongs to another process
    assert.equal("incomplete", assert(results.open(demo.run_folder({ { 1 } }, { status = "running", process = alive }))).status)
    assert.equal("interrupted", assert(results.open(demo.run_folder({ { 1 } }, { status = "interrupted" }))).status)
  end)

  it("regards a run on another host as unfinished, for a day", function()
    local dir = demo.run_folder({ { 1 } }, { status = "running", process = { pid = 4194303, start_time = 1, host = "node7" } })
    local run = assert(results.open(dir))
    assert.same({ "running", "is running on node7, or was killed there within a day" }, { run.status, run.ending })
    os.execute(("touch -d '2 days ago' %s/*"):format(dir))
    assert.equal("incomplete", assert(results.open(dir)).status)
  end)

  it("names the missing or corrupt file, in one line", function()
    for file, text in pairs {
      ["meta.json"] = "{", ["data.dat"] = "x", ["rounds.dat"] = "# pmlua x\n1 2\n",
    } do
      local dir = demo.run_folder { { 1, 2 } }
      support.spit(dir .. "/" .. file, text)
      local run, err = results.open(dir)
      assert.is_nil(run)
      assert.matches(file, err, 1, true)
      assert.is_nil(err:find("\n"))
    end
    for _, meta in ipairs { "7", "[]", "null", '{"name": 1, "status": "complete"}', '{"name": "x", "status": "?"}',
      '{"name": "x", "status": "complete", "machine": 3}', "\0\0" } do
      local dir = demo.run_folder { { 1 } }
      support.spit(dir .. "/meta.json", meta)
      assert.is_nil((results.open(dir)), meta)
    end
    assert.is_nil((results.open("/nonexistent")))
    assert.is_nil((results.open("/dev/null")))
    assert.is_nil((results.open(support.folder())))
  end)
end)
