-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/unreadable_spec.lua - a folder that the user may not read is refused in one line, by every verb that reads one.

local support = require "spec.core.support"
local it = support.it
local shell = support.shell
local command = support.build .. "/pmlua"

teardown(support.cleanup)

describe("A folder that cannot be read", function()
  local dir, as

  setup(function()
    dir = support.folder()
    as = select(2, shell "id -u") == "0\n" and "setpriv --reuid=65534 --regid=65534 --clear-groups " or ""
    assert.equal(0, (shell(("chmod 755 %s && mkdir %s/closed && chmod 000 %s/closed"):format(dir, dir, dir))))
  end)

  teardown(function() shell(("chmod 700 %s/closed"):format(dir)) end)

  for verb, text in pairs { report = "%s", export = "%s", trace = "%s", plot = "%s", compare = "%s %s",
    record = "-o %s -- true" } do
    it("is refused by pmlua " .. verb, function()
      if shell(as .. command .. " --version") ~= 0 then return pending "another user cannot run pmlua here" end
      local closed = dir .. "/closed"
      local status, out, err = shell(("%s%s %s %s"):format(as, command, verb, text:gsub("%%s", closed)))
      assert.same({ 1, "" }, { status, out }, err)
      assert.truthy(err:find(("^pmlua %s: [^\n]*closed[^\n]*: Permission denied[^\n]*\n$"):format(verb)), err)
    end)
  end
end)
