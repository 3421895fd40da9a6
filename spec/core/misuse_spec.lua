-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/misuse_spec.lua - robustness of the bindings against wrong arguments of every type: no crash.

local support = require "spec.core.support"

describe("The bindings, called with wrong arguments of every type,", function()
  after_each(support.cleanup)

  it("raise an error with the script's line or refuse with a sentence and a code, and never crash", function()
    local workload = support.build .. "/workloads/loop.so"
    local f = io.open(workload)
    if f then f:close() else workload = "-" end
    local served = support.folder() -- by a process that ends when its input does
    local serve = "XDG_RUNTIME_DIR=%s %s/pmlua -e 'pml.live.start { name = \"served\" } io.read()' >%s/out"
    local server = assert(io.popen(serve:format(served, support.build, served), "w"))
    local socket = support.wait_for_socket(served)
    -- The service would say on stderr what it thinks of rules: where its folder should be is a file, which refuses it.
    local folder = support.folder()
    assert(io.open(folder .. "/pmlua", "w")):close()
    local status, out, err = support.shell(("XDG_RUNTIME_DIR=%s %s/pmlua spec/core/misuse_calls.lua %s %s %s "
      .. "</dev/null"):format(folder, support.build, folder, socket, workload), 600)
    server:close()
    assert.equal("", err)
    local calls, raised, refused, answered, broken =
      out:match("calls (%d+) raised (%d+) refused (%d+) answered (%d+) broken (%d+)\n$")
    assert.is_truthy(calls, out)
    assert.equal("0", broken, out)
    assert.equal(0, status)
    assert.is_true(tonumber(raised) > 10000 and tonumber(refused) > 100 and tonumber(answered) > 1000, out)
  end)
end)
