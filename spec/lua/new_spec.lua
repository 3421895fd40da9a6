-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/new_spec.lua - pmlua new: the files it writes build and run unchanged, and existing files are kept.

local support = require "spec.core.support"

describe("pmlua new", function()
  local dir

  local function typed(line)
    return support.shell(("cd %s && PATH=%s:$PATH && %s"):format(dir, support.build, line))
  end

  before_each(function() dir = support.folder() end)

  it("writes an experiment that runs", function()
    assert.same({ 0, "mine.lua\n", "" }, { typed "pmlua new experiment mine" })
    local out = support.quiet(typed "pmlua mine.lua --quick --quiet --json --no-plot")
    local summary = require "pmlua.json".decode(out)
    assert.equal("mine", summary.name)
    assert.equal(6, #summary.cells)
    for _, cell in ipairs(summary.cells) do assert.is_true(cell.median > 0) end
  end)

  it("writes a workload that builds without warnings, and runs", function()
    if not os.execute "command -v gcc make >/dev/null 2>&1" then return pending "gcc or make is not installed" end
    assert.same({ 0, "kernel/Makefile\nkernel/kernel.c\nkernel/kernel.lua\n", "" }, { typed "pmlua new workload kernel" })
    local out = support.quiet(typed("make -s -C kernel run CFLAGS='-O2 -Wall -Wextra -Werror' "
      .. "ARGS='--quick --quiet --json --no-plot'"))
    local summary = require "pmlua.json".decode(out)
    assert.equal("kernel", summary.name)
    assert.equal(4, #summary.cells)
    assert.is_true(summary.cells[4].median > summary.cells[1].median)
  end)

  it("writes scripts without warnings from luacheck", function()
    if not os.execute "command -v luacheck >/dev/null 2>&1" then return pending "luacheck is not installed" end
    typed "pmlua new experiment mine && pmlua new workload kernel"
    support.done(typed "luacheck -q --no-config mine.lua kernel/kernel.lua")
  end)

  it("overwrites no file", function()
    support.spit(dir .. "/mine.lua", "mine\n")
    assert.same({ 1, "", "pmlua new: mine.lua exists already; choose another name\n" }, { typed "pmlua new experiment mine" })
    assert.equal("mine\n", support.slurp(dir .. "/mine.lua"))
    typed "mkdir kernel && echo mine >kernel/kernel.c"
    assert.same({ 1, "", "pmlua new: kernel/kernel.c exists already; choose another name\n" },
      { typed "pmlua new workload kernel" })
    assert.equal(1, (typed "test -e kernel/Makefile"))
  end)

  it("refuses unknown kinds and invalid names", function()
    local code, _, err = typed "pmlua new worklaod mine"
    assert.equal(2, code)
    assert.equal("pmlua new: cannot write a 'worklaod'; did you mean workload?\nsee 'pmlua help new'\n", err)
    assert.equal(2, (typed "pmlua new experiment ../mine"))
    assert.equal(2, (typed "pmlua new"))
  end)
end)
