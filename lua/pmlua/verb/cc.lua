-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua cc --wrap NAME -- gcc ...`, `pmlua cc --count -- clang ...`: a compiler's command line, and what pmlua adds to it.
--
--     pmlua cc --functions -- gcc -O2 app.c -o app
--     pmlua cc --wrap zlib -- gcc app.c -lz -o app
--     pmlua cc --count -- clang -O2 app.c -o app

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

--- More names, between commas.
local function names_of(lists)
  local names = {}
  for _, list in ipairs(lists or {}) do
    for name in list:gmatch "[^,]+" do names[#names + 1] = name end
  end
  return names
end

local M = {
  summary = "run a compiler so that functions can be recorded, wrappers are linked in, operations are counted, or layouts vary",
  usage = { "--count[=lines] [--at source|final] [--quiet] [--print] -- COMPILER ARGS",
    "--functions [--print] -- COMPILER ARGS", "--layouts N [--print] -- COMPILER ARGS",
    "--wrap NAME[,NAME...] [--runtime] [--static] [--print] -- COMPILER ARGS" },
  about = [[
Put it before the compiler command of a build. It adds the options that are needed and returns the compiler's exit status.]],
  options = {
    { name = "count", kind = "choice", choices = { "lines" }, optional = true, help = "make the program count its own "
      .. "operations, exactly and in every thread, as they are in the compiler's LLVM IR: loads, stores, calls, "
      .. "floating-point operations by kind, precision and width. For clang 14 to 19 and flang-new 16 to 19, as far as "
      .. "their llvm-N-dev was installed when pmlua was built. =lines also estimates the lines of memory that each thread "
      .. "touches (within 3 %, at 4 ns an access)" },
    { name = "at", kind = "choice", choices = { "source", "final" }, needs = "count", shown = "source", help = "source: what "
      .. "the source asks for, before optimisation, with scalars in registers; final: what the optimiser left" },
    common.with("quiet", { help = "do not list code that cannot be counted (inline assembly, assembly files)" }),
    { name = "functions", help = "reserve space for a jump at the entry of each function, at hardly any cost, so that "
      .. "pmlua record --func PATTERN can record the functions of the program. For gcc, clang and gfortran" },
    { name = "layouts", kind = "integer", min = 2, max = 64, help = "also link PROGRAM.2 to PROGRAM.N with the object files in "
      .. "other orders, which pmlua bench --layouts N starts" },
    { name = "wrap", kind = "name", value = "NAME[,NAME...]", many = true,
      help = "link these wrappers, which pmlua wrap installed" },
    { name = "runtime", needs = "wrap", help = "use wrappers with the library's own names, which the loader finds first: they "
      .. "also see calls between libraries (default: the linker redirects the calls of the program)" },
    { name = "static", needs = "wrap", help = "link the wrappers into the program" },
    { name = "print", help = "print the commands instead of running them" },
  },
  exclusive = { { "layouts", "count" } },
  command = { name = "COMPILER", behind = true, missing = "name the compiler to run, after --" },
  examples = {
    { "pmlua cc --count -- clang -O2 app.c -lz -o app && PMLUA_COUNT=- ./app", needs = { "clang" } },
    { "./configure CC='pmlua cc --count --at=final -- clang' && make", needs = { "clang" } },
    { "CC='pmlua cc --count -- clang' CXX='pmlua cc --count -- clang++' cmake -B build && make -C build",
      needs = { "clang", "cmake" } },
    "pmlua cc --layouts 4 -- gcc -O2 app.c more.c -lz -o app",
    "pmlua cc --functions -- gcc -O2 app.c -lz -o app && pmlua record --func 'main' -- ./app",
    { "pmlua cc --wrap zlib -- gcc app.c -lz -o app", needs = { "libclang" } },
    { "make CC='pmlua cc --wrap zlib -- gcc'", needs = { "libclang" } },
  },
}

local NOT_RUN = 126 -- as shells say it

function M.check(o)
  o.names, o.lines = names_of(o.wrap), o.count == "lines"
  if #o.names == 0 and not o.count and not o.functions and not o.layouts then
    return "add --functions, --count, --layouts N, or --wrap NAME"
  end
end

local complain = require "pmlua.internal.cli.complain" "cc"

--- gcc puts the addresses of entries outside of the section groups of inline functions and templates. gold refuses to link what
--- refers to a group that another file has as well; ld.bfd and lld link it.
local function without_gold(words, from)
  for i = from, #words do
    if words[i] == "-fuse-ld=gold" then
      words[i] = "-fuse-ld=bfd"
      complain "gold cannot link the entries of C++ functions that gcc leaves room in; using -fuse-ld=bfd"
    end
  end
  return words
end

--- Add the options that leave room at the entry of each function. gcc would otherwise let a caller rely on registers that a
--- function in the same file leaves alone, one of which a recorded call changes; clang does not.
local function with_room(words)
  local n = require("pmlua.internal.cc.words").compiler(words)
  local llvm, err = require("pmlua.internal.cc.llvm").of(table.move(words, 1, n, 1, {}))
  if llvm and llvm.flang then return refuse("ENOTSUP", words[n] .. " leaves no room in functions", "compile with gfortran") end
  if not llvm and err.code ~= "ENOTSUP" then return nil, err end
  local room = core.sys.uname().machine == "x86_64" and 5 or 1 -- in instructions that do nothing
  local more = { "-fpatchable-function-entry=" .. room, not llvm and "-fno-ipa-ra" or nil }
  local all = table.move(words, 1, n, 1, { environment = words.environment })
  table.move(more, 1, #more, n + 1, all)
  table.move(words, n + 1, #words, #all + 1, all)
  return llvm and all or without_gold(all, n + 1)
end

local function with_wrappers(o)
  local wrappers = {}
  for i, name in ipairs(o.names) do
    wrappers[i] = try(require("pmlua.internal.wrap.installed").find(name))
  end
  return try(require("pmlua.internal.wrap.line").with(o.command, wrappers, o))
end

local function become(words)
  local _, refused = require("pmlua.core").sys.exec(words, words.environment or {})
  return complain(refused:sentence(), NOT_RUN)
end

---@return integer status
function M.run(o)
  if o.functions then o.command = try(with_room(o.command)) end
  local words = with_wrappers(o)
  local run = require "pmlua.internal.cc.run"
  local steps, err = { words }, nil
  o.at = o.at or "source"
  function o.tell(text)
    if not o.quiet then complain(text) end
  end
  if o.layouts then steps, err = require("pmlua.internal.cc.layouts").plan(words, o.layouts) end
  if o.count then steps, err = require("pmlua.internal.cc.count").plan(words, o) end
  if not steps then return run.clean(o, complain(err)) end
  if o.print then
    run.show(steps)
    return run.clean(o, 0)
  end
  if #steps == 1 and not o.folder then return become(steps[1]) end
  local status, why = run.steps(steps, o)
  if why then complain(why) end
  return run.clean(o, status)
end

return M
