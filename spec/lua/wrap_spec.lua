-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/wrap_spec.lua - tests of pmlua wrap and pmlua cc: libraries with every difficult construct, and zlib.
--
-- Slow: builds and runs some 40 wrappers and programs.

local support = require "spec.core.support"
local wrapping = require "spec.lua.wrap.support"
local done, quote = support.done, support.quote
local fixtures, it, missing = wrapping.fixtures, wrapping.it, wrapping.missing

local command = support.build .. "/pmlua"
local dir

local function shell(text, seconds)
  return support.shell("cd " .. quote(dir) .. " && export PMLUA_WRAP_PATH=" .. quote(dir .. "/lib/pmlua/wrap") .. " && " .. text,
    seconds or 300)
end

--- pmlua's own verbs: status, output, errors.
local function wrap(arguments)
  return shell(command .. " wrap " .. arguments)
end

local function lines_of(text)
  local set = {}
  for line in text:gmatch("[^\n]+") do set[line] = true end
  return set
end

--- The functions left out: function -> reason.
local function left_out(folder)
  local left = {}
  for title, why in support.slurp(dir .. "/" .. folder .. "/build/left_out.txt"):gmatch("([^\t\n]+)\t([^\t]+)\t[^\n]*\n") do
    left[title] = why
  end
  return left
end

--- The example in every way: the counts of each, by way.
local function trial(folder)
  local cfg = assert(require("pmlua.internal.wrap.folder").load(dir .. "/" .. folder))
  local w = assert(require("pmlua.internal.wrap.installed").built(cfg))
  local ways = {}
  for _, t in ipairs(require("pmlua.internal.wrap.trial").run(cfg, w)) do
    assert.is_nil(t.err, t.way .. ": " .. tostring(t.err))
    ways[t.way] = t.counts
  end
  return ways
end

--- The functions that pmlua record reports as JSON behind a program's output: calls by library and name, "LIBRARY NAME".
local function calls_of(out)
  local calls = {}
  for _, f in ipairs(require("pmlua.json").decode(out:match "\n({\n.*)$").functions) do
    local key = f.library .. " " .. f.name
    calls[key] = (calls[key] or 0) + f.calls
  end
  return calls
end

--- All programs that the trial built print the same.
local function assert_same_output(folder, name)
  local there = ("cd %s/build && "):format(folder)
  local expected = done(shell(there .. "./example"))
  assert.is_true(#expected > 0)
  for _, how in ipairs { "link-shared", "link-static", "run-shared", "run-static" } do
    assert.equal(expected, done(shell(there .. "./example-" .. how)), how)
  end
  assert.equal(expected, done(shell(("%sLD_PRELOAD=./libpmlua-wrap-%s-run.so ./example"):format(there, name))))
end

local function setup_library(name, source, compiler)
  done(shell(("%s -O1 -fPIC -shared %s/%s -Wl,-soname,lib%s.so.3 -o lib%s.so.3 && ln -s lib%s.so.3 lib%s.so"):format(compiler,
    fixtures, source, name, name, name, name)))
end

setup(function()
  dir = support.folder() .. "/libraries.ab" -- a name that is easily mistaken
  assert(os.execute("mkdir " .. quote(dir)))
  if missing then return end
  setup_library("plain", "plain.c", "gcc")
  setup_library("fancy", "fancy.cpp", "g++")
end)

describe("pmlua wrap, of a C library with all difficult constructs,", function()
  local flags

  setup(function()
    if missing then return end
    flags = ("--cflags -I%s --ldflags '-L%s -Wl,-rpath,%s' --libs -lplain"):format(fixtures, dir, dir)
    local out = done(wrap(("init plain --name plain --headers plain.h %s --example %s/plain_example.c " ..
      "--variadic plain_log=plain_log_with_list --record plain_length:text --record plain_scale:x=metric " ..
      "--record plain_next:kind --record plain_many:2 --record plain_fact:return"):format(flags, fixtures)))
    assert.truthy(out:find("libplain.so.3", 1, true), out)
    assert.truthy(done(wrap("build plain")):find("21 functions are wrapped", 1, true))
  end)

  it("writes a folder with everything that the steps need", function()
    for _, file in ipairs { "wrap.lua", "README.md", "Makefile", "headers.h", "example.c", "plain.filter" } do
      assert.is_true(#support.slurp(dir .. "/plain/" .. file) > 0, file)
    end
    done(shell("make -n -C plain check installcheck"))
    assert.equal("#include <plain.h>", support.slurp(dir .. "/plain/headers.h"):match("#include[^\n]*"))
  end)

  it("names excluded functions, with the reason", function()
    local left = left_out("plain")
    assert.equal("no library has it", left.plain_absent)
    assert.equal("its parameters are not declared", left.plain_old)
    assert.truthy(left.plain_sum:find("has no twin with a va_list; name one with --variadic plain_sum=TWIN", 1, true))
    if require("pmlua.core").sys.uname().machine == "x86_64" then
      assert.equal("it uses another calling convention", left.plain_unusual)
    end
    assert.is_nil(left.plain_format)
    assert.is_nil(left.plain_log)
  end)

  it("counts every call in every way, and does not change the program's output", function()
    local ways = trial("plain")
    local truth = { plain_swap = 1, plain_add = 100, plain_each = 1, plain_scale = 1, plain_total = 1, plain_fill = 1,
      plain_length = 2, plain_next = 1, plain_other = 1, plain_apply = 1, plain_choose = 1, plain_choose_raw = 1,
      plain_first = 1, plain_many = 1, plain_fact = 1, plain_leap = 1, plain_format = 1, plain_log = 1, plain_renamed_v2 = 1 }
    ways.intercepted.plain_unusual = nil -- wrappers leave it out
    assert.same(truth, ways.intercepted)
    assert.same(truth, ways["link-time, shared"])
    assert.same(truth, ways["link-time, static"])
    truth.plain_fact = 5 -- the library's calls of itself are seen, too
    assert.same(truth, ways["run-time, shared"])
    assert.same(truth, ways["run-time, static"])
    assert.same(truth, ways.preloaded)
    assert_same_output("plain", "plain")
  end)

  it("checks functions against the library, and fixes the filter", function()
    local status, out = wrap("check plain")
    assert.equal(1, status)
    assert.truthy(out:find("in no library: 1\n  plain_absent\n", 1, true), out)
    assert.truthy(out:find("EXCLUDE MANGLED plain_absent", 1, true), out)
    done(wrap("check plain --fix"))
    out = done(wrap("check plain"))
    assert.truthy(out:find("in no library: 0\n", 1, true), out)
    assert.truthy(out:find("plain_absent: the filter excludes it", 1, true), out)
  end)

  it("recognises functions that link without the library", function()
    done(wrap("init mixed --name mixed --headers plain.h stdio.h " .. flags))
    local status, out = wrap("check mixed")
    assert.equal(1, status)
    assert.truthy(out:find("also link without the libraries: %d+\n.*\n  printf\n"), out)
    done(wrap("check mixed --fix"))
    assert.truthy(done(wrap("check mixed")):find("also link without the libraries: 0\n", 1, true))
  end)

  it("wraps the functions that the filter selects", function()
    done(wrap("init few --name few --headers plain.h " .. flags))
    support.spit(dir .. "/few/few.filter", "SCOREP_REGION_NAMES_BEGIN EXCLUDE * INCLUDE plain_f*\nSCOREP_REGION_NAMES_END\n")
    done(wrap("build few"))
    local wrapped = {}
    for f in support.slurp(dir .. "/few/build/few.wrap"):gmatch("%-%-wrap=(%S+)") do wrapped[#wrapped + 1] = f end
    assert.same({ "plain_fact", "plain_fill", "plain_first", "plain_format" }, wrapped)
    support.spit(dir .. "/few/few.filter", "EXCLUDE plain_*\n")
    local status, _, err = wrap("build few")
    assert.equal(1, status)
    assert.truthy(err:find("few.filter:1: .EXCLUDE. is outside a block; [^\n]*\n$"), err)
  end)

  it("installs, lists and shows the wrapper", function()
    local out = done(wrap("install plain --prefix " .. dir))
    assert.truthy(out:find("plain is installed in " .. dir .. "/lib/pmlua/wrap", 1, true), out)
    assert.truthy(done(wrap("list")):find("plain +c +21 +libplain.so.3"))
    local shown = lines_of(done(wrap("show plain")))
    local place = fixtures:gsub("%p", "%%%0") .. "/plain.h:"
    local function line_of(pattern)
      for line in pairs(shown) do
        if line:find(pattern) then return line end
      end
      return ""
    end
    assert.truthy(line_of("^  plain_log "):find(place .. "%d+  %(through plain_log_with_list%)"))
    assert.truthy(line_of("^  plain_fact "):find("(records return)", 1, true))
  end)

  it("gives link lines the necessary options, and leaves others alone", function()
    local line = "gcc -I" .. fixtures .. " -c " .. fixtures .. "/plain_example.c -o example.o"
    assert.equal(line .. "\n", done(shell(command .. " cc --wrap plain --print -- " .. line)))
    done(shell(command .. " cc --wrap plain -- " .. line))
    for _, how in ipairs { "", "--static", "--runtime", "--runtime --static" } do
      done(shell(("%s cc --wrap plain %s -- gcc example.o -L. -lplain -Wl,-rpath,%s -o linked"):format(command, how, dir)))
      done(shell("rm -rf recorded && ./linked >plain.out && PMLUA_RECORD_WRAPPED=1 " .. command ..
        " record --json --lib none -o recorded -- ./linked >record.out 2>/dev/null"))
      local text = support.slurp(dir .. "/record.out")
      local plain = support.slurp(dir .. "/plain.out")
      assert.equal(plain, text:sub(1, #plain))
      assert.equal(100, calls_of("\n" .. text:sub(#plain + 1))["libplain.so.3 plain_add"], how)
    end
  end)

  it("counts a call once when pmlua record also sees it", function()
    done(shell(("gcc example.o -L. -lplain -Wl,-rpath,%s -o both-preloaded"):format(dir)))
    for _, how in ipairs { "", "--static", "--runtime", "--runtime --static", "preloaded" } do
      local preload, program = "", "./both"
      if how == "preloaded" then
        preload, program = ("LD_PRELOAD=%s/plain/build/libpmlua-wrap-plain-run.so "):format(dir), "./both-preloaded"
      else
        done(shell(("%s cc --wrap plain %s -- gcc example.o -L. -lplain -Wl,-rpath,%s -o both"):format(command, how, dir)))
      end
      local out = done(shell(("rm -rf twice && %s%s record --json -o twice -- %s 2>/dev/null"):format(preload, command, program)))
      local adds = {}
      for key, n in pairs(calls_of(out)) do
        local name = key:match "%S+$"
        adds[name] = (adds[name] or 0) + n
      end
      assert.same({ how, 100, 1 }, { how, adds.plain_add, adds.plain_swap })
    end
  end)

  it("records only the chosen wrapped functions, in each way of wrapping", function()
    local function counted(options)
      local line = "rm -rf chosen && %s record --json %s -o chosen -- ./linked 2>chosen.err"
      local _, out, err = shell(line:format(command, options))
      local names = {}
      for key, n in pairs(calls_of(out .. err)) do names[key:match "^libplain%.so%.3 (.*)" or key] = n end
      return names, support.slurp(dir .. "/chosen.err")
    end
    for _, how in ipairs { "", "--static", "--runtime" } do
      done(shell(("%s cc --wrap plain %s -- gcc example.o -L. -lplain -Wl,-rpath,%s -o linked"):format(command, how, dir)))
      assert.same({ plain_add = 100 }, (counted "--sym plain_add"), how)
      local names, said = counted "--lib 'nothin*'"
      assert.same({}, names, how)
      assert.truthy(said:find("--lib 'nothin*' matches no library", 1, true), said)
      names, said = counted "--lib libplain --not plain_add"
      assert.same({ how, 1 }, { how, names.plain_swap })
      assert.is_nil(names.plain_add, how)
      assert.falsy(said:find("matches no", 1, true), said)
    end
  end)

  it("names the installed library, if it is another version than the wrapped one", function()
    done(shell(("mkdir newer && gcc -O1 -fPIC -shared %s/plain.c -Wl,-soname,libplain.so.4 -o newer/libplain.so.4 && " ..
      "ln -s libplain.so.4 newer/libplain.so"):format(fixtures)))
    for _, how in ipairs { "", "--runtime" } do
      local line = "%s cc --wrap plain %s -- gcc example.o -Lnewer -lplain -Wl,-rpath,%s/newer -o linked"
      done(shell(line:format(command, how, dir)))
      local out = done(shell("rm -rf version && " .. command .. " record --json --lib libplain.so.4 -o version -- ./linked"))
      local calls = calls_of(out)
      assert.same({ 100, nil }, { calls["libplain.so.4 plain_add"], calls["libplain.so.3 plain_add"] }, how)
    end
  end)

  it("links programs without any shared library", function()
    if shell("echo 'int main(void) { return 0; }' | gcc -xc - -static -lotf2 -lm -o static-probe") ~= 0 then
      return pending("libotf2.a, libpfm.a or libc.a is not there")
    end
    done(shell(("mkdir archive && gcc -c %s/plain.c -o all.o && ar rcs archive/libplain.a all.o"):format(fixtures)))
    done(shell(command .. " cc --wrap plain --static -- gcc -static example.o -Larchive -lplain -o all-static"))
    assert.is_true(shell("readelf -lW all-static | grep -q INTERP") ~= 0)
    done(shell(("gcc example.o -L. -lplain -Wl,-rpath,%s -o none-static"):format(dir)))
    assert.equal(done(shell "./none-static"), done(shell "./all-static"))
    local status, _, err = shell(command .. " cc --wrap plain --runtime -- gcc -static example.o -Larchive -lplain -o all-static")
    local said = "--runtime wraps functions of shared libraries, and -static links none"
    assert.same({ 1, true }, { status, err:find(said, 1, true) ~= nil })
  end)

  it("wraps a static library for link time", function()
    done(shell(("gcc -c %s/plain.c -o plain.o && ar rcs libplainstatic.a plain.o"):format(fixtures)))
    local out = done(wrap(("init archived --name archived --headers plain.h --cflags -I%s --ldflags -L%s --libs -lplainstatic " ..
      "--example %s/plain_example.c"):format(fixtures, dir, fixtures)))
    assert.truthy(out:find("libplainstatic.a is static: wrappers for link time only, static too", 1, true), out)
    done(wrap("build archived"))
    local ways = trial("archived")
    assert.equal(100, ways["link-time, static"].plain_add)
    assert.is_nil(ways.preloaded)
    local files = shell("ls archived/build/*.so")
    assert.is_true(files ~= 0, "no shared wrapper")
  end)

  it("refuses to record missing values, and values that are neither numbers nor texts", function()
    local cases = {
      ["plain_fact:m"] = "plain_fact has no argument 'm'; choose one of n, return",
      ["plain_fat:n"] = "no such function is wrapped; did you mean plain_fact?",
      ["plain_swap:p"] = "plain_swap: p is a struct plain_pair, which cannot be recorded",
      ["plain_length:text=recorder"] = "plain_length: text is a string, which no recorder keeps; append =metric",
    }
    for wish, expected in pairs(cases) do
      done(wrap(("init wish --update --name wish --headers plain.h %s --record %s"):format(flags, wish):gsub("%-%-update ",
        io.open(dir .. "/wish/wrap.lua") and "--update " or "")))
      local status, _, err = wrap("build wish")
      assert.equal(1, status)
      assert.equal(("pmlua wrap: --record %s: %s\n"):format(wish, expected), err)
    end
  end)
end)

describe("pmlua wrap, of a C++ library with all difficult constructs,", function()
  setup(function()
    if missing then return end
    done(wrap(("init fancy --name fancy --language c++ --headers fancy.hpp --cflags -I%s --ldflags '-L%s -Wl,-rpath,%s' " ..
      "--libs -lfancy --example %s/fancy_example.cc --record Shape::length:scale " ..
      "--record 'as<double>(double) const:1'"):format(fixtures, dir, dir, fixtures)))
    assert.truthy(done(wrap("build fancy")):find("77 functions are wrapped", 1, true))
  end)

  it("names excluded functions, with the reason", function()
    local left = left_out("fancy")
    assert.equal("no library has it", left["fancy::missing(int)"])
    assert.equal("it is pure virtual", left["fancy::Abstract::must()"])
    assert.equal("its code is in the header", left["fancy::v2::Shape::in_header() const"])
    assert.equal("as a base-class function it takes a hidden table of virtual bases", left["fancy::Left::Left()"])
    assert.truthy(left["fancy::v2::Shape::sum(int, ...) const"]:find("has no twin", 1, true))
  end)

  it("counts members, overloads, operators, templates and exceptions in every way, and changes nothing", function()
    local ways = trial("fancy")
    local text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
    local truth = { ["fancy::Stack<int>::push(int const&)"] = 10, ["fancy::v2::Shape::check(int)"] = 2,
      ["fancy::area(int)"] = 1, ["fancy::area(int, int)"] = 1, ["fancy::area(double)"] = 1, ["fancy::pick(bool)"] = 2,
      ["fancy::v2::Shape::operator+=(fancy::v2::Shape const&)"] = 1, ["fancy::v2::Shape::operator int() const"] = 1,
      ["fancy::v2::Shape::operator()(int, int) const"] = 1, ["fancy::v2::Shape::operator[](unsigned long) const"] = 1,
      ["fancy::v2::operator==(fancy::v2::Shape const&, fancy::v2::Shape const&)"] = 1, ["fancy_plain"] = 1,
      ["fancy::v2::Shape::take(fancy::Counted, fancy::Counted const&, fancy::Counted&&)"] = 1,
      ["fancy::v2::Shape::give(int) const"] = 1, ["fancy::v2::Shape::both(std::pair<int, int>) const"] = 1,
      ["fancy::v2::Shape::print(char*, unsigned long, char const*, ...) const"] = 1, ["int fancy::largest<int>(int, int)"] = 1,
      ["fancy::Stack<int>::top()"] = 1, ["fancy::Stack<int>::top() const"] = 1, ["fancy::Stack<int>::made()"] = 1,
      ["fancy::Stack<int>::sum(int, int) const"] = 1,
      ["double fancy::Stack<int>::as<double>(double) const"] = 1, ["fancy::Special<char>::size()"] = 1,
      ["fancy::v2::Shape::count()"] = 2, ["fancy::Left::Left()"] = 1, ["fancy::v2::Shape::secret(int) const"] = 1,
      ["fancy::v2::Shape::rename(" .. text .. ")"] = 1, ["fancy::v2::Shape::copy() const"] = 1 }
    for way, counts in pairs(ways) do
      for f, n in pairs(truth) do assert.equal(n, counts[f], way .. ": " .. f) end
    end
    assert.same(ways["link-time, shared"], ways["link-time, static"])
    assert.same(ways["run-time, shared"], ways["run-time, static"])
    assert.same(ways["run-time, shared"], ways.preloaded)
    assert_same_output("fancy", "fancy")
  end)
end)

describe("pmlua wrap, of zlib,", function()
  local header = io.open("/usr/include/zlib.h")

  local with_zlib = support.it_unless(function() return missing or not header and "zlib.h is not installed" end)

  with_zlib("counts in every way what interception counts", function()
    support.spit(dir .. "/zlib.recipe", ("return { name = 'zlib', package = 'zlib1g-dev', headers = { 'zlib.h' }, " ..
      "libs = '-lz', record = { 'crc32:len', 'crc32:return=metric', 'gzopen:1' }, example = %q }\n"):format(
      support.slurp(fixtures .. "/zipped.c")))
    done(wrap("init --recipe zlib.recipe"))
    done(wrap("build wrap-zlib"))
    assert.same({}, left_out("wrap-zlib"))
    local ways = trial("wrap-zlib")
    assert.same({ compress = 1, uncompress = 1, crc32 = 25, gzopen = 2, gzprintf = 1, gzclose = 2, gzgets = 1, zError = 1 },
      ways["link-time, shared"])
    assert.same(ways["link-time, shared"], ways["link-time, static"])
    -- the twin of gzprintf is called by its wrapper, which does not count it
    ways.intercepted.gzvprintf = nil
    assert.is_true(ways.intercepted.deflate > 0, "a call from the library to itself")
    assert.same(ways.intercepted, ways["run-time, shared"])
    assert.same(ways.intercepted, ways["run-time, static"])
    assert.same(ways.intercepted, ways.preloaded)
    assert_same_output("wrap-zlib", "zlib")
  end)

  with_zlib("records arguments and results with quantiles", function()
    if not package.searchpath("zlib", package.cpath) then return pending("lua-zlib is not installed") end
    support.spit(dir .. "/values.lua", [[
local pml, zlib = require "pmlua", require "zlib"
local crc = zlib.crc32()
for i = 1, 9 do crc(("x"):rep(10 * i)) end
for _, q in ipairs { "CNT", "MIN", "MED", "MAX" } do
  local set = assert(pml.eventset { "sde:::WRAP::crc32:len:" .. q })
  print(q, set:read())
end]])
    local out = done(shell(("LD_PRELOAD=%s/wrap-zlib/build/libpmlua-wrap-zlib-run.so %s values.lua"):format(dir, command)))
    assert.truthy(out:find("^CNT\t10\nMIN\t0.0\nMED\t[45]%d%.%d+\nMAX\t90.0\n$"), out) -- the first sum is of nothing
  end)
end)

describe("pmlua wrap and pmlua cc", function()
  it("report the error in one line, with a remedy", function()
    support.spit(dir .. "/bad.h", "#include <stdio.h>\n#include <plainn.h>\n")
    support.spit(dir .. "/empty.h", "\n")
    local init = "wrap init x%d --name x --headers "
    local cases = {
      { "wrap", 2, "name what to do" },
      { "wrap buld", 2, "unknown verb 'buld'; did you mean 'build'" },
      { "wrap init", 2, "add %-%-name NAME" },
      { "wrap init --name a/b", 2, "%-%-name: letters" },
      { "wrap init --name x --record f", 2, "not FUNCTION:ARGUMENT; write FUNCTION:ARGUMENT" },
      { "wrap init --name x --variadic f", 2, "write FUNCTION=TWIN" },
      { "wrap init --recipe nothere.lua", 1, "nothere.lua: No such file" },
      { "wrap init --name x --compile-commands empty.h", 1, "empty.h is not a list of compile commands" },
      { init:format(1) .. "plainn.h --libs -lz", 1, "headers.h:2: 'plainn.h' file not found" },
      { init:format(2) .. dir .. "/bad.h", 1, "headers.h:2: /.*/bad.h:2: 'plainn.h' file not found" },
      { init:format(3) .. "zlib.h --libs -lzz", 1, "library %-lzz not found; did you mean %-l%w+%?" },
      { init:format(4) .. "zlib.h --libs z", 1, "z is neither a file nor a linker flag; name libraries as in %-lz" },
      { "wrap build nothere", 1, "nothere: no such folder" },
      { "wrap build .", 1, ". has no wrap.lua; make a folder with pmlua wrap init" },
      { "wrap show nothere", 1, "no wrapper 'nothere'" },
      { "cc -- gcc", 2, "add %-%-functions, %-%-count, %-%-layouts N, or %-%-wrap NAME" },
      { "cc --wrap plain", 2, "name the compiler to run" },
      { "cc --wrap plan -- gcc x.c", 1, "no wrapper 'plan'; did you mean 'plain'" },
    }
    for _, case in ipairs(cases) do
      local status, out, err = shell(command .. " " .. case[1])
      assert.same({ case[1], case[2] }, { case[1], status }, err)
      assert.truthy(err:find("^pmlua [%w ]+: .*" .. case[3]), err .. out)
      assert.equal(case[2], select(2, err:gsub("\n", "")), err) -- misuse has where help is on a second line
    end
  end)

  it("report that there is nothing to wrap", function()
    support.spit(dir .. "/inline.h", "static inline int one(void) { return 1; }\n")
    done(wrap(("init none --name none --headers %s/inline.h"):format(dir)))
    local status, _, err = wrap("build none")
    assert.equal(1, status)
    assert.truthy(err:find("nothing to wrap: the listed headers themselves declare no functions", 1, true), err)
  end)

  it("name the package to install if libclang is missing", function()
    local status, _, err = shell("PMLUA_LIBCLANG=/nothere.so " .. command .. " wrap build plain")
    assert.equal(1, status)
    assert.equal("pmlua wrap: libclang is not found; install libclang-dev (or set PMLUA_LIBCLANG to its file)\n", err)
  end)
end)

describe("pmlua wrap, where it is installed,", function()
  it("builds, installs and tries a wrapper with the installed files", function()
    local prefix = dir .. "/opt"
    local spaced = dir .. "/with a space"
    done(support.shell(("make -s install B=%s PREFIX=%s"):format(quote(support.build), quote(prefix)), 300))
    local installed = ("cd %s && env -u PMLUA_WRAP_PATH %s/bin/pmlua wrap "):format(quote(dir), quote(prefix))
    done(support.shell(("%sinit moved --name moved --headers plain.h --cflags '-I%s -O2 -fno-guess-branch-probability' " ..
      "--ldflags '-L%s -Wl,-rpath,%s' --libs -lplain " ..
      "--example %s/plain_example.c"):format(installed, fixtures, dir, dir, fixtures)))
    done(support.shell("make -s -C " .. quote(dir .. "/moved") .. " install installcheck", 300))
    local out = done(support.shell(installed .. "list"))
    assert.truthy(out:find(prefix .. "/lib/pmlua/wrap", 1, true), out)

    -- a folder with spaces, to a place with spaces: all but preloading works, and the export can be pasted
    done(support.shell(("cp -r %s %s && rm -rf %s/build"):format(quote(dir .. "/moved"), quote(spaced), quote(spaced))))
    out = done(support.shell(("make -s -C %s install PREFIX=%s"):format(quote(spaced), quote(spaced .. "/to")), 300))
    local export = out:match("(export PMLUA_WRAP_PATH=[^\n]*)")
    out = done(support.shell(("%s && make -s -C %s installcheck"):format(export, quote(spaced)), 300))
    assert.truthy(out:find("with the wrapper in " .. spaced .. "/to/lib/pmlua/wrap\n", 1, true), out)
    assert.truthy(out:find("preloaded: left out: LD_PRELOAD cannot name " .. spaced, 1, true), out)

    -- an installation of pmlua in a folder with a space cannot preload anything, and prints one message about that
    done(support.shell(("cp -r %s %s"):format(quote(prefix), quote(spaced .. "/opt"))))
    local status, _, err = support.shell(("%s/bin/pmlua record -- true"):format(quote(spaced .. "/opt")))
    assert.equal(1, status)
    assert.truthy(err:find("^pmlua record: LD_PRELOAD cannot name [^\n]*; move it to a folder without them\n$"), err)
  end)
end)
