-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/docs_spec.lua - the pages of docs/ are followed to the letter: each script is saved, each command typed, and what
-- they print begins as the page says.

package.path = "spec/?.lua;" .. package.path
local shell = require "shell"
local sh, write = shell.sh, shell.write

local build = os.getenv("PMLUA_BUILD") or "build"

-- What has been done by those who run a spec.
local DONE_BEFORE = { "^make run" }

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read("a")
end

--- The blocks of a page: { language, text }.
local function blocks(page)
  local list = {}
  for language, text in page:gmatch "\n```(%w+)\n(.-)```" do list[#list + 1] = { language, text } end
  return list
end

--- Numbers differ from run to run: a line is known by its words.
local function words(line)
  local list = {}
  for word in line:gmatch "%a[%w_]+" do list[#list + 1] = word end
  return table.concat(list, " ")
end

local function printed(out, line)
  for one in out:gmatch "[^\n]+" do
    if words(one) == words(line) then return true end
  end
end

describe("The pages of docs/", function()
  local root, dir

  setup(function()
    root, dir = sh("pwd"):gsub("%s+$", ""), sh("mktemp -d"):gsub("%s+$", "")
  end)

  teardown(function() sh("rm -rf " .. dir) end)

  -- The last command's output, which a block of text below it shows.
  local function follow(page)
    local out, commands, scripts, shown = "", 0, 0, 0
    local path = ("%s/%s"):format(build:find "^/" and "" or root, build)
    for _, block in ipairs(blocks(read(page))) do
      local language, text = table.unpack(block)
      if language == "lua" then
        write(dir .. "/" .. assert(text:match "^%-%- ([%w_]+%.lua)\n", page .. ": a script without a name"), text)
        scripts = scripts + 1
      elseif language == "sh" then
        for line in text:gmatch "[^\n]+" do
          if not line:find(DONE_BEFORE[1]) then
            local status
            out, status = sh(("cd %s && PATH=%s:$PATH && %s"):format(dir, path, line))
            assert.equal(0, status, ("%s: %s: %s"):format(page, line, out))
            commands = commands + 1
          end
        end
      elseif language == "text" then
        local first = text:match "^[^\n]*"
        assert.truthy(printed(out, first), ("%s: '%s' is not in: %s"):format(page, first, out))
        shown = shown + 1
      end
    end
    return commands, scripts, shown
  end

  it("show commands and scripts that work", function()
    local commands, scripts, shown = follow "docs/getting-started.md"
    assert.is_true(commands >= 10 and scripts == 2 and shown >= 5)
    assert.is_true(follow "docs/index.md" >= 4)
    commands, scripts = follow "docs/figures.md"
    assert.same({ 1, 1 }, { commands, scripts })
  end)

  it("say which files a run leaves", function()
    local said = {}
    for name in read("docs/formats.md"):gmatch "`([%w.]+)`" do said[name] = true end
    local left = 0
    for name in io.popen(("ls %s/results/first_touch/latest/"):format(dir)):lines() do
      assert.truthy(said[name] or name == "traces", name)
      left = left + 1
    end
    assert.is_true(left > 8)
  end)
end)
