-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/untrusted/hardening_spec.lua - check of installed binaries: linked and compiled with Debian's hardening options.

local support = require "spec.core.support"

local function readelf(options, file)
  local pipe = io.popen(("LC_ALL=C readelf -W %s %s 2>/dev/null"):format(options, support.quote(file)))
  local text = pipe:read "a"
  pipe:close()
  return text
end

local function shipped()
  local list = "cd %s && ls -d pmlua *.so.? lua/pmlua/*.so preload/*.so compat/*.so.* compat/libPM.so"
  local pipe = io.popen(list:format(support.build))
  local files = {}
  for name in pipe:lines() do files[#files + 1] = name end
  pipe:close()
  return files
end

describe("The command and each shared library", function()
  local built_as_shipped = support.build:match "[^/]*$" == "build"

  local function each(sentence, f)
    it(sentence, function()
      if not os.execute "command -v readelf >/dev/null" then return pending "readelf is not installed" end
      if not built_as_shipped then return pending("this build is not what is shipped: " .. support.build) end
      local files = shipped()
      assert.is_true(#files >= 9)
      for _, name in ipairs(files) do f(name, support.build .. "/" .. name) end
    end)
  end

  each("is bound at its start, and its tables are read-only from then on", function(name, path)
    assert.matches("GNU_RELRO", readelf("-l", path), name)
    assert.matches("BIND_NOW", readelf("-d", path), name)
    assert.is_nil(readelf("-d", path):find "TEXTREL", name)
  end)

  each("has no executable stack, and can be loaded at any address", function(name, path)
    local flags = readelf("-l", path):match "GNU_STACK%s+%S+%s+%S+%s+%S+%s+%S+%s+%S+%s+(%a+)"
    assert.equal("RW", flags, name)
    assert.matches("DYN %(", readelf("-h", path), name)
  end)

  each("is not marked for a shadow stack, because return addresses are replaced", function(name, path)
    assert.is_nil(readelf("-n", path):find "SHSTK", name)
  end)

  it("is compiled with stack protectors and checked copies", function()
    if not built_as_shipped then return pending("this build is not what is shipped: " .. support.build) end
    for _, name in ipairs { "pmlua", "libpmlua.so", "libpmlua-embed.so", "lua/pmlua/core.so" } do
      local symbols = readelf("--dyn-syms", support.build .. "/" .. name)
      assert.matches("UND __stack_chk_fail@", symbols, name)
      assert.matches("UND __%w+_chk@", symbols, name)
    end
  end)
end)
