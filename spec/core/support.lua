-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/support.lua - what the specs of the bindings share: the core under test, scratch folders, the command.

local M = {}

local pwd = assert(os.getenv("PWD"))
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

local folders = {}

--- A new empty folder, gone after cleanup().
function M.folder()
  local pipe = assert(io.popen("mktemp -d"))
  local path = pipe:read("l")
  pipe:close()
  folders[#folders + 1] = path
  return path
end

function M.cleanup()
  for _, path in ipairs(folders) do os.execute("rm -rf " .. M.quote(path)) end
  folders = {}
end

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

--- The same in a folder.
function M.shell_in(folder, command, seconds)
  return M.shell("cd " .. M.quote(folder) .. " && " .. command, seconds)
end

--- The file of a shared library that the loader finds, or nil. ldconfig is in the PATH of root alone.
function M.library(soname)
  local _, out = M.shell("PATH=$PATH:/usr/sbin:/sbin ldconfig -p")
  return out:match("%f[%g]" .. soname:gsub("%p", "%%%0") .. "[^\n]*=> (%S+)")
end

function M.has(tool)
  return (M.shell("command -v " .. tool)) == 0
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

--- The cells of a line of a table; one blank does not part them.
function M.cells(text, beginning)
  local line = ("\n" .. text):match("\n(" .. beginning .. "[^\n]*)")
  local list = {}
  for cell in ((line or ""):gsub("   *", "\0")):gmatch("%Z+") do list[#list + 1] = cell end
  return list
end

--- The first socket of an application that serves below a runtime folder, once there is one.
function M.wait_for_socket(runtime)
  for _ = 1, 1200 do
    local pipe = assert(io.popen("ls -d " .. M.quote(runtime) .. "/pmlua/* 2>/dev/null"))
    local path = pipe:read("l")
    pipe:close()
    if path then return path end
    os.execute("sleep 0.05")
  end
  error("nothing serves below " .. runtime)
end

return M
