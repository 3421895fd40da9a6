-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/untrusted/terminal_spec.lua - tests of foreign text on a terminal: text of files and of other programs is printed
-- without control characters.

local support = require "spec.core.support"
local json = require "pmlua.json"
local lfs = require "lfs"
local quote = require "pmlua.internal.quote".shell
local view = require "pmlua.internal.live.view"

local command = support.build .. "/pmlua"
local ESC = "\27]0;taken\7\27[2Jx"

--- The output of a verb on both streams; fails if it has a control character, or nothing of the planted text.
local function harmless(line)
  local status, out, err = support.shell(("cd / && timeout 60 %s %s"):format(quote(command), line))
  assert.not_equal(124, status, line)
  local text = out .. err
  assert.falsy(text:find "[\0-\8\11-\31\127]", line .. ":\n" .. text:gsub("[\0-\8\11-\31\127]", "<CONTROL>"))
  assert.truthy(text:find("\\x1b", 1, true), line .. ":\n" .. text)
  assert.falsy(text:find("traceback", 1, true), text)
end

describe("A control character does not reach the terminal", function()
  local dir
  before_each(function() dir = support.folder() end)

  local function run_of(name, meta)
    assert(lfs.mkdir(dir .. "/" .. name))
    support.spit(dir .. "/" .. name .. "/meta.json", json.encode(meta))
    support.spit(dir .. "/" .. name .. "/data.dat", "# " .. ESC .. "\n" .. ESC .. "\n")
    return quote(dir .. "/" .. name)
  end

  it("from an experiment's folder", function()
    local meta = { name = "n" .. ESC, status = "complete", unit = "u" .. ESC, plot = ESC, description = ESC, factors = { ESC } }
    local a, b = run_of("a", meta), run_of("b" .. ESC, meta)
    harmless("plot " .. b)
    harmless("compare " .. b .. " " .. a)
  end)

  it("from the name of a file, with any contents", function()
    local path = dir .. "/" .. ESC .. "/" .. ESC
    assert(lfs.mkdir(dir .. "/" .. ESC))
    support.spit(path, ESC .. "\n")
    for _, line in ipairs { "report %s", "report %s --json", "guard %s -- true", "record --finish %s", "choose --groups %s FLOPS",
      "events --sde %s", "%s", "plot %s", "compare %s /", "query %s", "attach %s", "stat -- %s", "record -- %s" } do
      harmless(line:format(quote(path)))
    end
  end)

  it("from the text of a file", function()
    local function file(name, text)
      support.spit(dir .. "/" .. name, text)
      return quote(dir .. "/" .. name)
    end
    harmless(file("script.lua", ("error(%q)"):format(ESC)))
    harmless(file("fails.lua", ("return nil, %q"):format(ESC)))
    local measure = ("function() error(%q) end"):format(ESC)
    harmless(file("experiment.lua", ("return require 'pmlua'.experiment { name = 'e', measure = %s }"):format(measure))
      .. " --quick --no-plot -o " .. quote(dir))
  end)

  it("from a running program", function()
    local row = { name = "sde:::L::e" .. ESC, kind = "created", value = 1, description = ESC, reason = ESC }
    local text = view.table { rows = { row } }
    assert.falsy(text:find "[\0-\9\11-\31\127]", text)
    assert.truthy(text:find("e\\x1b", 1, true), text)
    text = view.plain { { "NAME", "COMMAND" }, { ESC, "\194\155" .. ESC } }
    assert.falsy(text:find "[\0-\9\11-\31\127]", text)
    assert.falsy(text:find("\194\155", 1, true), text)
  end)

  it("from the sections of a program", function()
    local code = ("local s = pml.section.define { label = %q } s:start() s:stop()"):format(ESC)
    assert.equal(0, (support.shell(("PMLUA_REPORT=%s/out %s -e %s"):format(quote(dir), quote(command), quote(code)))))
    harmless(("report %s/out --detail --threads --legend"):format(quote(dir)))
  end)
end)
