-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/simulation/run.lua - run a program under valgrind's callgrind and read its counts.
--
-- Try:  print(require("pmlua.internal.simulation.run").count({ "true" }).processes[1].totals[1])
--
-- Callgrind interprets every user-space instruction of the program, so its counts are exact: instructions, data reads and
-- writes, branches; and, by a model of the caches and of branch prediction, the misses. The model is the same on every machine
-- unless the caller chooses another. Threads take turns on one cpu. Work of the kernel is not counted, nor the work of a process
-- before it executed another program.

local child = require "pmlua.internal.child"
local core = require "pmlua.core"
local left = require "pmlua.internal.simulation.left"
local preload = require "pmlua.internal.preload"
local temporary = require "pmlua.internal.temporary"
local refuse = core.failure.refuse

local M = {}

local NOT_FOUND, NOT_RUN, FAILED = 127, 126, 1 -- as shells say it

--- Events in callgrind's order, which all arrays of counts here use.
M.events = left.events

--- Bytes, ways, bytes of a line: the first-level caches of most cores of the last decade, and a small last-level cache.
M.caches = { I1 = "32768,8,64", D1 = "32768,8,64", LL = "8388608,16,64" }
M.levels = { "I1", "D1", "LL" }

--- The part of the totals that pmlua causes if LD_PRELOAD works.
M.own = "totals include the loader's work for a library of pmlua: some 15,000 instructions in each program, and 50 for each "
  .. "symbol that the loader looks up"

local quote = require("pmlua.internal.quote").shell

local function power_of_two(n) return n and n > 0 and n & (n - 1) == 0 end

--- Whether valgrind can simulate such a cache; nil and why not.
---@param level string "I1", "D1" or "LL"
---@param text string "BYTES,WAYS,LINE"
function M.check_cache(level, text)
  local bytes, ways, line = text:match("^(%d+),(%d+),(%d+)$")
  bytes, ways, line = math.tointeger(tonumber(bytes)), math.tointeger(tonumber(ways)), math.tointeger(tonumber(line))
  if not bytes or not ways or not line then
    return refuse("EINVAL", ("--%s: '%s' is not BYTES,WAYS,LINE"):format(level, text), "write one such as " .. M.caches[level])
  end
  local sets = ways > 0 and line > 0 and bytes % (ways * line) == 0 and bytes // (ways * line)
  if not power_of_two(line) or line < 16 or not power_of_two(sets or 0) then
    return refuse("EINVAL", ("--%s: '%s' is not a possible cache"):format(level, text),
      "LINE and BYTES / (WAYS * LINE) must be powers of two, LINE at least 16")
  end
  return true
end

--- The simulated caches, for output and records.
---@param caches? table<string, string>
function M.model(caches)
  local parts = {}
  for i, level in ipairs(M.levels) do parts[i] = level .. "=" .. (caches and caches[level] or M.caches[level]) end
  return table.concat(parts, " ")
end

--- Where valgrind is and its version; nil and what to install.
---@return string?, string version or what to install
function M.available()
  local path = preload.locate("valgrind")
  if not path then
    return refuse("ENOENT", "valgrind is not installed",
      "install your system's package valgrind (Debian: apt-get install valgrind)")
  end
  local p <close> = assert(io.popen(quote(path) .. " --version 2>/dev/null </dev/null"))
  local version = p:read("l")
  if not version then return refuse("ENOEXEC", path .. " does not run", "install valgrind again") end
  return path, (version:gsub("^valgrind%-", ""))
end

--- Whether address randomisation can be switched off for a command here (some containers do not permit it).
function M.can_fix_addresses()
  local found = preload.locate("setarch")
  return found and os.execute("setarch -R true >/dev/null 2>&1") == true
end

local function literally(path) return (path:gsub("%%", "%%%%")) end

-- Programs that draw the figures of pmlua's experiments run without valgrind, because their sandbox forbids what it needs.
local DRAWING <const> = "--trace-children-skip=*/gnuplot*,*/dot"

--- The library that forked children need; nil: the program's loader would reject it.
local function library_for(command)
  local library, path = preload.library("simulate"), preload.locate(command)
  return not (path and preload.obstacle(path)) and library or nil
end

--- The command line that runs a command under callgrind; its output files go to @dir.
local function words_of(dir, words, options)
  -- The calibration of the clock would be counted, and even the parsing of its rate's digits.
  local rate = ("PMLUA_CLOCK_RATE=%.2g"):format(core.clock.rate())
  local line = { "env", "PMLUA_SIM=" .. dir, "PMLUA_SIM_CACHES=" .. M.model(options.caches), rate }
  local library = library_for(words[1])
  if library then line[#line + 1] = "LD_PRELOAD=" .. preload.with(library) end
  for _, v in ipairs(options.set or {}) do line[#line + 1] = v end
  if options.section then line[#line + 1] = "PMLUA_SIM_SECTION=" .. options.section end
  if options.fixed then table.move({ "setarch", "-R" }, 1, 2, #line + 1, line) end
  local valgrind = {
    "valgrind", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", "--separate-threads=yes",
    "--trace-children=yes", "--sigill-diagnostics=no", "--error-limit=no",
    "--log-file=" .. literally(dir) .. "/log.%p", "--callgrind-out-file=" .. literally(dir) .. "/out.%p",
  }
  for _, level in ipairs(M.levels) do
    valgrind[#valgrind + 1] = ("--%s=%s"):format(level, options.caches and options.caches[level] or M.caches[level])
  end
  if options.section then valgrind[#valgrind + 1] = "--collect-atstart=no" end
  if options.own then valgrind[#valgrind + 1] = DRAWING end
  table.move(valgrind, 1, #valgrind, #line + 1, line)
  return table.move(words, 1, #words, #line + 1, line)
end

---@class pmlua.SimulationOptions
---@field caches? table<string, string>
---@field set? string[] more of the environment
---@field section? string count only what is inside this section
---@field child? pmlua.ChildOptions

--- Run a command.
---@param options? pmlua.SimulationOptions
---@return table? ended as command:wait() says it
---@return string? folder that holds what it left, or why it was not run
---@return integer|boolean status for the caller's own end, or whether addresses were the same as in any other run
function M.run(words, options)
  local valgrind, missing = M.available()
  if not valgrind then return nil, missing, FAILED end
  local path, err, status = preload.locate(words[1])
  if not path then return nil, err, status or NOT_FOUND end
  if os.execute(("test -u %s -o -g %s"):format(quote(path), quote(path))) then -- valgrind looks at nothing but the bits
    return nil, core.failure.new { code = "ENOTSUP", text = path .. " is set-uid or set-gid, which valgrind cannot run",
      remedy = "copy it and run the copy" }, NOT_RUN
  end
  local dir, refused = temporary.folder "sim"
  if not dir then return nil, refused, FAILED end
  local fixed = M.can_fix_addresses()
  local own = core.sys.realpath(path) == core.sys.realpath("/proc/self/exe")
  local o = setmetatable({ fixed = fixed, own = own }, { __index = options })
  local ended, lost = child.run(words_of(dir, words, o), nil, o.child)
  if not ended then
    temporary.remove(dir)
    return nil, lost, FAILED
  end
  return ended, dir, fixed
end

--- Run pmlua itself again with these arguments under callgrind, and print the counts.
---@return integer status
function M.again(words)
  local found, missing = M.available()
  if not found then
    io.stderr:write("pmlua --sim: ", tostring(missing), "\n")
    return FAILED
  end
  local line = { "--sim", "--", core.sys.realpath("/proc/self/exe") }
  return require("pmlua.internal.cli.verb").run("stat", table.move(words, 1, #words, #line + 1, line))
end

--- Run a command and return its counts.
---@param options? pmlua.SimulationOptions
---@return table? all as left.read() gives it, with ended, model and fixed
---@return pmlua.Failure? failure, integer? status
function M.count(words, options)
  local ended, dir, third = M.run(words, options)
  if not ended then return nil, dir, third end
  local all, err = left.read(dir)
  temporary.remove(dir)
  if not all then return nil, err, FAILED end
  all.section = options and options.section
  all.own = not all.section and library_for(words[1]) and M.own or nil
  all.ended, all.model, all.fixed = ended, M.model(options and options.caches), third
  return all
end

return M
