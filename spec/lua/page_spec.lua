-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/page_spec.lua - the page of a run: complete in a browser, and text from the folder stays text.

local chromium = require "spec.chromium"
local demo = require "spec.lua.demo"
local support = require "spec.core.support"
local page = require "pmlua.internal.page"
local pages = require "pmlua.internal.experiment.page"
local provenance = require "pmlua.internal.experiment.provenance"
local quote = require "pmlua.internal.quote"
local recording = require "spec.lua.recording"
local results = require "pmlua.results"
local rng = require "pmlua.internal.rng"

local browser, no_browser = chromium.command()

--- The document as a browser has loaded it; a line on its console is an error.
local function loaded(path)
  local home = support.folder()
  local line = "HOME=%s timeout 100 %s --headless --no-sandbox --disable-gpu --user-data-dir=%s --enable-logging=stderr "
    .. "--dump-dom file://%s 2>%s/errors"
  local _, out = support.shell(line:format(home, browser, home, path, home))
  assert.is_nil(support.slurp(home .. "/errors"):match "[^\n]*CONSOLE[^\n]*")
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
  return page.text(pages.of(run, '<svg xmlns="http://www.w3.org/2000/svg"><text>' .. text .. "</text></svg>"))
end

--- A page in which every kind of part has the text.
local function parts_of(text)
  local mark = { style = "interval", from = 1, to = 2, text = text }
  return page.text { title = text, about = text, state = text, warnings = { text }, parts = {
    { heading = text, note = text, code = page.command { text }, picture = text },
    { names = { text, "n" }, rows = { { text, 1 }, { text, 2 } }, about = { text } },
    { facts = { [text] = text, list = { text } }, values = { { label = text, values = { 1, 2 } } } },
    { figure = { about = "a %s axis", reference = 1, rows = { { label = text, marks = { mark,
      { style = "median", at = 1, text = text }, { style = "samples", values = { 1, 3 }, text = text } },
      course = { { value = 1, text = text } } } } } },
  } }
end

local hostile = {
  "<script>document.title='owned'</script>", "\"><img src=x onerror=document.title='owned'>", "'><svg onload=alert(1)>",
  "</title><script>document.title='owned'</script>", "</pre></style><b>", "&lt;script&gt;", "]]><!--", "javascript:alert(1)",
  "a\0b\27[2J\127\xC2\x85", "\xFF\xFE<i>\xC3", "\xE2\x80\xAE<u>", "`onmouseover=alert(1) x=`", ("<"):rep(2000),
}

describe("an axis of a page", function()
  local function tics(from, to, unit)
    local words = {}
    local figure = { about = "%s", unit = unit, rows = { { label = "a", marks = {
      { style = "interval", from = from, to = to, text = "a" } } } } }
    for word in page.text { title = "a", parts = { { figure = figure } } }:gmatch 'text%-anchor="middle">([^<]*)<' do
      words[#words + 1] = word
    end
    return table.concat(words, ", ")
  end

  it("has round numbers with prefixes, or powers of ten where values are far apart", function()
    assert.equal("0, 20 M, 40 M, 60 M, 80 M, 100 M", tics(0, 1e8))
    assert.equal("100 ns, 120 ns, 140 ns, 160 ns, 180 ns", tics(100, 180, "ns"))
    assert.equal("0 s, 10 ms, 20 ms, 30 ms", tics(0, 3.1e7, "ns"))
    assert.equal("1 µs, 10 µs, 100 µs, 1 ms", tics(1e-6, 3e-3, "s"))
    assert.equal("2 kB, 3 kB, 4 kB, 5 kB", tics(2000, 5100, "B"))
    assert.equal("0.2, 0.4, 0.6, 0.8", tics(0.1, 0.9))
    assert.equal("999999, 999999.5, 1000000, 1000000.5, 1000001", tics(999999, 1000001))
    assert.equal("1, 100, 10 k, 1 M, 100 M", tics(1, 1e9))
    assert.equal("0", tics(0, 0))
  end)
end)

describe("the page of a run", function()
  it("is made of the same tags whatever the folder says", function()
    local expected, parts = tags_of(page_of "word"), tags_of(parts_of "word")
    for _, text in ipairs(hostile) do
      assert.equal(expected, tags_of(page_of(text)), text)
      assert.equal(parts, tags_of(parts_of(text)), text)
    end
    local random = rng(11)
    for _ = 1, 200 do
      local bytes = {}
      for i = 1, random(60) do bytes[i] = string.char(random(4) == 1 and ("<>\"'&/=`"):byte(random(8)) or random(256) - 1) end
      local made = page_of(table.concat(bytes))
      assert.equal(expected, tags_of(made))
      assert.is_truthy(utf8.len(made))
    end
  end)

  it("allows pmlua's script only, and shows one only if it is what was run", function()
    local dir = support.folder()
    support.spit(dir .. "/mine.lua", "-- <b>bold</b>\nreturn 1 < 2 and \"x\"\n")
    local made = page_of("text", dir .. "/mine.lua")
    assert.is_truthy(made:find("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '" .. page.HASH, 1,
      true))
    assert.is_truthy(made:find("-- &#60;b&#62;bold&#60;/b&#62;\nreturn 1 &#60; 2 and &#34;x&#34;", 1, true))
    assert.equal(1, select(2, made:gsub("<script", "")))
    local run = assert(results.open(demo.run_folder({ { 1 } }, { script = "/etc/passwd", script_sha256 = ("0"):rep(64) })))
    assert.is_truthy(page.text(pages.of(run)):find("/etc/passwd has changed since", 1, true))
    assert.is_nil(page.text(pages.of(run)):find("root:", 1, true))
    run = assert(results.open(demo.run_folder({ { 1 } }, { script = "/dev/zero", script_sha256 = ("0"):rep(64) })))
    assert.is_truthy(page.text(pages.of(run)):find("/dev/zero is not here", 1, true))
  end)

  it("has a command that repeats the run, in words of the shell", function()
    assert.is_truthy(page_of("a b"):find(quote.html "'a b' --x --seed 1", 1, true))
  end)

  it("shows a browser figure, marks, table, machine, script and command, and runs no code from the folder", function()
    if not browser then return pending(no_browser) end
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
    assert.equal(1, select(2, document:gsub("<script", "")))
    for _, text in ipairs { "size=2: median 2000 ns, 10 samples",
      "size=2: 95 % interval of the median 2000 ns to 2000 ns", "size=1: round 10, median 1000 ns",
      "<h2>Machine</h2>", "&lt;script&gt;document.title", "pmlua mine.lua", "--seed ", "return require" } do
      assert.is_truthy(document:find(text, 1, true), text)
    end
    if os.execute "command -v gnuplot >/dev/null 2>&1" then
      assert.is_truthy(document:find("data:image/svg+xml,%3C%3Fxml", 1, true))
    end
  end)

  it("is read and sorted by a browser, whatever its texts are", function()
    if not browser then return pending(no_browser) end
    local dir = support.folder()
    local made = parts_of(table.concat(hostile, " "))
    support.spit(dir .. "/page.html", made)
    local document = loaded(dir .. "/page.html")
    assert.is_nil(document:find("<title>owned", 1, true))
    assert.is_nil(document:find("onerror=\"", 1, true))
    assert.is_truthy(document:find('tabindex="0"', 1, true)) -- the script ran, so its hash is right
    local click = "<script>const head = document.querySelectorAll('.numbers th')[1]; head.onclick(); head.onclick()</script>"
    support.spit(dir .. "/click.html", (made:gsub("<meta http%-equiv.->", ""):gsub("</body>", click .. "%%0")))
    local sorted = loaded(dir .. "/click.html")
    assert.is_truthy(sorted:find 'aria%-sort="descending"')
    assert.is_true(sorted:find('title="2"', 1, true) < sorted:find('title="1"', 1, true))
    assert.is_true(document:find('title="1"', 1, true) < document:find('title="2"', 1, true))
  end)

  it("has quantiles of very many samples, rows and rounds, and stays below 2 MB", function()
    local run = demo.run({ factors = { k = { 1, 2, 3, 4 } }, repeats = 250000, rounds = 1000 })
    local text = page.text(pages.of(assert(results.open(run.dir))))
    assert.is_true(#text < 2000000, #text)
    assert.is_truthy(text:find("k=3: 5000 quantiles of 250000 samples", 1, true))
    run = demo.run({ repeats = 12 })
    text = page.text(pages.of(assert(results.open(run.dir))))
    assert.is_truthy(text:find('k=2: 12 samples in their order</summary><pre class="values">201 202 201 202 ', 1, true))
  end)

  it("of sections, recorded calls and a trace has their figures and tables, and names as text", function()
    local dir, program = support.folder(), recording.place()
    support.spit(dir .. "/s.lua", [[local pml = require "pmlua"
      for _, name in ipairs { "</script>", "a\xff\"b" } do pml.section.start(name) pml.section.stop(name) end]])
    support.done(support.shell(("cd %s && PMLUA_REPORT=out %s/pmlua s.lua && %s/pmlua report out --html report.html"):format(dir,
      support.build, support.build)))
    support.done(program.shell(("%s record --trace --sym crc32 -o r --html %s/record.html -- ./calls crc32:10 && "
      .. "%s trace r/traces.otf2 --html %s/trace.html"):format(recording.command, dir, recording.command, dir)))
    local expected = {
      report = { "<h2>Calls</h2>", "&#60;/script&#62;: 1 calls, ", '<td class="text">&#60;/script&#62;</td>', "&#34;b<" },
      record = { "<h2>Flame graph</h2>", 'data-name="crc32"><title>crc32 (libz.so.1): ',
        '<td class="text">crc32</td>', "pmlua record --trace" },
      trace = { "<h2>Flame graph</h2>", 'data-name="crc32"><title>crc32', "<h2>Critical path by region</h2>", "<h2>Regions</h2>",
        '<td class="text">crc32</td>', "pmlua trace r/traces.otf2" },
    }
    for name, texts in pairs(expected) do
      local text = support.slurp(("%s/%s.html"):format(dir, name))
      for _, one in ipairs(texts) do assert.is_truthy(text:find(one, 1, true), name .. ": " .. one) end
      assert.equal(1, select(2, text:gsub("<script", "")))
      assert.is_truthy(utf8.len(text))
    end
    local _, _, err = support.pmlua(("report %s --html %s/no/folder.html"):format(dir .. "/out", dir))
    assert.matches("No such file or directory", err)
  end)

  it("of a comparison and of commands has what they print", function()
    local dir = support.folder()
    local line = "cd %s && %s/pmlua bench -q --no-plot --runs 6 --html bench.html -n '</script>' -n b true 'true 2' && "
      .. "%s/pmlua compare results/bench/latest --by command --html compare.html"
    support.done(support.shell(line:format(dir, support.build, support.build)))
    for _, name in ipairs { "bench", "compare" } do
      local text = support.slurp(("%s/%s.html"):format(dir, name))
      assert.is_truthy(text:find('<th class="text" title="">verdict</th>', 1, true))
      assert.is_truthy(text:find("pmlua " .. name, 1, true))
      assert.is_truthy(text:find("b / &#60;/script&#62;: B/A ", 1, true))
      assert.equal(1, select(2, text:gsub("<script", "")))
    end
  end)
end)
