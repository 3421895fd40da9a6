-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/support.lua - shared functions of the specs: the core under test, folders, programs built once, shell commands.

local M = {}

local pwd = assert(os.getenv("PWD"))
M.root = pwd
M.build = os.getenv("PMLUA_BUILD") or "build"
if M.build:sub(1, 1) ~= "/" then M.build = pwd .. "/" .. M.build end
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;%s"):format(pwd, pwd, package.path)
package.cpath = ("%s/lua/?.so;%s"):format(M.build, package.cpath)

-- A sanitizer must be in a process from its start: busted --lua=build/asan/pmlua has it, a stock Lua has not.
M.sanitized = M.build:find("asan", 1, true) or M.build:find("tsan", 1, true)
if M.sanitized and not package.preload["pmlua.core"] and not (os.getenv("LD_PRELOAD") or ""):find("san", 1, true) then
  M.missing = "a stock Lua cannot load a sanitized core; use busted --lua=" .. M.build .. "/pmlua"
else
  M.core = require "pmlua.core"
end

--- it(), or pending where the core cannot be loaded into this process.
function M.it(name, f)
  local busted = require "busted"
  if M.missing then return busted.pending(name .. ": " .. M.missing) end
  return busted.it(name, f)
end

function M.quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

function M.slurp(path)
  local f = assert(io.open(path, "rb"))
  local text = f:read("a")
  f:close()
  return text
end

function M.spit(path, text)
  local f = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
  return path
end

-- Emptied by cleanup(), or when Lua ends.
local folders = {}

--- A new empty folder, which is removed at the end of the specs.
function M.folder()
  local pipe = assert(io.popen("mktemp -d"))
  local path = pipe:read("l")
  pipe:close()
  folders[#folders + 1] = path
  return path
end

function M.cleanup()
  while #folders > 0 do os.execute("rm -rf " .. M.quote(table.remove(folders))) end
end
setmetatable(folders, { __gc = M.cleanup })

--- Run a shell command with a time limit: exit status, standard output, standard error.
function M.shell(command, seconds)
  local errors = os.tmpname()
  local pipe = assert(io.popen(("timeout %d sh -c %s 2>%s"):format(seconds or 600, M.quote(command), errors)))
  local out = pipe:read("a")
  local _, how, code = pipe:close()
  local err = M.slurp(errors)
  os.remove(errors)
  return how == "signal" and 128 + code or code or 0, out, err
end

--- Fails unless a command has succeeded; returns its standard output and its standard error.
function M.done(status, out, err)
  if status ~= 0 then error(("status %s: %s%s"):format(status, err, out), 2) end
  return out, err
end

--- The same of a command that prints nothing on standard error.
function M.quiet(status, out, err)
  if status ~= 0 or err ~= "" then error(("status %s: %s%s"):format(status, err, out), 2) end
  return out
end

--- Run a shell command in a folder.
function M.shell_in(folder, command, seconds)
  return M.shell("cd " .. M.quote(folder) .. " && " .. command, seconds)
end

--- A function that runs commands in a folder, each for at most @seconds and after the words @before.
function M.shell_of(folder, seconds, before)
  return function(command, longer) return M.shell_in(folder, (before or "") .. command, longer or seconds) end
end

--- Run the pmlua command.
function M.pmlua(arguments)
  return M.shell(M.build .. "/pmlua " .. arguments)
end

--- 64-bit FNV-1a.
local function hash(text)
  local h = 0xcbf29ce484222325
  for i = 1, #text do h = (h ~ text:byte(i)) * 0x100000001b3 end
  return ("%016x"):format(h)
end

--- The beginning of C programs of specs.
M.C = "#define _GNU_SOURCE\n"
for name in ("dirent dlfcn errno fcntl grp linux/seccomp pthread sched semaphore setjmp signal spawn stddef stdint stdio stdlib "
  .. "string sys/mman sys/prctl sys/resource sys/stat sys/syscall sys/time sys/wait time unistd"):gmatch "%S+" do
  M.C = M.C .. ("#include <%s.h>\n"):format(name)
end

local MAKE = [[
at=%s-$(stat -Lc %%s-%%Y "$(command -v %s)") || exit
if ! test -d "$at"; then
  mkdir -p %s && new=$(mktemp -d %s/new-XXXXXX) && cp %s "$new" && (cd "$new" && %s) || { s=$?; rm -rf "$new"; exit $s; }
  mv -T "$new" "$at" 2>/dev/null || rm -rf "$new" # another spec made it in the meantime
fi
cp -pf "$at"/* .]]

--- Compile @files (texts by name) in a folder by a command; fails unless that works. The build folder keeps the results, by a
--- hash of command and texts, so that a command runs only once. A command that depends on further files (this build, the folder,
--- headers elsewhere) runs each time.
function M.compile(folder, files, command)
  local names, parts = {}, {}
  for name, text in pairs(files) do
    M.spit(folder .. "/" .. name, text)
    names[#names + 1], parts[#parts + 1] = M.quote(name), name .. "\0" .. text
  end
  table.sort(parts)
  local script = command
  if not (command:find("$PWD", 1, true) or command:find(M.build, 1, true) or command:find(folder, 1, true)
    or command:find "%-I") then
    local programs = M.quote(M.build .. "/spec/programs")
    local at = ("%s/%s"):format(programs, hash(command .. "\0" .. table.concat(parts, "\0")))
    script = MAKE:format(at, command:match "%S+", programs, programs, table.concat(names, " "), command)
  end
  local status, out, err = M.shell_in(folder, script)
  if status ~= 0 then error(command .. ":\n" .. out .. err, 2) end
end

function M.exists(path)
  local f = io.open(path)
  if f then f:close() end
  return f ~= nil
end

--- Call @f until its value is true, and return that value; nil after a minute.
function M.eventually(f)
  for _ = 1, 1200 do
    local value = f()
    if value then return value end
    if M.core then M.core.sys.sleep(0.05) else os.execute("sleep 0.05") end
  end
end

--- The file of a shared library that the loader finds, or nil. ldconfig is in the PATH of root alone.
function M.library(soname)
  local _, out = M.shell("PATH=$PATH:/usr/sbin:/sbin ldconfig -p")
  return out:match("%f[%g]" .. soname:gsub("%p", "%%%0") .. "[^\n]*=> (%S+)")
end

function M.has(tool)
  return (M.shell("command -v " .. tool)) == 0
end

--- An it() that is pending where why() returns a reason.
function M.it_unless(why)
  local busted = require "busted"
  return function(name, f)
    return busted.it(name, function()
      local reason = why()
      if reason then return busted.pending(reason) end
      return f()
    end)
  end
end

--- An it() that is pending where a command is not installed.
function M.with(tool)
  return M.it_unless(function() return not M.has(tool) and tool .. " is not installed" end)
end

--- `pmlua VERB` refuses each of these arguments with a status and a line that says why: { [arguments] = { status, why } }.
--- Misuse has a second line, which says where help is.
function M.refuses(folder, verb, cases)
  local assert = require "luassert"
  for arguments, expected in pairs(cases) do
    local status, _, err = M.shell_in(folder, ("%s/pmlua %s %s"):format(M.build, verb, arguments))
    assert.same({ arguments, expected[1] }, { arguments, status })
    assert.truthy(err:find("^pmlua " .. verb .. ": .*" .. expected[2]), err)
    assert.matches("^[^\n]*\n" .. (status == 2 and ("see 'pmlua help %s'\n"):format(verb) or "") .. "$", err)
  end
end

--- A function that checks that a verb, run by @run, refuses arguments in one line with a reason, by status 2 or @status.
--- Misuse has a second line, which says where help is.
function M.refused(verb, run)
  local assert = require "luassert"
  return function(arguments, why, status, environment)
    local code, out, err = run(arguments, environment)
    assert.same({ arguments, status or 2, "" }, { arguments, code, out })
    assert.matches("^[^\n]*\n" .. (code == 2 and ("see 'pmlua help %s'\n"):format(verb) or "") .. "$", err)
    assert.truthy(err:find(why, 1, true), err)
  end
end

--- The tables of a list by the value of a field.
function M.by(list, field)
  local of = {}
  for _, row in ipairs(list) do of[row[field]] = row end
  return of
end

--- The cells of a line of a table; one blank does not part them.
function M.cells(text, beginning)
  local line = ("\n" .. text):match("\n(" .. beginning .. "[^\n]*)")
  local list = {}
  for cell in ((line or ""):gsub("   *", "\0")):gmatch("%Z+") do list[#list + 1] = cell end
  return list
end

--- The first socket of an application that serves below a runtime folder, once there is one.
function M.wait_for_socket(runtime)
  return M.eventually(function()
    local pipe <close> = assert(io.popen("ls -d " .. M.quote(runtime) .. "/pmlua/* 2>/dev/null"))
    return pipe:read("l")
  end) or error("nothing serves below " .. runtime)
end

return M
