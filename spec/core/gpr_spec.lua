-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/gpr_spec.lua - check of the machine code that runs before vector registers are saved: it must not change them.

local support = require "spec.core.support"

local function lines(command)
  local _, out = support.shell(command)
  return out:gmatch("[^\n]+")
end

--- The object files, and the functions that they have between them.
local function gpr_files()
  local files, own = {}, {}
  for file in lines("find " .. support.quote(support.build) .. "/obj/core -name '*_gpr.o'") do files[#files + 1] = file end
  for line in lines("nm --defined-only '" .. table.concat(files, "' '") .. "'") do
    local name = line:match " [Tt] (%S+)$"
    if name then own[name] = true end
  end
  return files, own
end

describe("code for general registers only", function()
  it("has no instruction for others, and calls no function that might", function()
    if support.shell("command -v objdump") ~= 0 then return pending("objdump is not installed") end
    if support.build:find("[at]san") then return pending("a sanitizer adds calls of its own") end
    local files, own = gpr_files()
    for _, file in ipairs(files) do
      local instructions = 0
      for line in lines("objdump -dr --no-show-raw-insn " .. support.quote(file)) do
        if line:find("^%s+%x+:") then instructions = instructions + 1 end
        assert.is_nil(line:match("%%[xyz]mm%d") or line:match("%%st%f[%W]") or line:match("%s[qv]%d+%f[%W]"), line)
        local called = line:match("R_X86_64_PLT32%s+([%w_]+)") or line:match("R_AARCH64_CALL26%s+([%w_]+)")
        assert.is_true(called == nil or own[called], line)
      end
      assert.truthy(instructions > 5)
    end
    assert.truthy(#files >= 2)
  end)

  -- An intercepted call hands events to consumers without saving r8 to r11.
  it("keeps r8 to r11 where consumers' functions promise that, with the compiler's option on x86-64", function()
    if support.shell("command -v objdump") ~= 0 then return pending("objdump is not installed") end
    if support.build:find("[at]san") then return pending("a sanitizer adds calls of its own") end
    local _, told = support.shell(("make -n -B B=%s %s/obj/core/substrate/profile/pml_profile_gpr.o"):format(
      support.quote(support.build), support.quote(support.build)))
    if not told:find("-fcall-saved-r8", 1, true) then return pending("this compiler cannot be told so, or needs not") end
    local functions, used = 0, {}
    for _, file in ipairs((gpr_files())) do
      if not file:find("/adapter/arch/", 1, true) and not file:find("_several_gpr", 1, true) then
        local name, saved, saves = nil, {}, {}
        for line in lines("objdump -d --no-show-raw-insn " .. support.quote(file)) do
          local begins = line:match "^%x+ <(.-)>:"
          if begins then
            -- the compiler moves rarely executed code of a function behind all functions
            name, saved = begins, saves[begins:match "^(.*)%.cold$"] or {}
            saves[name] = saved
            functions = functions + 1
          end
          local pushed = line:match "push%s+%%(r%d+)"
          if pushed then saved[pushed] = true end
          for register in line:gmatch "%%r(%d+)[dwb]?%f[%W]" do
            register = "r" .. register
            if tonumber(register:sub(2)) <= 11 then
              used[register] = true
              assert.is_true(saved[register] or false, ("%s: %s is not saved: %s"):format(name, register, line))
            end
          end
        end
      end
    end
    assert.truthy(functions > 20)
    assert.truthy(next(used))
  end)
end)
