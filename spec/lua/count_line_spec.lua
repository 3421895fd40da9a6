-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_line_spec.lua - pmlua cc --count behaves like any other compiler in a build.

local counting = require "spec.lua.counting"
local support = require "spec.core.support"

local it = counting.it
local cc = counting.cc()

--- Run a command in a folder with these files: status, output, errors, the folder.
local function within(files, command)
  local dir = support.folder()
  for name, text in pairs(files) do support.spit(dir .. "/" .. name, text) end
  local status, out, err = support.shell(("cd %s && %s"):format(dir, command))
  return status, out, err, dir
end

--- The same of a command that succeeds: the folder, errors, output.
local function built(files, command)
  local status, out, err, dir = within(files, command)
  if status ~= 0 then error(out .. err, 2) end
  return dir, err, out
end

local function exists(path)
  local f <close> = io.open(path)
  return f ~= nil
end

local main = "double twice(double v);\nint main(void) { return twice(1.5) != 3; }\n"
local twice = "double twice(double v) { return v * 2; }\n"
local both = { ["main.c"] = main, ["twice.c"] = twice, Makefile = "prog: main.o twice.o\n\t$(CC) $^ -o $@\n" }

--- The number of multiplications that a program counts.
local function multiplications(program)
  return counting.run(program).fp_mul_double
end

describe("pmlua cc --count", function()
  for what, case in pairs {
    ["compiles and links several sources at once, each counted"] = { "CC main.c twice.c -o both", "both" },
    ["compiles to objects named as the compiler names them, which link in a line of its own"] =
      { "CC -c main.c twice.c && CC main.o twice.o", "a.out" },
    ["mixes objects, archives and sources"] = { "CC -c twice.c -o t.o && ar rc libt.a t.o && CC main.c -L. -lt -o m", "m" },
    ["builds with make, as CC"] = { ("make -s CC='%s cc --count -- clang-14'"):format(support.build .. "/pmlua"), "prog" },
  } do
    it(what, function()
      local dir = built(both, (case[1]:gsub("%f[%w]CC ", cc .. " clang-14 ")))
      assert.equal(1, multiplications(dir .. "/" .. case[2]))
    end)
  end

  it("writes assembly with -S, and passes -E on", function()
    local dir, _, out = built(both, ("%s clang-14 -S twice.c && %s clang-14 -E twice.c"):format(cc, cc))
    assert.truthy(out:find("return v * 2", 1, true))
    assert.truthy(support.slurp(dir .. "/twice.s"):find("pml_count_self", 1, true))
  end)

  it("leaves the same dependencies as the compiler alone", function()
    local files = { ["a.c"] = '#include "a.h"\nint a = A;\n', ["a.h"] = "#define A 1\n" }
    for _, line in ipairs { "-MD -c a.c", "-MMD -c a.c -o sub/x.o", "-MMD -MF d/deps -c a.c -o x.o", "-MD -MT target -MP -c a.c",
      "-MMD -MQ 'a$b' -MFother.d -c a.c", "-Wp,-MMD,wp.d -c a.c -o wp.o", "-MD -shared -fPIC a.c -o a.so" } do
      local list = "find . -type f -name '*[d]*' ! -name '*.so' -exec sh -c 'echo $1; cat $1' - {} \\; | sort"
      local _, plain, why = within(files, "mkdir sub d && clang-14 " .. line .. " && rm -f *.c *.h && " .. list)
      local _, counted, err = within(files, "mkdir sub d && " .. cc .. " clang-14 " .. line .. " && rm -f *.c *.h && " .. list)
      assert.truthy(plain:find("a.h", 1, true), line .. why)
      assert.equal(plain, counted, line .. err)
    end
  end)

  it("gives the compiler's errors, warnings and exit status, and leaves no output", function()
    local files = { ["bad.c"] = "int main(void) { int unused; return x; }\n" }
    for _, line in ipairs { "-Wall -c bad.c", "-Wall bad.c -o bad", "-c none.c", "-O2 -fno-such-thing -c bad.c",
      "-c bad.c bad.c -o x.o" } do
      local status, _, err = within(files, "clang-14 " .. line)
      local counted, _, said, dir = within(files, cc .. " clang-14 " .. line)
      assert.equal(status, counted)
      assert.equal(err, said, line)
      assert.falsy(exists(dir .. "/bad.o") or exists(dir .. "/bad") or exists(dir .. "/x.o"))
    end
  end)

  it("prints a warning once, and obeys -Werror", function()
    local files = { ["warn.c"] = "int main(void) { int unused; return 0; }\n" }
    local _, _, plain = within(files, "clang-14 -Wall -I. -DX=1 warn.c -o w")
    assert.equal(plain, (select(2, built(files, cc .. " clang-14 -Wall -I. -DX=1 warn.c -o w"))))
    assert.equal(1, (within(files, cc .. " clang-14 -Wall -Werror warn.c -o w")))
  end)

  it("passes queries of the compiler on", function()
    for _, question in ipairs { "--version", "-dumpversion", "-print-search-dirs", "-v", "-dM -E -x c /dev/null" } do
      local _, plain = within({}, "clang-14 " .. question .. " 2>&1")
      local _, counted = within({}, cc .. " clang-14 " .. question .. " 2>&1")
      assert.equal(plain, counted, question)
    end
  end)

  it("reads sources from a pipe, from response files, and by -x", function()
    local dir = built({ ["t.txt"] = main .. twice, ["line"] = '-O2 "t.txt"\n-o program' },
      cc .. " clang-14 -x c @line && cat t.txt | " .. cc .. " clang-14 -O2 -x c - -o piped")
    assert.equal(1, multiplications(dir .. "/program"))
    assert.equal(1, multiplications(dir .. "/piped"))
  end)

  it("precompiles headers, and counts their code where it is used", function()
    local files = { ["twice.h"] = "static double twice(double x) { return 2 * x; }\n",
      ["main.c"] = "int main(void) { return twice(1.5) != 3; }\n" }
    local hows = { "twice.h -o t.pch", "-x c-header twice.h -o t.pch", "-x c-header -Xclang -emit-pch -c twice.h -o t.pch" }
    for _, how in ipairs(hows) do
      local status, _, err, dir = within(files, ("%s clang-14 -O1 %s && %s clang-14 -O1 -include-pch t.pch main.c -o program")
        :format(cc, how, cc))
      assert.same({ 0, "" }, { status, err }, how)
      assert.equal(1, multiplications(dir .. "/program"))
    end
  end)

  it("leaves each instruction at its line, also before a switch", function()
    local text = "int f(int x) {\n  int y = x *\n    3;\n  y = y - 7;\n  switch (y) {\n  case 1: return 5;\n"
      .. "  case 4: return 6;\n  }\n  return 0;\n}\n"
    local line = cc .. " clang-14 -O0 -g -S -emit-llvm lines.c -o lines.ll"
    local dir = built({ ["lines.c"] = text }, line)
    local ir = support.slurp(dir .. "/lines.ll")
    for operation, at in pairs { ["mul nsw"] = 2, ["sub nsw"] = 4, switch = 5 } do
      local place = ir:match(" " .. operation .. " i32 [^\n]-!dbg (!%d+)") or ir:match("\n  %] ?, !dbg (!%d+)")
      assert.equal(tostring(at), ir:match("\n" .. place .. " = !DILocation%(line: (%d+)"), operation)
    end
  end)

  it("passes assembly on, and reports that it is not counted", function()
    local files = { ["main.c"] = "int two(void);\nint main(void) { return two() - 2; }\n",
      ["two.s"] = ".globl two\ntwo: mov $2, %eax\nret\n.section .note.GNU-stack,\"\"\n" }
    local dir, err = built(files, cc .. " clang-14 main.c two.s -o two && ./two")
    assert.equal("pmlua cc: two.s: assembly is not counted\n", err)
    assert.equal(1, counting.run(dir .. "/two").call_direct)
    assert.equal("", (select(2, built(files, counting.cc "--quiet" .. " clang-14 main.c two.s -o two && ./two"))))
  end)

  it("names the counted parts with -flto, and links", function()
    assert.truthy(exists(built(both, cc .. " clang-14 -flto -O2 -c main.c twice.c && ls *.o && file main.o") .. "/twice.o"))
    local _, err = built(both, counting.cc "--at=final" .. " clang-14 -flto -O2 -c main.c")
    assert.truthy(err:find("^pmlua cc: %-flto: counted before link%-time optimisation, which changes the program further\n"), err)
  end)

  it("refuses impossible options in a line", function()
    local cases = {
      ["gcc main.c"] = "gcc is not supported: operations are counted in LLVM IR; compile with clang",
      ["gfortran x.f90"] = "gfortran is not supported: operations are counted in LLVM IR; compile with flang",
      ["clang-14 -static main.c"] = "-static: a thread's counts are in a shared library; link without -static",
      ["no-such-compiler main.c"] = "no-such-compiler does not run; is it installed?",
    }
    for line, text in pairs(cases) do
      if line:find("gfortran", 1, true) and support.shell "command -v gfortran" ~= 0 then text = "gfortran does not run" end
      local status, _, err = within(both, cc .. " " .. line)
      assert.equal(1, status)
      assert.equal("pmlua cc: " .. text .. "\n", err)
    end
  end)

  it("refuses files that are no bitcode of its LLVM, in a line", function()
    local instrument = assert(package.loadlib(support.build .. "/lua/pmlua/instrument-14.so", "luaopen_pmlua_instrument"))()
    local dir = support.folder()
    for name, text in pairs { empty = "", text = "int main;", cut = "BC\xC0\xDE\x35\x14\x00\x00\x05\x00\x00\x00" } do
      support.spit(dir .. "/" .. name, text)
      local done, why = instrument.file(dir .. "/" .. name, dir .. "/out", name, false)
      assert.falsy(done)
      assert.truthy(why:find("is not bitcode of LLVM 14.0.6 or older: ", 1, true), why)
      assert.falsy(why:find("\n", 1, true))
    end
    local _, why = instrument.file(dir .. "/none", dir .. "/out", "none", false)
    assert.truthy(why:find("none: No such file or directory", 1, true), why)
  end)

  it("names the LLVM of bitcode that is newer than its own, and the clang to use", function()
    if support.shell "command -v clang-15" ~= 0 then return pending "there is no clang-15 here" end
    local dir = built(both, "clang-15 -emit-llvm -c twice.c")
    local _, why = require("pmlua.internal.cc.llvm").instrumenter(14).file(dir .. "/twice.bc", dir .. "/out", "twice.c", false)
    assert.matches("^bitcode of LLVM15[%d.]+, which LLVM 14%.0%.6 does not read$", why)
  end)

  it("reports errors in its own options", function()
    local cases = {
      [""] = "add --functions, --count, --layouts N, or --wrap NAME", ["--count"] = "name the compiler to run, after --",
      ["--count=all -- clang a.c"] = "--count needs lines, or no value, not 'all'",
    }
    for words, text in pairs(cases) do
      local status, _, err = support.pmlua("cc " .. words)
      assert.equal(2, status, words)
      assert.equal("pmlua cc: " .. text, err:match("^(.-)\nsee 'pmlua help cc'\n$"), err)
    end
  end)

  it("prints the commands that it would run: the line with a plugin, or three steps without", function()
    if not counting.plugin(14) then return pending "the plugin is not built" end
    local print = cc:gsub("%-%-count", "--count --print")
    local status, out = within(both, print .. " clang-14 -O2 -c main.c")
    assert.equal(0, status)
    assert.matches("^PMLUA_INSTRUMENT=source clang%-14 %-fpass%-plugin=%S+/libpmlua%-instrument%-14%.so %-O2 %-c main%.c\n$", out)
    local steps = "clang%-14 %-O2 .-%-emit%-llvm %-c .-main%.c %-o %S+\n# counters into %S+\n%S*%s?clang%-14 .- %-o main%.o\n$"
    for _, line in ipairs { print .. " nice clang-14 -O2 -c main.c", print .. " clang-14 -O2 -flegacy-pass-manager -c main.c",
      print:gsub("%-%-print", "--print --at=final") .. " clang-14 -O2 -flto -c main.c" } do
      status, out = within(both, line)
      assert.equal(0, status)
      assert.matches(steps, out)
    end
  end)
end)
