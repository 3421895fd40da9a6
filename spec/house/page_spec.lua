-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/page_spec.lua - tests of spec/page.lua, which follows the documentation's pages: it finds their mistakes.

local support = require "spec.core.support"
local page = require "spec.page"
local shell = require "spec.shell"

describe("Following a page", function()
  local dir = support.folder()

  local function follow(text)
    shell.write(dir .. "/page.md", text)
    local done, why = page.follow(dir .. "/page.md", dir)
    shell.sh("rm -rf " .. done.dir)
    return done, why
  end

  it("saves files, types commands, and finds their output, with any numbers", function()
    local done, why = follow("# A\n\n```lua\n-- a.lua\nreturn 1\n```\n\n```sh\ncat a.lua\necho median 12.5 ms\n```\n\n"
      .. "```text\n...\nmedian 7 us\n```\n")
    assert.is_nil(why)
    assert.same({ 1, 1, 1 }, { done.files, done.commands, done.texts })
  end)

  it("finds a command that fails, also before the last line of its block", function()
    assert.matches("status 1", (select(2, follow "# A\n\n```sh\nfalse\ntrue\n```\n")))
  end)

  it("finds a line that was not printed, and a number that must be exact", function()
    assert.matches("mean", (select(2, follow "# A\n\n```sh\necho median\n```\n\n```text\nmedian\nmean\n```\n")))
    assert.is_nil(select(2, follow "# A\n\n```sh\necho sum 3\n```\n\n```text\nsum 4\n```\n"))
    assert.matches("sum 4", (select(2, follow "# A\n\n```sh\necho sum 3\n```\n\n<!-- exact -->\n\n```text\nsum 4\n```\n")))
  end)

  it("compares only the first line of a text whose rows depend on the machine", function()
    local text = "# A\n\n```sh\necho head\necho one\n```\n\n%s```text\nhead\ntwo\n```\n"
    assert.is_nil(select(2, follow(text:format "<!-- head -->\n\n")))
    assert.matches("two", (select(2, follow(text:format ""))))
  end)

  it("finds a file that no command uses", function()
    assert.matches("no command uses a.lua", (select(2, follow "# A\n\n```lua\n-- a.lua\nreturn 1\n```\n\n```sh\ntrue\n```\n")))
  end)

  it("finds a script without a name, and leaves out text that is only shown", function()
    assert.matches("without a name", (select(2, follow "# A\n\n```lua\nreturn 1\n```\n")))
    local done, why = follow "# A\n\n<!-- not run: it is an example -->\n\n```sh\nfalse\n```\n"
    assert.is_nil(why)
    assert.equal(0, done.commands)
  end)

  -- The page after M.refresh(), and the failure.
  local function refresh(text)
    shell.write(dir .. "/page.md", text)
    local why = page.refresh(dir .. "/page.md", dir)
    return support.slurp(dir .. "/page.md"), why
  end

  it("writes what the commands print now: figures, whole outputs, rows below a first line", function()
    local text = "# A\n\n```sh\necho 'median 7 us'\necho rest\necho 'sum 4'\n```\n\n%s```text\n%s\n```\n\nEnd.\n"
    for before, after in pairs {
      ["median 12.5 ms"] = "median 7 us", ["median 1 s\n...\nsum 3"] = "median 7 us\n...\nsum 4",
      ["..."] = "median 7 us\nrest\nsum 4",
    } do
      assert.same({ text:format("", after) }, { refresh(text:format("", before)) })
    end
    local head = "<!-- head -->\n\n"
    assert.same({ text:format(head, "median 7 us\nrest") }, { refresh(text:format(head, "median 1 s\nother")) })
    assert.same({ text:format(head, "sum 4") }, { refresh(text:format(head, "sum 3\nother")) })
    local twice = "# A\n\n```sh\nprintf 'sum\\nweak 1\\nsum\\nlong 2\\n'\n```\n\n<!-- head -->\n\n```text\nsum\nlong %d\n```\n"
    assert.same({ twice:format(2) }, { refresh(twice:format(1)) })
    local exact = text:format("<!-- exact -->\n\n", "sum 4")
    assert.same({ exact }, { refresh(exact) })
  end)

  it("leaves a page alone whose listing has another form, or names the folder", function()
    local stale = "# A\n\n```sh\necho sum 4\n```\n\n```text\nmean 3\n```\n"
    local text, why = refresh(stale)
    assert.equal(stale, text)
    assert.matches("'mean 3' is not in", why)
    local place = "# A\n\n```sh\necho $PWD/x sum 4\n```\n\n<!-- head -->\n\n```text\n...\n/home/x sum 3\n```\n"
    assert.same({ place }, { refresh(place) })
  end)

  it("says which command a page needs that is not here", function()
    shell.write(dir .. "/page.md", "# A\n\n<!-- needs: sh no-such-command -->\n")
    assert.equal("no-such-command is not installed", page.lacks(dir .. "/page.md"))
  end)
end)
