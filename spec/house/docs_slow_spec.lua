-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/docs_slow_spec.lua - the pages of the documentation that say of themselves that they are slow, followed to the
-- letter as spec/house/docs_spec.lua follows the others.
--
-- Slow: they simulate, compile with counts, generate wrappers, and wait for programs.

package.path = "spec/?.lua;" .. package.path
local page = require "page"
local sh = require "shell".sh

describe("A slow page of the documentation", function()
  local prefix
  setup(function() prefix = page.install() end)

  for _, path in ipairs(page.pages(true)) do
    it("works as it says: " .. path, function()
      local lacks = page.lacks(path)
      if lacks then return pending(lacks) end
      local done, why = page.follow(path, prefix)
      sh("rm -rf " .. done.dir)
      assert.is_nil(why)
    end)
  end
end)
