-- SPDX-License-Identifier: BSD-3-Clause
--- lua/pmlua/internal/cc/count.lua - run a compiler's command line so that the compiled program counts its operations.
--
-- The compiler loads a plugin that adds counters before its first pass (source) or after its last (final), so the original
-- command line runs unchanged. If it cannot load one, three steps per source have the same result: clang makes bitcode,
-- pmlua.instrument adds counters, clang makes the requested output from it. To count before optimisation, the first step stops
-- where the optimiser begins; to count after it, the last step does not optimise.
--
-- Try:  pmlua cc --count --print -- clang -O2 -c a.c

local core = require "pmlua.core"
local llvm_of = require "pmlua.internal.cc.llvm"
local paths = require "pmlua.internal.wrap.paths"
local sorted = require "pmlua.internal.sorted"
local temporary = require "pmlua.internal.temporary"
local words_of = require "pmlua.internal.cc.words"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

local M = {}

local LIBRARY = "libpmlua_count.so"

local function append(list, ...)
  for _, v in ipairs { ... } do list[#list + 1] = v end
  return list
end

local for_linker = { ["-l"] = true, ["-L"] = true, ["-Xlinker"] = true, ["-shared"] = true, ["-rdynamic"] = true,
  ["-T"] = true, ["-u"] = true, ["-e"] = true, ["-z"] = true, ["-rpath"] = true, ["-pie"] = true, ["-no-pie"] = true,
  ["-static"] = true, ["-static-pie"] = true, ["-static-libgcc"] = true, ["-s"] = true }
local for_steps = { ["-c"] = true, ["-S"] = true, ["-o"] = true, ["--output"] = true, ["-x"] = true }
local for_preprocessor = { ["-I"] = true, ["-D"] = true, ["-U"] = true, ["-include"] = true, ["-imacros"] = true,
  ["-isystem"] = true, ["-iquote"] = true, ["-idirafter"] = true, ["-include-pch"] = true, ["-M"] = true, ["-F"] = true }

--- The options of the line for a compiling step; @bare: a step that reads no source.
local function options(line, bare)
  local list = {}
  for _, item in ipairs(line.items) do
    local word = item[1]
    local steps = item.file or for_steps[word] or word:find("^%-x.") or word:find("^%-o.")
    local link = for_linker[word] or word:find("^%-l") or word:find("^%-L") or word:find("^%-Wl,")
    local source = bare and (for_preprocessor[word] or word:find("^%-[IDUM]") or word:find("^%-std=") or
      (word:find("^%-W") and not word:find("^%-Wa,")) or word:find("^%-i%a"))
    if not steps and not source and not (link and (bare or line.links)) then append(list, item[1], item[2]) end
  end
  return list
end

--- Where dependencies go and what they are of is named after the output, which is not this step's.
local function dependencies(line, out)
  local list, wanted, named, has_target = {}, line.has["-MD"] or line.has["-MMD"], line.has["-MF"], false
  for _, item in ipairs(line.items) do
    local word = item[1]
    has_target = has_target or word:find("^%-M[TQ]") ~= nil
    named = named or word:find("^%-MF.") ~= nil or word:find("^%-Wp,%-MM?D,") ~= nil
  end
  if not wanted and not named then return list end
  if not has_target then append(list, "-MT", out) end
  if not named then append(list, "-MF", (out:gsub("%.[^./]*$", "")) .. ".d") end
  return list
end

--- A name in the folder that run.clean() removes.
local function temporary_file(o)
  o.files = (o.files or 0) + 1
  return ("%s/%d"):format(o.folder, o.files)
end

--- The steps that make @out from one source; target: its name in dependency files.
local function compile(line, source, out, target, o)
  local bitcode, final = temporary_file(o), o.at == "final"
  local front = append({}, table.unpack(line.compiler))
  append(front, table.unpack(options(line)))
  append(front, table.unpack(dependencies(line, target)))
  append(front, "-emit-llvm", "-c")
  if line.links then append(front, "-Qunused-arguments") end
  if not final then append(front, "-Xclang", "-disable-llvm-passes") end
  local optimised = (line.optimise or "0") ~= "0"
  if not final and not optimised then append(front, "-Xclang", "-disable-O0-optnone") end
  if source.x then append(front, "-x", source.x) end
  append(front, source.file, "-o", bitcode)
  local back = append({}, table.unpack(line.compiler))
  append(back, table.unpack(options(line, true)))
  append(back, "-Qunused-arguments", line.has["-S"] and "-S" or "-c")
  if final then append(back, "-Xclang", "-disable-llvm-passes") end
  append(back, "-x", "ir", bitcode, "-o", out)
  return { front, { instrument = bitcode, name = source.file, optimised = optimised }, back }
end

local function default_output(line, file)
  local base = file:match("[^/]*$"):gsub("(.)%.[^.]*$", "%1")
  if line.has["-emit-llvm"] then return base .. (line.has["-S"] and ".ll" or ".bc") end
  return base .. (line.has["-S"] and ".s" or ".o")
end

--- The line for one source that is not counted: unchanged, without the other sources.
local function alone(line, source)
  local words = append({}, table.unpack(line.compiler))
  for _, item in ipairs(line.items) do
    if item == source or not (item.file and item.language) then append(words, item[1], item[2]) end
  end
  return words
end

--- The runtime library for a counting program; nil and the reason.
local function runtime()
  local dir, err = paths.library()
  if dir and not core.sys.realpath(dir .. "/" .. LIBRARY) then
    dir, err = nil, LIBRARY .. " is not beside libpmlua.so; build it with make all"
  end
  if not dir then return nil, err end
  return { "-L" .. dir, "-lpmlua_count", "-Wl,-rpath," .. dir }
end

--- The last step: objects where sources were. Those that are not counted keep the language they were said to be in.
local function link(line, object)
  local libraries = try(runtime())
  local words = append({}, table.unpack(line.compiler))
  for _, item in ipairs(line.items) do
    local word = item[1]
    if object[item] then
      append(words, object[item])
    elseif item.file and item.x and item.x ~= "none" then
      append(words, "-x", item.x, item.file, "-x", "none")
    elseif word ~= "-x" and not word:find("^%-x.") then
      append(words, word, item[2])
    end
  end
  if next(object) then append(words, "-Qunused-arguments") end
  return append(words, table.unpack(libraries))
end

--- The plugin that the compiler can load for this line, or nil.
local function plugin_for(line, o, llvm)
  local plugin = llvm_of.plugin(llvm)
  if llvm.flang or not plugin then return plugin end
  for _, item in ipairs(line.items) do
    local word = item[1]
    -- pass managers of old load no such plugin; without passes, there is no first one; gfortran would be given it
    if item[2] == "-disable-llvm-passes" or word:find("pass%-manager") then return nil end
    -- the last pass of a plugin is before those that check, and before a link's
    local later = word:find("^%-fsanitize") or word:find("^%-flto") or word:find("^%-fprofile")
    if o.at == "final" and later then return nil end
    if item.language and item.language:find("^Fortran") then return nil end
  end
  return plugin
end

--- The line with the plugin, which gets the rest from its environment.
local function with_plugin(line, o, llvm, plugin)
  local words = append({}, table.unpack(line.compiler))
  append(words, "-fpass-plugin=" .. plugin)
  local optnone = (line.optimise or "0") == "0" and o.at == "source" and not llvm.flang
  if optnone then append(words, "-Xclang", "-disable-O0-optnone") end
  for _, item in ipairs(line.items) do append(words, item[1], item[2]) end
  local settings = o.at .. (o.lines and ",lines" or "") .. (o.quiet and ",quiet" or "")
  -- flang's modules have no name
  local names = {}
  for _, source in ipairs(line.sources) do names[#names + 1] = llvm.flang and source.counted and source.file or nil end
  if #names > 0 then settings = settings .. ",name=" .. table.concat(names, " or ") end
  words.environment = { PMLUA_INSTRUMENT = settings }
  if not line.links then return { words } end
  local libraries = try(runtime())
  return { append(words, table.unpack(libraries)) }
end

local function add_steps(steps, more)
  for _, s in ipairs(more) do steps[#steps + 1] = s end
end

--- Steps for all sources. The objects of those that are counted, where they are linked.
local function compile_all(line, o)
  local steps, object = {}, {}
  for _, source in ipairs(line.sources) do
    if not source.counted then
      if not line.links then steps[#steps + 1] = alone(line, source) end
    elseif line.links then
      object[source] = temporary_file(o)
      local out = line.output or "a.out"
      add_steps(steps, compile(line, source, object[source], out, o))
    else
      local out = line.output or default_output(line, source.file)
      add_steps(steps, compile(line, source, out, out, o))
    end
  end
  return steps, object
end

--- Nothing to count: a question, headers, or more sources than one output holds, of which the compiler complains.
local function as_it_is(line)
  local header = false
  for _, source in ipairs(line.sources) do header = header or source.language == "a header" end
  return line.asks or header or #line.sources + #line.objects == 0 or
    (not line.links and (#line.sources == 0 or (line.output and #line.sources > 1)))
end

--- Whether something of the line is counted; the rest is reported.
local function counts(line, o, llvm)
  local some = false
  for _, source in ipairs(line.sources) do
    if source.language == "fortran" and not llvm.flang then
      source.counted, source.language = false, "Fortran (clang has gfortran compile it; flang makes LLVM IR)"
    end
    if not source.counted then o.tell(("%s: %s is not counted"):format(source.file, source.language)) end
    some = some or source.counted
  end
  return some
end

--- How sources that are counted are compiled, and linked where the line links.
local function count_sources(line, o, llvm)
  local name = line.compiler[#line.compiler]
  local err = llvm_of.lacking(name, llvm)
  if err then return nil, err end
  local plugin = plugin_for(line, o, llvm)
  if plugin then return with_plugin(line, o, llvm, plugin) end
  if llvm.flang then
    local how = llvm.shared and "make with g++" or "name a flang that has LLVM as a shared library, without launchers"
    return refuse("ENOTSUP", ("%s cannot load the LLVM %d plugin by which flang counts"):format(name, llvm.version), how)
  end
  for option in sorted(line.has) do
    if option:find("^%-flto") and o.at == "final" then
      o.tell(option .. ": counted before link-time optimisation, which changes the program further")
    end
  end
  o.version = llvm.version
  o.folder = try(temporary.folder "cc")
  local steps, object = compile_all(line, o)
  if line.links then steps[#steps + 1] = link(line, object) end
  return steps
end

--- The steps of a line: commands, and files that get counters. nil and why.
---@param words string[] the compiler and its arguments
---@param o { at: string, lines: boolean?, quiet: boolean?, tell: fun(text: string) } folder, version: of steps with bitcode
---@return table[]? steps, pmlua.Failure? failure
M.plan = try.catching(function(words, o)
  local line = words_of.parse(words)
  local llvm = try(llvm_of.of(line.compiler))
  line.links = true
  for word in pairs(words_of.stops) do line.links = line.links and not line.has[word] end
  if as_it_is(line) then return { words } end
  if line.links and (line.has["-static"] or line.has["-static-pie"]) then
    return refuse("ENOTSUP", "-static: a thread's counts are in a shared library", "link without -static")
  end
  if counts(line, o, llvm) then return count_sources(line, o, llvm) end
  if not line.links then return { words } end
  return { link(line, {}) }
end)

return M
