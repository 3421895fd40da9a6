-- spec/house/exports_spec.lua - libpmlua.so and libpmlua-read.so export what their headers declare: PML_API for users,
-- PML__SHARED for pmlua's own parts.

local build = os.getenv("PMLUA_BUILD") or "build"

local sh = require("spec.shell").sh

--- The names in `set` that are not in `other`, sorted.
local function beyond(set, other)
  local list = {}
  for name in pairs(set) do
    if not other[name] then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

local function equal(one, other)
  assert.truthy(next(one))
  assert.same({ {}, {} }, { beyond(one, other), beyond(other, one) })
end

--- The names that headers declare with a mark; @files: the command that lists these.
local function declared(mark, files)
  local names = {}
  for file in sh(files):gmatch "core/%S+%.h" do
    local f <close> = assert(io.open(file))
    for text in f:read("a"):gmatch("%f[%w_]" .. mark .. " ([^;(%[]*)") do
      local name = text:gsub("%s*__attribute__$", ""):match "(pml_[%w_]*)$"
      if name then names[name] = true end
    end
  end
  return names
end

local PUBLIC = "cc -D_GNU_SOURCE -MM -Icore core/pml.h"
local ALL = "find core -name '*.h' ! -path 'core/compat/*'"

local BOTH = ("nm -D --defined-only %s/libpmlua.so %s/libpmlua-read.so"):format(build, build)

--- The functions that the two libraries export with a symbol version.
local function exported(version)
  local names = {}
  for name in sh(BOTH):gmatch("(pml_[%w_]*)@@" .. version .. "\n") do names[name] = true end
  return names
end

describe("libpmlua.so and libpmlua-read.so", function()
  it("export to users what the headers of pml.h declare for them", function()
    equal(declared("PML_API", PUBLIC), exported "PMLUA_%d")
  end)

  it("export what Debian's package says they do", function()
    local f <close> = assert(io.open "packaging/debian/libpmlua1.symbols")
    local packaged, text = {}, f:read "a"
    for _, library in ipairs { "libpmlua", "libpmlua%-read" } do
      local exports = text:match("\n" .. library .. "%.so%.%d (.-)\nlib")
      for name in exports:gmatch "\n (pml_[%w_]*)@PMLUA_%d " do packaged[name] = true end
    end
    equal(exported "PMLUA_%d", packaged)
  end)

  it("leave reading to the latter, which no measured program loads", function()
    local measured = ("readelf -d %s/libpmlua.so %s/compat/*.so %s/preload/*-[rwsm]*.so | grep NEEDED"):gsub("%%s", build)
    assert.falsy(sh(measured):find "libpmlua%-read")
    local read = declared("PML_API", "find core/read -name '*.h'")
    assert.truthy(next(read))
    for name in sh(("nm -D --defined-only %s/libpmlua.so"):format(build)):gmatch "(pml_[%w_]*)@@" do
      assert.falsy(read[name], name)
    end
  end)

  it("have no public function in a private header", function()
    equal(declared("PML_API", PUBLIC), declared("PML_API", ALL))
  end)

  it("export shared declarations to pmlua's own parts, under a separate version", function()
    equal(declared("PML__SHARED", ALL), exported "PMLUA_PRIVATE")
  end)

  it("export no name beside these, except the entry points of OpenMP runtimes", function()
    for name in sh(BOTH):gmatch "%x+ %a (%S+)" do
      local tool = name == "VERSION" or name == "ompt_start_tool@@VERSION"
      assert.truthy(tool or name:find "^pml_.*@@PMLUA_" or name:find "^PMLUA_", name)
    end
  end)

  it("share only functions that a part of pmlua uses", function()
    -- A runtime of counts and MPI_Finalize find their function and table by name, adapters are shown to users (CONTRIBUTING.md),
    -- and generated wrappers are of the user's libraries.
    local unused = exported "PMLUA_PRIVATE"
    for _, name in ipairs { "pml_count_attach", "pml__mpi_reducer", "pml__stream_prepare" } do unused[name] = nil end
    for name in pairs(declared("PML__SHARED", "echo core/adapter/wrap/pml_wrap.h")) do unused[name] = nil end
    local parts = ("find %s/pmlua %s/*.so %s/libpmlua-read.so.? %s/compat %s/preload %s/lua %s/workloads %s/plugins -type f")
      :gsub("%%s", build)
    for name in sh(("nm -D -u $(%s) 2>/dev/null"):format(parts)):gmatch "%sU (pml_[%w_]*)" do unused[name] = nil end
    assert.same({}, beyond(unused, {}))
  end)
end)
