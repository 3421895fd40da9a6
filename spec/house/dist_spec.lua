-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/dist_spec.lua - make dist: the archive is complete, builds without git, and two versions live side by side.
--
-- Slow: all of pmlua is built again, from the archive.

local support = require "spec.core.support"
local build = os.getenv("PMLUA_BUILD") or "build"

local shell = require "spec.shell"
local sh = shell.sh

local function done(command, seconds)
  local out = shell.done(command, seconds)
  return out
end

describe("make dist", function()
  local dir, made, source

  setup(function()
    dir = support.folder()
    made = dir .. "/build/dist"
    done(("make --no-print-directory dist B=%s/build"):format(dir))
    done(("tar -xzf %s/*.tar.gz -C %s"):format(made, dir))
    source = done(("ls -d %s/pmlua-*"):format(dir)):match "%S+"
  end)

  it("writes checksums of all files, and the version into the archive's name", function()
    done(("cd %s && sha256sum -c SHA256SUMS"):format(made))
    local files = ("cd %s && find . -type f ! -name SHA256SUMS -printf '%%P\n' | sort"):format(made)
    assert.equal(done(files), done(("cd %s && cut -c67- SHA256SUMS | sort"):format(made)))
    assert.truthy(source:find "/pmlua%-%d+%.%d+%.%d+$", source)
  end)

  it("writes the same archive again, from the archive", function()
    done(("make --no-print-directory -C %s dist"):format(source))
    done(("cmp %s/*.tar.gz %s/build/dist/*.tar.gz"):format(made, source))
    done(("rm -r %s/build"):format(source))
  end)

  it("writes recipes for Spack and LuaRocks that name the archive and its checksums", function()
    local archive = done(("ls %s/*.tar.gz"):format(made)):match "%S+"
    local recipe = assert(io.open(made .. "/spack/packages/pmlua/package.py")):read "a"
    assert.truthy(recipe:find(done(("sha256sum %s"):format(archive)):match "%x+", 1, true))
    assert.truthy(recipe:find('url="file://' .. archive .. '"', 1, true))
    done(("python3 -m py_compile %s/spack/packages/pmlua/package.py"):format(made))
    local rock = {}
    assert(loadfile(done(("ls %s/*.rockspec"):format(made)):match "%S+", "t", rock))()
    assert.equal("file://" .. archive, rock.source.url)
    assert.equal(done(("md5sum %s"):format(archive)):match "%x+", rock.source.md5)
  end)

  it("writes a rockspec that LuaRocks accepts", function()
    if not sh("command -v luarocks"):find "luarocks" then return pending "luarocks is not installed" end
    done(("luarocks lint %s/*.rockspec"):format(made))
    done(("cd %s && luarocks unpack %s/*.rockspec"):format(dir, made))
  end)

  it("builds without git, runs a spec, and coexists with another version", function()
    done(("sed -i 's/VERSION_PATCH 0/VERSION_PATCH 1/' %s/core/base/pml_api.h"):format(source))
    local no_git = "PATH=" .. dir .. "/no:$PATH " -- a git that fails if it is called
    done("mkdir " .. dir .. "/no")
    shell.write(dir .. "/no/git", "#!/bin/sh\necho no git >&2\nexit 1\n")
    done("chmod +x " .. dir .. "/no/git")
    local out = done(("cd %s && %s make -s -j$(nproc) all"):format(source, no_git), 1100)
    assert.falsy(out:find("no git", 1, true), out)
    out = done(("cd %s && PMLUA_BUILD=build %s busted --lua=/usr/bin/lua5.4 spec/lua/experiment_spec.lua"):format(source, no_git))
    assert.truthy(out:find "%d+ successes / 0 failures / 0 errors", out)

    done(("make -s install B=%s PREFIX=%s/one"):format(build, dir))
    done(("make -s -C %s install PREFIX=%s/two"):format(source, dir))
    local versions = {}
    for _, place in ipairs { dir .. "/one", dir .. "/two" } do
      local here = ([[cd / && %s/bin/pmlua -e 'print(pml.version) print(pml.paths.lua) print(pml.paths.workloads)
        for path in io.open "/proc/self/maps":read "a":gmatch "/%%S*pmlua%%S*" do print(path) end']]):format(place)
      local said, places = done(here), 0
      for path in said:gmatch "\n(/%S+)" do
        assert.equal(place .. "/", path:sub(1, #place + 1))
        places = places + 1
      end
      assert.is_true(places >= 4, said)
      versions[#versions + 1] = said:match "^%S+"
      assert.equal("pmlua " .. versions[#versions], done(place .. "/bin/pmlua --version"):match "^%S+ %S+")
    end
    assert.equal(versions[1]:gsub("0$", "1"), versions[2])
  end)
end)
