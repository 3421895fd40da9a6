-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/public_spec.lua - names that scripts and command lines depend on do not go unnoticed (docs/stability.md).

package.path = "./?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local build = os.getenv("PMLUA_BUILD") or "build"
package.cpath = build .. "/lua/?.so;" .. package.cpath

if not pcall(require, "pmlua.core") then
  describe("public names", function() pending "pmlua.core is not built" end)
  return
end

local public = require "spec.public"

describe("public names", function()
  local recorded, removed, major = public.recorded()
  local now = public.now()

  it("that are new are recorded", function()
    assert.same({}, public.beyond(now, recorded), "record them: build/pmlua spec/public.lua --write")
  end)

  it("stay within a major version", function()
    assert.same({}, public.beyond(recorded, now), "deprecate them; remove them in the next major version")
    assert.equal(public.major(), major, "build/pmlua spec/public.lua --write")
  end)

  it("that were removed do not exist, and are in the changelog", function()
    local changelog = assert(io.open("CHANGELOG.md")):read "a"
    local there = public.beyond(now, {})
    local is_there = {}
    for _, name in ipairs(there) do is_there[name] = true end
    assert.is_true(#removed > 0)
    for _, r in ipairs(removed) do
      assert.is_nil(is_there[r.name], r.name)
      local word = r.name:match "[%w_]+$"
      assert.truthy(changelog:find(word, 1, true), r.name .. " is not in CHANGELOG.md")
    end
  end)
end)
