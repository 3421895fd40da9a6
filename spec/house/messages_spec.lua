-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/messages_spec.lua - every sentence that a user can see is collected, and keeps the rules of CONTRIBUTING.md.

local support = require "spec.core.support"
local shell = require "spec.shell"
local sh, write = shell.sh, shell.write

describe("Every message", function()
  local dir

  before_each(function() dir = support.folder() end)

  local function check(name, text)
    write(dir .. "/" .. name, text)
    local out, code = sh(("lua5.4 spec/messages.lua --check %s"):format(dir))
    return out:gsub(dir:gsub("%p", "%%%0") .. "/", ""), code
  end

  it("of the tree follow the rules", function()
    assert.same({ "", 0 }, { sh "lua5.4 spec/messages.lua --check" })
  end)

  it("is collected: joined literals are one, help is included, patterns are not", function()
    write(dir .. "/a.lua", [[
local function f(path)
  if path:find "two words" then f() end
  if path then return refuse("ENOENT", path .. ": no such " .. kind(path) .. " in this folder", "try again now") end
  return { help = "write the " .. "table", about = [=[
Two words. And more.]=] }
end
]])
    write(dir .. "/b.c", [[
/* no message here */
#include "no message.h"
int f(void) { return pml_fail(-EINVAL, "bytes %" PRIu64 " of the "
                              "file", n); }
]])
    local out = sh("lua5.4 spec/messages.lua " .. dir):gsub(dir:gsub("%p", "%%%0") .. "/", "")
    assert.equal("a.lua:3: %s: no such %s in this folder\na.lua:3: try again now\na.lua:4: write the table\n" ..
      "a.lua:4: Two words. And more.\nb.c:3: bytes %%s of the file\n", out)
  end)

  for text, fault in pairs {
    ["cannot open " .. ("a long name "):rep(20)] = "a.lua:1: 252 characters, more than 200: cannot open ",
    ["Cannot open the file"] = "a.lua:1: begins with a capital: Cannot open the file\n",
    ["cannot open the file."] = "a.lua:1: ends with a full stop: cannot open the file.\n",
    ["nobody has opened the file"] = "a.lua:1: 'nobody' reads as translated: nobody has opened the file\n",
    ["this is no file of counts"] = "a.lua:1: 'is no file' reads as translated: this is no file of counts\n",
  } do
    it(("is refused: %s"):format(text:sub(1, 40)), function()
      local out, code = check("a.lua", ("error(%q, 0)\n"):format(text))
      assert.same({ fault, 1 }, { out:sub(1, #fault), code })
    end)
  end

  it("of other code is not: Debian, there is no file, a paragraph of help", function()
    local out, code = check("a.lua", [[
error("Debian: there is no file of counts")
return { about = "Prints the table. Nothing is changed." }
]])
    assert.same({ "", 0 }, { out, code })
  end)
end)
