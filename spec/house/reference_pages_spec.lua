-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/reference_pages_spec.lua - the reference in the terminal: pmlua help, events, environment variables.

local support = require "spec.core.support"
local shell = require "spec.shell"
local sh = shell.sh

local build = os.getenv("PMLUA_BUILD") or "build"

local read = support.slurp

local function help(words) return sh(("%s/pmlua help %s 2>&1"):format(build, words)) end

-- Variables of the system, which mean to pmlua what they mean to every program.
local SYSTEM = { ASAN_OPTIONS = true, COLUMNS = true, GLIBC_TUNABLES = true, HOME = true, LD_LIBRARY_PATH = true,
  LD_PRELOAD = true, LINES = true, PATH = true }

describe("pmlua help", function()
  it("lists the modules of the API, and explains a class, a function and a method alone", function()
    assert.truthy(help("api"):find("  pml.clock        The clock that all of pmlua measures with", 1, true))
    assert.equal("pml.clock.ns()\n", help("api pml.clock.ns"):match "^[^\n]*\n")
    assert.equal("Eventset:read()\n", help("api Eventset:read"):match "^[^\n]*\n")
    assert.equal("pmlua.Reading\n", help("api pmlua.Reading"):match "^[^\n]*\n")
  end)

  it("explains a module as its annotations do", function()
    local text, status = help "api pml.eventset"
    assert.equal(0, status)
    for _, sentence in ipairs { "pml.eventset.open(names, [options])", "on_exec", "Eventset:accum([sums])" } do
      assert.truthy(text:find(sentence, 1, true), sentence)
    end
    assert.truthy(help "--markdown api pml.eventset":find("## `pml.eventset.open(names, [options])`", 1, true))
  end)

  it("explains a module that is no verb without being told that it is one", function()
    local all, api = help "experiment", help "api experiment"
    assert.equal(api, all:sub(-#api))
    assert.truthy(all:find("--no-plot", 1, true))
    assert.equal(help "api pml.workload", help "workload")
  end)

  it("suggests the nearest name for a misspelt one, with status 2", function()
    local out, status = help "api eventsett"
    assert.equal(2, status)
    assert.truthy(out:find("did you mean 'eventset'?", 1, true), out)
    out, status = help "evnts"
    assert.equal(2, status)
    assert.truthy(out:find("did you mean 'events'?", 1, true), out)
  end)

  it("refers users of a C function to its manual page", function()
    local out, status = help "pml_eventset_open"
    assert.equal(2, status)
    assert.truthy(out:find("man pml_eventset_open", 1, true), out)
  end)

  it("explains the names of events of every source", function()
    local said, page, n = help "events", read "docs/concepts/events.md", 0
    for prefix in sh "cat $(find core/source -name '*.[ch]')":gmatch '[Pp][Rr][Ee][Ff][Ii][Xx] =? ?"(%l+:+)"' do
      n = n + 1
      assert.truthy(said:find(prefix, 1, true), prefix)
      assert.truthy(page:find(prefix, 1, true), prefix)
    end
    assert.is_true(n >= 4, n)
  end)

  it("explains every environment variable that the code reads, and no other", function()
    local said = help "environment"
    local sources = sh("cat $(find core bindings lua -name '*.[ch]' -o -name '*.cpp' -o -name '*.lua' "
      .. "| grep -v cli/environment)")
    local missing, n = {}, 0
    for name in sources:gsub("pml__setting", "getenv"):gmatch 'getenv%s*%(?%s*"([A-Z_]+)"' do
      local ours = not SYSTEM[name]
      local alone = name:gsub("_SEP$", "")
      if ours and not said:find(alone, 1, true) and not name:find "^PMLUA_RECORD_" then missing[#missing + 1] = name end
      n = n + (ours and 1 or 0)
    end
    assert.same({}, missing)
    assert.is_true(n > 20)
    for name in said:gmatch "\n  ([A-Z][A-Z0-9_]+)\n" do
      local known = name == "SCOREP_METRIC_NAME" and "SCOREP_METRIC_" or name
      if not sources:find('"' .. known, 1, true) and not name:find "^LIBPFM_" then missing[#missing + 1] = name end
    end
    assert.same({}, missing)
  end)
end)
