-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/filter_spec.lua - tests of filter files in Score-P's syntax: selected functions and errors.

local support = require "spec.core.support"
local it = support.it
local filter = support.core and support.core.filter

local function files(rules) return "SCOREP_FILE_NAMES_BEGIN\n" .. rules .. "\nSCOREP_FILE_NAMES_END\n" end
local function regions(rules) return "SCOREP_REGION_NAMES_BEGIN\n" .. rules .. "\nSCOREP_REGION_NAMES_END\n" end

--- A filter, or nil and the failure.
local function parsed(text)
  return filter.open(support.spit(support.folder() .. "/f", text))
end

--- Functions, as { file, name, mangled } or by their name alone, that a filter wants, and others.
local function wants(text, wanted, unwanted)
  local f <close> = assert(parsed(text))
  for is, list in pairs { [true] = wanted, [false] = unwanted or {} } do
    for _, e in ipairs(list) do
      local file, name, mangled = "libz.so.1", e, e
      if type(e) == "table" then file, name, mangled = table.unpack(e, 1, 3) end
      assert.same({ text, name or file, is }, { text, name or file, f:wants(file, name, mangled) })
    end
  end
end

describe("A filter", function()
  after_each(support.cleanup)

  it("selects all without rules; otherwise the last matching rule decides", function()
    for _, text in ipairs { "", "# nothing\n", regions "", regions "EXCLUDE" } do wants(text, { "f" }) end
    wants(regions "EXCLUDE f", { "ff" }, { "f" })
    wants(regions "EXCLUDE *\nINCLUDE fftw_*\nEXCLUDE fftw_plan* fftw_print*\n   fftw_export*", { "fftw_execute" },
      { "g", "fftw_plan_dft", "fftw_print_plan", "fftw_export_wisdom" })
    wants(regions "EXCLUDE f" .. regions "EXCLUDE g", {}, { "f", "g" })
    wants(regions "EXCLUDE f" .. files "" .. regions "INCLUDE f", { "f" })
    wants(regions "EXCLUDE *\nINCLUDE", {}, { "INCLUDE" })
  end)

  it("supports the shell's patterns, escapes and comments", function()
    wants(regions "EXCLUDE a?c [x-z]* *_end d[!1]e", { "ac", "wes", "d1e" }, { "abc", "yes", "the_end", "d2e" })
    wants(regions "EXCLUDE operator\\* f\\ g h\\#i j\\\\k \\EXCLUDE l\\?m", { "operator+", "lxm" },
      { "operator*", "f g", "h#i", "j\\k", "EXCLUDE", "l?m" })
    wants("# head\nSCOREP_REGION_NAMES_BEGIN#x\n\tEXCLUDE#y\n f#g\r\n  h # i\nSCOREP_REGION_NAMES_END # end", { "g", "i" },
      { "f", "h" })
  end)

  it("chooses files by their names or paths, and functions by both", function()
    wants(files "EXCLUDE *\nINCLUDE libz* */fft/*",
      { { "/usr/lib/libz.so.1", "f", "f" }, { "libz.so", "f", "f" }, { "/opt/fft/libf.so", "f", "f" } },
      { { "/libz/libm.so", "f", "f" }, { "/opt/gft/libf.so", "f", "f" } })
    wants(files "EXCLUDE libz*" .. regions "EXCLUDE *\nINCLUDE g", { { "libm.so", "g", "g" }, { nil, "g", "g" } },
      { { "libz.so", "g", "g" }, { "libm.so", "f", "f" } })
  end)

  it("uses the names of the symbol table with MANGLED", function()
    wants(regions "EXCLUDE MANGLED _ZN1a* _ZN1b*\nEXCLUDE c::*",
      { { nil, "_ZN1a", "d" } },
      { { nil, "a::f()", "_ZN1a1fEv" }, { nil, "b::f()", "_ZN1b1fEv" }, { nil, "c::f()", "_ZN1c1fEv" } })
    wants(regions "EXCLUDE MANGLED MANGLED", {}, { "MANGLED" })
    wants(regions "EXCLUDE f MANGLED", {}, { "MANGLED" })
  end)

  for text, why in pairs {
    ["EXCLUDE f"] = 'f:1: "EXCLUDE" is outside a block',
    ["# x\n\nsomething"] = 'f:3: "something" is outside a block',
    ["SCOREP_REGION_NAMES_BEGIN\nf"] = 'f:2: "f" follows no rule; write EXCLUDE or INCLUDE before it',
    [regions "EXCLUDE f # a\n g\n h" .. "x"] = 'f:6: "x" is outside a block',
    ["\nSCOREP_FILE_NAMES_BEGIN\nEXCLUDE *\n"] = "f:2: the block does not end; write SCOREP_FILE_NAMES_END",
    ["SCOREP_FILE_NAMES_BEGIN\nSCOREP_REGION_NAMES_END"] =
      'f:2: "SCOREP_REGION_NAMES_END" inside a block of files; end it with SCOREP_FILE_NAMES_END',
    ["SCOREP_REGION_NAMES_BEGIN\nEXCLUDE f\nSCOREP_REGION_NAMES_BEGIN"] =
      'f:3: "SCOREP_REGION_NAMES_BEGIN" inside a block of functions; end it',
    [files "EXCLUDE MANGLED f"] = 'f:2: "MANGLED" applies to functions, not to files',
    [regions "EXCLUDE f\\"] = "f:2: a backslash at the end",
    ["SCOREP_REGION_NAMES_BEGIN\nEXCLUDE f\\"] = "f:2: a backslash at the end",
    ["a\0b"] = "f:",
  } do
    it("reports the error: " .. why, function()
      local f, err, code = parsed(text)
      assert.same({ nil, "EFORMAT" }, { f, code })
      assert.is_truthy(err:find("/" .. why, 1, true), tostring(err))
    end)
  end

  it("is refused if its file is a folder or missing", function()
    for path, code in pairs { ["/nowhere/f"] = "ENOENT", ["/"] = "EISDIR", ["/dev/zero"] = "EFBIG" } do
      assert.same({ path, code }, { path, (select(3, filter.open(path))) })
    end
  end)
end)
