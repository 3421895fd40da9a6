-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/deb_spec.lua - make deb: the packages are built, lintian finds no error, and they work where nothing else is.
--
-- Slow: all of pmlua is built again, and Debian is installed into a folder.

local support = require "spec.core.support"

local shell = require "spec.shell"
local sh = shell.sh

local function has(program) return sh("command -v " .. program):find "/" ~= nil end

--- Why packages cannot be built or tried here; nil: they can.
local function lacking()
  if not has "dpkg-buildpackage" then return "dpkg-buildpackage is not there: this is no Debian" end
  if sh "id -u" ~= "0\n" then return "only root makes a clean root" end
  for _, program in ipairs { "dh", "lintian", "mmdebstrap" } do
    if not has(program) then return program .. " is not installed" end
  end
end

--- The command by which the Containerfile installs the packages.
local function containerfile_command()
  local f <close> = assert(io.open "packaging/Containerfile")
  return assert(f:read("a"):match "\nRUN ([^\n]+)")
end

-- The tests of autopkgtest, in a root with their dependencies only.
local TRY = [[
set -eu
{ %s; } >/dev/null
apt-get update -qq
apt-get install -y -qq --no-install-recommends lua5.4 gcc libc6-dev pkg-config >/dev/null
for test in experiment modules library; do
  mkdir /tmp/$test && AUTOPKGTEST_TMP=/tmp/$test /tmp/debs/tests/$test
done
apt-get remove -y -qq --purge pmlua lua-pmlua libpmlua1 libpmlua-dev pmlua-doc >/dev/null
test -z "$(find /usr -name '*pmlua*' -not -path '/usr/share/doc/*')"
echo the packages work
]]

describe("make deb", function()
  local dir = support.folder()

  it("builds packages that install and work in a clean root", function()
    local why = lacking()
    if why then return pending(why) end
    local out, code = sh(("make --no-print-directory deb B=%s/build"):format(dir), 750)
    assert.equal(0, code, out)
    for _, name in ipairs { "pmlua", "lua-pmlua", "libpmlua1", "libpmlua-dev", "pmlua-doc" } do
      assert.truthy(out:find(("building package '%s' in"):format(name), 1, true), name)
    end
    sh(("mkdir %s/debs && cp $(ls %s/build/deb/*.deb | grep -v dbgsym) %s/debs && cp -R packaging/debian/tests %s/debs"):format(
      dir, dir, dir, dir))
    shell.write(dir .. "/debs/try", TRY:format(containerfile_command()))
    local suite = sh(". /etc/os-release && echo $VERSION_CODENAME"):match "%S+"
    out, code = sh(("cd / && mmdebstrap --variant=minbase --mode=root --customize-hook='copy-in %s/debs /tmp' "
      .. "--customize-hook='chroot \"$1\" sh /tmp/debs/try' %s /dev/null"):format(dir, suite), 440)
    if not out:find("the packages work", 1, true) and out:find "E: setup failed: apt%-get update" then
      return pending "Debian's archive cannot be reached"
    end
    assert.equal(0, code, out)
    assert.truthy(out:find("the packages work", 1, true), out)
    assert.truthy(out:find("first_touch: complete", 1, true) or out:find(": complete, %d+ samples"), out)
  end)
end)
