-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/intercept_arm_spec.lua - interception on arm64: the C spec, cross-compiled, under user-mode emulation.

local support = require "spec.core.support"

local CC, RUN, SYSROOT = "aarch64-linux-gnu-gcc", "qemu-aarch64-static", "/usr/aarch64-linux-gnu"
local FLAGS = " -std=c11 -D_GNU_SOURCE -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -Wno-psabi -Icore "

local function has(tool)
  return (support.shell("command -v " .. tool)) == 0
end

describe("interception on arm64", function()
  it("is the plain call, with an enter and a leave", function()
    for _, tool in ipairs { CC, RUN } do
      if not has(tool) then return pending(tool .. " is not installed") end
    end
    local dir = io.popen("mktemp -d"):read("l")
    finally(function() os.execute("rm -rf " .. support.quote(dir)) end)
    local library, program = dir .. "/libintercept.so", dir .. "/intercept_calls"
    local status, _, err = support.shell(CC .. FLAGS .. "-shared -fexceptions -fsemantic-interposition " ..
      "spec/c/intercept/library.c -o " .. library)
    assert.same({ 0, "" }, { status, err })
    status, _, err = support.shell(CC .. FLAGS .. "-mgeneral-regs-only -c core/adapter/pml_intercept_plain.c -o " ..
      dir .. "/plain.o")
    assert.same({ 0, "" }, { status, err })
    status, _, err = support.shell(CC .. FLAGS .. "-DWITHOUT_CPLUSPLUS spec/c/intercept_calls.c core/base/*.c " ..
      "$(ls core/adapter/pml_intercept*.c core/adapter/pml_filter.c | grep -v -e _plain -e _events) " ..
      "core/adapter/arch/aarch64/*.[cS] " .. dir .. "/plain.o -L" ..
      dir .. " -lintercept -Wl,-rpath," .. dir .. " -lpthread -ldl -lm -o " .. program)
    assert.same({ 0, "" }, { status, err })
    for _, way in ipairs { "variant", "plain", "mixed" } do
      local out
      status, out = support.shell(("%s -L %s %s %s"):format(RUN, SYSROOT, program, way))
      assert.same({ 0, nil }, { status, out:match("not ok[^\n]*") })
      assert.truthy(out:find("\n%d+ passed, 0 failed, 1 skipped"))
    end
  end)
end)
