-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/reference_pages_spec.lua - the reference as it is read: pages, links, environment variables, pmlua help.

local support = require "spec.core.support"
package.path = "spec/?.lua;" .. package.path
local shell = require "shell"
local sh = shell.sh

local build = os.getenv("PMLUA_BUILD") or "build"

local read = support.slurp

local function files(command)
  local list = {}
  for path in io.popen(command):lines() do list[#list + 1] = path end
  return list
end

local function help(words) return sh(("%s/pmlua help %s 2>&1"):format(build, words)) end

describe("The pages of the reference", function()
  local dir = support.folder()

  setup(function()
    local copy = "cd docs && cp -r *.md *.css how concepts experiments gallery " .. dir
    shell.done(("%s/pmlua docs/reference.lua %s 2>&1 && %s"):format(build, dir, copy))
  end)

  it("are one of each module and verb", function()
    local modules = #files "ls lua/pmlua/*.lua lua/pmlua/meta/*.lua | sed 's|.*/||' | grep -v '^init' | sort -u"
    assert.equal(modules, #files(("ls %s/reference/api"):format(dir)))
    local verbs = #files(("%s/pmlua help --man | grep -c '^see'"):format(build))
    assert.is_true(#files(("ls %s/reference/verbs"):format(dir)) > verbs)
  end)

  it("have no link that leads nowhere", function()
    local broken, links = {}, 0
    for _, path in ipairs(files(("find %s -name '*.md'"):format(dir))) do
      local here = path:match "^(.*)/"
      for target in read(path):gmatch "%]%(([^)%s]+)%)" do
        links = links + 1
        local page, anchor = target:match "^([^#]*)#?(.*)$"
        local f = io.open(page == "" and path or here .. "/" .. page, "rb")
        local text = f and f:read "a"
        if f then f:close() end
        if not text or anchor ~= "" and not text:find(('<a id="%s">'):format(anchor), 1, true) then
          broken[#broken + 1] = path:sub(#dir + 2) .. ": " .. target
        end
      end
    end
    assert.same({}, broken)
    assert.is_true(links > 200)
  end)

  it("become a site without warnings, in whose menu every page is", function()
    if not sh("command -v mkdocs"):find "mkdocs" then return pending "mkdocs is not installed" end
    sh(("cp -r docs/theme %s"):format(dir))
    sh(("mkdir %s/site-of && cd %s && cp -r *.md *.css how concepts experiments gallery reference site-of"):format(dir, dir))
    local out = shell.done(("sed 's|^docs_dir:.*|docs_dir: site-of|' docs/mkdocs.yml | cat - %s/nav.yml >%s/mkdocs.yml && "
      .. "mkdocs build --strict --config-file %s/mkdocs.yml 2>&1"):format(dir, dir, dir))
    assert.falsy(out:find("WARNING", 1, true) or out:find("not included in", 1, true), out)
    local text = read(dir .. "/site/reference/api/counter.html")
    assert.truthy(text:find("<code>integer&#124;pmlua.Failure</code>", 1, true), "code with a bar")
    assert.truthy(text:find('href="group.html"', 1, true), "the menu")
    for _, page in ipairs { "index.html", "reference/api/counter.html", "404.html" } do
      for file in read(dir .. "/site/" .. page):gmatch '<[sl][ci][rn][^>]+ s?h?rc?e?f?="([^"#?:]+%.[jc]s+)"' do
        local at = file:match "^/(.*)" or page:gsub("[^/]*$", "") .. file
        assert.equal("", sh(("cd %s/site && test -e '%s' || echo %s needs %s"):format(dir, at, page, file)))
      end
    end
  end)

  it("have what annotations say, as pmlua help api prints it", function()
    local page = read(dir .. "/reference/api/eventset.md")
    assert.equal("# pml.eventset", page:match "^[^\n]*")
    assert.truthy(page:find("## `pml.eventset.open(names, [options])`", 1, true))
    assert.truthy(page:find("| `names` ", 1, true))
    assert.truthy(page:find('<a id="pmlua.Eventset:accum"></a>', 1, true))
    local text, status = help "api pml.eventset"
    assert.equal(0, status)
    for _, sentence in ipairs { "pml.eventset.open(names, [options])", "on_exec", "Eventset:accum([sums])" } do
      assert.truthy(text:find(sentence, 1, true), sentence)
    end
  end)
end)

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

  it("explains a module that is no verb without being told that it is one", function()
    local all, api = help "experiment", help "api experiment"
    assert.equal(api, all:sub(-#api))
    assert.truthy(all:find("--no-plot", 1, true))
    assert.equal(help "api pml.workload", help "workload")
  end)

  it("answers a misspelt name with the nearest one and status 2", function()
    local out, status = help "api eventsett"
    assert.equal(2, status)
    assert.truthy(out:find("did you mean 'eventset'?", 1, true), out)
    out, status = help "evnts"
    assert.equal(2, status)
    assert.truthy(out:find("did you mean 'events'?", 1, true), out)
  end)

  it("sends those who ask for a C function to its manual page", function()
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
