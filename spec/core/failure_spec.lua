-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/failure_spec.lua - what the world refuses is a value: a code, a place, a text and a remedy.

local support = require "spec.core.support"
local it = support.it
local core = support.core
local pml = require "pmlua"

local SENTENCE = 'eventset.open: ENOEVENT: no event "no; such"; list the events with pmlua events'

local function refused()
  local set, failure, code = core.eventset.open { "no; such" }
  assert.is_nil(set)
  return failure, code
end

describe("A failure", function()
  it("has a code, a place, a text and a remedy, and its string is the sentence", function()
    local failure, code = refused()
    assert.same({ "ENOEVENT", "eventset.open", 'no event "no; such"', "list the events with pmlua events", "ENOEVENT" },
      { failure.code, failure.place, failure.text, failure.remedy, code })
    assert.equal(SENTENCE, tostring(failure))
    assert.equal('no event "no; such"; list the events with pmlua events', failure:sentence())
  end)

  it("can be compared with the name of a code", function()
    local failure = refused()
    assert.is_true(failure:is "ENOEVENT")
    assert.is_false(failure:is "EACCES")
    assert.has_error(function() failure:is() end)
  end)

  it("has the remedy that its sentence names, else its code's, else no remedy", function()
    local _, failure = core.link.connect "/nowhere"
    assert.same({ "ENOENT", false }, { failure.code, failure.remedy or false })
    _, failure = core.eventset.open { "mem:nosuch_symbol:w" }
    assert.equal("give an address (mem:0x7f00:w), or use pmlua watchpoint for the symbols of a command", failure.remedy)
    assert.falsy(failure.text:find("give an address", 1, true))
  end)

  it("acts as its sentence where scripts use it as a string", function()
    local failure = refused()
    assert.equal("why: " .. SENTENCE, "why: " .. failure)
    assert.equal(SENTENCE .. "!", failure .. "!")
    assert.equal(SENTENCE .. SENTENCE, failure .. refused())
    assert.equal(#SENTENCE, #failure)
    assert.equal("ENOEVENT", failure:match ": (E%w+):")
    assert.equal(SENTENCE:upper(), failure:upper())
    assert.same({ SENTENCE:gsub("%w+", "x") }, { failure:gsub("%w+", "x") })
    assert.equal(SENTENCE, ("%s"):format(failure))
    assert.is_nil(failure.nothing)
  end)

  it("raised by a script, is printed as its sentence", function()
    for _, raise in ipairs { "error(f)", "assert(nil, f)", "return nil, f" } do
      local code = ("local _, f = pml.eventset.open { [[no; such]] } %s"):format(raise)
      local status, _, err = support.shell(("%s/pmlua -e '%s'"):format(support.build, code))
      assert.equal(1, status, raise)
      assert.truthy(err:find(SENTENCE, 1, true), err)
    end
  end)

  it("is also made by Lua's modules", function()
    local failure = core.failure.new { place = "a.b", code = "EIO", text = "broken" }
    assert.equal("a.b: EIO: broken", tostring(failure))
    assert.equal("broken", core.failure.sentence(failure))
    assert.equal("text", core.failure.sentence "text")
    assert.has_error(function() core.failure.new { place = "a.b", code = "EIO" } end, "failure: text is needed")
    assert.has_error(function() core.failure.new { sentence = "x" } end)
  end)

  it("is refused by Lua's modules with a code and a text that names the place", function()
    local nothing, failure, code = core.failure.refuse("ENOENT", "x.lua:3: no such group", "see pmlua choose")
    assert.is_nil(nothing)
    assert.same({ "ENOENT", true }, { code, failure:is "ENOENT" })
    assert.same({ "x.lua:3: no such group", "see pmlua choose" }, { failure.text, failure.remedy })
    assert.equal("x.lua:3: no such group; see pmlua choose", tostring(failure))
    assert.is_nil(failure.place)
    assert.has_error(function() core.failure.refuse("no such group") end)
    assert.has_error(function() core.failure.refuse("no code", "text") end)
  end)

  it("of Lua's modules is named where a script uses its nil", function()
    local status, _, err = support.shell(("%s/pmlua -e 'print(pml.results.open(\"/nowhere\").meta)'"):format(support.build))
    assert.equal(1, status)
    assert.matches("the last refusal, at (command line):1, was: /nowhere: No such file", err, 1, true)
  end)

  it("of the core is passed on with its subject, without its place", function()
    local _, failure, code = core.failure.refuse(refused(), "run 1")
    assert.equal('run 1: no event "no; such"; list the events with pmlua events', tostring(failure))
    assert.same({ "ENOEVENT", true }, { code, failure:is "ENOEVENT" })
  end)

  for what, call in pairs {
    ["a run that does not exist"] = { "ENOENT", function() return pml.results.open "/nowhere" end },
    ["a folder without a run"] = { "ENOENT", function() return pml.results.open "/proc/self/task" end },
    ["an unknown PMU"] = { "ENOENT", function() return pml.chooser.open { pmu = "nosuch" } end },
    ["a formula"] = { "EINVAL", function() return pml.formula.compile "1 +" end },
    ["samples"] = { "ENODATA", function() return pml.stats.quantile({}, 0.5) end },
    ["an application"] = { "ENOENT", function() return require("pmlua.internal.live.directory").find "no-such-program" end },
    ["files of sections"] = { "ENOENT", function() return pml.sections.read_all { "/proc/self/task" } end },
  } do
    it(("is what Lua's modules give for %s, without the remedy in its text"):format(what), function()
      local nothing, failure, code = call[2]()
      assert.is_nil(nothing)
      assert.same({ call[1], true }, { code or failure.code, failure:is(call[1]) })
      assert.falsy(failure.text:find("; ", 1, true), failure.text)
    end)
  end

  it("of a file has its path in the text, and no place", function()
    local text, failure, code = require("pmlua.internal.file").read "/nowhere/file"
    assert.is_nil(text)
    assert.same({ "/nowhere/file: No such file or directory", "ENOENT", true },
      { tostring(failure), code, failure:is "ENOENT" })
  end)

  it("does not depend on fields that a script has changed", function()
    local failure = refused()
    failure.text, failure.remedy, failure.place = nil, {}, 5
    assert.equal("5: ENOEVENT: ", tostring(failure))
  end)
end)
