-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/modules_spec.lua - a script can require pmlua's public modules, but not its internal ones.

local support = require "spec.core.support"

--- The modules of a folder of lua/pmlua, without ".lua".
local function modules(folder)
  local names = {}
  for path in io.popen(("ls lua/pmlua/%s"):format(folder)):lines() do names[#names + 1] = path:match "^([%w_]+)%.lua$" end
  return names
end

local function answer(code)
  return support.done(support.shell(("%s/pmlua -e '%s'"):format(support.build, code)))
end

describe("A script", function()
  it("reaches every public module as pml.NAME, which loads it", function()
    local names = modules ""
    assert.is_true(#names > 20)
    for _, name in ipairs(names) do
      if name ~= "init" then
        assert.equal("true\n", answer(("print(rawequal(pml.%s, require \"pmlua.%s\"))"):format(name, name)), name)
      end
    end
  end)

  it("reaches no inner module as pml.NAME, not even one of the core's tables", function()
    local inner, public = modules "internal", {}
    assert.is_true(#inner > 10)
    for _, name in ipairs(modules "") do public[name] = true end
    for _, name in ipairs(inner) do
      assert.is_nil(public[name], name)
      assert.equal("false\n", answer(("print((pcall(function() return pml.%s end)))"):format(name)), name)
    end
    for _, name in ipairs { "internal", "verb", "recording" } do
      assert.equal("false\n", answer(("print((pcall(function() return pml.%s end)))"):format(name)), name)
    end
  end)

  it("does not find inner modules beside public ones", function()
    for _, name in ipairs(modules "internal") do
      assert.equal("false\n", answer(("print((pcall(require, \"pmlua.%s\")))"):format(name)), name)
    end
  end)
end)
