-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/docs_spec.lua - the README and the pages of docs/ are followed to the letter: each file is saved, each command
-- typed, and what they print has the lines that the page shows (spec/page.lua). Slow pages: spec/house/docs_slow_spec.lua.

local page = require "spec.page"
local sh = require "spec.shell".sh

local support = require "spec.core.support"
local read = support.slurp

local function words_of(text)
  local n = 0
  for _ in text:gmatch "%S+" do n = n + 1 end
  return n
end

describe("A page of the documentation", function()
  page.specs(false, function(path, dir)
    if not path:find "getting%-started" then return end
    local said = read "docs/formats.md"
    for name in sh(("ls %s/results/first_touch/latest/"):format(dir)):gmatch "%S+" do
      assert.truthy(said:find("`" .. name .. "`", 1, true) or name == "traces", "docs/formats.md lacks " .. name)
    end
  end)
end)

describe("The documentation", function()
  it("has a README of one page and three pictures", function()
    local text = read "README.md"
    assert.is_true(words_of(text) <= 1200, words_of(text))
    assert.is_true(select(2, text:gsub("\n!%[", "")) <= 3)
  end)

  it("shows each verb on a page that is followed", function()
    local commands, missing = {}, {}
    for path in sh "ls README.md docs/*.md docs/*/*.md":gmatch "%S+" do
      for _, block in ipairs(page.blocks(read(path))) do
        if block.language == "sh" and not block.marks["not run"] then commands[#commands + 1] = block.text end
      end
    end
    local all = table.concat(commands)
    for name in sh "ls lua/pmlua/verb/*.lua":gmatch "(%w+)%.lua" do
      if not all:find("pmlua " .. name, 1, true) then missing[#missing + 1] = name end
    end
    assert.same({}, missing)
  end)

  it("has a page of each experiment: its question, its command line, its interpretation, its run time", function()
    local build, wrong = os.getenv("PMLUA_BUILD") or "build", {}
    for name in sh "ls scripts/*.lua":gmatch "([%w_]+)%.lua" do
      local text = read("docs/experiments/" .. name .. ".md")
      for _, heading in ipairs { "Question", "How to read it", "Run time" } do
        if not text:find("**" .. heading .. ".**", 1, true) then wrong[#wrong + 1] = name .. " lacks " .. heading end
      end
      local command = text:match "\n    pmlua (scripts/[^\n]*)"
      local help = sh(("%s/pmlua scripts/%s.lua --help"):format(build, name))
      if not command then wrong[#wrong + 1] = name .. " has no command line" end
      for option in (command or ""):gmatch " (%-%-[%l-]+)" do
        if not help:find(option, 1, true) then wrong[#wrong + 1] = name .. " has no option " .. option end
      end
    end
    assert.same({}, wrong)
  end)

  it("quotes no other version of pmlua, except below figures", function()
    local version, old = sh((os.getenv "PMLUA_BUILD" or "build") .. "/pmlua --version"):match "^pmlua ([%d.]+)", {}
    for path in sh "ls README.md docs/*.md docs/[!g]*/*.md":gmatch "%S+" do
      for quoted in read(path):gmatch "pmlua (%d+%.%d+%.%d+)" do
        if quoted ~= version then old[#old + 1] = path .. ": " .. quoted end
      end
    end
    assert.same({}, old)
  end)

  it("lists all variables and functions of the theme that scripts of figures use", function()
    local said, missing, n = read "docs/how/paper.md", {}, 0
    local scripts = sh "cat $(ls plots/*.gp | grep -v /theme.gp)"
    local function look(name)
      n = n + 1
      if not said:find("`" .. name .. "[`(]") then missing[#missing + 1] = name end
    end
    for name in ("\n" .. read "plots/theme.gp"):gsub("; ", "\n"):gmatch "\n([%l_]+)%f[ (][^\n=]-= ?[^\n]" do
      if name ~= "if" and name ~= "do" and scripts:find("%f[%w_]" .. name .. "%f[^%w_]") then look(name) end
    end
    for name in read "lua/pmlua/plot.lua":gmatch 'set%("(run_[%l_]+)"' do look(name) end
    assert.same({}, missing)
    assert.is_true(n > 30, n)
  end)

  it("leaves few blocks unrun, each with its reason", function()
    local n = 0
    for path in sh "ls README.md docs/*.md docs/*/*.md":gmatch "%S+" do
      for _, block in ipairs(page.blocks(read(path))) do
        n = n + (block.marks["not run"] and 1 or 0)
        assert.not_equal("", block.marks["not run"], path)
      end
    end
    assert.is_true(n <= 20, n)
  end)
end)
