-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/untrusted/arguments_spec.lua - tests of arbitrary command lines, and of folders with arbitrary names: a verb prints
-- messages written for it, never crashes, prints no traceback and no Lua error with a line of our code, and executes nothing.

local support = require "spec.core.support"
local hostile = require "spec.lua.untrusted.hostile"
local lfs = require "lfs"

local ROUNDS = 6 -- command lines of a verb

describe("Any command line", function()
  local seed = tonumber(os.getenv "PMLUA_SPEC_SEED") or os.time()
  local dir, canary
  setup(function()
    dir = support.folder()
    canary = dir .. "/canary"
    os.execute(("cd %s && mkdir folder && mkfifo fifo && : >empty"
      .. " && ln -s /dev/zero zero && truncate -s 10G sparse"
      .. " && ln -s loop loop && head -c 3000 /dev/urandom >noise && echo '{\"name\": 3}' >folder/meta.json"):format(dir))
  end)

  --- Options that the verb's own help names, and words of it.
  local function options_of(verb)
    local _, text = support.pmlua(verb .. " --help")
    local options = {}
    for option in text:gmatch "%-%-?%a[%w-]*" do options[#options + 1] = option end
    return options
  end

  local function words(verb, options, texts)
    local files = { "folder", "fifo", "empty", "zero", "sparse", "loop", "noise", "none", ".", "/", "", "-", "--", "-1", "0",
      "1e999", "nan", "99999999999999999999", "true", ("x"):rep(5000) }
    local line = { verb }
    for _ = 1, math.random(0, 6) do
      local dice = math.random(10)
      local word = dice <= 4 and #options > 0 and options[math.random(#options)] or dice <= 8 and files[math.random(#files)]
        or texts[math.random(#texts)]:gsub("%z", "")
      line[#line + 1] = (dice == 3 and word .. "=" .. files[math.random(#files)]) or word
    end
    return line
  end

  local ours = { "stack traceback", "attempt to ", "bad argument", "%.lua:%d+:", "Segmentation", "core dumped",
    "not enough memory", "%[C%]", "invalid option '%%", "malformed pattern" }

  --- Whether pmlua stat or sample counts until Ctrl-C, which it may do even if a program is named, or pmlua serve serves.
  local function waits(line)
    if line[1] == "serve" then return true end
    if line[1] ~= "stat" and line[1] ~= "sample" then return false end
    for _, word in ipairs(line) do
      local option = word:match "^%-[^=]*"
      for _, other in ipairs { "-a", "--all", "-p", "--pid", "-G", "--cgroup" } do
        if option == other then return true end
      end
    end
    return false
  end

  local function check(line)
    local interrupted = waits(line)
    for i, word in ipairs(line) do line[i] = support.quote(word) end
    local text = table.concat(line, " ")
    local command = ("cd %s && ulimit -v 4000000; ulimit -c 0; PATH=/usr/bin:/bin timeout %s %s/pmlua %s </dev/null")
      :format(dir, interrupted and "-s INT -k 30 5" or "-k 2 60", support.build, text)
    local status, _, err = support.shell(command)
    local what = ("PMLUA_SPEC_SEED=%d: pmlua %s: status %d\n%s"):format(seed, text, status, err)
    -- A child may end in any way, but a crash, or an end by the time limit, is our fault. A command that was interrupted (124)
    -- has ended by itself afterwards.
    assert.is_true((status ~= 124 or interrupted) and status ~= 137 and status ~= 139 and status ~= 134, what)
    for _, pattern in ipairs(ours) do
      if err:find(pattern) then error(what) end
    end
    assert.is_nil(lfs.attributes(canary, "mode"), what)
  end

  for _, verb in ipairs(require("pmlua.internal.cli.verb").names()) do
    if verb ~= "live" and verb ~= "doctor" then -- one waits for what it runs, the other takes its time
      it("is handled by pmlua " .. verb, function()
        math.randomseed(seed)
        local options, texts = options_of(verb), hostile.texts("touch " .. canary, seed, 10)
        if verb == "bench" then texts = { "exit 3", "no such command" } end -- its arguments are commands for a shell
        for _ = 1, ROUNDS do check(words(verb, options, texts)) end
      end)
    end
  end
end)
