-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/untrusted/libraries_spec.lua - tests of files that are named as libraries but cannot be given to the loader.

local support = require "spec.core.support"
local quote = require "pmlua.internal.quote".shell

local command = support.build .. "/pmlua"

describe("A file that is named as a library", function()
  local dir
  before_each(function() dir = support.folder() end)

  --- Checks that every command that loads a library refuses dir/x with this reason.
  local function refused(why)
    local path = dir .. "/x"
    local load = ("print(pml.plugin.load { name = 'x', path = %q })"):format(path)
    for _, line in ipairs { "events --sde " .. quote(path), "-e " .. quote(load) } do
      local status, out, err = support.shell(("timeout 60 %s %s"):format(quote(command), line))
      assert.is_true(status < 2, line .. ": " .. status)
      assert.truthy((out .. err):find(path .. ": " .. why, 1, true), out .. err)
    end
  end

  it("is not waited for if it is a FIFO", function()
    assert.equal(0, (support.shell("mkfifo " .. quote(dir .. "/x"))))
    refused "not a file, but a FIFO"
  end)

  it("does not crash the loader if it is cut short", function()
    local whole = support.slurp(support.build .. "/libpmlua.so")
    for _, bytes in ipairs { 100, 3000, 20000 } do
      support.spit(dir .. "/x", whole:sub(1, bytes))
      refused "the file is cut short"
    end
  end)
end)
