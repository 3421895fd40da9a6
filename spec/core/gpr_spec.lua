-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/gpr_spec.lua - code that runs while unsaved vector registers hold a caller's values leaves them alone.

local support = require "spec.core.support"

local function lines(command)
  local _, out = support.shell(command)
  return out:gmatch("[^\n]+")
end

--- The object files, and the functions that they have between them.
local function gpr_files()
  local files, own = {}, {}
  for file in lines("find " .. support.quote(support.build) .. "/obj/core -name '*_gpr.o'") do
    files[#files + 1] = file
    for line in lines("nm --defined-only " .. support.quote(file)) do
      local name = line:match " [Tt] (%S+)$"
      if name then own[name] = true end
    end
  end
  return files, own
end

describe("code for general registers only", function()
  it("has no instruction for others, and calls nothing that might", function()
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
end)
