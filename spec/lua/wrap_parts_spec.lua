-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/wrap_parts_spec.lua - the parts of pmlua wrap: names of recipes, compile commands, compiler command lines, demangled
-- names.

local support = require "spec.core.support"

describe("A compile_commands.json", function()
  it("gives flags and language", function()
    local dir = support.folder()
    support.spit(dir .. "/compile_commands.json", ([=[ [
      {"directory": "%s", "file": "a.cpp", "command": "g++ -DWIDTH='3 4' -I include -O2 -std=c++17 -c a.cpp -o a.o"},
      {"directory": "/b", "file": "b.cpp", "arguments": ["g++", "-isystem", "sys", "-I/abs", "-DWIDTH=3 4", "-c", "b.cpp"]}
    ] ]=]):format(dir))
    local found = assert(require("pmlua.internal.wrap.database").read(dir .. "/compile_commands.json"))
    assert.equal("c++", found.language)
    local words = assert(require("pmlua.internal.wrap.shell").words(found.cflags))
    assert.same({ "-DWIDTH=3 4", "-I" .. dir .. "/include", "-std=c++17", "-isystem", "/b/sys", "-I/abs" }, words)
  end)

  it("is refused if its words are no strings, or its commands no objects", function()
    local file = support.folder() .. "/compile_commands.json"
    for _, text in ipairs { '[{"arguments": ["cc", 1]}]', '[{"arguments": "cc -c a.c"}]', '[{"file": "a.c"}, 3]', "[]", "{}" } do
      support.spit(file, text)
      local found, err = require("pmlua.internal.wrap.database").read(file)
      assert.is_nil(found, text)
      assert.equal(file .. " is not a list of compile commands", err:sentence())
    end
  end)
end)

describe("A compiler's line", function()
  it("links, or does not", function()
    local line = require "pmlua.internal.wrap.line"
    local function links(text)
      local words = {}
      for word in text:gmatch("%S+") do words[#words + 1] = word end
      return line.links(words)
    end
    for _, text in ipairs { "gcc a.c", "ccache gcc -O2 a.o -lz -o a", "g++ -shared a.o", "cc @objects -o x", "gcc a" } do
      assert.is_true(links(text), text)
    end
    for _, text in ipairs { "gcc -c a.c", "gcc -E a.c", "gcc --version", "gcc -o x", "cc -S a.c", "gcc -r a.o b.o -o c.o",
      "g++ -fsyntax-only a.cc", "gcc -M a.c" } do
      assert.is_false(links(text), text)
    end
  end)

  it("has the words of a response file, however they are quoted, and those of a file in it", function()
    local words_of = require "pmlua.internal.cc.words"
    local path, letters, lines, words = support.folder() .. "/words", { "a", "-", " ", "\\", "'", '"', "@", "\t" }, {}, {}
    math.randomseed(7)
    for i = 1, 200 do
      local word = {}
      for k = 1, math.random(0, 6) do word[k] = letters[math.random(#letters)] end
      words[i] = table.concat(word):gsub("^@", "a")
      local how = math.random(3) -- each letter behind a backslash, or in quotes
      local text = how == 1 and words[i] ~= "" and words[i]:gsub(".", "\\%0")
        or how == 2 and '"' .. words[i]:gsub('[\\"]', "\\%0") .. '"' or "'" .. words[i]:gsub("[\\']", "\\%0") .. "'"
      lines[i] = (" "):rep(math.random(0, 2)) .. text
    end
    support.spit(path, table.concat(lines, "\n"))
    assert.same(words, words_of.expand { "@" .. path })
    support.spit(path .. "2", "first @" .. path .. " last")
    local nested = words_of.expand { "cc", "@" .. path .. "2", "@" .. path .. "3" }
    assert.same({ "cc", "first", words[1], words[200], "last", "@" .. path .. "3", 204 },
      { nested[1], nested[2], nested[3], nested[202], nested[203], nested[204], #nested })
  end)
end)

describe("A demangled name", function()
  local parse = require("pmlua.internal.wrap.templates").parse

  it("has class, member and types of the arguments", function()
    local p = parse("ns::Map<std::pair<int, char>, (ns::Kind)2>::find(std::pair<int, char> const&, int (*)(int, int)) const")
    assert.same({ "ns", "Map<std::pair<int, char>, (ns::Kind)2>", "find" }, p.parts)
    assert.same({ "std::pair<int, char> const&", "int (*)(int, int)" }, p.parameters)
    assert.is_true(p.const)
    assert.is_nil(p.result)
  end)

  it("has the result of a function template, and distinguishes operators from brackets", function()
    local p = parse("std::vector<int, std::allocator<int> > ns::make<int>(int)")
    assert.same({ "std::vector<int, std::allocator<int> >", "ns::make<int>" }, { p.result, p.name })
    p = parse("A<int>::operator()(int)")
    assert.same({ { "A<int>", "operator()" }, { "int" } }, { p.parts, p.parameters })
    p = parse("A<int>::operator<(A<int> const&) const")
    assert.same({ { "A<int>", "operator<" }, { "A<int> const&" } }, { p.parts, p.parameters })
    p = parse("A<int>::operator bool() const")
    assert.same({ "A<int>", "operator bool" }, p.parts)
    assert.is_nil(parse("vtable for A<int>"))
    assert.is_nil(parse("A<int>::f(int) [clone .cold]"))
  end)
end)

describe("pmlua wrap", function()
  local function wrap(dir, words)
    return support.shell(("cd %s && %s/pmlua wrap %s"):format(dir, require("pmlua.core").sys.realpath(support.build), words))
  end

  it("finds its recipes beside files and folders with their names", function()
    local dir = support.folder()
    local _, before = wrap(dir, "list")
    assert.matches("\nzlib ", before)
    support.spit(dir .. "/zlib", "")
    os.execute(("mkdir %s/gmp"):format(dir))
    local status, after = wrap(dir, "list")
    assert.same({ 0, before }, { status, after })
  end)

  it("takes a path for a file, and explains how to write a bare file name", function()
    local dir = support.folder()
    support.spit(dir .. "/mine", "return 1")
    support.spit(dir .. "/mine.lua", "return 1")
    for _, path in ipairs { "./mine", "mine.lua" } do
      local status, _, err = wrap(dir, "init --recipe " .. path)
      assert.equal(1, status, err)
      assert.matches("it does not return a table", err)
    end
    local status, _, err = wrap(dir, "init --recipe mine")
    assert.not_equal(0, status)
    assert.matches("no recipe 'mine'; the file of that name is %./mine\n", err)
  end)
end)
