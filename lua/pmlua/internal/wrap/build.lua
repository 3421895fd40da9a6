-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/build.lua - compile and link a wrapper's source: the four libraries, and the linker's flags.
--
--   libpmlua-wrap-NAME-link.so, .a   for programs linked with --wrap=f
--   libpmlua-wrap-NAME-run.so, .a    with functions of the library's names, which the linker finds first
--   NAME.wrap                        the --wrap flags
--   NAME.lua                         a description of the wrapped functions, for list, show, cc and installcheck
--   left_out.txt                     the functions that are not wrapped, and the reasons
--
-- For a static library only libpmlua-wrap-NAME-link.a is built.
--
-- Try:  pmlua wrap build

local folder = require "pmlua.internal.wrap.folder"
local generate = require "pmlua.internal.wrap.generate"
local library = require "pmlua.internal.wrap.library"
local lists = require "pmlua.internal.lists"
local paths = require "pmlua.internal.wrap.paths"
local plan = require "pmlua.internal.wrap.plan"
local shell = require "pmlua.internal.wrap.shell"
local refuse = require "pmlua.core".failure.refuse
local try = require "pmlua.internal.try"

local M = {}

local quote = shell.quote
local MANY = 1000
local ROUNDS = 8 -- most compilations, each without the functions that the compiler rejected

--- The compiler's command line for the wrapper's sources, without -o and -c.
local function compiler(cfg, include)
  local flags = "-O2 -fPIC -w -fno-lto -fexceptions -fno-sanitize=all"
  if cfg.language == "c++" then flags = flags .. " -fno-access-control" end
  return ("%s %s %s -I%s"):format(library.compiler(cfg.language), cfg.cflags, flags, quote(include))
end

--- The functions that the compiler refuses, with what it says; nil and why if it is not their fault.
local function refused(cfg, out, owner)
  local found, n, said = {}, 0, nil
  for line in out:gmatch("[^\n]+") do
    local file, number, rest = line:match("^(.-):(%d+):%d*:?%s*(.*)$")
    local text = rest and rest:match("error: (.*)")
    said = text or said
    local f = file == cfg.source and (text or line:find("required from here", 1, true)) and owner[tonumber(number)]
    if f and not found[f] then found[f], n = said or rest, n + 1 end
  end
  if n == 0 then return nil, out:match("[^\n]*error[^\n]*") or out:match("[^\n]*") end
  return found
end

--- Write the source, and leave out functions until the compiler takes it; nil and why.
local function write(cfg, p, include)
  for _ = 1, ROUNDS do
    local text, owner = generate.source(cfg.name, cfg.headers, cfg.language, p.functions)
    try(shell.spit(cfg.source, text))
    local done, out = shell.run(("%s -fsyntax-only %s"):format(compiler(cfg, include), quote(cfg.source)))
    if done then return true end
    local guilty, why = refused(cfg, out, owner)
    if not guilty then return refuse("EINVAL", "the wrapper does not compile: " .. why) end
    local kept = {}
    for n, f in ipairs(p.functions) do
      if guilty[n] and f.other_result then
        f.result, f.other_result = f.other_result, nil
        kept[#kept + 1] = f
      elseif guilty[n] then
        f.why = "its wrapper does not compile: " .. guilty[n]
        p.left[#p.left + 1] = f
      else
        kept[#kept + 1] = f
      end
    end
    p.functions = kept
    if #kept == 0 then return refuse("ENODATA", "nothing to wrap: " .. p.left[#p.left].why) end
  end
  return refuse("EINVAL", "the wrapper does not compile", "see " .. cfg.source)
end

--- Whether all libraries are shared. The dynamic linker does not see functions that are linked into a program, so a static
--- library gets static wrappers for link time only.
local function shared_only(p) return not lists.any(p.libraries, function(l) return l.archive end) end

function M.file(cfg, kind, suffix)
  return ("%s/libpmlua-wrap-%s-%s.%s"):format(cfg.build, cfg.name, kind, suffix)
end

--- The commands that make both libraries of a kind, "link" or "run".
local function commands(cfg, p, kind, where)
  local object = ("%s/%s.o"):format(cfg.build, kind)
  local so, archive = M.file(cfg, kind, "so"), M.file(cfg, kind, "a")
  local list = {
    ("%s %s -c %s -o %s"):format(compiler(cfg, where.include), kind == "run" and "-DPMLW_RUN" or "", quote(cfg.source),
      quote(object)),
    ("rm -f %s %s && ar rcs %s %s"):format(quote(so), quote(archive), quote(archive), quote(object)),
  }
  if shared_only(p) then
    local wrapped = kind == "link" and quote(("@%s/%s.wrap"):format(cfg.build, cfg.name)) or ""
    list[#list + 1] = ("%s -shared -o %s -Wl,-soname,%s %s %s %s -Wl,--no-as-needed %s -L%s -lpmlua -Wl,-rpath,%s"):format(
      library.compiler(cfg.language), quote(so), so:match("[^/]*$"), quote(object), wrapped, cfg.ldflags, cfg.libs,
      quote(where.library), quote(where.library))
  end
  list[#list + 1] = "rm -f " .. quote(object)
  return table.concat(list, " && ")
end

local function flags(p)
  local lines = lists.map(p.functions, function(f) return "-Wl,--wrap=" .. f.symbol .. "\n" end)
  return table.concat(lines)
end

--- The wrapper's description for other commands.
local function description(cfg, p)
  local d = { name = cfg.name, language = cfg.language, libs = cfg.libs, ldflags = cfg.ldflags, libraries = {}, functions = {},
    left_out = #p.left, version = require("pmlua").version, shared = shared_only(p) }
  for i, l in ipairs(p.libraries) do d.libraries[i] = l.soname end
  for i, f in ipairs(p.functions) do
    local records = {}
    for _, list in ipairs { f.inside or {}, f.out or {} } do
      for _, v in ipairs(list) do records[#records + 1] = v.name end
    end
    d.functions[i] = { symbol = f.symbol, title = f.title ~= f.symbol and f.title or nil, library = f.library.soname,
      place = ("%s:%d"):format(f.file, f.line), by = f.twin and f.twin.symbol, records = #records > 0 and records or nil }
  end
  return d
end

local function left_out(p)
  local lines = {}
  for i, f in ipairs(p.left) do lines[i] = ("%s\t%s\t%s:%d\n"):format(f.title or f.symbol, f.why, f.file or "?", f.line or 0) end
  return table.concat(lines)
end

--- The example with the library alone: if that fails, the flags or the example are wrong.
local function example(cfg)
  local done, out = shell.run(("%s %s %s -o %s %s %s"):format(library.compiler(cfg.language), cfg.cflags, quote(cfg.example),
    quote(cfg.build .. "/example"), cfg.ldflags, cfg.libs))
  if done then return true end
  if out:find("cannot find -l", 1, true) then return library.refuse_link(cfg, out) end
  return refuse("EINVAL", ("the example does not build without the wrapper: %s"):format(out:match("[^\n]*error[^\n]*") or
    out:match("[^\n]*undefined reference[^\n]*") or out:match("[^\n]*")))
end

local function make(cfg, p, where)
  try(shell.spit(cfg.build .. "/" .. cfg.name .. ".wrap", flags(p)))
  local d = description(cfg, p)
  local line = commands(cfg, p, "link", where)
  if d.shared then
    -- both at a time: a wrapper of thousands of functions takes long
    line = ("( %s ) & other=$!; ( %s ); own=$?; wait $other && exit $own"):format(line, commands(cfg, p, "run", where))
  else
    shell.run(("rm -f %s %s"):format(quote(M.file(cfg, "run", "so")), quote(M.file(cfg, "run", "a"))))
  end
  local done, out = shell.run("( " .. line .. " )")
  if not done then
    return refuse("EINVAL", "the wrapper does not build: " .. (out:match("[^\n]*error[^\n]*") or out:match("[^\n]*")))
  end
  try(shell.spit(("%s/%s.lua"):format(cfg.build, cfg.name), "return " .. folder.literal(d) .. "\n"))
  return d
end

--- Build all of it; nil, why, and the compiler's errors.
---@param cfg pmlua.wrap.folder
---@param tell fun(text: string) what takes long
---@return pmlua.wrap.plan?, pmlua.Failure? failure, string[]? errors
M.run = try.catching(function(cfg, tell)
  local where = { library = try(paths.library()), include = try(paths.include()) }
  try(folder.make(cfg.build))
  local p = try(plan.make(cfg))
  if #p.functions > MANY then tell(("compiling %d wrappers twice; thousands take minutes"):format(#p.functions)) end
  try(example(cfg))
  try(write(cfg, p, where.include))
  try(make(cfg, p, where))
  try(shell.spit(cfg.build .. "/left_out.txt", left_out(p)))
  return p
end)

return M
