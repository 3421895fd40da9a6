-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/untrusted/libraries_spec.lua - what is named as a library, and is none that the loader can be given.

local helper = require "spec.lua.helper"
local quote = require "pmlua.internal.quote".shell

local command = helper.build .. "/pmlua"

describe("A file that is named as a library", function()
  if not helper.has_core then return pending(helper.no_core) end
  local dir
  before_each(function() dir = helper.folder() end)
  after_each(helper.clean)

  --- Status and what is said of dir/x, by all that load a library.
  local function refused(why)
    local path = dir .. "/x"
    local load = ("print(pml.plugin.load { name = 'x', path = %q })"):format(path)
    for _, line in ipairs { "events --sde " .. quote(path), "-e " .. quote(load) } do
      local status, out, err = helper.shell(("timeout 60 %s %s"):format(quote(command), line))
      assert.is_true(status < 2, line .. ": " .. status)
      assert.truthy((out .. err):find(path .. ": " .. why, 1, true), out .. err)
    end
  end

  it("is not waited for where it is a FIFO", function()
    assert.equal(0, (helper.shell("mkfifo " .. quote(dir .. "/x"))))
    refused "not a file, but a FIFO"
  end)

  it("does not crash the loader where it is cut short", function()
    local whole = helper.read(helper.build .. "/libpmlua.so")
    for _, bytes in ipairs { 100, 3000, 20000 } do
      helper.write(dir .. "/x", whole:sub(1, bytes))
      refused "the file is cut short"
    end
  end)
end)
