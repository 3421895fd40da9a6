-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/site_spec.lua - the site: its pages, links and scripts are there, and the Markdown is read as GitHub reads it.
-- spec/house/site_browser_spec.lua uses it in a browser.

local support = require "spec.core.support"
package.path = "spec/?.lua;docs/?.lua;" .. package.path
local shell = require "shell"
local sh = shell.sh

local build = os.getenv("PMLUA_BUILD") or "build"

local read = support.slurp

local function lines_of(command)
  local list = {}
  for line in sh(command):gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

describe("make docs", function()
  local dir = support.folder()
  local page = {}

  setup(function()
    shell.done(("%s/pmlua docs/site.lua %s/site"):format(build, dir))
    for _, path in ipairs(lines_of(("cd %s/site && find * -name '*.html'"):format(dir))) do
      page[path] = read(dir .. "/site/" .. path)
    end
  end)

  it("writes a page of each module and verb", function()
    local modules = lines_of "ls lua/pmlua/*.lua lua/pmlua/meta/*.lua | sed 's|.*/||; s|lua$|html|' | grep -v '^init' | sort -u"
    for _, name in ipairs(modules) do assert.truthy(page["reference/api/" .. name], name) end
    for _, name in ipairs(lines_of "cd lua/pmlua/verb && ls *.lua | sed 's/lua$/html/'") do
      assert.truthy(page["reference/verbs/" .. name], name)
    end
    assert.is_true(#modules > 25, #modules)
  end)

  -- A file, script, style sheet or anchor that a page names and that is not there.
  local function dead(from, target)
    local path, anchor = target:match "^([^#]*)#?(.*)$"
    local at = path == "" and from or (from:gsub("[^/]*$", "") .. path)
    repeat local n; at, n = at:gsub("[^/]+/%.%./", "", 1) until n == 0
    if page[at] then return anchor ~= "" and not page[at]:find((' id="%s"'):format(anchor), 1, true) end
    local f <close> = io.open(dir .. "/site/" .. at)
    return not f
  end

  it("writes links, images, style sheets and scripts that lead somewhere, none of them over the network", function()
    local wrong, n, done = {}, 0, {}
    for path, html in pairs(page) do
      for tag, target in html:gmatch '<(%l+)[^>]- [sh]rc?e?f?="([^"]*)"' do
        n = n + 1
        local web = target:find "^%l+:" and not target:find "^data:"
        local key = path:gsub("[^/]*$", "") .. target
        if web and tag ~= "a" or not (web or target:find "^data:" or done[key]) and dead(path, target) then
          wrong[#wrong + 1] = path .. ": " .. target
        end
        done[key] = target:sub(1, 1) ~= "#"
      end
    end
    assert.same({}, wrong)
    assert.is_true(n > 5000, n)
    assert.equal("", (sh(("grep -lE 'https?://|fetch\\(|import ' %s/site/theme/* || true"):format(dir))))
  end)

  it("gives each anchor of a page once", function()
    for path, html in pairs(page) do
      local seen = {}
      for id in html:gmatch '<%w+ id="([^"]*)"' do
        assert.is_nil(seen[id], path .. ": " .. id)
        seen[id] = true
      end
    end
  end)

  it("marks code: keywords, strings and comments", function()
    local html = page["reference/api/eventset.html"]
    assert.truthy(html:find('<span class="k">local</span> set &lt;close&gt; = assert', 1, true))
    assert.truthy(html:find('<span class="s">&quot;task-clock&quot;</span>', 1, true))
    assert.truthy(page["how/sections.html"]:find('<span class="c">/* solver.c - two sections, one inside the other', 1, true))
  end)

  it("fails if a link leads nowhere, or if no menu has a page", function()
    sh(("cp -r docs %s/docs && ln -s $PWD/core $PWD/bindings %s"):format(dir, dir))
    local make = ("cd %s && %s docs/site.lua out"):format(dir, support.build .. "/pmlua")
    shell.done(make)
    shell.write(dir .. "/docs/how/lost.md", "# Lost\n")
    assert.matches("how/lost.md: no index.md links to this page", (sh(make)))
    sh(("rm %s/docs/how/lost.md && echo '[x](how/index.md#nowhere)' >>%s/docs/index.md"):format(dir, dir))
    assert.matches("index.md: the link to how/index.md#nowhere leads nowhere", (sh(make)))
  end)
end)

describe("docs/markdown.lua", function()
  local markdown = require "markdown"

  -- HTML without attributes, classes of code, and line breaks that mean nothing.
  local function plain(html)
    html = html:gsub('<a class="anchor".-</a>', ""):gsub("<!%-%-.-%-%->", "")
    html = html:gsub('<a id="[^"]*"></a>', ""):gsub("</?div[^>]*>", "")
    html = html:gsub('<a class="figure"[^>]*>(<img[^>]*>)</a>', "%1"):gsub("</?span[^>]*>", ""):gsub("<(%w+)[^>]*>", "<%1>")
    html = html:gsub("&quot;", '"'):gsub("&#124;", "|"):gsub("%s*(</?[hputloid]%w*>)%s*", "\n%1\n"):gsub("\n</code>", "</code>")
    html = ("\n" .. html):gsub("[ \t]*\n%s*", "\n"):gsub("\n<p>\n</p>", "")
    return (html:gsub("<code>.-</code>", function(code) return (code:gsub("\n", " ")) end))
  end

  it("reads each page as cmark-gfm does", function()
    if not sh("command -v cmark-gfm"):find "cmark" then return pending "cmark-gfm is not installed" end
    local dir, n = support.folder(), 0
    local function compare(path, text)
      shell.write(dir .. "/page.md", text)
      local html = shell.done(("cmark-gfm --unsafe -e table %s/page.md"):format(dir))
      assert.equal(plain(html), plain(markdown.html(text).html), path)
      n = n + 1
    end
    for _, path in ipairs(lines_of "ls docs/*.md docs/*/*.md README.md CHANGELOG.md") do compare(path, read(path)) end
    local command = ([[%s/pmlua -e 'package.path = "docs/?.lua;" .. package.path
      for path, text in pairs(require "reference") do io.write(path, "\n", text, "\0") end']]):format(build)
    for path, text in shell.done(command):gmatch "([^\n]+)\n(%Z*)%z" do compare(path, text) end
    assert.is_true(n > 150, n)
  end)
end)
