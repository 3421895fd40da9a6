-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/untrusted/folder_spec.lua - the folder that pmlua is started in may have come from anybody: nothing of it is loaded.

local support = require "spec.core.support"
local lfs = require "lfs"

local command = support.build .. "/pmlua"

describe("In a folder with foreign modules", function()
  local dir, canary
  before_each(function()
    dir = support.folder()
    canary = dir .. "/canary"
    os.execute(("mkdir -p %s/pmlua/verb %s/pmlua/internal %s/cjson %s/socket"):format(dir, dir, dir, dir))
    for _, name in ipairs { "lfs", "cjson", "cjson/safe", "zlib", "socket", "socket/unix", "socket/core", "pmlua/init",
      "pmlua/core", "pmlua/json", "pmlua/internal/search", "pmlua/verb/help", "pmlua/verb/plot", "pmlua/verb/list", "pml" } do
      support.spit(("%s/%s.lua"):format(dir, name), ("io.open(%q, 'w'):close()\nreturn {}\n"):format(canary))
    end
    for _, name in ipairs { "lfs", "cjson", "zlib" } do os.execute(("cp /bin/true %s/%s.so"):format(dir, name)) end
  end)

  local function run(arguments, environment)
    local status, out, err = support.shell(("cd %s && %s timeout 60 %s %s </dev/null"):format(dir, environment or "", command,
      arguments))
    assert.is_nil(lfs.attributes(canary, "mode"), ("pmlua %s executed a file of the folder"):format(arguments))
    return status, out, err
  end

  it("no verb executes them, with any relative folders in LUA_PATH", function()
    local verbs = require("pmlua.internal.cli.verb").names()
    assert.is_true(#verbs > 10)
    for _, verb in ipairs(verbs) do
      if verb ~= "live" then run(verb == "serve" and "serve --export nowhere" or verb) end
      run(verb .. " --help")
    end
    for _, environment in ipairs { "LUA_PATH='./?.lua;;'", "LUA_PATH_5_4='?.lua;./?/init.lua;;' LUA_CPATH='./?.so;;'",
      "LUA_INIT=@lfs.lua" } do
      for _, verb in ipairs { "plot .", "compare . .", "report .", "events", "serve --export unix:", "record -o out -- true",
        "-e 'return pml.results, pml.sections'" } do
        run(verb, environment)
      end
    end
  end)

  it("every module of others that pmlua requires is known as one that must be trusted", function()
    local reserved, n = support.slurp "lua/pmlua/internal/search.lua":match "\nlocal reserved = {(.-)}", 0
    local files = support.done(support.shell "grep -rhoE 'require(\\(|, )? *\"[a-z]+[a-z.]*\"' lua/pmlua")
    for name in files:gmatch '"(%l+)' do
      assert.truthy(reserved:find("%f[%w]" .. name .. " = true"), name)
      n = n + 1
    end
    assert.is_true(n > 100, n)
  end)

  it("modules that pmlua requires are looked for in trusted folders only, also by the user's code", function()
    local out = support.done(run("-e 'print((pcall(require, \"cjson\")), type(require \"lfs\".dir))'"))
    assert.matches("function", out)
  end)

  it("modules that pmlua requires are found if LUA_CPATH is for another Lua, or has no ;;", function()
    for _, variable in ipairs { "LUA_CPATH", "LUA_CPATH_5_4" } do
      for _, value in ipairs { dir .. "/?.so;;", dir .. "/?.so", "" } do
        for _, verb in ipairs { "help", "stat -q -- true", "-e 'require \"lfs\"; require \"cjson\"; require \"zlib\"'" } do
          support.done(run(verb, ("%s='%s'"):format(variable, value)))
        end
      end
    end
  end)

  it("a script requires files beside it, and typed code requires files in the current folder", function()
    support.spit(dir .. "/mine.lua", "return { answer = 42 }\n")
    support.spit(dir .. "/script.lua", "print(require 'mine'.answer, type(require 'lfs'.dir))\n")
    for _, arguments in ipairs { "script.lua", "./script.lua", dir .. "/script.lua",
      "-e 'print(require \"mine\".answer, \"function\")'" } do
      local out = support.done(run(arguments))
      assert.equal("42\tfunction\n", out)
    end
    local out = support.done(support.shell(("cd / && %s %s/script.lua"):format(command, dir)))
    assert.equal("42\tfunction\n", out)
  end)

  it("the command started by its bare name finds its own libraries", function()
    os.execute(("rm -r %s/pmlua"):format(dir))
    for _, make in ipairs { "mkdir -p pmlua/pmlua pmlua/lua/pmlua && echo 'error(1)' > pmlua/lua/pmlua/init.lua", "touch pmlua",
      "ln -s /bin/true pmlua", "mkdir -p lua/pmlua && echo 'error(1)' > lua/pmlua/init.lua && touch pmlua" } do
      local there = support.folder()
      local out = support.done(support.shell(("cd %s && %s; PATH=%s:$PATH pmlua -e 'print(pml.paths.command)'"):format(there,
        make, support.build)))
      assert.equal(command .. "\n", out)
    end
  end)
end)

describe("A set-uid program", function()
  it("reads no variables for pmlua", function()
    if not os.execute("[ $(id -u) = 0 ]") then return pending "only root makes a set-uid program of another user" end
    if not os.execute("command -v gcc >/dev/null") then return pending "gcc is not installed" end
    local dir = support.folder()
    support.spit(dir .. "/x.c", [[
#include "pml.h"
int main(void) { return pml_clock_init() < 0; }
]])
    local status, _, err = support.shell(("cd %s && gcc -I%s/core x.c %s/libpmlua.a -lotf2 -lpthread -ldl -lm -o x"
      .. " && chmod 755 . && chown nobody x && PMLUA_CLOCK=none ./x"):format(dir, support.root, support.build))
    if err ~= "" then return pending("a program cannot be linked with libpmlua.a here: " .. err:match "[^\n]*") end
    assert.equal(1, status) -- the variable is wrong
    os.execute(("chmod u+s %s/x"):format(dir))
    status = support.shell(("cd %s && PMLUA_CLOCK=none ./x"):format(dir))
    if status == 1 and os.execute(("findmnt -no OPTIONS -T %s | grep -q nosuid"):format(dir)) then
      return pending "the folder for temporary files is mounted nosuid"
    end
    assert.equal(0, status)
  end)
end)
