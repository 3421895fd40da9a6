-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/locale_spec.lua - tests of numbers in files: a decimal point in every locale of an application or script.

local support = require "spec.core.support"

local it = it
local json = require "pmlua.json"

local comma
for _, name in ipairs { "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8", "es_ES.UTF-8", "nl_NL.UTF-8" } do
  comma = comma or (os.setlocale(name, "numeric") and ("%.1f"):format(0.5) == "0,5" and name or nil)
  os.setlocale("C", "numeric")
end

local function with_comma(name, f)
  it(name, function()
    if not comma then return pending "no locale with a decimal comma is installed (apt-get install locales-all)" end
    finally(function() os.setlocale("C", "all") end)
    f()
  end)
end

-- Every number of a run's files, as a reader that expects a point reads it.
local function check(dir)
  local data = support.slurp(dir .. "/data.dat")
  assert.matches("\n1 0%.5 ok 3 0%.55 ", data)
  assert.is_nil(data:gsub("#[^\n]*", ""):find(",", 1, true))
  local meta = json.decode(support.slurp(dir .. "/meta.json"))
  assert.same({ 0.5, 1.25 }, meta.factors[1].levels)
  assert.is_nil(support.slurp(dir .. "/meta.json"):find('[:%[] ?%-?%d+,%d+[%],\n]%f[^ ]'))
  local _, csv = support.shell("zcat " .. dir .. "/samples.csv.gz")
  assert.matches("\n1,1,0,0%.55", csv)
  for line in csv:gmatch("[^\n]+") do assert.equal(3, select(2, line:gsub(",", ""))) end
end

local definition = [[
require "pmlua".experiment { name = "loc", unit = "s", factors = { x = { 0.5, 1.25 } }, repeats = 3, rounds = 3, warmup = 0,
  measure = function(_, p) return p.x * 1.1 end }]]

describe("A locale with a decimal comma", function()
  with_comma("of an application that runs an experiment changes no file, and is left as it was", function()
    local dir = support.folder()
    json.decode "{}" -- cjson chooses its decimal point when it is loaded
    assert(os.setlocale(comma, "all"))
    local run = assert(load("return " .. definition)():run { quiet = true, no_plot = true, out = dir })
    assert.equal("0,5", tostring(0.5))
    assert.same({ 1.5, -2e-30 }, json.decode(json.line { 1.5, -2e-30 }))
    assert.equal("[1.5]", json.line { 1.5 })
    assert.matches("\n0%.5\n", require "pmlua.internal.dat".format { title = "t", columns = { { "a" } }, rows = { { 0.5 } } })
    assert.equal(0.55, (require "pmlua.results".open(run.dir).data.rows[1].median))
    os.setlocale("C", "all")
    check(run.dir)
  end)

  with_comma("of a script changes no file and no output of the command", function()
    local dir = support.folder()
    support.spit(dir .. "/s.lua", ("assert(os.setlocale(%q))\nprint(0.5, os.setlocale(nil, 'time'))\nreturn %s")
      :format(comma, definition))
    local out = support.done(support.pmlua(("%s/s.lua --quiet --no-plot --json -o %s"):format(dir, dir)))
    assert.equal("0.5\t" .. comma, out:match("^[^\n]*"))
    assert.equal(0.55, json.decode(out:match("\n(.*)")).cells[1].median)
    check(dir .. "/loc/latest")
  end)

  with_comma("that measure chooses, again and again, changes no table that the command prints afterwards", function()
    local dir = support.folder()
    support.spit(dir .. "/s.lua", "local now = 0\nreturn " .. definition:gsub("return p.x", ("now = now + 1\n"
      .. "os.setlocale(now %%%% 2 == 0 and 'C' or %q) return p.x"):format(comma)))
    for _, option in ipairs { "--csv", "--json", "--quiet", "" } do
      local out = support.done(support.pmlua(("%s/s.lua --no-plot %s -o %s"):format(dir, option, dir)))
      assert.matches(option == "--csv" and "\n0%.5,0%.55,0%.55" or "0%.55", out)
      assert.is_nil(out:find "0,55")
      check(dir .. "/loc/latest")
    end
  end)
end)
