-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/unreadable_spec.lua - a folder that the user may not read is refused in one line, by every verb that reads one.

local demo = require "spec.lua.demo"
local support = require "spec.core.support"
local it = support.it
local shell = support.shell
local command = support.build .. "/pmlua"

describe("A folder that cannot be read", function()
  local dir, as

  setup(function()
    dir = support.folder()
    as = select(2, shell "id -u") == "0\n" and "setpriv --reuid=65534 --regid=65534 --clear-groups " or ""
    assert.equal(0, (shell(("chmod 755 %s && mkdir %s/closed && chmod 000 %s/closed"):format(dir, dir, dir))))
  end)

  teardown(function() shell(("chmod 700 %s/closed"):format(dir)) end)

  local function refuses(arguments, folder)
    local status, out, err = shell(("%s%s %s"):format(as, command, (arguments:gsub("%%s", folder))))
    assert.same({ 1, "" }, { status, out }, err)
    local pattern = "^pmlua %s: [^\n]*%s[^\n]*: Permission denied[^\n]*\n$"
    assert.truthy(err:find(pattern:format(arguments:match "%l+", folder:match "[^/]*$")), err)
  end

  for _, arguments in ipairs { "report %s", "export %s", "trace %s", "plot %s", "compare %s %s", "record -o %s -- true",
    "record --finish %s" } do
    it("is refused by pmlua " .. arguments, function()
      if shell(as .. command .. " --version") ~= 0 then return pending "another user cannot run pmlua here" end
      refuses(arguments, dir .. "/closed")
    end)
  end

  it("is refused by watchpoint.read", function()
    if shell(as .. command .. " --version") ~= 0 then return pending "another user cannot run pmlua here" end
    local script = ("print(select(2, require 'pmlua.watchpoint'.read '%s/closed'))"):format(dir)
    local out = support.quiet(shell(('%s%s -e "%s"'):format(as, command, script)))
    assert.truthy(out:find "^[^\n]*closed: Permission denied[^\n]*\n$", out)
  end)

  it("is refused by pmlua plot if its files can be read, but not their names", function()
    if shell(as .. command .. " --version") ~= 0 then return pending "another user cannot run pmlua here" end
    local run = demo.run_folder({ { 1, 2 }, { 3, 4 } })
    assert.equal(0, (shell(("chmod -R a+rX %s && chmod 311 %s"):format(run:match "^(.-)/demo/", run))))
    refuses("plot %s", run)
    shell("chmod 700 " .. run)
  end)
end)
