-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/intercept_arm_spec.lua - tests of interception on arm64: the C specs, cross-compiled, under user-mode emulation.
--
-- Slow: cross-compiles a part of pmlua.

local support = require "spec.core.support"

local CC, RUN, SYSROOT = "aarch64-linux-gnu-gcc", "qemu-aarch64-static", "/usr/aarch64-linux-gnu"
local FLAGS = " -std=c11 -D_GNU_SOURCE -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -Wno-psabi -Icore "

local function has(tool)
  return (support.shell("command -v " .. tool)) == 0
end

local CORE = " core/base/*.c core/base/*/*.c core/base/aarch64/*.S $(ls core/adapter/intercept/*.c | grep -v _events) "
  .. "core/source/kernel/event/pml_event_elf.c -ffunction-sections -Wl,--gc-sections core/program/pml_filter.c "
  .. "core/program/pml_source_line.c core/program/pml_libdw.c "
  .. "$(ls core/adapter/arch/*.c | grep -v _gpr) core/adapter/arch/aarch64/*.[cS] "
  .. "$(ls core/substrate/profile/pml_profile*.c | grep -v -e functions -e summary) core/record/pml_histogram.c "

--- How the libraries with every kind of slot are linked; the names are the Makefile's.
local LEAVES = {
  now = "-Wl,-z,now,-z,relro", norelro = "-Wl,-z,lazy,-z,norelro",
  sysv = "-Wl,-z,lazy,--hash-style=sysv", stripped = "-Wl,-s,-z,lazy", symbolic = "-Wl,-Bsymbolic,-z,lazy",
}

describe("interception on arm64", function()
  local dir

  local function compile(what)
    support.quiet(support.shell(CC .. FLAGS .. what))
  end

  --- A library that may call libintercept.so, from spec/c/intercept/SOURCE.c.
  local function library(name, source, flags)
    compile(("-shared -fsemantic-interposition spec/c/intercept/%s.c %s -L%s -lintercept -Wl,-rpath,'$ORIGIN' -o %s/%s.so")
      :format(source, flags, dir, dir, name))
  end

  --- Build spec/c/NAME.c and run it once with each of the other arguments; returns the outputs.
  local function run(name, ...)
    compile(("-DWITHOUT_CPLUSPLUS spec/c/%s.c"):format(name) .. CORE ..
      ("%s/gpr.o -L%s -lintercept -Wl,-rpath,%s -lpthread -ldl -lm -o %s/%s"):format(dir, dir, dir, dir, name))
    local said = {}
    for i, way in ipairs { ... } do
      local status, out = support.shell(("%s -L %s %s/%s %s"):format(RUN, SYSROOT, dir, name, way))
      assert.same({ 0, nil }, { status, out:match("not ok[^\n]*") })
      said[i] = out
    end
    return table.unpack(said)
  end

  local function missing()
    if support.sanitized then return "the emulated programs have no sanitizer" end
    for _, tool in ipairs { CC, RUN } do
      if not has(tool) then return tool .. " is not installed" end
    end
  end

  setup(function()
    dir = io.popen("mktemp -d"):read("l")
    if missing() then return end
    compile("-shared -fexceptions -fsemantic-interposition spec/c/intercept/library.c -o " .. dir .. "/libintercept.so")
    compile("-mgeneral-regs-only -c core/adapter/arch/pml_call_gpr.c -o " .. dir .. "/gpr.o")
  end)
  teardown(function() os.execute("rm -rf " .. support.quote(dir)) end)

  it("makes the same call, with an enter and a leave", function()
    if missing() then return pending(missing()) end
    for _, out in ipairs { run("intercept_calls", "variant", "plain", "plain mixed", "plain counted",
      "plain counted mixed") } do
      assert.truthy(out:find("\n%d+ passed, 0 failed, 1 skipped"))
    end
  end)

  it("lets frames return later, elsewhere, twice or never", function()
    if missing() then return pending(missing()) end
    assert.truthy(run("intercept_stacks", ""):find("\n%d+ passed, 0 failed, %d skipped"))
  end)

  it("patches the entries of functions, and restores them", function()
    if missing() then return pending(missing()) end
    assert.truthy(run("intercept_entries", ""):find("\n%d+ passed, 0 failed, 0 skipped"))
  end)

  it("finds the names of all libraries", function()
    if missing() then return pending(missing()) end
    assert.truthy(run("intercept_exports", ""):find("\n%d+ passed, 0 failed, %d skipped"))
  end)

  it("sees calls through every kind of slot", function()
    if missing() then return pending(missing()) end
    for name, flags in pairs(LEAVES) do library("leaf_" .. name, "slots_leaf", flags) end
    for _, name in ipairs { "leaf", "chosen", "global", "user", "opener" } do
      library("slots_" .. name, "slots_" .. name, "-Wl,-z,lazy")
    end
    library("slots_versions", "slots_versions", "-Wl,--version-script=spec/c/intercept/slots_versions.map")
    library("slots_both", "slots_both", "-Wl,-z,lazy " .. dir .. "/slots_versions.so")
    assert.truthy(run("intercept_slots", "variant"):find("\n%d+ passed, 0 failed, [23] skipped"))
  end)
end)
