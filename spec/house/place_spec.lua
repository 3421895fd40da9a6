-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/place_spec.lua - make install and make uninstall: what they put, what they take away, two of them side by side.

local build = os.getenv("PMLUA_BUILD") or "build"

package.path = "spec/?.lua;" .. package.path
local shell = require "shell"
local sh, write = shell.sh, shell.write

local dir

local function make(what)
  local out, code = sh(("make --no-print-directory %s B=%s"):format(what, build))
  assert.equal(0, code, out)
  return out
end

--- What is below a folder, with types, modes and targets of links.
local function listing(folder)
  return (sh(("cd %s && find . -printf '%%p %%y %%m %%l\\n' | LC_ALL=C sort"):format(folder)))
end

before_each(function()
  dir = os.tmpname()
  os.remove(dir)
  sh(("mkdir -p %s/bin %s/lib/pkgconfig && chmod 2775 %s/lib"):format(dir, dir, dir))
  write(dir .. "/bin/other", "not pmlua's\n")
end)
after_each(function() sh("rm -rf " .. dir) end)

describe("make uninstall", function()
  it("leaves what was there before make install, and nothing else", function()
    local before = listing(dir)
    make("install PREFIX=" .. dir)
    local installed = listing(dir)
    assert.truthy(installed:find("./lib/libpmlua.so l 777 libpmlua.so.0\n", 1, true), installed)
    assert.truthy(installed:find("./lib d 2775 \n", 1, true), installed)
    make("uninstall PREFIX=" .. dir)
    assert.equal(before, listing(dir))
  end)

  it("keeps a file that somebody put into a folder of pmlua", function()
    make("install PREFIX=" .. dir .. "/new")
    write(dir .. "/new/share/pmlua/scripts/mine.lua", "return 1\n")
    make("uninstall PREFIX=" .. dir .. "/new")
    assert.equal("./new/share/pmlua/scripts/mine.lua\n", (sh(("cd %s && find ./new ! -type d"):format(dir))))
  end)

  it("says so where nothing is installed", function()
    local out, code = sh("make --no-print-directory uninstall PREFIX=" .. dir)
    assert.equal(2, code)
    assert.truthy(out:find("give the PREFIX that pmlua was installed with", 1, true), out)
  end)
end)

describe("make install", function()
  it("says at once which folder an ordinary user cannot write to, and what to do", function()
    if sh "id -u" ~= "0\n" then sh(("chmod 555 %s/bin"):format(dir)) end
    local user = sh "id -u" == "0\n" and "setpriv --reuid=65534 --regid=65534 --clear-groups " or ""
    sh(("chmod 755 %s"):format(dir))
    local out, code = sh(("%ssh packaging/place.sh check %s 2>&1"):format(user, dir))
    assert.equal(1, code)
    assert.truthy(out:find("/bin cannot be written; use sudo make install, or make install PREFIX=$HOME/.local\n", 1, true))
    sh(("chmod 755 %s/bin && chmod 777 %s"):format(dir, dir))
    out, code = sh(("%ssh packaging/place.sh check %s/new/deeper 2>&1"):format(user, dir))
    assert.same({ "", 0 }, { out, code })
  end)

  it("prints what a shell needs to use it, for users without root", function()
    local out = make("install PREFIX=" .. dir)
    local export = out:match "\n  (export [^\n]+)\n"
    write(dir .. "/own.c", '#include <pml.h>\nint main(void) { return pml_clock_ns() == 0; }\n')
    local said, code = sh(([[env -i PATH=/usr/bin:/bin sh -c '%s
      cd %s && pmlua -e "print(pml.paths.command)" && cc own.c $(pkg-config --cflags --libs pmlua) -o own && ./own']]):format(
      export or out, dir))
    assert.same({ dir .. "/bin/pmlua\n", 0 }, { said, code })
    assert.is_nil(make(("install PREFIX=/usr DESTDIR=%s/stage"):format(dir)):find("is installed in", 1, true))
  end)

  it("removes what an older version had and this one has not", function()
    make("install PREFIX=" .. dir)
    local stale = "share/pmlua/lua/pmlua/stale.lua"
    write(("%s/%s"):format(dir, stale), "return 1\n")
    sh(("echo ./%s >>%s/share/pmlua/installed"):format(stale, dir))
    make("install PREFIX=" .. dir)
    assert.is_nil(io.open(("%s/%s"):format(dir, stale)))
  end)

  it("installs no static library with STATIC=no, and otherwise the same", function()
    make("install PREFIX=/opt/p STATIC=no DESTDIR=" .. dir .. "/no")
    make("install PREFIX=/opt/p DESTDIR=" .. dir .. "/yes")
    local dynamic = sh(("cd %s/yes && find . ! -name '*.a' | LC_ALL=C sort"):format(dir))
    assert.equal(dynamic, (sh(("cd %s/no && find . | LC_ALL=C sort"):format(dir))))
    assert.truthy(sh(("find %s/yes -name '*.a'"):format(dir)):find("/libpmlua.a\n", 1, true))
  end)
end)

describe("make B=", function()
  it("builds in a folder outside the checkout what runs from there", function()
    local elsewhere = dir .. "/elsewhere"
    local out, code = sh(("make --no-print-directory B=%s %s/share/pmlua"):format(elsewhere, elsewhere))
    assert.equal(0, code, out)
    sh(("cp -r %s/pmlua %s/libpmlua.so.0 %s/lua %s"):format(build, build, build, elsewhere))
    local said = sh(("cd / && %s/pmlua -e 'print(#pml.paths.command, require(\"pmlua.stats\") ~= nil)'"):format(elsewhere))
    assert.equal(("%d\ttrue\n"):format(#elsewhere + #"/pmlua"), said)
  end)
end)
