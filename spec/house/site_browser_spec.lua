-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/site_browser_spec.lua - the site in a browser, from file://, at three widths: menu, search, links, copying,
-- figures, light and dark, and without scripts.
--
-- Slow: starts Chromium and loads some two hundred pages.

local support = require "spec.core.support"
package.path = "spec/?.lua;" .. package.path
local chromium = require "chromium"
local shell = require "shell"

local build = os.getenv("PMLUA_BUILD") or "build"

local WIDTHS = { 360, 800, 1400 }

describe("The site in Chromium", function()
  local dir = support.folder()
  local site = "file://" .. dir .. "/"
  local browser

  -- Requests beyond the folder, failed requests, exceptions and messages of the page.
  local function mishaps()
    local list = {}
    for _, event in ipairs(browser.events) do
      local params = event.params
      local url = event.method == "Network.requestWillBeSent" and params.request.url
      if url and url:sub(1, #site) ~= site and url ~= "data:," then list[#list + 1] = "asks for " .. url end
      if event.method == "Network.loadingFailed" then list[#list + 1] = "failed: " .. params.errorText end
      if event.method == "Runtime.exceptionThrown" then list[#list + 1] = params.exceptionDetails.text end
      if event.method == "Log.entryAdded" then list[#list + 1] = params.entry.text end
    end
    return list
  end

  -- The titles that the search finds for a text.
  local function find(text)
    browser:eval "document.querySelector('#search input').value = ''"
    browser:click "#search input"
    browser:type(text)
    browser:await "document.querySelector('#found:not([hidden]) a[href]')"
    return browser:eval "[...document.querySelectorAll('#found a[href]')].map(a => a.firstChild.textContent)"
  end

  local function overflow() return browser:eval "document.scrollingElement.scrollWidth - innerWidth" <= 0 end

  local function each_width(f)
    if not browser then return pending(select(2, chromium.command())) end
    for _, width in ipairs(WIDTHS) do
      browser:size(width, 800)
      f(width)
    end
  end

  setup(function()
    shell.done(("%s/pmlua docs/site.lua %s"):format(build, dir))
    browser = chromium.command() and chromium.open()
  end)

  teardown(function() if browser then browser:close() end end)

  it("opens the menu, which leads to a page", function()
    each_width(function(width)
      browser:go(site .. "how/plot.html")
      if width < 960 then
        assert.equal(0, browser:eval "document.getElementById('nav').offsetHeight")
        browser:click "#menu summary"
      end
      browser:click "#nav a[href='../how/bench.html']"
      browser:wait "Page.loadEventFired"
      assert.equal("Benchmark a command - pmlua", browser:eval "document.title")
      assert.same({}, mishaps())
    end)
  end)

  it("ranks the page of a name first, and opens it by Enter", function()
    each_width(function()
      browser:go(site .. "how/plot.html")
      assert.equal("pml.eventset", find "eventset"[1])
      assert.equal("pmlua record", find "record"[1])
      assert.equal("pml_eventset_open", find "pml_eventset_open"[1])
      assert.equal("PMLUA_REPORT", find "pmlua_report"[1])
      assert.is_true(overflow())
      find "eventset"
      browser:eval "document.getElementById('search').requestSubmit()"
      browser:wait "Page.loadEventFired"
      assert.equal("pml.eventset - pmlua", browser:eval "document.title")
      assert.same({}, mishaps())
    end)
  end)

  it("follows ten links from the first page, to anchors that are displayed", function()
    each_width(function()
      browser:go(site .. "index.html")
      local seen = {}
      for _ = 1, 10 do
        local href = browser:eval(([[(() => {
          const links = [...document.querySelectorAll("main a[href]:not(.figure)")].filter(a => a.protocol === "file:")
          const next = links.find(a => a.pathname !== location.pathname && !%s.includes(a.pathname))
            || document.querySelector(".name")
          next.dataset.next = 1
          return next.href
        })()]]):format("[" .. table.concat(seen, ",") .. "]"))
        browser:click "a[data-next]"
        browser:wait "Page.loadEventFired"
        assert.equal(href, browser:eval "location.href")
        assert.is_true(browser:eval "!location.hash || !!document.getElementById(location.hash.slice(1))", href)
        assert.is_true(overflow(), href)
        seen[#seen + 1] = browser:eval "JSON.stringify(location.pathname)"
      end
      assert.same({}, mishaps())
    end)
  end)

  it("copies a block of code", function()
    browser:call("Browser.grantPermissions", { permissions = { "clipboardReadWrite", "clipboardSanitizedWrite" } })
    each_width(function()
      browser:go(site .. "how/plot.html")
      browser:click "pre.sh button"
      browser:await "document.querySelector('pre.sh button').textContent === 'copied'"
      assert.equal("pmlua touch.lua -q\npmlua plot results/touch/latest\nls results/touch/latest/*.svg\n",
        browser:eval "navigator.clipboard.readText()")
    end)
  end)

  local function is_dark() return browser:eval [[getComputedStyle(document.body).backgroundColor === "rgb(21, 24, 28)"]] end

  it("is dark where the system is, and the button changes that for all pages", function()
    each_width(function()
      for _, scheme in ipairs { "light", "dark" } do
        browser:call("Emulation.setEmulatedMedia", { features = { { name = "prefers-color-scheme", value = scheme } } })
        browser:go(site .. "index.html")
        assert.equal(scheme == "dark", is_dark())
        browser:click "#theme"
        assert.equal(scheme ~= "dark", is_dark())
        browser:click "main a[href='getting-started.html']"
        browser:wait "Page.loadEventFired"
        assert.equal(scheme ~= "dark", is_dark())
        browser:click "#theme"
        browser:click ".name"
        browser:wait "Page.loadEventFired"
        assert.equal(scheme == "dark", is_dark())
      end
    end)
  end)

  it("does not move while it loads", function()
    each_width(function()
      for _, path in ipairs { "index.html", "experiments/noise.html", "reference/api/trace.html" } do
        browser:go(site .. path)
        assert.equal(0, browser:eval [[new Promise(done => {
          let moved = 0
          new PerformanceObserver(list => { for (const shift of list.getEntries()) moved += shift.value })
            .observe({ type: "layout-shift", buffered: true })
          setTimeout(() => done(moved), 100)
        })]], path)
      end
    end)
  end)

  it("shows a figure in the whole window until a click", function()
    each_width(function(width)
      browser:go(site .. "experiments/noise.html")
      browser:click "a.figure img"
      assert.is_true(browser:eval "document.querySelector('dialog img').offsetWidth" >= math.max(960, width - 20))
      browser:click "dialog img"
      browser:await "!document.querySelector('dialog')"
    end)
  end)

  it("shows each page without a mishap, and none wider than a telephone", function()
    if not browser then return pending(select(2, chromium.command())) end
    browser:size(360, 740)
    local n = 0
    for path in shell.sh(("cd %s && find * -name '*.html'"):format(dir)):gmatch "[^\n]+" do
      browser:go(site .. path)
      assert.same({}, mishaps(), path)
      assert.is_true(overflow(), path)
      n = n + 1
    end
    assert.is_true(n > 150, n)
  end)

  it("can be read and opens its menu without scripts", function()
    browser:call("Emulation.setScriptExecutionDisabled", { value = true })
    each_width(function(width)
      browser:go(site .. "index.html")
      if width < 960 then browser:click "#menu summary" end
      browser:click "#nav a[href='getting-started.html']"
      browser:wait "Page.loadEventFired"
      assert.equal("Getting started - pmlua", browser:eval "document.title")
      assert.equal("hidden", browser:eval "getComputedStyle(document.getElementById('search')).visibility")
    end)
    browser:call("Emulation.setScriptExecutionDisabled", { value = false })
  end)
end)
