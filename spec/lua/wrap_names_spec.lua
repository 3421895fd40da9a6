-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/wrap_names_spec.lua - a recipe's name is a name, whatever lies in the current folder.

local support = require "spec.core.support"

describe("pmlua wrap", function()
  after_each(support.cleanup)

  local function wrap(dir, words)
    return support.shell(("cd %s && %s/pmlua wrap %s"):format(dir, require("pmlua.core").sys.realpath(support.build), words))
  end

  it("finds its recipes beside files and folders of their names", function()
    local dir = support.folder()
    local _, before = wrap(dir, "list")
    assert.matches("\nzlib ", before)
    support.spit(dir .. "/zlib", "")
    os.execute(("mkdir %s/gmp"):format(dir))
    local status, after = wrap(dir, "list")
    assert.same({ 0, before }, { status, after })
  end)

  it("takes a path for a file, and says of a file's bare name how to write it", function()
    local dir = support.folder()
    support.spit(dir .. "/mine", "return 1")
    support.spit(dir .. "/mine.lua", "return 1")
    for _, path in ipairs { "./mine", "mine.lua" } do
      local status, _, err = wrap(dir, "init --recipe " .. path)
      assert.equal(1, status, err)
      assert.matches("it does not return a table", err)
    end
    local status, _, err = wrap(dir, "init --recipe mine")
    assert.not_equal(0, status)
    assert.matches("no recipe 'mine'; the file of that name is %./mine\n", err)
  end)
end)
