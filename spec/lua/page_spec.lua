-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/page_spec.lua - the page of a run: complete in a browser, and text from the folder stays text.

local demo = require "spec.lua.demo"
local support = require "spec.core.support"
local page = require "pmlua.internal.experiment.page"
local provenance = require "pmlua.internal.experiment.provenance"
local quote = require "pmlua.internal.quote"
local results = require "pmlua.results"
local rng = require "pmlua.internal.rng"

local browser
for _, name in ipairs { "chromium", "chromium-browser", "google-chrome" } do
  if not browser and os.execute(("command -v %s >/dev/null 2>&1"):format(name)) then browser = name end
end

--- The document as a browser has loaded it.
local function loaded(path)
  local home = support.folder()
  local line = "HOME=%s timeout 100 %s --headless --no-sandbox --disable-gpu --user-data-dir=%s --dump-dom file://%s"
  local _, out = support.shell(line:format(home, browser, home, path))
  return out
end

--- The tags in order, without the text.
local function tags_of(text)
  local tags = {}
  for tag in text:gmatch "<[^>]*>" do
    tags[#tags + 1] = tag:gsub('"[^"]*"', '""')
  end
  return table.concat(tags, "\n")
end

--- A run with the same given text in every field, and the part of it that a folder can hold.
local function page_of(text, script)
  local dir = demo.run_folder({ { 100, 101, 102 }, { 200, 201, 202 } }, {
    name = text, description = text, warnings = { text }, unit = "ns", started = text, command = { text, "--x" },
    script = script or text, script_sha256 = script and provenance.sha256(script) or text,
    machine = { cpu = text, [text .. "key"] = text, nested = { text, 1 } }, versions = { kernel = text },
    factors = { { name = "path", levels = { text } } },
  })
  local run = assert(results.open(dir))
  for _, row in ipairs(run.data.rows) do row.path, row.status = text, text end
  run.data.columns[2].description, run.data.columns[6].unit = text, text
  return page.text(run, '<svg xmlns="http://www.w3.org/2000/svg"><text>' .. text .. "</text></svg>")
end

local hostile = {
  "<script>document.title='owned'</script>", "\"><img src=x onerror=document.title='owned'>", "'><svg onload=alert(1)>",
  "</title><script>document.title='owned'</script>", "</pre></style><b>", "&lt;script&gt;", "]]><!--", "javascript:alert(1)",
  "a\0b\27[2J\127\xC2\x85", "\xFF\xFE<i>\xC3", "\xE2\x80\xAE<u>", "`onmouseover=alert(1) x=`", ("<"):rep(2000),
}

describe("the page of a run", function()
  it("is made of the same tags whatever the folder says", function()
    local expected = tags_of(page_of "word")
    for _, text in ipairs(hostile) do assert.equal(expected, tags_of(page_of(text)), text) end
    local random = rng(11)
    for _ = 1, 200 do
      local bytes = {}
      for i = 1, random(60) do bytes[i] = string.char(random(4) == 1 and ("<>\"'&/=`"):byte(random(8)) or random(256) - 1) end
      local made = page_of(table.concat(bytes))
      assert.equal(expected, tags_of(made))
      assert.is_truthy(utf8.len(made))
    end
  end)

  it("allows no script, and shows one only if it is what was run", function()
    local dir = support.folder()
    support.spit(dir .. "/mine.lua", "-- <b>bold</b>\nreturn 1 < 2 and \"x\"\n")
    local made = page_of("text", dir .. "/mine.lua")
    assert.matches("default%-src &#39;none&#39;", (made:gsub("'", "&#39;")))
    assert.is_truthy(made:find("-- &#60;b&#62;bold&#60;/b&#62;\nreturn 1 &#60; 2 and &#34;x&#34;", 1, true))
    assert.is_nil(made:find("<script", 1, true))
    local run = assert(results.open(demo.run_folder({ { 1 } }, { script = "/etc/passwd", script_sha256 = ("0"):rep(64) })))
    assert.is_truthy(page.text(run):find("/etc/passwd has changed since", 1, true))
    assert.is_nil(page.text(run):find("root:", 1, true))
    run = assert(results.open(demo.run_folder({ { 1 } }, { script = "/dev/zero", script_sha256 = ("0"):rep(64) })))
    assert.is_truthy(page.text(run):find("/dev/zero is not here", 1, true))
  end)

  it("says how to repeat the run, in words of the shell", function()
    assert.is_truthy(page_of("a b"):find(quote.html "'a b' --x --seed 1", 1, true))
  end)

  it("shows a browser figure, marks, table, machine, script and command, and nothing that the folder would have run", function()
    if not browser then return pending "no chromium is installed" end
    local dir = support.folder()
    support.spit(dir .. "/mine.lua", [[
return require "pmlua".experiment { name = "mine", description = "</title><script>document.title='owned'</script>",
  factors = { { "size", { 1, 2 } } }, unit = "ns", repeats = 10, rounds = 10,
  measure = function(_, p) return 1000 * p.size end }
]])
    local line = "cd %s && %s/pmlua mine.lua -q --no-plot && %s/pmlua plot --html results/mine/latest"
    local out = support.done(support.shell(line:format(dir, support.build, support.build)))
    assert.matches("\nresults/mine/latest/page.html\n$", out)
    local document = loaded(dir .. "/results/mine/latest/page.html")
    assert.matches("<title>mine</title>", document)
    assert.is_nil(document:find("<script", 1, true))
    for _, text in ipairs { "size=2: median 2000 ns, 10 samples",
      "size=2: 95 % interval of the median 2000 ns to 2000 ns", "size=1: round 10, median 1000 ns",
      "<h2>Machine</h2>", "&lt;script&gt;document.title", "pmlua mine.lua", "--seed ", "return require" } do
      assert.is_truthy(document:find(text, 1, true), text)
    end
    if os.execute "command -v gnuplot >/dev/null 2>&1" then
      assert.is_truthy(document:find("data:image/svg+xml,%3C%3Fxml", 1, true))
    end
  end)
end)
