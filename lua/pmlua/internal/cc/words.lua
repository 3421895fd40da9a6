-- SPDX-License-Identifier: BSD-3-Clause
--- lua/pmlua/internal/cc/words.lua - a compiler's command line: which word is what.
--
-- Try:  for _, s in ipairs(require("pmlua.internal.cc.words").parse({ "clang", "-O2", "a.c", "-o", "a" }).sources) do
--       print(s.file) end

local M = {}

local launchers = { ccache = true, sccache = true, distcc = true, icecc = true, nice = true, time = true }

--- The word behind these is their value.
M.takes = {}
for word in ([[-o -I -D -U -L -l -x -include -isystem -iquote -idirafter -isystem-after -MF -MT -MQ -MJ -Xlinker -Xclang
  -Xpreprocessor -Xassembler -Xanalyzer -mllvm -T -u -e -z -arch -imacros -target -isysroot -iprefix -iwithprefix
  -iwithprefixbefore -F -framework --param -B -rpath -include-pch -working-directory -gcc-toolchain -plugin -dumpbase
  -aux-info --sysroot --include --define-macro --undefine-macro --include-directory --output]]):gmatch("%S+") do
  M.takes[word] = true
end

--- With these nothing is compiled that could be counted, or nothing is linked.
M.stops = { ["-c"] = true, ["-S"] = true, ["-E"] = true, ["-M"] = true, ["-MM"] = true, ["-fsyntax-only"] = true, ["-r"] = true }

local asks = { ["-E"] = true, ["-M"] = true, ["-MM"] = true, ["-fsyntax-only"] = true, ["-###"] = true, ["--analyze"] = true,
  ["--version"] = true, ["--help"] = true, ["-emit-ast"] = true, ["-rewrite-objc"] = true, ["--precompile"] = true }

--- By extension; files with any other are for the linker.
local languages = {
  c = "c", i = "c", C = "c++", cc = "c++", cpp = "c++", cxx = "c++", ["c++"] = "c++", CPP = "c++", cp = "c++", ii = "c++",
  m = "objective-c", mm = "objective-c++", mi = "objective-c", mii = "objective-c++", bc = "ir", ll = "ir",
  f = "fortran", F = "fortran", f90 = "fortran", F90 = "fortran", f95 = "fortran", f03 = "fortran", f08 = "fortran",
  s = "assembly", S = "assembly", sx = "assembly", cu = "CUDA", cl = "OpenCL", cppm = "a C++ module", hip = "HIP",
  h = "a header", hh = "a header", hpp = "a header", hxx = "a header",
}
local counted = { c = true, ["c++"] = true, ["objective-c"] = true, ["objective-c++"] = true, ir = true, fortran = true }
-- Languages whose name in -x differs.
local by_option = { ["cpp-output"] = "c", ["c++-cpp-output"] = "c++", assembler = "assembly", ["assembler-with-cpp"] = "assembly",
  f95 = "fortran", ["f95-cpp-input"] = "fortran", cuda = "CUDA", ["objective-c-cpp-output"] = "objective-c",
  ["c-header"] = "a header", ["c++-header"] = "a header", ["objective-c-header"] = "a header",
  ["objective-c++-header"] = "a header" }

--- How many words name the compiler: "ccache clang" are two.
function M.compiler(words)
  local n = 1
  while launchers[words[n]:match("[^/]*$")] and n < #words do n = n + 1 end
  return n
end

--- The words of a response file: spaces part them, quotes and backslashes keep them.
local function file_words(text)
  local words, word, quote, i = {}, nil, nil, 1
  while i <= #text do
    local c = text:sub(i, i)
    if c == "\\" and i < #text then
      i = i + 1
      word = (word or "") .. text:sub(i, i)
    elseif quote then
      if c == quote then quote = nil else word = word .. c end
    elseif c == '"' or c == "'" then
      quote, word = c, word or ""
    elseif c:find("%s") then
      if word then words[#words + 1] = word end
      word = nil
    else
      word = (word or "") .. c
    end
    i = i + 1
  end
  if word then words[#words + 1] = word end
  return words
end

--- Replace @FILE words by the file's words; an unreadable file's word stays, so that the compiler reports it.
function M.expand(words, depth)
  local out = {}
  for _, word in ipairs(words) do
    local name = word:match("^@(.+)$")
    local text = name and (depth or 0) < 10 and require("pmlua.internal.file").read(name) or nil
    if text then
      for _, w in ipairs(M.expand(file_words(text), (depth or 0) + 1)) do out[#out + 1] = w end
    else
      out[#out + 1] = word
    end
  end
  return out
end

local function language_of(file, x)
  if x and x ~= "none" then return by_option[x] or (languages[x] or x) end
  return languages[file:match("%.([^./]+)$") or ""]
end

--- One word, or two of which the second is a value.
local function take(line, words, i, x)
  local word = words[i]
  local value = M.takes[word] and words[i + 1] or nil
  local item = { word, value }
  if word == "-o" or word == "--output" or word:find("^%-o.") then
    line.output = value or word:sub(3)
  elseif word == "-x" or word:find("^%-x.") then
    return item, value or word:sub(3)
  elseif word == "-" or not word:find("^%-") then
    item.file, item.language = word, language_of(word, x)
    item.counted = counted[item.language] or false
    item.x = x
    table.insert(item.language and line.sources or line.objects, item)
  else
    line.has[word] = value or true
    line.asks = line.asks or asks[word] or word:find("^%-print") ~= nil or word:find("^%-dump[mv]") ~= nil
    if word:find("^%-O") then line.optimise = word:sub(3) end
  end
  return item, x
end

---@class pmlua.cc.Line
---@field compiler string[]
---@field items table[] in order: a word and, where it takes one, its value; of files their language, and whether it is counted
---@field sources table[] those of the items that are compiled
---@field objects table[] those that are linked as they are
---@field has table<string, any> the options that are there
---@field output string?
---@field optimise string? what follows -O
---@field asks boolean nothing is compiled

--- Parse a command line.
---@return pmlua.cc.Line
function M.parse(words)
  local n = M.compiler(words)
  local rest = M.expand { table.unpack(words, n + 1) }
  local line = { compiler = { table.unpack(words, 1, n) }, items = {}, sources = {}, objects = {}, has = {}, asks = false }
  local i, x = 1, nil
  while i <= #rest do
    local item
    item, x = take(line, rest, i, x)
    line.items[#line.items + 1] = item
    i = i + (M.takes[rest[i]] and 2 or 1)
  end
  return line
end

return M
