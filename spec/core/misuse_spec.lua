-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/misuse_spec.lua - robustness of the bindings against wrong arguments of every type: no crash.

local support = require "spec.core.support"

describe("The bindings, called with wrong arguments of every type,", function()
  local served, server, socket, workload
  setup(function()
    workload = support.build .. "/workloads/loop.so"
    local f = io.open(workload)
    if f then f:close() else workload = "-" end
    served = support.folder() -- by a process that ends when its input does
    local serve = "XDG_RUNTIME_DIR=%s %s/pmlua -e 'pml.live.start { name = \"served\" } io.read()' >%s/out"
    server = assert(io.popen(serve:format(served, support.build, served), "w"))
    socket = support.wait_for_socket(served)
  end)
  teardown(function()
    server:close()
    support.cleanup()
  end)

  --- The service would say on stderr what it thinks of rules: where its folder should be is a file, which refuses it.
  local function run(script, rounds, tool)
    local folder = support.folder()
    assert(io.open(folder .. "/pmlua", "w")):close()
    return support.shell(("XDG_RUNTIME_DIR=%s %s %s/pmlua spec/core/%s.lua %s %s %s %s </dev/null"):format(folder, tool or "",
      support.build, script, folder, socket, workload, rounds or ""), 600)
  end

  it("raise an error with the script's line or refuse with a sentence and a code, and never crash", function()
    local status, out, err = run "misuse_calls"
    assert.equal("", err)
    local calls, raised, refused, answered, broken =
      out:match("calls (%d+) raised (%d+) refused (%d+) answered (%d+) broken (%d+)\n$")
    assert.is_truthy(calls, out)
    assert.equal("0", broken, out)
    assert.equal(0, status)
    assert.is_true(tonumber(raised) > 10000 and tonumber(refused) > 100 and tonumber(answered) > 1000, out)
  end)

  -- The first round also opens what stays open once.
  it("keep no descriptor and no mapping of a closed handle", function()
    local left = {}
    for line in support.quiet(run("misuse_left", 4)):gmatch "%d+ %d+" do left[#left + 1] = line end
    assert.equal(4, #left)
    assert.same({ left[2], left[2], left[2] }, { left[2], left[3], left[4] })
  end)

  support.with "valgrind" ("keep no memory of a closed handle", function()
    if support.sanitized then return pending "valgrind cannot run a program of a sanitizer" end
    local _, out, err = run("misuse_left", 1, "valgrind --leak-check=full --show-leak-kinds=definite --undef-value-errors=no")
    assert.matches("^%d+ %d+\n$", out)
    assert.matches("LEAK SUMMARY", err)
    for lost in err:gmatch "are definitely lost.-\n==%d+== \n" do
      if not lost:find("rtld-malloc", 1, true) then error(lost) end -- the loader loses memory itself
    end
  end)
end)
