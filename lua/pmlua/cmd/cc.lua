-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua cc --wrap NAME -- gcc ...`, `pmlua cc --count -- clang ...`: a compiler's command line, and what pmlua adds to it.
--
--     pmlua cc --wrap zlib -- gcc app.c -lz -o app
--     pmlua cc --count -- clang -O2 app.c -o app

local M = {
  summary = "run a compiler: with wrappers of libraries linked in, or counting what the program does",
  usage = "pmlua cc [--count[=lines] [--at=source|final] [--quiet]] [--wrap NAME[,NAME...] [--runtime] [--static]] [--print] " ..
    "-- COMPILER ARGS",
  help = [[
Before COMPILER ARGS as a build runs it: where that links, what is needed is added; its exit status is returned.

  --count              the program counts its own operations, exactly and in every thread, as the compiler's LLVM IR has
                       them: loads, stores, calls, floating-point operations by kind, precision and width. For clang 14
                       to 19 and flang-new 16 to 19: of those, the ones whose llvm-N-dev was there when pmlua was built
  --count=lines        the lines of memory that each thread touched, too: an estimate, 3 %, at 4 ns an access
  --at=source          what the source asks for, before optimisation (the default); scalars are in registers
  --at=final           what the optimiser left
  --quiet              do not tell what cannot be counted: inline assembly, files in assembly
  --wrap NAME[,NAME]   wrappers that pmlua wrap has installed; may be repeated
  --runtime            wrappers with the library's own names, found before it: they see the calls between libraries, too
                       (otherwise the linker leads the program's own calls to the wrappers)
  --static             the wrappers become part of the program
  --print              print the commands instead of running them

    pmlua cc --count -- clang -O2 app.c -o app && PMLUA_COUNT=- ./app
    ./configure CC='pmlua cc --count --at=final -- clang' && make
    CC='pmlua cc --count -- clang' CXX='pmlua cc --count -- clang++' cmake -B build && make -C build
    pmlua cc --wrap zlib -- gcc app.c -lz -o app
    make CC='pmlua cc --wrap zlib,fftw3 -- gcc']],
}

local NOT_RUN = 126 -- as shells say it
local flags = { ["--runtime"] = true, ["--static"] = true, ["--print"] = true, ["--count"] = true, ["--quiet"] = true }

--- Options that do not go together, or lack what they need.
local function contradiction(o)
  if #o.names == 0 and not o.count then return "say --count, or --wrap NAME" end
  if o.at and o.at ~= "source" and o.at ~= "final" then return "--at is source or final, not " .. o.at end
  for _, word in ipairs { "at", "quiet" } do
    if o[word] and not o.count then return "--" .. word .. " is of --count" end
  end
  for _, word in ipairs { "runtime", "static" } do
    if o[word] and #o.names == 0 then return "--" .. word .. " is of --wrap" end
  end
  if #o.words == 0 then return "say which compiler to run, behind --" end
end

local function parse(args)
  local o, i = { names = {} }, 1
  while args[i] and args[i] ~= "--" do
    local word, value = args[i]:match("^(%-%-%a+)=(.*)$")
    word = word or args[i]
    if (word == "--wrap" or word == "--at") and not value then value, i = args[i + 1] or "", i + 1 end
    if value == "" or value == "--" then return nil, word .. " needs a value" end
    if word == "--wrap" then
      for name in value:gmatch("[^,]+") do table.insert(o.names, name) end
    elseif word == "--count" and value == "lines" then
      o.count, o.lines = true, true
    elseif word == "--at" then
      o.at = value
    elseif flags[word] and not value then
      o[word:sub(3)] = true
    else
      return nil, "no such option: " .. args[i] .. " (the compiler's line begins behind --)"
    end
    i = i + 1
  end
  o.words = { table.unpack(args, i + 1) }
  local misuse = contradiction(o)
  if misuse then return nil, misuse end
  return o
end

local function complain(text, status)
  io.stderr:write("pmlua cc: ", require "pmlua.printable"(text), "\n")
  return status or 1
end

local function with_wrappers(o)
  local wrappers = {}
  for i, name in ipairs(o.names) do
    local w, err = require("pmlua.wrap.installed").find(name)
    if not w then return nil, err end
    wrappers[i] = w
  end
  return require("pmlua.wrap.line").with(o.words, wrappers, o)
end

local function become(words)
  local _, refused = require("pmlua.core").sys.exec(words, words.environment or {})
  return complain((refused:gsub("^[%w_.]+: E%w+: ", "")), NOT_RUN)
end

---@param args string[]
---@return integer status
function M.run(args)
  local o, misuse = parse(args)
  if not o then return complain(misuse .. "; usage: " .. M.usage, 2) end
  local words, err = with_wrappers(o)
  if not words then return complain(err) end
  local run = require "pmlua.cc.run"
  local steps = { words }
  o.at = o.at or "source"
  function o.tell(text)
    if not o.quiet then complain(text) end
  end
  if o.count then steps, err = require("pmlua.cc.count").plan(words, o) end
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
