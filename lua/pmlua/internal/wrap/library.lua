-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/library.lua - which libraries the linker finds behind -lfoo, and what they define.
--
-- The linker itself is asked: one link of a file that refers to all symbols.
--
-- Try:  print(require("pmlua.internal.wrap.library").find({ language = "c", libs = "-lz" }, "/tmp")[1].soname)

local shell = require "pmlua.internal.wrap.shell"
local refuse = require "pmlua.core".failure.refuse
local try = require "pmlua.internal.try"

local M = {}

local quote = shell.quote

function M.compiler(language)
  if language == "c++" then return os.getenv("CXX") or "g++" end
  return os.getenv("CC") or "gcc"
end

local function suffix(language) return language == "c++" and ".cc" or ".c" end

-- As assembler names they may be anything that a symbol table holds; a quote would end the name.
local function probe(symbols)
  local lines, names = {}, {}
  for i, symbol in ipairs(symbols) do
    lines[i] = ("extern char s%d __asm__(\"%s\");\n"):format(i, symbol)
    names[i] = ("&s%d,"):format(i)
  end
  local header = "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
  local footer = "#ifdef __cplusplus\n}\n#endif\n"
  return header .. table.concat(lines) .. "extern char *const table[];\nchar *const table[] = {" .. table.concat(names) ..
    "0};\n" .. footer .. "int main(void) { return table[0] == 0; }\n"
end

-- Without the second, the linker stops at a symbol that a library's own libraries have.
local FIND = "-Wl,--no-as-needed -Wl,--copy-dt-needed-entries"

--- The symbols that the linker does not find with @libs on the line, as a set; nil and what it said else.
local function undefined(cfg, libs, object)
  local program = object .. ".out"
  local done, out = shell.run(("%s %s %s -o %s %s -Wl,--no-demangle %s"):format(M.compiler(cfg.language), cfg.ldflags or "",
    quote(object), quote(program), FIND, libs or ""))
  os.remove(program)
  local set = {}
  for symbol in out:gmatch("undefined reference to [`']([^'\n]+)'") do set[symbol] = true end
  for symbol in out:gmatch("undefined symbol: (%g+)") do set[symbol] = true end -- lld
  if not done and not next(set) then return nil, out end
  return set
end

--- The symbols that do not link with the wrapper's libraries, and those that do not without them, as sets; nil and why.
---@param cfg table the folder's configuration
---@param scratch string a folder
---@return table<string, true>? with, table<string, true>|string without or why
M.undefined = try.catching(function(cfg, symbols, scratch)
  local source, object = scratch .. "/probe" .. suffix(cfg.language), scratch .. "/probe.o"
  try(shell.spit(source, probe(symbols)))
  local done, out = shell.run(("%s -fPIC -w -c %s -o %s"):format(M.compiler(cfg.language), quote(source), quote(object)))
  if not done then return refuse("EINVAL", M.compiler(cfg.language) .. ": " .. (out:gsub("\n.*", ""))) end
  local with, refused = undefined(cfg, cfg.libs, object)
  local without, failed = undefined(cfg, "", object)
  os.remove(source)
  os.remove(object)
  if not with or not without then return M.refuse_link(cfg, refused or failed) end
  return with, without
end)

--- The functions that libraries define: symbol -> its library, of the first that has it.
---@param libraries table[] of find()
---@return table<string, table>
function M.functions(libraries)
  local defined = {}
  for _, library in ipairs(libraries) do
    local _, out = shell.run(("nm %s --defined-only --extern-only --format=posix %s"):format(library.archive and "" or "-D",
      quote(library.file)))
    for name, kind in out:gmatch("([^\n ]+) (%a) [^\n]*") do
      local bare = name:match("^[^@]+")
      if kind:find("[TWi]") and not defined[bare] then defined[bare] = library end
    end
  end
  return defined
end

--- How many letters two names begin with in common.
local function common(a, b)
  local n = 0
  while n < #a and a:byte(n + 1) == b:byte(n + 1) do n = n + 1 end
  return n
end

--- Names of libraries that the linker could find ("z" for libz.so), those that begin as @asked first.
local function known(cfg, asked)
  local words = shell.words(cfg.ldflags) or {}
  local dirs = {}
  for _, word in ipairs(words) do dirs[#dirs + 1] = word:match("^%-L(.+)") end
  local _, out = shell.run(M.compiler(cfg.language) .. " -print-search-dirs")
  for dir in (out:match("libraries: =([^\n]*)") or ""):gmatch("[^:]+") do dirs[#dirs + 1] = dir end
  local names, lfs = {}, require "lfs"
  for _, dir in ipairs(dirs) do
    if lfs.attributes(dir, "mode") == "directory" then
      for entry in lfs.dir(dir) do
        local name = entry:match("^lib(.+)%.so$") or entry:match("^lib(.+)%.a$")
        if name then names[#names + 1] = name end
      end
    end
  end
  table.sort(names, function(a, b)
    local x, y = common(a, asked), common(b, asked)
    return x > y or x == y and a < b
  end)
  return names
end

--- Refuse with what the linker said; a library that it did not find, with the nearest that exists.
function M.refuse_link(cfg, out)
  local name = out:match("cannot find %-l([^%s:]+)")
  local file = out:match("cannot find ([^%s:]+)")
  if file and not name then
    return refuse("ENOENT", file .. " is neither a file nor a linker flag", "name libraries as in -lz")
  end
  if not name then
    return refuse("EINVAL", "the link fails: " .. (out:match("[^\n]*error[^\n]*") or out:match("[^\n]*") or ""))
  end
  local nearest = require "pmlua.internal.nearest"(name, known(cfg, name))
  return refuse("ENOENT", ("library -l%s not found"):format(name),
    nearest and "did you mean -l" .. nearest .. "?" or "name its folder with -L")
end

local function trace(cfg, libs, object)
  local command = ("%s %s %s -o %s %s -Wl,--trace %s"):format(M.compiler(cfg.language), cfg.ldflags or "", quote(object),
    quote(object .. ".out"), FIND, libs)
  local done, out = shell.run(command)
  os.remove(object .. ".out")
  if not done then return M.refuse_link(cfg, out) end
  local files = {}
  for line in out:gmatch("[^\n]+") do
    local file = line:match("^(.*%.so[%d.]*)$") or line:match("^(.*%.a)$") or line:match("^%((.*%.a)%)[^/]*$") or
      line:match("^(.*%.a)%([^/]*%)$")
    if file and not files[file] then
      files[file] = true
      files[#files + 1] = file
    end
  end
  return files
end

local sonames = {}

--- The library's name in the dynamic section of programs; for an archive its file name.
function M.soname(file)
  if not sonames[file] then
    local archive = file:match("^(.*%.a)%(") or file:match("^.*%.a$")
    local _, out = shell.run("objdump -p " .. quote(file))
    sonames[file] = not archive and out:match("\n%s*SONAME%s+(%S+)") or (archive or file):match("[^/]*$")
  end
  return sonames[file]
end

function M.is_archive(file) return file:find("%.a$") ~= nil or file:find("%.a%(") ~= nil end

--- A linker script is not a library; the files it names are.
local function is_script(file)
  local f <close> = require("pmlua.internal.file").open(file)
  local head = f and f:read(4) or ""
  return head ~= "\127ELF" and head ~= "!<ar" and head ~= "!<th"
end

--- Names behind -l that the flags themselves say: they are meant, even where the compiler links them anyway.
local function said(libs)
  local names = {}
  for _, word in ipairs(shell.words(libs) or {}) do
    local name = word:match("^%-l:?(.+)")
    if name then names[name] = true end
  end
  return function(file)
    return names[(file:match("[^/]*$"):gsub("^lib", ""):gsub("%.so.*$", ""):gsub("%.a$", ""))] == true
  end
end

--- The libraries that -lfoo stand for: { file, soname, archive }[]; nil and why.
---@param scratch string a folder
---@return table[]?, pmlua.Failure? failure
M.find = try.catching(function(cfg, scratch)
  local source, object = scratch .. "/empty" .. suffix(cfg.language), scratch .. "/empty.o"
  try(shell.spit(source, "int main(void) { return 0; }\n"))
  local done, out = shell.run(("%s -c %s -o %s"):format(M.compiler(cfg.language), quote(source), quote(object)))
  if not done then return refuse("EINVAL", M.compiler(cfg.language) .. ": " .. (out:gsub("\n.*", ""))) end
  local with, refused = trace(cfg, cfg.libs or "", object)
  local without = with and trace(cfg, "", object)
  os.remove(source)
  os.remove(object)
  if not without then return nil, refused end
  local core, list, meant = require "pmlua.core", {}, said(cfg.libs)
  for _, file in ipairs(with) do
    local real = (not without[file] or meant(file)) and (core.sys.realpath(file) or file)
    if real and not is_script(real) then
      list[#list + 1] = { file = real, soname = M.soname(real), archive = M.is_archive(real) }
    end
  end
  return list
end)

return M
