-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/rock_spec.lua - luarocks make: the rock is built from the checkout, and its module and command run.
--
-- Slow: luarocks builds all of pmlua, unless it is built.

local support = require "spec.core.support"
local shell = require "spec.shell"
local sh = shell.sh

describe("luarocks make", function()
  local tree, away -- and a folder that is not the checkout's, where a user may write

  setup(function() tree, away = support.folder(), support.folder() end)

  it("installs a rock whose module a stock lua5.4 requires, and a command", function()
    if not sh("command -v luarocks"):find "luarocks" then return pending "luarocks is not installed" end
    local luarocks = ("luarocks --lua-version 5.4 --tree %s "):format(tree)
    local out, code = sh(luarocks .. "make --deps-mode none pmlua-scm-1.rockspec", 900)
    assert.equal(0, code, out)
    local paths = ('cd %s && eval "$(%s path)" && '):format(away, luarocks)
    out, code = sh(paths .. [[lua5.4 -e '
      local pml = require "pmlua"
      assert(pml.paths.plots and pml.paths.workloads and pml.paths.preload and pml.stats and require "pmlua.json")
      print(#pml.eventset { "task-clock", "clock::ns" })']])
    assert.same({ 0, "2\n" }, { code, out })
    out, code = sh(paths .. "pmlua --version")
    assert.equal(0, code, out)
    out, code = sh(paths .. "pmlua record -- true")
    assert.equal(0, code, out)
    out, code = sh(luarocks .. "remove pmlua")
    assert.equal(0, code, out)
    assert.equal("", (sh(("find %s -name '*pmlua*' -not -type d"):format(tree))))
  end)
end)
