-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/untrusted/pictures_spec.lua - names, units, descriptions and paths that others wrote are text in pictures: gnuplot,
-- Graphviz and the shell execute nothing of them, with and without the confinement that they run under.

local demo = require "spec.lua.demo"
local support = require "spec.core.support"
local hostile = require "spec.lua.untrusted.hostile"
local lfs = require "lfs"
local quote = require "pmlua.internal.quote"

local RANDOM = 14
local has = {}
for _, program in ipairs { "gnuplot", "dot" } do has[program] = os.execute("command -v " .. program .. " >/dev/null 2>&1") end

local function needs(program, sentence, f)
  it(sentence, function()
    if not has[program] then return pending(program .. " is not installed") end
    f()
  end)
end

--- A picture's text without what only breaks lines and spaces, also within ]]>, which may not stand in XML.
local function squeezed(text) return (text:gsub("%s+", " "):gsub("%]%] >", "]]>")) end

local seed = tonumber(os.getenv "PMLUA_SPEC_SEED") or os.time()

local function shows(svg, text)
  local there, wanted = squeezed(hostile.unescape(svg)), squeezed(quote.plain(text)):match("^ ?(.-) ?$")
  if not there:find(wanted, 1, true) then error(("the picture does not show %q (PMLUA_SPEC_SEED=%d)"):format(wanted, seed)) end
end

describe("Text of others", function()
  local dir, canary, texts

  before_each(function()
    dir = support.folder()
    canary = dir .. "/canary"
    texts = hostile.texts("touch " .. canary, seed, RANDOM)
  end)

  local function nothing_ran(what)
    if lfs.attributes(canary, "mode") then error(("executed: %q (PMLUA_SPEC_SEED=%d)"):format(what, seed)) end
  end

  needs("gnuplot", "is text in gnuplot's strings, even where gnuplot is not confined", function()
    local lines = { "set terminal svg enhanced", "set output 'all.svg'", "set encoding utf8" }
    for i, text in ipairs(texts) do
      lines[#lines + 1] = ("s%d = %s"):format(i, quote.gnuplot(text))
      lines[#lines + 1] = ("set label %d s%d at graph 0, graph 0 noenhanced"):format(i, i)
    end
    lines[#lines + 1] = "plot x"
    support.spit(dir .. "/all.gp", table.concat(lines, "\n") .. "\n")
    support.done(support.shell(("cd %s && gnuplot -d all.gp"):format(dir)))
    nothing_ran "one of the strings"
    local svg = support.slurp(dir .. "/all.svg")
    for _, text in ipairs(texts) do shows(svg, text) end
  end)

  needs("gnuplot", "is text in the figure of a run", function()
    local plot, json = require "pmlua.plot", require "pmlua.json"
    local function kept(text) return json.decode(json.encode { text })[1] end -- meta.json has its own rule for bytes
    for i = 1, #texts, 3 do
      local run = demo.run_folder({ { 10, 12, 11 } }, { description = texts[i], unit = texts[i + 1], command = { texts[i + 2] },
        factors = { { name = texts[i + 2] or "x", levels = { "p1" } } }, machine = { cpu = texts[i] } })
      for _, options in ipairs { {}, { trust = true } } do -- pmlua's own script, confined or not
        local files = assert(plot.draw(run, options))
        nothing_ran(texts[i])
        local svg = support.slurp(files[1])
        shows(svg, kept(texts[i]))
        if texts[i + 1] then shows(svg, "[" .. kept(texts[i + 1]) .. "]") end
      end
    end
  end)

  needs("gnuplot", "is text where a figure's rows have names from its table", function()
    local results, dat = require "pmlua.results", require "pmlua.internal.dat"
    local rows, columns = {}, { { "cell" }, { "clock", "text" }, { "status", "text" }, { "samples" } }
    for i, text in ipairs(texts) do
      if utf8.len(dat.word(text)) then rows[#rows + 1] = { #rows + 1, text, "ok", 3, 1, 1, 1, i, 9 } end
    end
    for _, name in ipairs { "claimed", "resolution", "q1", "median", "p99" } do columns[#columns + 1] = { name, "ns" } end
    local run = demo.run_folder({ { 1 } }, { plot = "timers" })
    local folder = assert(results.open(run))
    assert(folder:write_table("data.dat", { title = "t", columns = columns, rows = rows }))
    for _, name in ipairs { "stairs", "jitter" } do
      support.spit(("%s/%s.dat"):format(run, name), "cell clock value share\n1 ticks-ordered 5 1\n1 ticks-ordered 900 0.1\n")
    end
    for _, options in ipairs { {}, { trust = true } } do
      local files, err = require "pmlua.plot".draw(run, options)
      nothing_ran "the name of a row"
      shows(support.slurp(assert(files, err)[1]), "cost of `touch " .. canary .. "`")
    end
  end)

  needs("gnuplot", "is text in the names of series, and in drawings of characters", function()
    local series = require "pmlua.internal.live.series"
    local set = { list = {} }
    for i = 1, 12 do set.list[i] = { name = texts[i], recorder = true, x = { 1, 2 }, y = { 1, 2 }, next = 3 } end
    assert(series.picture(set, texts[1], dir .. "/series.svg"))
    local svg = support.slurp(dir .. "/series.svg")
    for i = 1, 12 do shows(svg, texts[i]) end
    assert(series.text(set, texts[2], 100, 30))
    nothing_ran "the name of a series"
  end)

  needs("dot", "is text in event flow graphs, and never HTML", function()
    local flowgraph, json = require "pmlua.internal.flow.graph", require "pmlua.json"
    for _, text in ipairs(texts) do
      if utf8.len(text) and not text:find "\0" then
        local name = quote.plain(text):sub(1, 30)
        local nodes = { { name = "", visits = 1, metrics = json.array() },
          { name = text, parent = 1, visits = 1, metrics = json.array() } }
        support.spit(dir .. "/f.json", json.encode { refused = 0, graphs = { { threads = 1, missing = 0, last = 2,
          metrics = json.array(), nodes = nodes, edges = { { from = 1, to = 2, count = 1, labels = { { 1 } } } } } } })
        local flow = flowgraph.read(dir .. "/f.json")
        if flow then
          assert(flow:draw(dir .. "/f.svg", { title = text }))
          shows(support.slurp(dir .. "/f.svg"), utf8.len(name) and #text <= 30 and name or "event")
          shows(support.slurp(dir .. "/f.svg"), text)
        end
      end
    end
    nothing_ran "the name of a node"
  end)

  it("is a word of the shell", function()
    for _, text in ipairs(texts) do
      if text:find "\0" then
        assert.error(function() quote.shell(text) end)
      else
        local pipe = io.popen("printf %s " .. quote.shell(text))
        local out = pipe:read "a"
        pipe:close()
        assert.equal(text, out)
      end
    end
    nothing_ran "a word"
  end)
end)

describe("A confined tool", function()
  local core = support.core

  it("gets only the places of programs, libraries and fonts from the environment", function()
    local ask = ([[local core = require "pmlua.core"; io.write((select(2, core.tool.run({ "env" }, {}))))]]):gsub('"', '\\"')
    local user = "GNUTERM=qt GNUPLOT_LIB=/x GDFONTPATH=/x LC_NUMERIC=de_DE.UTF-8 LANG=x DISPLAY=:7 FIT_LOG=/x XDG_CACHE_HOME=/y"
    local out = support.done(support.shell(("%s %s/pmlua -e \"%s\""):format(user, support.build, ask)))
    local found = {}
    for name in out:gmatch "([%w_]+)=[^\n]*" do found[name] = true end
    assert.is_true(found.PATH and found.LC_ALL and found.XDG_CACHE_HOME)
    for name in user:gmatch "([%w_]+)=" do assert.is_true(name == "XDG_CACHE_HOME" or not found[name], name) end
  end)

  it("starts no program and no process, and opens no socket, but works", function()
    if not core.tool.confines() then return pending "this kernel or processor has no seccomp filters that pmlua knows" end
    local dir = support.folder()
    local ways = { "touch " .. dir .. "/x", "exec touch " .. dir .. "/x", "(echo > " .. dir .. "/x)" }
    for _, way in ipairs(ways) do
      assert.not_equal(0, (core.tool.run({ "sh", "-c", way }, { confined = true })))
      assert.is_nil(lfs.attributes(dir .. "/x", "mode"))
      assert.equal(0, (core.tool.run({ "sh", "-c", way }, {})))
      assert.equal("file", lfs.attributes(dir .. "/x", "mode"))
      os.remove(dir .. "/x")
    end
    local out = support.done(core.tool.run({ "printf", "%s|", "a b", "`c`", "$d" }, { confined = true }))
    assert.equal("a b|`c`|$d|", out)
  end)

  needs("gnuplot", "has nothing from gnuplot's system, !, pipes and backticks", function()
    if not core.tool.confines() then return pending "this kernel or processor has no seccomp filters that pmlua knows" end
    local dir = support.folder()
    local ways = { "system('touch x')", "a = system('touch x')", "!touch x", "plot '< touch x; echo 1 2'", "a = \"`touch x`\"",
      "set output '| touch x'; set terminal svg; plot x", "load '< touch x'", "set print '| touch x'; print 1", "shell" }
    for _, confined in ipairs { true, false } do
      local made = 0
      for _, way in ipairs(ways) do
        core.tool.run({ "gnuplot", "-d", "-e", way }, { folder = dir, confined = confined, seconds = 20 })
        if os.remove(dir .. "/x") then made = made + 1 end
      end
      if confined then assert.equal(0, made) else assert.is_true(made >= 7) end -- else the ways would prove nothing
    end
  end)

  it("reports its status, its time limit and its absence", function()
    assert.equal(3, (core.tool.run({ "sh", "-c", "exit 3" }, {})))
    assert.equal(128 + 9, (core.tool.run({ "sh", "-c", "kill -9 $$" }, {})))
    local status, err, code = core.tool.run({ "sleep", "20" }, { seconds = 1 })
    assert.is_nil(status)
    assert.equal("ETIMEDOUT", code, err)
    status, err, code = core.tool.run({ "no-such-tool-of-pmlua" }, {})
    assert.is_nil(status)
    assert.equal("ENOENT", code)
    assert.matches("no%-such%-tool%-of%-pmlua is not installed", err)
  end)
end)
