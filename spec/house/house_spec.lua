-- The house itself: installing, linking, the layer rules, the counting of tests.

local support = require "spec.core.support"
local build = os.getenv("PMLUA_BUILD") or "build"

local shell = require "spec.shell"
local sh, write = shell.sh, shell.write

--- The version, from the one place that has it.
local function version()
  local numbers = {}
  for number in assert(io.open("core/base/pml_api.h")):read("a"):gmatch "#define PML_VERSION_%u+ (%d+)" do
    numbers[#numbers + 1] = number
  end
  return table.concat(numbers, ".")
end

describe("make install", function()
  local dest, prefix

  setup(function()
    dest = support.folder()
    prefix = dest .. "/opt/pmlua"
    shell.done(("make --no-print-directory install B=%s PREFIX=/opt/pmlua DESTDIR=%s"):format(build, dest))
  end)

  it("gives a command that runs from its new place", function()
    local out = shell.done(("cd / && env -u LUA_PATH -u LUA_CPATH %s/bin/pmlua -e 'print(pml.version, pml.clock.ns() > 0)'")
      :format(prefix))
    assert.equal(version() .. "\ttrue\n", out)
  end)

  it("gives a command whose verbs and experiments work from its new place", function()
    local out, code = sh(("cd %s && %s/bin/pmlua events task-clock"):format(dest, prefix))
    assert.equal(0, code, out)
    assert.truthy(out:find("task-clock", 1, true))
    out, code = sh(("cd %s && %s/bin/pmlua %s/share/pmlua/scripts/read_overhead.lua --help"):format(dest, prefix, prefix))
    assert.equal(0, code, out)
    assert.truthy(out:find("--iterations", 1, true))
  end)

  it("gives a module that a stock lua5.4 requires", function()
    local paths = ("LUA_PATH='%s/share/lua/5.4/?.lua;%s/share/lua/5.4/?/init.lua;;' LUA_CPATH='%s/lib/lua/5.4/?.so;;'")
      :format(prefix, prefix, prefix)
    local out = shell.done("cd / && " .. paths .. [[ lua5.4 -e '
      local pml = require "pmlua"
      print(#pml.eventset { "task-clock", "clock::ns" })
      assert(pml.paths.plots and pml.paths.workloads and pml.stats)']])
    assert.equal("2\n", out)
  end)

  it("gives the annotations that editors and pmlua help api read", function()
    local command = "cd / && ls %s/share/pmlua/lua/pmlua/meta && %s/bin/pmlua help api pml.clock.ns"
    local out = shell.done(command:format(prefix, prefix))
    assert.truthy(out:find("eventset.lua", 1, true) and out:find("Now, in ns of CLOCK_MONOTONIC_RAW", 1, true), out)
  end)

  it("gives headers and a library that pkg-config finds and C and C++ compile and link against", function()
    write(dest .. "/t.c", [[
#include <pml.h>
#include <stdio.h>
int main(void) {
  const char *names[] = {"task-clock"};
  struct pml_eventset *set;
  uint64_t v;
  if (pml_eventset_open(&set, names, 1, NULL) < 0 || pml_eventset_read(set, &v) < 0) return 1;
  pml_eventset_close(set);
  printf("%d\n", v > 0);
  return 0;
}
]])
    local flags = ("$(PKG_CONFIG_PATH=%s/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=%s pkg-config --cflags --libs pmlua)")
      :format(prefix, dest)
    for _, cc in ipairs { "gcc", "g++ -x c++" } do
      local out = shell.done(("cd %s && %s t.c %s -o t && LD_LIBRARY_PATH=%s/lib ./t"):format(dest, cc, flags, prefix))
      assert.equal("1\n", out)
    end
  end)

  it("gives headers that compile in strict C11, C17 and C++17, by each name that users write", function()
    local pkg = ("$(PKG_CONFIG_PATH=%s/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=%s pkg-config --cflags pmlua)"):format(prefix, dest)
    local include = prefix .. "/include"
    local strict = "-Wall -Wextra -Wpedantic -Werror -fsyntax-only"
    for language, standards in pairs { c = { "c11", "c17" }, ["c++"] = { "c++17" } } do
      local compiler = language == "c" and "gcc" or "g++"
      for _, standard in ipairs(standards) do
        for _, way in ipairs {
          { pkg, "pml.h" }, { pkg, "pmlua/pml.h" }, { "-I" .. include, "pmlua/pml.h" }, { "-I" .. include .. "/pmlua", "pml.h" },
        } do
          local line = "echo '#include <%s>' | %s -x %s -std=%s %s %s -"
          local out, code = sh(line:format(way[2], compiler, language, standard, strict, way[1]))
          assert.same({ 0, "" }, { code, out })
        end
      end
    end
  end)

  it("gives headers whose types C++ names without struct, also where a function has the name", function()
    local types, seen = {}, {}
    local sources = sh(("cd %s/include/pmlua && cat pmlua.h $(cc -MM -I. pml.h | tr -d ':\\\\')"):format(prefix))
    for name in sources:gmatch "struct (pml_%a[%w_]+)" do
      local clashes = not seen[name] and sources:find("[ *]" .. name .. "%(struct")
      seen[name] = true
      if clashes then types[#types + 1] = ("%s *the_%s;"):format(name, name) end
    end
    assert.is_true(#types > 8, #types)
    write(dest .. "/names.cpp", "#include <pml.h>\n#include <pmlua.h>\n" .. table.concat(types, "\n")
      .. "\nint main() { pml_sde_info i{}; return pml_sde_library(&the_pml_sde_library, \"A\") + (i.name != nullptr); }\n")
    for _, compiler in ipairs { "g++", "clang++" } do
      if support.has(compiler) then
        shell.done(("cd %s && %s -std=c++17 -Wall -Wextra -Wconversion -Werror -I%s/include/pmlua names.cpp -L%s/lib -lpmlua "
          .. "-o names && LD_LIBRARY_PATH=%s/lib ./names"):format(dest, compiler, prefix, prefix, prefix))
      end
    end
  end)

  it("gives headers each of which compiles alone", function()
    local find = "cd %s/include && find pmlua -name '*.h' ! -path '*/pmlib/*' ! -path '*/scorep/*' ! -path '*/compat/*'"
    local list = sh(find:format(prefix))
    local n = 0
    for file in list:gmatch("[^\n]+") do
      local line = "echo '#include <%s>' | gcc -x c -std=c11 -Wall -Werror -fsyntax-only -I%s/include -"
      local out, code = sh(line:format(file, prefix))
      assert.same({ file, 0, "" }, { file, code, out })
      n = n + 1
    end
    assert.is_true(n > 15)
  end)

  it("gives a library for applications, and its example compiles with pkg-config's flags", function()
    local flags = ("$(PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --cflags --libs pmlua-embed)"):format(prefix)
    -- Packagers' DESTDIR is no part of the paths that pkg-config knows.
    local compile = "gcc -D_GNU_SOURCE -I%s/include/pmlua spec/c/embed.c -L%s/lib %s -o %s/embed"
    local out, code = sh(compile:format(prefix, prefix, flags, dest))
    assert.equal(0, code, out)
    out, code = sh(("cd / && XDG_RUNTIME_DIR=%s LD_LIBRARY_PATH=%s/lib %s/embed"):format(dest, prefix, dest))
    assert.equal(0, code, out)
    assert.truthy(out:find("\n11 passed, 0 failed, 0 skipped\n", 1, true), out)
  end)

  local PROJECT = {
    ["c.c"] = [[
#include <pmlua.h>
#include <stdio.h>
int main(int argc, char **argv) {
  struct pmlua *p;
  struct pmlua_config config = {.size = sizeof config, .lua_dir = argc > 1 ? argv[1] : NULL};
  int64_t i = 0;
  int err = pmlua_open_with(&p, &config);
  if (err == 0) err = pmlua_run_string(p, "s", "function f(i) return i + #require 'pmlua'.version end", NULL, NULL);
  if (err == 0) err = pmlua_call(p, "f", "i>i", (int64_t)40, &i);
  if (err == 0) err = pmlua_live_start(NULL);
  printf("%s %d\n", err < 0 ? pml_error_detail(err) : pmlua_version(), (int)i);
  pmlua_close(p);
  return pmlua_live_stop() < 0;
}
]],
    ["cxx.cpp"] = "#include <pmlua.hpp>\n#include <iostream>\n#include <lua.hpp>\nint main() { pml::state lua; "
      .. "std::cout << lua.run(\"s\", \"return 6 * 7\") << \"\\n\"; }\n",
    ["CMakeLists.txt"] = [[
cmake_minimum_required(VERSION 3.10)
project(app C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(pmlua 1.0 REQUIRED)
add_executable(c c.c)
target_link_libraries(c pmlua::embed)
add_executable(cs c.c)
target_link_libraries(cs pmlua::embed_static)
add_executable(cxx cxx.cpp)
target_link_libraries(cxx pmlua::embed)
message(STATUS "modules: ${pmlua_LUA_DIR}")
]],
    ["meson.build"] = [[
project('app', 'c', 'cpp', default_options: ['cpp_std=c++17'])
pmlua = dependency('pmlua-embed', version: '>=1.0')
executable('c', 'c.c', dependencies: pmlua)
executable('cxx', 'cxx.cpp', dependencies: pmlua)
]],
  }

  --- Build a project with these files by a command, from an installation.
  local function project(name, command)
    local dir, own = dest .. "/" .. name, dest .. "/installed"
    sh(("test -d %s || make --no-print-directory install B=%s PREFIX=%s; mkdir -p %s"):format(own, build, own, dir))
    for file, text in pairs(PROJECT) do write(("%s/%s"):format(dir, file), text) end
    return shell.done(("cd %s && export PKG_CONFIG_PATH=%s/lib/pkgconfig LD_LIBRARY_PATH=%s/lib && %s")
      :format(dir, own, own, command:gsub("@PREFIX", own)))
  end

  it("gives CMake a package with shared and static libraries", function()
    if not support.has "cmake" then return pending "there is no cmake" end
    if support.sanitized then return pending "the program is not sanitized" end
    local out = project("cmake", "cmake -DCMAKE_PREFIX_PATH=@PREFIX -B out . >log && grep modules log && "
      .. "cmake --build out >log && out/c && out/cs @PREFIX/share/pmlua/lua && out/cxx && ldd out/cs | grep -c libpmlua || :")
    assert.matches("^%-%- modules: /.*/share/pmlua/lua\n" .. ("%d+%.%d+%.%d+ 45\n"):rep(2) .. "42\n0\n$", out)
    local newer = project("newer", "sed -i s/1.0/1.99/ CMakeLists.txt; cmake -DCMAKE_PREFIX_PATH=@PREFIX -B out . 2>&1 || :")
    assert.truthy(newer:find("pmlua-config.cmake, version: " .. version(), 1, true), newer)
  end)

  it("gives Meson a dependency", function()
    if not support.has "meson" then return pending "there is no meson" end
    if support.sanitized then return pending "the program is not sanitized" end
    local out = project("meson", "meson setup out >log && ninja -C out >log && out/c && out/cxx")
    assert.matches("^%d+%.%d+%.%d+ 45\n42\n$", out)
  end)

  it("gives a static library for applications that shows only its interface", function()
    for line in shell.done(("nm -g --defined-only %s/lib/libpmlua-embed.a"):format(prefix)):gmatch "[^\n]+" do
      if line:find " [TDBR] " then assert.truthy(line:find " pmlua_" or line:find " luaopen_pmlua_core$", line) end
    end
  end)

  it("gives a preloaded library that finds its parts", function()
    local preload = prefix .. "/lib/pmlua/preload/libpmlua-live.so"
    local out = sh("ldd " .. preload)
    assert.truthy(out:find(prefix .. "/lib/pmlua/preload/../../libpmlua.so.", 1, true), out)
    assert.falsy(out:find("not found", 1, true), out)
    assert.truthy(io.open(prefix .. "/lib/libpmlua-embed.so." .. version():match "%d+"), "which is where it looks for the rest")
  end)

  it("gives a static library that links without the shared one", function()
    local link = "cd %s && gcc t.c -I%s/include/pmlua %s/lib/libpmlua.a -lotf2 -lpthread -ldl -lm -o ts && ./ts"
    local out = shell.done(link:format(dest, prefix, prefix))
    assert.equal("1\n", out)
  end)

  it("gives a man page without mistakes", function()
    local check = "LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z %s >/dev/null"
    local pages = 0
    for page in sh(("ls %s/share/man/man1/*.1"):format(prefix)):gmatch "[^\n]+" do
      local out, code = sh(check:format(page))
      assert.equal(0, code, page)
      assert.equal("", out, page)
      pages = pages + 1
    end
    assert.is_true(pages > 20, "one of pmlua, and one of each verb")
    assert.falsy(assert(io.open(prefix .. "/share/man/man1/pmlua.1")):read("a"):find("@%u+@"))
  end)

  it("gives each verb a page and all shells their completion", function()
    for verb in sh(prefix .. "/bin/pmlua help"):match("\nverbs:\n(.-)\n\n"):gmatch("%f[^\n\0]  (%S+)") do
      local page = assert(io.open(("%s/share/man/man1/pmlua-%s.1"):format(prefix, verb)), verb):read "a"
      assert.truthy(page:find(".SH EXAMPLES\n.nf\npmlua", 1, true) or page:find("\npmlua " .. verb, 1, true), verb)
    end
    for _, path in ipairs { "bash-completion/completions/pmlua", "zsh/site-functions/_pmlua",
      "fish/vendor_completions.d/pmlua.fish" } do
      assert.truthy(assert(io.open(prefix .. "/share/" .. path), path):read("a"):find("completion --words", 1, true))
    end
    assert.truthy(assert(io.open(prefix .. "/share/doc/pmlua/verbs.md")):read("a"):find("\n## pmlua wrap init\n", 1, true))
  end)
end)

describe("libpmlua.so", function()
  it("has a SONAME", function()
    local out = sh(("objdump -p %s/libpmlua.so | grep SONAME"):format(build))
    assert.truthy(out:find("libpmlua.so." .. version():match "%d+" .. "\n", 1, true))
  end)

  it("needs nothing but libc", function()
    local out = sh(("objdump -p %s/libpmlua.so | awk '/NEEDED/ {print $2}'"):format(build))
    for lib in out:gmatch("%S+") do
      local known = false
      for _, pattern in ipairs { "^lib[cm]%.", "^ld%-linux", "^lib[atu][sb]?san" } do
        known = known or lib:match(pattern)
      end
      assert.truthy(known, lib)
    end
  end)

  it("reports errors of libotf2 when a trace first needs it", function()
    local name = sh(("strings -a %s/libpmlua-read.so | grep -x 'lib.*\\(otf2\\|trace-format2\\)[.]so[.0-9]*'"):format(build))
    if name == "" then return pending "libotf2 is linked: there is no shared library of it" end
    local dir = support.folder()
    local out = sh(([[gcc -shared -x c /dev/null -o %s/%s &&
      LD_LIBRARY_PATH=%s %s/pmlua -e 'print(require "pmlua.core".trace.open "x.otf2")']]):format(dir,
      name:match "%S+", dir, build))
    assert.truthy(out:find "lib%S+ has no OTF2_%w+.*ENOTHERE", out)
  end)
end)

describe("make layers", function()
  local dir

  before_each(function()
    dir = support.folder()
    sh("mkdir -p " .. dir .. "/core/base")
  end)

  it("finds a core file that includes Lua", function()
    write(dir .. "/core/base/x.c", '#include <lauxlib.h>\n')
    local out, code = sh("lua5.4 spec/layers.lua " .. dir)
    assert.equal(1, code)
    assert.truthy(out:find("x.c:1: core/ knows no Lua", 1, true))
  end)

  it("limits the sentences in unclear English of each folder", function()
    sh(("mkdir -p %s/docs"):format(dir))
    write(dir .. "/docs/a.md", "# What is\n\nOf a job there is one.\n\n```\nOf a job\n```\n\nA job has one picture.\n")
    write(dir .. "/core/base/a.c", "/* Threads are read, too. It reads files. */\nint of; // Whatever ends\n")
    local out, code = sh("lua5.4 spec/prose.lua " .. dir)
    assert.equal(1, code)
    local found = {}
    for place, habit in out:gmatch "([%w/%.]+:%d+): ([^:\n]+): " do found[#found + 1] = place .. " " .. habit end
    assert.same({ "core/base/a.c:1 trailing 'too'", "core/base/a.c:2 free relative", "docs/a.md:3 topic in front" }, found)
  end)

  it("finds a base file that includes a source", function()
    write(dir .. "/core/base/x.h", '\n#include "source/pml_event.h"\n')
    local out, code = sh("lua5.4 spec/layers.lua " .. dir)
    assert.equal(1, code)
    assert.truthy(out:find("x.h:2: core/base stands below core/source", 1, true))
  end)

  it("finds the files that sources are made from including one of them", function()
    sh("mkdir -p " .. dir .. "/core/source/base")
    write(dir .. "/core/source/base/x.c", '#include "source/base/x.h"\n#include "source/kernel/pml_group.h"\n')
    local out, code = sh("lua5.4 spec/layers.lua " .. dir)
    assert.equal(1, code)
    assert.truthy(out:find("x.c:2: what sources are made from knows none of them", 1, true))
    assert.falsy(out:find("x.c:1:", 1, true))
  end)

  it("accepts code that keeps to the layers", function()
    write(dir .. "/core/base/x.h", '#include "base/pml_api.h"\n')
    shell.done("lua5.4 spec/layers.lua " .. dir)
  end)

  it("finds a reader among the sources without stack protector, and a list that is not explicit", function()
    local function hot(source, list)
      sh(("mkdir -p %s/core/a"):format(dir))
      write(dir .. "/core/a/x.c", source)
      write(dir .. "/hot.mk", list)
      shell.done(("cc -c %s/core/a/x.c -o %s/core/a/x.o"):format(dir, dir))
      return sh(("lua5.4 spec/hot.lua %s %s/hot.mk"):format(dir, dir))
    end
    local list = "HOT := \\\n  $(addprefix core/a/,x.c)\n"
    local reads = "int pml__log_read_at(void); int x(void); int x(void) { return pml__log_read_at(); }\n"
    assert.same({ "", 0 }, { hot("int x(void); int x(void) { return 1; }\n", list) })
    local out, code = hot(reads, list)
    assert.equal(1, code)
    assert.matches("core/a/x%.c calls pml__log_read_at", out)
    out, code = hot("int x;\n", "HOT := $(wildcard core/a/*.c)\n")
    assert.equal(1, code)
    assert.matches("names are listed by", out)
  end)

  --- Compile C files to objects. Each has a function pml_PLACE, and addresses of the functions of the places that it needs;
  --- returns the output of spec/objects.lua.
  local function objects(needs)
    for place, needed in pairs(needs) do
      local text = {}
      for _, other in ipairs(needed) do
        local f = "pml_" .. other:gsub("/", "_")
        text[#text + 1] = ("void %s(void);\nvoid (*const via_%s)(void) = %s;"):format(f, f, f)
      end
      text[#text + 1] = ("void pml_%s(void);\nvoid pml_%s(void) {}\n"):format(place:gsub("/", "_"), place:gsub("/", "_"))
      sh(("mkdir -p %s/%s"):format(dir, place:match "^(.*)/"))
      write(("%s/%s.c"):format(dir, place), table.concat(text, "\n"))
      shell.done(("cc -c %s/%s.c -o %s/%s.o"):format(dir, place, dir, place))
    end
    return sh("lua5.4 spec/objects.lua " .. dir)
  end

  it("finds a circle of folders, and names its folders", function()
    local out, code = objects {
      ["a/one"] = { "b/two" }, ["b/two"] = { "c/d/three" }, ["c/d/three"] = { "a/four" }, ["a/four"] = {},
    }
    assert.same({ 1, "a circle of 3 folders: a b c/d\n" }, { code, out })
  end)

  it("finds a circle of five objects in a folder, not one of four", function()
    local ring = { ["a/1"] = { "a/2" }, ["a/2"] = { "a/3" }, ["a/3"] = { "a/4" }, ["a/4"] = { "a/1" }, ["b/1"] = { "a/1" } }
    assert.same({ "", 0 }, { objects(ring) })
    ring["a/4"], ring["a/5"] = { "a/5" }, { "a/1", "a/2" }
    local out, code = objects(ring)
    assert.same({ 1, "a circle of 5 objects: a/1 a/2 a/3 a/4 a/5\n" }, { code, out })
  end)

  it("counts code for one cpu as a part of the folder above", function()
    assert.same({ "", 0 }, { objects { ["a/one"] = { "a/x86_64/two" }, ["a/x86_64/two"] = { "a/one" } } })
  end)

  it("finds a writer that needs a reader, not a reader that needs a writer", function()
    assert.same({ "", 0 }, { objects { ["read/a/one"] = { "b/two" }, ["b/two"] = {} } })
    local out, code = objects { ["b/two"] = { "read/a/one" }, ["read/a/one"] = {} }
    assert.equal(1, code)
    assert.truthy(out:find("what writes needs what reads: b/two -> read/a/one", 1, true), out)
  end)

  it("does not pass where nothing is built", function()
    local out, code = sh("lua5.4 spec/objects.lua " .. dir)
    assert.equal(1, code)
    assert.truthy(out:find("none below", 1, true))
  end)
end)

describe("the rockspec", function()
  it("is a Lua file that names the package and its build", function()
    local env = {}
    assert(loadfile("pmlua-scm-1.rockspec", "t", env))()
    assert.equal("pmlua", env.package)
    assert.equal("make", env.build.type)
    assert.equal("install-rock", env.build.install_target)
  end)
end)

describe("the tree", function()
  it("has the same version everywhere", function()
    assert.truthy(version():find "^%d+%.%d+%.%d+$")
    assert.truthy(assert(io.open("CHANGELOG.md")):read("a"):find("## " .. version(), 1, true))
    assert.truthy(assert(io.open("CITATION.cff")):read("a"):find("\nversion: " .. version() .. "\n", 1, true))
    assert.same({ "pmlua " .. version(), 0 }, { sh(build .. "/pmlua --version | cut -d' ' -f1-2 | tr -d '\\n'") })
  end)

  it("has a changelog whose newest release fits a screen", function()
    local lines = 0
    for line in io.lines "CHANGELOG.md" do
      lines = lines + 1
      if line:find "^## " and lines > 10 then break end
    end
    assert.is_true(lines <= 60, lines .. " lines; move the details to a file in docs")
  end)

  it("has a purpose line in every C file", function()
    for file in sh("git ls-files 'core/*.[ch]' 'bindings/*.[ch]'"):gmatch("[^\n]+") do
      local head = assert(io.open(file)):read(600)
      assert.truthy(head:find("SPDX-License-Identifier: BSD-3-Clause", 1, true), file)
      assert.truthy(head:find(file .. " - ", 1, true), file .. " does not say what it is for")
    end
  end)

  it("has each line of spec/data/mutants_alive.tsv once in its file, with a reason", function()
    for line in io.lines "spec/data/mutants_alive.tsv" do
      local file, text, reason = line:match "^([^#\t][^\t]*)\t([^\t]+)\t([^\t]+)$"
      assert.truthy(reason or line:find "^#", "no file, line and reason: " .. line)
      local source = file and assert(io.open(file)):read "a" or ""
      local _, last = source:find(text or "", 1, true)
      assert.truthy(last and (not file or not source:find(text, last + 1, true)), line)
    end
  end)

  it("has each text that spec/mutants.lua breaks once, under a unique name", function()
    local named = {}
    for _, mutant in ipairs(dofile("spec/mutants_list.lua").list) do
      local name, file, text = table.unpack(mutant)
      local source = assert(io.open(file)):read "a"
      local _, last = source:find(text, 1, true)
      assert.truthy(last, ("%s: its text stands nowhere in %s"):format(name, file))
      assert.falsy(source:find(text, last + 1, true), ("%s: its text stands more than once in %s"):format(name, file))
      assert.falsy(named[name], "two mutants are named " .. name)
      named[name] = true
    end
  end)
end)
