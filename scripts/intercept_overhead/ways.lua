-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/intercept_overhead/ways.lua - the ways to observe a call: how each is applied to a program, and what it saw.
--
-- Try:  for _, w in ipairs(require("intercept_overhead.ways").all) do print(w.name, w.title) end
--
-- A way is a command line around the calling program and a count of the calls that it saw, so that a tool that misses calls
-- does not pass for a cheap one. The time of a call excludes what the tool does before the first and after the last one.

local build = require "programs.build"
local quote = build.quote

local M = {}

---@class intercept_overhead.Way
---@field name string
---@field title string for tables and figures
---@field group "floor"|"pmlua"|"others"
---@field calls? integer calls per batch, 1000
---@field batches? integer most batches per round and thread: slow tools are timed less often
---@field needs? string command that must be installed
---@field package? string Debian package of that command
---@field mode? string mode of the program
---@field wrapped? string the program linked with a generated wrapper
---@field around fun(lab, program: string): string the shell command, in the folder of the programs
---@field seen? fun(lab): integer?, string? calls that it saw in the last run; nil and why

local function as_it_is(_, program) return program end

-- The count that calls_seen.h writes.
local function seen_by_ours(lab)
  local f <close> = io.open(lab.folder.path .. "/seen", "r")
  return f and f:read "n"
end

local function preloaded(variable, file)
  return function(lab, program)
    return ("env CALLS_SEEN=seen %s=%s/%s %s"):format(variable, quote(lab.folder.path), file, program)
  end
end

local function recorded(options)
  return function(lab, program)
    return ("%s record %s -o recorded -- %s"):format(quote(lab.command), options:gsub("EVENT", quote(lab.event)), program)
  end
end

-- Let the wrapper find the library that it depends on.
local function with_library(around)
  return function(lab, program)
    return ("env LD_LIBRARY_PATH=%s %s"):format(quote(lab.folder.path), around(lab, program))
  end
end

local function seen_by_record(lab)
  local calls, err = require("pmlua.internal.record.functions").read(lab.folder.path .. "/recorded")
  if not calls then return nil, err end
  for _, f in ipairs(calls.functions) do
    if f.name == "calls_work" then return f.calls end
  end
  return 0
end

local function seen_by_uftrace(lab)
  local text, err = lab.folder:run("uftrace report --no-pager -f call -d uftrace.data", 60)
  if not text then return nil, err end
  return math.tointeger(tonumber(text:match "(%d+)%s+calls_work")) or 0
end

local function seen_by_ltrace(lab)
  local n = 0
  for line in io.lines(lab.folder.path .. "/ltrace.out") do
    if line:find("calls_work(", 1, true) then n = n + 1 end -- "resumed" lines have no parenthesis
  end
  return n
end

---@type intercept_overhead.Way[]
M.all = {
  { name = "plain", title = "plain call", group = "floor", around = as_it_is },
  { name = "clocks", title = "two clock reads around it", group = "floor", mode = "clocks", around = as_it_is },
  { name = "by_hand", title = "wrapper by hand, preloaded", group = "others",
    around = preloaded("LD_PRELOAD", "by_hand.so"), seen = seen_by_ours },
  { name = "filtered", title = "pmlua record, call not chosen", group = "pmlua",
    around = recorded "--sym none_of_these", seen = seen_by_record },
  { name = "idle", title = "intercepted, no consumer", group = "pmlua", mode = "install",
    around = function(lab, program) return ("env LD_PRELOAD=%s %s"):format(quote(lab.libpmlua), program) end },
  { name = "profile", title = "intercepted, profile", group = "pmlua", around = recorded "", seen = seen_by_record },
  { name = "trace", title = "intercepted, profile and trace", group = "pmlua", around = recorded "--trace",
    seen = seen_by_record },
  { name = "metrics", title = "intercepted, profile with an event", group = "pmlua", around = recorded "--event EVENT",
    seen = seen_by_record },
  { name = "wrap_idle", title = "pmlua wrap, no consumer", group = "pmlua", wrapped = "calls.linked",
    around = with_library(as_it_is) },
  { name = "wrap_linked", title = "pmlua wrap at link time, profile", group = "pmlua", wrapped = "calls.linked",
    around = with_library(recorded ""), seen = seen_by_record },
  { name = "wrap_before", title = "pmlua wrap at run time, profile", group = "pmlua", wrapped = "calls.before",
    around = with_library(recorded ""), seen = seen_by_record },
  { name = "ld_audit", title = "LD_AUDIT (rtld-audit)", group = "others", around = preloaded("LD_AUDIT", "audit.so"),
    seen = seen_by_ours },
  { name = "uftrace", title = "uftrace", group = "others", needs = "uftrace", package = "uftrace",
    around = function(_, program) return "uftrace record --force -d uftrace.data " .. program end, seen = seen_by_uftrace },
  { name = "ltrace", title = "ltrace", group = "others", needs = "ltrace", package = "ltrace", calls = 10, batches = 3,
    around = function(_, program) return "ltrace -f -e calls_work -o ltrace.out " .. program end, seen = seen_by_ltrace },
}

M.named = {}
for _, way in ipairs(M.all) do M.named[way.name] = way end

--- Why a way is not available on this machine, in a few words.
---@return string?
function M.absent(way)
  if way.needs and not build.is_here(way.needs) then
    return ("%s is not installed (Debian: apt-get install %s)"):format(way.needs, way.package)
  end
end

return M
