-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_compilers_spec.lua - tests of pmlua cc --count with each clang and flang that pmlua was built for.

local counting = require "spec.lua.counting"
local support = require "spec.core.support"
local llvm_of = require "pmlua.internal.cc.llvm"

local FIRST, LAST = 14, 19

local product = [[
#include <errno.h>
#define N 64
static double a[N][N], b[N][N], c[N][N];
int main(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) a[i][j] = 1, b[i][j] = 2, c[i][j] = 0;
  for (int i = 0; i < N; i++)
    for (int k = 0; k < N; k++)
      for (int j = 0; j < N; j++) c[i][j] += a[i][k] * b[k][j];
  switch (errno & 3) {
  case 0: return c[N - 1][N - 1] != 128;
  case 1: return 1;
  case 2: return 2;
  default: return 3;
  }
}
]]

--- The command for a compiler of a version; or nil and the missing part: LLVM in pmlua, or the compiler.
local function compiler(name, version)
  if not llvm_of.instrumenter(version) then return nil, "pmlua was built without LLVM " .. version end
  if support.shell("command -v " .. name) ~= 0 then return nil, name .. " is not installed" end
  return name
end

--- The specs of a compiler, or one pending if it is not installed.
local function with(name, version, specs)
  local found, missing = compiler(name, version)
  if not found then return pending(name .. ": " .. missing) end
  specs(name, function(what, f)
    it(name .. " " .. what, function()
      local done, err = pcall(f)
      if not done then error(err, 0) end
    end)
  end, version)
end

--- Compile a source in a new folder and run it: its counts.
local function count(text, file, options, line, launcher)
  local dir = support.folder()
  support.spit(dir .. "/" .. file, text)
  local cc = counting.cc(options) .. (launcher and " " .. launcher or "")
  local status, out, err = support.shell(("cd %s && %s %s %s -o program"):format(support.quote(dir), cc, line, file))
  if status ~= 0 then error(out .. err, 2) end
  local counts, said, ended = counting.run(dir .. "/program")
  assert.equal(0, ended, said)
  return counts, err
end

describe("pmlua cc --count counts the same with every clang:", function()
  local function specs(clang, it_does, version)
    it_does("a matrix product, before optimisation and after it", function()
      for _, at in ipairs { "source", "final" } do
        for _, flags in ipairs { " -O0 -g", " -O2 -g", " -O3 -march=x86-64-v2" } do
          local counts, said = count(product, "product.c", "--at=" .. at, clang .. flags)
          assert.equal("", said)
          assert.equal(2 * 64 ^ 3, counts.flop_count_I, at .. flags)
        end
      end
    end)

    it_does("with the plugin the same counts as in bitcode", function()
      if not counting.plugin(version) then return pending "the plugin is not built" end
      for _, flags in ipairs { " -O0 -g", " -O2" } do
        local plugin = count(product, "product.c", "", clang .. flags)
        local bitcode = count(product, "product.c", "", clang .. flags, "nice")
        for name, n in pairs(plugin) do assert.equal(n, bitcode[name], name .. flags) end
        assert.equal(3 * 64 ^ 3 + 1, plugin.load_fp_8)
      end
    end)

    it_does("with the plugin in the same instructions as by bitcode", function()
      if not counting.plugin(version) then return pending "the plugin is not built" end
      local dir = support.folder()
      local function instructions(name)
        local out = support.done(support.shell(("objdump -d --no-show-raw-insn %s/%s.o | grep -v 'file format'"):format(dir,
          name)))
        local names = {} -- bitcode does not keep the order in which values are used, so two registers may be swapped
        for word in out:gmatch("\n%s+%x+:%s+(%S+)") do names[#names + 1] = word end
        return table.concat(names, " ")
      end
      support.spit(dir .. "/product.c", product)
      for _, at in ipairs { "source", "final" } do
        for _, flags in ipairs { "-O0 -g", "-O2 -fPIC -ffunction-sections" } do
          local cc = counting.cc("--at=" .. at)
          local line = ("cd %s && %s %%s %s %s -c product.c -o %%s.o"):format(support.quote(dir), cc, clang, flags)
          for name, launcher in pairs { plugin = "", bitcode = "nice" } do
            support.done(support.shell(line:format(launcher, name)))
          end
          assert.matches("ret", instructions "plugin")
          assert.equal(instructions "bitcode", instructions "plugin", at .. " " .. flags)
        end
      end
    end)

    it_does("and reports inline assembly once, with its line", function()
      local text = "int main(void) {\n  __asm__ volatile(\"nop\");\n  return 0;\n}\n"
      local _, said = count(text, "asm.c", "", clang .. " -g")
      assert.matches("^pmlua cc: [^\n]*asm%.c:2: in main: inline assembly, not counted\n$", said)
      _, said = count(text, "asm.c", "--quiet", clang .. " -g")
      assert.equal("", said)
    end)
  end

  for version = FIRST, LAST do with("clang-" .. version, version, specs) end
end)

describe("pmlua cc --count, of a compiler that it does not fit,", function()
  local missing = llvm_of.instrumenter() == nil and "pmlua was built without LLVM"

  it("names the package to install, or the compiler to use", function()
    if missing then return pending(missing) end
    local has = table.concat(llvm_of.built(), ", ")
    for version = FIRST, LAST do
      local why = llvm_of.lacking("clang", { version = version })
      if llvm_of.instrumenter(version) then
        assert.is_nil(why)
      else
        assert.equal(("clang uses LLVM %d: pmlua was built for LLVM %s only; install llvm-%d-dev and clang-%d, then " ..
          "run make again"):format(version, has, version, version), tostring(why))
      end
    end
    assert.equal(("clang-13 uses LLVM 13: pmlua was built for LLVM %s only, and supports LLVM 14 to 19; use clang-%d"):format(
      has, llvm_of.built()[#llvm_of.built()]), tostring(llvm_of.lacking("clang-13", { version = 13 })))
  end)
end)
