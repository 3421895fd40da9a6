-- SPDX-License-Identifier: BSD-3-Clause
-- packaging/sbom.lua - the bill of materials of an installation in CycloneDX's JSON: the libraries that its files are linked
-- with or load when needed, with versions and licences. Facts come from readelf, pkg-config and the files themselves.
--
-- Try:  build/pmlua packaging/sbom.lua PREFIX

local core = require "pmlua.core"
local json = require "pmlua.json"

local RUNTIME <const> = "GPL-3.0-or-later WITH GCC-exception-3.1"

-- Pattern of the SONAME, project, licence in SPDX's terms, and pkg-config's module or a command that prints the version.
local KNOWN <const> = {
  { "^lib[cm]%.so", "glibc", "LGPL-2.1-or-later", command = "getconf GNU_LIBC_VERSION" },
  { "^ld%-linux", "glibc", "LGPL-2.1-or-later", command = "getconf GNU_LIBC_VERSION" },
  { "^libstdc%+%+%.so", "libstdc++", RUNTIME, command = "gcc -dumpfullversion" },
  { "^libgcc_s%.so", "libgcc", RUNTIME, command = "gcc -dumpfullversion" },
  { "^libgomp%.so", "libgomp", RUNTIME, command = "gcc -dumpfullversion" },
  { "^liblua%-?5", "lua", "MIT", module = "lua5.4" },
  { "^libz%.so", "zlib", "Zlib", module = "zlib" },
  { "^libpfm%.so", "libpfm4", "MIT" },
  { "^libotf2%.so", "otf2", "BSD-3-Clause", command = "otf2-config --version" },
  { "^libopen%-trace%-format2%.so", "otf2", "BSD-3-Clause", command = "otf2-config --version" },
  { "^libdw%.so", "elfutils", "GPL-2.0-or-later OR LGPL-3.0-or-later", module = "libdw" },
  { "^libreadline%.so", "readline", "GPL-3.0-or-later", module = "readline" },
  { "^libLLVM%-", "llvm", "Apache-2.0 WITH LLVM-exception" },
  { "^libclang", "clang", "Apache-2.0 WITH LLVM-exception" },
}
local MODULES <const> = { { "cjson", "lua-cjson" }, { "lfs", "luafilesystem" }, { "zlib", "lua-zlib" } } -- all MIT

local outputs = {}
local function output(command)
  if not outputs[command] then
    local pipe <close> = assert(io.popen(command .. " 2>/dev/null"))
    outputs[command] = pipe:read "a"
  end
  return outputs[command]
end

local function known(soname)
  for _, k in ipairs(KNOWN) do
    if soname:find(k[1]) then return k end
  end
end

-- nil: nothing states it; the SONAME then identifies the interface.
local function version_of(k, soname)
  local command = k and (k.command or k.module and "pkg-config --modversion " .. k.module)
  return command and output(command):match "%d+%.[%d.]+" or soname:match "^lib%a+%-([%d.]+)%.so"
end

local components, by_ref = {}, {}

local function component(name, version, licence, how)
  local ref = ("%s%s (%s)"):format(name, version and " " .. version or "", how)
  local c = by_ref[ref]
  if not c then
    c = { type = "library", ["bom-ref"] = ref, name = name, version = version,
      scope = how:find "^loaded" and "optional" or "required",
      licenses = licence and { licence:find " " and { expression = licence } or { license = { id = licence } } },
      properties = { { name = "pmlua:use", value = how } } }
    components[#components + 1], by_ref[ref] = c, c
  end
  return c
end

local function add_property(c, name, value)
  for _, p in ipairs(c.properties) do
    if p.name == name and p.value == value then return end
  end
  c.properties[#c.properties + 1] = { name = name, value = value }
end

local function add_library(soname, how, file)
  local k = known(soname)
  local c = component(k and k[2] or soname, version_of(k, soname), k and k[3], how)
  add_property(c, "pmlua:soname", soname)
  add_property(c, "pmlua:file", file)
end

--- The names of libraries in a file's constants, because it passes them to dlopen. Names of C's and the compiler's libraries
--- also stand there to recognize these libraries in measured programs.
local function add_loaded(data, needed, file)
  local seen = {}
  for soname in data:gmatch "%z(lib[%w_+-]+%.so%.[%d.]+)%f[%z]" do
    local k = known(soname)
    if k and k[2] ~= "glibc" and k[3] ~= RUNTIME and not needed[soname] and not seen[k[2]] then
      seen[k[2]] = true
      add_library(soname, "loaded when needed", file)
    end
  end
end

local root = arg[1]
local function add_file(file)
  local path = root .. "/" .. file
  local f <close> = assert(io.open(path, "rb"))
  local data = f:read "a"
  if data:sub(1, 4) ~= "\127ELF" then return end
  local dynamic, needed = output(("LC_ALL=C readelf -dW '%s'"):format(path)), {}
  for soname in dynamic:gmatch "%(NEEDED%)[^\n]-%[([^%]]+)%]" do
    needed[soname] = true
    if not soname:find "^libpmlua" then add_library(soname, "linked", file) end
  end
  if not dynamic:find "%(" then add_library("libc.so.6", "linked statically", file) end
  local lua = data:match "%$LuaVersion: Lua ([%d.]+)"
  if lua then add_property(component("lua", lua, "MIT", "linked statically"), "pmlua:file", file) end
  add_loaded(data, needed, file)
end

local files = {}
for file in output(("cd '%s' && find . -type f -printf '%%P\\n'"):format(root)):gmatch "[^\n]+" do files[#files + 1] = file end
table.sort(files)
for _, file in ipairs(files) do
  if file:find "%.so" or file:find "^bin/" or file:find "^lib/pmlua/" then add_file(file) end
end
for _, m in ipairs(MODULES) do
  local version = tostring(require(m[1])._VERSION):match "%d+%.[%d.]+"
  component(m[2], version, "MIT", "required by Lua modules")
end
table.sort(components, function(a, b) return a["bom-ref"] < b["bom-ref"] end)

print(json.encode {
  bomFormat = "CycloneDX", specVersion = "1.5", version = 1,
  metadata = { component = { type = "application", ["bom-ref"] = "pmlua", name = "pmlua", version = core.version,
    licenses = { { license = { id = "BSD-3-Clause" } } } } },
  components = components,
})
