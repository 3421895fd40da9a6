-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap init`: a working folder for a new wrapper.

local database = require "pmlua.internal.wrap.database"
local folder = require "pmlua.internal.wrap.folder"
local headers = require "pmlua.internal.wrap.headers"
local library = require "pmlua.internal.wrap.library"
local recipes = require "pmlua.internal.wrap.recipes"
local scaffold = require "pmlua.internal.wrap.scaffold"
local shell = require "pmlua.internal.wrap.shell"
local values = require "pmlua.internal.wrap.values"

local out = require "pmlua.internal.wrap.say"
local try = require "pmlua.internal.try"
local say, complain = out.say, out.complain

local M = {
  summary = "make a working folder: flags, libraries, header list, example program, filter",
  arguments = { { name = "DIR", key = "dir", kind = "dir", optional = true, one = "folder" } },
  usage = { "[DIR] --name NAME --libs FLAGS --headers HEADER... [OPTIONS]", "[DIR] --recipe FILE|NAME [OPTIONS]" },
  about = [[
Makes a working folder (DIR, or wrap-NAME) with a README, a Makefile, the header list, an example program and a filter, and
prints which shared libraries the flags stand for.]],
  options = {
    { name = "name", kind = "name", help = "the name of the wrapper" },
    { name = "headers", kind = "file", value = "HEADER", list = true,
      help = "headers that applications include: zlib.h, <QtGui/QtGui>, ./own.h" },
    { name = "libs", kind = "text", value = "FLAGS", help = "flags that link applications: '-lz'" },
    { name = "cflags", kind = "text", value = "FLAGS",
      help = "flags that compile applications; $(pkg-config --cflags ...) is stored as written" },
    { name = "ldflags", kind = "text", value = "FLAGS", help = "further flags for the linker: '-L/opt/lib'" },
    { name = "language", kind = "choice", choices = { "c", "c++" }, shown = "c", help = "the language of the headers" },
    { name = "compile-commands", kind = "file", help = "compile flags and language from a compile_commands.json" },
    { name = "example", kind = "file", help = "the example program" },
    { name = "variadic", kind = "name", value = "F=TWIN", many = true,
      help = "F takes '...' and calls TWIN, which takes a va_list" },
    { name = "record", kind = "name", value = "F:ARGUMENT", many = true, help = "also record an argument, by name or number, "
      .. "or F:return; =metric (on the event) or =recorder (an event with quantiles) for only one of the two" },
    { name = "recipe", kind = "file", value = "FILE|NAME", help = "a Lua file that returns all of this: name, language, "
      .. "cflags, ldflags, libs, variadic, record, headers, example, filter (texts), calls (made by the example), package; "
      .. "or a name that pmlua wrap list shows" },
    { name = "update", help = "change the configuration of an existing folder" },
  },
  examples = {
    { "pmlua wrap init --name zlib --headers zlib.h --libs -lz --record crc32:len", needs = { "libclang" } },
    { "pmlua wrap init --recipe fftw3", needs = { "libclang" }, status = { 0, 1 } },
  },
}

--- The configuration before the options are applied: of a recipe, or of the folder to update.
local function before(o)
  if o.recipe then return recipes.read(o.recipe) end
  if o.update then
    local cfg, t = try(folder.load(o.dir or ".")), {}
    for field in pairs(folder.fields) do t[field] = cfg[field] end
    return t
  end
  return {}
end

local MISUSED = 2

local function read_twins(list, into)
  for _, text in ipairs(list or {}) do
    local f, twin = text:match("^([^=]+)=([^=]+)$")
    try(f, "--variadic " .. text .. ": write FUNCTION=TWIN", MISUSED)
    into[f] = twin
  end
end

--- All that is said, as a recipe's table.
local function gather(o)
  local t = try(before(o))
  if o.compile_commands then
    local found = try(database.read(o.compile_commands))
    t.cflags, t.language = found.cflags, found.language
  end
  for _, field in ipairs { "name", "libs", "cflags", "ldflags", "language", "headers" } do t[field] = o[field] or t[field] end
  if o.example then
    t.example, t.calls = try(shell.slurp(o.example)), nil -- another example makes other calls
  end
  t.variadic, t.record = t.variadic or {}, o.record or t.record or {}
  read_twins(o.variadic, t.variadic)
  for _, text in ipairs(t.record) do
    local fine, wrong = values.parse(text)
    try(fine, wrong, MISUSED)
  end
  try(t.name, "add --name NAME", MISUSED)
  try(t.name:find("^[%w_][%w_.-]*$"), "--name: letters, digits, '_', '.' and '-'", MISUSED)
  try(not t.language or t.language == "c" or t.language == "c++", "--language: c or c++", MISUSED)
  return t
end

--- The reason why the folder must not be written; nil: it may be.
local function obstacle(cfg, o)
  local lfs = require "lfs"
  if lfs.attributes(cfg.dir .. "/wrap.lua") and not o.update then
    return cfg.dir .. " is already a working folder; change its configuration with --update"
  end
end

local function found_line(libraries)
  local names = {}
  for i, l in ipairs(libraries) do names[i] = l.soname .. " (" .. l.file .. ")" end
  return #names > 0 and table.concat(names, ", ") or "none"
end

--- Write the folder, then try it: find the libraries behind the flags and parse the headers. nil and the reason.
local function try_out(cfg)
  try(folder.make(cfg.build))
  local libraries = try(library.find(cfg, cfg.build))
  say("libraries: " .. found_line(libraries))
  for _, l in ipairs(libraries) do
    if l.archive then say(l.soname .. " is static: wrappers for link time only, static too") end
  end
  try(headers.read(cfg.headers, cfg.language, cfg.cflags))
end

---@return integer status
function M.run(o)
  local t = gather(o)
  local cfg = folder.complete(o.dir or o.update and "." or "wrap-" .. t.name, t)
  local against = obstacle(cfg, o)
  if against then return complain(against) end
  try(scaffold.write(cfg, { headers = t.headers, example = t.example, filter = t.filter, update = o.update }))
  cfg = folder.load(cfg.dir)
  local _, why = try.catch(try_out, cfg)
  if why then return complain(why .. (t.package and "; it comes with Debian's " .. t.package or "")) end
  say(("%s is ready; next: cd %s && make, or pmlua wrap build %s"):format(cfg.dir, cfg.dir, cfg.dir))
  return 0
end

return M
