-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/check_spec.lua - the specs run side by side: bounded, apart from each other, and counted.

local support = require "spec.core.support"
local pool = require "spec.pool"
local sh = require("spec.shell").sh

describe("The pool", function()
  it("runs every job with a time limit and a temporary folder", function()
    local jobs = {
      { command = "echo $TMPDIR; touch $TMPDIR/x; exit 3", seconds = 60 },
      { command = "echo began; sleep 600", seconds = 1 },
      { command = "sh -c 'kill -SEGV $$'", seconds = 60 },
    }
    local result = {}
    for i, job in ipairs(jobs) do job.number = i end
    pool.run(jobs, 2, function(job, r) result[job.number] = r end)
    assert.same({ 3, 124, 139 }, { result[1].code, result[2].code, result[3].code })
    assert.matches("^/.*\n$", result[1].out)
    assert.is_nil(io.open((result[1].out:gsub("\n", ""))))
    assert.equal("began\n", result[2].out)
  end)
end)

describe("spec/check.lua", function()
  it("runs the specs that ONLY names, slow or not, and counts them in its last line", function()
    local out, code = sh "lua5.4 spec/check.lua layers c busted ONLY=lua/json"
    assert.equal(0, code, out)
    assert.matches("\n[1-9]%d* passed, 0 failed, 0 skipped\n$", out)
  end)

  it("fails if a spec fails, and names it at the end", function()
    local out, code = sh "PMLUA_BUILD=/nowhere lua5.4 spec/check.lua c 'ONLY=c/cloc.$'"
    assert.equal(1, code, out)
    assert.matches("\nfailed: c/clock: [^\n]*\n0 passed, 1 failed, 0 skipped\n$", out)
  end)

  it("runs a failed spec again, alone: if it passes then, it is named, otherwise it has failed", function()
    local dir = support.folder()
    sh(("mkdir -p %s/spec/house %s/build && ln -s $PWD/spec/*.lua %s/spec"):format(dir, dir, dir))
    local function write(name, body)
      local f <close> = assert(io.open(("%s/spec/house/%s_spec.lua"):format(dir, name), "w"))
      f:write(('it("holds", function() %s end)\n'):format(body))
    end
    write("steady", "assert(true)")
    write("once", ('local f = io.open("%s/seen") io.open("%s/seen", "w"):close() assert(f, "first try")'):format(dir, dir))
    local command = ("cd %s && PMLUA_BUILD=build lua5.4 spec/check.lua busted ONLY=house"):format(dir)
    local out, code = sh(command)
    assert.equal(0, code, out)
    assert.matches("unsteady: house/once: failed, then passed alone\n  beside others:\n[^\n]*first try\n", out)
    assert.matches("\n2 passed, 0 failed, 0 skipped\n$", out)
    write("never", 'error("always")')
    out, code = sh(command)
    sh("rm -rf " .. dir)
    assert.equal(1, code, out)
    assert.matches("\nfailed: house/never: [^\n]*always[^\n]*\n2 passed, 1 failed, 0 skipped\n$", out)
  end)

  it("refuses an unknown step or name", function()
    assert.same({ "check: no step called nosuch\n", 2 }, { sh "lua5.4 spec/check.lua nosuch" })
    local out, code = sh "lua5.4 spec/check.lua c ONLY=nosuch"
    assert.equal(2, code)
    assert.matches("no spec's name matches nosuch", out)
  end)
end)
