-- SPDX-License-Identifier: BSD-3-Clause
-- spec/check.lua - runner of the tests: runs them side by side and counts them. Try: lua5.4 spec/check.lua layers c
--
-- Usage: [TIMES=1] lua5.4 spec/check.lua STEP... [ONLY=PATTERN]
--
-- TIMES=1 lists all jobs at the end, the most expensive first, with seconds of processor time and of the clock.
--
-- Every C spec (spec/c/*.c) and every busted spec (spec/*/*_spec.lua, spec/*/*/*_spec.lua) runs as a separate process with a time
-- limit. As many run at once as there are cpus. A slow spec has a line "Slow: why" in its header, and runs only in the step
-- `slow` and in make check-all, or if ONLY names it. C specs and busted count their own checks; any other job is one check. A
-- skip prints its reason. Failures and skips are repeated at the end, in the order of names; the last line is `N passed, N
-- failed, N skipped`.
--
-- A failed job runs a second time, alone, when all others have ended. If it passes then, it counts as passed and is listed as
-- `unsteady:` with the output of both runs; build/unsteady keeps a record. A job that was unsteady three times must be mended.
-- The step `load` runs the steps after it beside two busy loops and a live program of another user.

package.path = "spec/?.lua;" .. package.path
local pool = require "pool"
local tally = require "tally"

local build = os.getenv("PMLUA_BUILD") or "build"
local only
local jobs = {}

--- Whether ONLY, a text or a Lua pattern, finds a name.
local function wanted(name)
  local fine, at = pcall(string.find, name, only or "")
  return name:find(only or "", 1, true) or fine and at
end

--- Queue a command unless ONLY excludes it; @count reads its result.
local function add(name, count, command, seconds)
  if not wanted(name) then return end
  jobs[#jobs + 1] = { name = name, count = count, command = command, seconds = seconds }
end

local function listing(pattern)
  local p <close> = io.popen("ls " .. pattern)
  local list = {}
  for file in p:lines() do
    local f <close> = io.open(file)
    local text = f:read("a")
    local head = text:match("^.-\n\n") or text
    list[#list + 1] = { file = file, text = text, slow = head:find("\n[-* ]+Slow: ") ~= nil }
  end
  return list
end

--- The files of a step: the slow ones, the others, or all (nil). ONLY selects among all.
local function takes(file, slow)
  return only or slow == nil or file.slow == slow
end

--- The C specs of a build; @pattern: those whose text matches.
local function c_specs(prefix, dir, slow, pattern)
  for _, s in ipairs(listing("spec/c/*.c")) do
    local name = s.file:match("([^/]+)%.c$")
    local helper = s.text:find("not a spec by itself", 1, true) -- a program of another spec
    if not helper and takes(s, slow) and (not pattern or s.text:find(pattern)) then
      add(prefix .. "c/" .. name, tally.count, ("PMLUA_BUILD=%s %s/spec/%s"):format(dir, dir, name), 600)
    end
  end
end

--- The sums of busted, its failures and its skips.
local function busted_count(name, out, code, seconds)
  local p, f, e, s = out:match("(%d+) success%S* / (%d+) failure%S* / (%d+) error%S* / (%d+) pending")
  f = tonumber(f or 0) + tonumber(e or 0)
  if f == 0 and (code ~= 0 or not p) then -- out of time, a crash, a sanitizer that speaks when all is over
    f = 1
    tally.fail(name, ("%s\nbusted ended with status %d%s"):format(out, code, code == 124 and " (out of time)" or ""))
  end
  if f > 0 then io.write(out) end
  for _, kind in ipairs { "Failure", "Error" } do
    for where, spec, reason in out:gmatch("\n" .. kind .. " %-> ([^\n]*)\n([^\n]*)\n([^\n]*)") do
      tally.fail(name, where .. " | " .. spec .. " | " .. reason)
    end
  end
  for spec, reason in out:gmatch("\nPending %-> [^\n]*\n([^\n]*)\n([^\n]*)") do
    tally.skip(name, spec .. ": " .. reason:gsub("^%S+:%d+: ", ""))
  end
  tally.say(name, tonumber(p) or 0, f, tonumber(s) or 0, seconds)
end

local function busted_specs(prefix, files, slow, lua, dir)
  for _, s in ipairs(listing(files)) do
    if takes(s, slow) then
      local name = prefix .. s.file:match("^spec/(.*)_spec%.lua$")
      add(name, busted_count, ("PMLUA_BUILD=%s busted --lua=%s -o plainTerminal %s"):format(dir, lua, s.file), 1200)
    end
  end
end

local function lua_specs(slow)
  busted_specs("", "spec/[!w]*/*_spec.lua spec/[!w]*/*/*_spec.lua", slow, "/usr/bin/lua5.4", build)
end

--- The specs under a sanitizer. A stock Lua cannot load a sanitized module: the command itself runs busted.
local function sanitized(name, pattern, lua)
  local dir = build .. "/" .. name
  c_specs(name .. " ", dir, nil, pattern)
  if lua then busted_specs(name .. " ", "spec/core/*_spec.lua", nil, os.getenv("PWD") .. "/" .. dir .. "/pmlua", dir) end
end

--- Each fuzz target, for as many inputs as it says in its head or its list, the same ones each time.
local function fuzz_targets()
  local runs = dofile "spec/fuzz/checks.lua".texts
  for _, s in ipairs(listing("spec/fuzz/fuzz_*.c")) do
    local name = s.file:match("fuzz_([^/]+)%.c$")
    if name ~= "text" then runs[name] = s.text:match("\n %* Runs: (%d+)\n") or 10000 end
  end
  for name, n in pairs(runs) do
    add("fuzz " .. name, tally.whole, ("spec/fuzz/run.sh %s/fuzz fuzz_%s runs=%s"):format(build, name, n), 300)
  end
end

-- The limits end jobs that hang; on a busy machine a job may take several times as long as alone.
local steps = {
  layers = function()
    add("layers", tally.whole, "lua5.4 spec/layers.lua", 120)
    add("objects", tally.whole, ("PMLUA_BUILD=%s lua5.4 spec/objects.lua"):format(build), 120)
    add("hot", tally.whole, ("PMLUA_BUILD=%s lua5.4 spec/hot.lua"):format(build), 120)
    add("prose", tally.whole, "lua5.4 spec/prose.lua --check", 120)
  end,
  c = function() c_specs("", build, false) end,
  costs = function() add("costs", tally.count, ("lua5.4 spec/costs.lua %s/spec/cost"):format(build), 600) end,
  busted = function() lua_specs(false) end,
  slow = function()
    c_specs("", build, true)
    lua_specs(true)
  end,
  mutants = function() -- a sample of each day
    local seed = os.date "!%Y%m%d"
    add("mutants seed " .. seed, tally.count, "lua5.4 spec/mutants.lua 40 " .. seed, 600)
  end,
  wrap = function() busted_specs("", "spec/wrap/*_spec.lua", false, "/usr/bin/lua5.4", build) end,
  asan = function() sanitized("asan", nil, true) end,
  lint = function()
    for _, part in ipairs { "format", "lua", "build", "cppcheck", "tidy" } do
      add("lint " .. part, tally.whole, ("make --no-print-directory lint-%s B=%s LINT_JOBS=1"):format(part, build), 3600)
    end
  end,
  fuzz = fuzz_targets,
  abi = function() add("abi", tally.whole, ("make --no-print-directory abi-check B=%s"):format(build), 300) end,
  tsan = function() sanitized("tsan", "pthread_") end,
}

-- Programs that run beside the specs, until these have ended or for two hours at most.
local loads = {}
local function start_load()
  local function start(command)
    local p <close> = assert(io.popen(("timeout 7200 %s >/dev/null 2>&1 & echo $!"):format(command)))
    loads[#loads + 1] = p:read "n"
  end
  for _ = 1, 2 do start "sh -c 'while :; do :; done'" end
  local id <close> = assert(io.popen "id -u")
  local root = id:read "n" == 0
  start(("%s%s/pmlua live -- sleep 7200"):format(root and "setpriv --reuid=65534 --regid=65534 --clear-groups " or "", build))
  print("beside two busy loops and a live program of " .. (root and "user 65534" or "this user (only root can start another's)"))
end

local function end_load()
  for _, pid in ipairs(loads) do os.execute("kill " .. pid) end
end

local chosen = {}
steps.load = start_load
for _, word in ipairs(arg) do
  local pattern = word:match("^ONLY=(.*)")
  if pattern then
    only = pattern ~= "" and pattern or nil
  elseif steps[word] then
    chosen[#chosen + 1] = word
  else
    io.stderr:write("check: no step called ", word, "\n")
    os.exit(2)
  end
end
-- The log of a whole run names the machine it ran on.
if not only then io.write(tally.sh(build .. "/pmlua doctor", 60), "\n") end
for _, name in ipairs(chosen) do steps[name]() end
if #jobs == 0 then
  io.stderr:write("check: no spec's name matches ", only or "these steps", "; names are as c/clock, lua/choose\n")
  os.exit(2)
end
local width = pool.cpus()
local began, processor, took = pool.now(), 0, {}
local failed_once = {}
local most_again = 12 -- where more jobs fail, something is broken

local function count(job, result)
  processor = processor + result.processor
  took[#took + 1] = { result.processor, result.elapsed, job.name }
  job.count(job.name, result.out, result.code, result.processor)
end

--- The last lines of what a job said.
local function ending(out)
  return (("\n" .. out):gsub("%s+$", ""):match("[^\n]*\n?[^\n]*$"):gsub("\n", "\n    "))
end

--- How often a job was unsteady in this checkout, now included.
local function times_unsteady(name)
  local f <close> = assert(io.open(build .. "/unsteady", "a+"))
  local n = 1
  for line in f:lines() do n = n + (line == name and 1 or 0) end
  f:write(name, "\n")
  return n
end

pool.run(jobs, width, function(job, result)
  local mark = tally.mark()
  count(job, result)
  if tally.failed > mark.failed then
    job.first, job.result = tally.revert(mark), result
    failed_once[#failed_once + 1] = job
  end
end)
end_load()
if #failed_once > most_again then
  for _, job in ipairs(failed_once) do count(job, job.result) end
elseif #failed_once > 0 then
  print(("%d failed, and run again, alone:"):format(#failed_once))
  pool.run(failed_once, 1, function(job, result)
    local failed = tally.failed
    count(job, result)
    if tally.failed == failed then tally.unsteady(job.name, times_unsteady(job.name), job.first, ending(result.out)) end
  end)
end
if os.getenv "TIMES" then
  table.sort(took, function(a, b) return a[1] > b[1] end)
  for _, t in ipairs(took) do print(("%7.1f s %7.1f s  %s"):format(table.unpack(t))) end
end
print(("%d jobs took %.0f s of processor time, %.0f s with %d at once"):format(#jobs, processor, pool.now() - began, width))
tally.finish()
