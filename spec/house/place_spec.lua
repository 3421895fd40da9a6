-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/place_spec.lua - tests of make install and make uninstall: installed and removed files, two installations side by
-- side.

local support = require "spec.core.support"
local build = os.getenv("PMLUA_BUILD") or "build"

local shell = require "spec.shell"
local sh, write = shell.sh, shell.write

local dir = support.folder()

local function make(what)
  return shell.done(("make --no-print-directory %s B=%s"):format(what, build))
end

--- Everything below a folder, with types, modes and targets of links.
local function listing(folder)
  return (sh(("cd %s && find . -printf '%%p %%y %%m %%l\\n' | LC_ALL=C sort"):format(folder)))
end

describe("make install", function()
  local before, said, installed

  setup(function()
    sh(("mkdir -p %s/bin %s/lib/pkgconfig && chmod 755 %s && chmod 2775 %s/lib"):format(dir, dir, dir, dir))
    write(dir .. "/bin/other", "not pmlua's\n")
    before = listing(dir)
    said = make("install PREFIX=" .. dir)
    installed = listing(dir)
  end)

  it("leaves the modes of folders that were there", function()
    assert.truthy(installed:find "%./lib/libpmlua%.so l 777 libpmlua%.so%.%d\n", installed)
    assert.truthy(installed:find("./lib d 2775 \n", 1, true), installed)
  end)

  it("prints the settings that a shell needs, for users without root", function()
    local exports = {}
    for line in said:gmatch "\n  (export [^\n]+)" do exports[#exports + 1] = line end
    assert.equal(3, #exports, said)
    write(dir .. "/own.c", '#include <pml.h>\nint main(void) { return pml_clock_ns() == 0; }\n')
    local out = shell.done(([[env -i PATH=/usr/bin:/bin sh -c '%s
      cd %s && pmlua -e "print(pml.paths.command)" && cc own.c $(pkg-config --cflags --libs pmlua) -o own && ./own']]):format(
      table.concat(exports, "; "), dir))
    assert.equal(dir .. "/bin/pmlua\n", out)
    sh(("rm %s/own %s/own.c"):format(dir, dir))
  end)

  it("lists each library that a file is linked with, and its licence, in the bill of materials", function()
    local f <close> = assert(io.open(dir .. "/share/pmlua/sbom.cdx.json"))
    local licensed = {}
    for _, c in ipairs(require("cjson").decode(f:read "a").components) do
      for _, p in ipairs(c.properties) do licensed[p.value] = c.licenses ~= nil end
    end
    local needed = sh(("find %s/bin %s/lib -type f -exec readelf -dW {} + 2>/dev/null"):format(dir, dir))
    local n = 0
    for library in needed:gmatch "%(NEEDED%)[^\n]-%[([^%]]+)%]" do
      n = n + 1
      assert.is_true(licensed[library] or library:find "^libpmlua" ~= nil, library)
    end
    assert.is_true(n > 50, n)
  end)

  it("removes what an older version had and this one has not", function()
    local stale = "share/pmlua/lua/pmlua/stale.lua"
    write(("%s/%s"):format(dir, stale), "return 1\n")
    sh(("echo ./%s >>%s/share/pmlua/installed"):format(stale, dir))
    make("install PREFIX=" .. dir)
    assert.equal(installed, listing(dir))
  end)

  it("is undone by make uninstall, which keeps foreign files in a folder of pmlua", function()
    write(dir .. "/share/pmlua/scripts/mine.lua", "return 1\n")
    make("uninstall PREFIX=" .. dir)
    assert.equal("./share/pmlua/scripts/mine.lua\n", (sh(("cd %s && find ./share ! -type d"):format(dir))))
    sh(("rm -r %s/share"):format(dir))
    assert.equal(before, listing(dir))
  end)

  it("reports in make uninstall that nothing is installed", function()
    local out, code = sh(("make --no-print-directory uninstall PREFIX=%s B=%s"):format(dir, build))
    assert.equal(2, code)
    assert.truthy(out:find("give the PREFIX that pmlua was installed with", 1, true), out)
  end)

  it("names at once the folder that an ordinary user cannot write to, and the remedy", function()
    local user = sh "id -u" == "0\n" and "setpriv --reuid=65534 --regid=65534 --clear-groups " or ""
    if user == "" then sh(("chmod 555 %s/bin"):format(dir)) end
    local out, code = sh(("%ssh packaging/place.sh check %s 2>&1"):format(user, dir))
    assert.equal(1, code)
    assert.truthy(out:find("/bin cannot be written; use sudo make install, or make install PREFIX=$HOME/.local\n", 1, true))
    sh(("chmod 755 %s/bin && chmod 777 %s"):format(dir, dir))
    assert.equal("", shell.done(("%ssh packaging/place.sh check %s/new/deeper 2>&1"):format(user, dir)))
  end)

  it("installs no static library with STATIC=no, and otherwise the same", function()
    make("install PREFIX=/opt/p STATIC=no DESTDIR=" .. dir .. "/no")
    assert.is_nil(make("install PREFIX=/opt/p DESTDIR=" .. dir .. "/yes"):find("is installed in", 1, true))
    local dynamic = sh(("cd %s/yes && find . ! -name '*.a' | LC_ALL=C sort"):format(dir))
    assert.equal(dynamic, (sh(("cd %s/no && find . | LC_ALL=C sort"):format(dir))))
    assert.truthy(sh(("find %s/yes -name '*.a'"):format(dir)):find("/libpmlua.a\n", 1, true))
  end)
end)

describe("make B=", function()
  it("builds in a folder outside the checkout, and the result runs from there", function()
    local elsewhere = dir .. "/elsewhere"
    shell.done(("make --no-print-directory B=%s %s/share/pmlua"):format(elsewhere, elsewhere))
    sh(("cp -r %s/pmlua %s/libpmlua.so.? %s/libpmlua-read.so.? %s/lua %s"):format(build, build, build, build, elsewhere))
    local said = sh(("cd / && %s/pmlua -e 'print(#pml.paths.command, require(\"pmlua.stats\") ~= nil)'"):format(elsewhere))
    assert.equal(("%d\ttrue\n"):format(#elsewhere + #"/pmlua"), said)
  end)
end)
