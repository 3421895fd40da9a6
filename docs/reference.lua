-- SPDX-License-Identifier: BSD-3-Clause
-- docs/reference.lua - writes the reference: the Lua API from its annotations, the verbs from their tables, the environment
-- variables, the C functions from their headers; and the menu of the site. Nothing of it is edited or kept: it is made where
-- it is read.
--
-- Try:  make docs

local lfs = require "lfs"
local experiment = require "pmlua.internal.cli.experiment".verb
local file = require "pmlua.internal.file"
local headers = require "headers"
local markdown = require "pmlua.internal.reference.markdown"
local model = require "pmlua.internal.reference.model".load()
local page = require "pmlua.internal.reference.page"
local verb = require "pmlua.internal.cli.verb"
local verbs = require "pmlua.internal.cli.markdown"

local folder = (... or "build/docs") .. "/reference"

local MADE = "\n<!-- made by docs/reference.lua -->\n"

local function write(path, text)
  local made = ""
  for part in (folder .. "/" .. path):match "^(.*)/":gmatch "[^/]*" do
    made = made .. part .. "/"
    lfs.mkdir(made)
  end
  assert(file.write(folder .. "/" .. path, text .. MADE))
end

local menu = { api = {}, c = {}, verbs = {} }

--- The lines of a menu for a folder of pages: those that its index links to, in that order, by their titles.
local function chapter(title, of)
  local index = assert(file.read(("docs/%s/index.md"):format(of)))
  local lines = { "  - " .. title .. ":", ("    - %s/index.md"):format(of) }
  for path in index:gmatch "%]%(([%w_-]+%.md)%)" do lines[#lines + 1] = ("    - %s/%s"):format(of, path) end
  return table.concat(lines, "\n")
end

local function anchor(class)
  local name = model.of[class]
  return name and ("%s.md#%s"):format(name, class)
end

local function write_api()
  local rows = {}
  for i, name in ipairs(model.names) do
    local module = model.modules[name]
    write("api/" .. name .. ".md", markdown.page(page.of_module(module), anchor))
    menu.api[i] = ("      - %s: reference/api/%s.md"):format(module.class.name, name)
    rows[i] = { ("[`%s`](api/%s.md)"):format(module.class.name, name), (page.summary(module):gsub("|", "\\|")) }
  end
  return markdown.table({ "Module", "What" }, rows)
end

local function write_verbs()
  local rows = {}
  for _, name in ipairs(verb.all()) do
    local path = name:gsub(" ", "-") .. ".md"
    local v = verb.load(name)
    write("verbs/" .. path, (verbs.verb(v):gsub("^## ", "# ")))
    menu.verbs[#menu.verbs + 1] = ("      - pmlua %s: reference/verbs/%s"):format(name, path)
    rows[#rows + 1] = { ("[`pmlua %s`](verbs/%s)"):format(name, path), (v.summary:gsub("|", "\\|")) }
  end
  write("verbs/experiment.md", (verbs.verb(experiment):gsub("^## ", "# ")))
  rows[#rows + 1] = { "[`pmlua SCRIPT.lua`](verbs/experiment.md)", experiment.summary }
  menu.verbs[#menu.verbs + 1] = "      - pmlua SCRIPT.lua: reference/verbs/experiment.md"
  return markdown.table({ "Verb", "What" }, rows)
end

local function escaped(s)
  s = s:gsub("[\\`*_%[%]]", "\\%0"):gsub("&", "&amp;"):gsub("<", "&lt;")
  return (s:gsub("@([%w\\_]+)", function(name) return "`" .. name:gsub("\\", "") .. "`" end))
end

--- Convert the comment of a header to Markdown.
local function prose_of(text)
  local parts = {}
  for _, part in ipairs(headers.parts(text)) do
    parts[#parts + 1] = part.kind == "code" and "```c\n" .. part.text .. "\n```"
      or part.kind == "entry" and ("**%s**: %s"):format(escaped(part.name), escaped(part.text))
      or part.kind == "point" and "- " .. escaped(part.text):gsub("\n", "\n  ") or escaped(part.text)
  end
  return table.concat(parts, "\n\n")
end

local function write_c()
  local rows = {}
  for _, family in ipairs(headers.families()) do
    local parts = { "# " .. family.name, family.summary:sub(1, 1):upper() .. escaped(family.summary:sub(2)) .. ".",
      ("`#include %s`; `man %s` has the same."):format(family.include, family.name), prose_of(family.about) }
    for _, item in ipairs(family.items) do
      if item.code ~= "" then parts[#parts + 1] = "```c\n" .. item.code .. "\n```" end
      if item.prose then parts[#parts + 1] = prose_of(item.prose) end
    end
    write("c/" .. family.name .. ".md", table.concat(parts, "\n\n") .. "\n")
    menu.c[#menu.c + 1] = ("      - %s: reference/c/%s.md"):format(family.name, family.name)
    rows[#rows + 1] = { ("[`%s`](c/%s.md)"):format(family.name, family.name), escaped(family.summary) }
  end
  return markdown.table({ "Family", "What" }, rows)
end

write("environment.md", require "pmlua.internal.cli.environment".markdown())
write("index.md", table.concat({
  "# Reference",
  "The same text is in the terminal: `pmlua help api NAME`, `pmlua help VERB`, `pmlua help environment`. Editors with the Lua "
    .. "language server complete from the annotations that it is made of.",
  "## The Lua API", write_api(),
  "## The verbs of the command", write_verbs(),
  "## The C functions",
  "The headers say this; `make install` installs it as manual pages of section 3, too, a page for each family.", write_c(),
  "## More", "- [Environment variables](environment.md)",
}, "\n\n") .. "\n")

-- As much of mkdocs.yml as depends on what there is.
assert(file.write(folder:gsub("/reference$", "/nav.yml"), table.concat({
  "nav:", "  - index.md", "  - getting-started.md", "  - packages.md", chapter("How do I ...", "how"),
  chapter("Concepts", "concepts"), chapter("Experiments", "experiments"), "  - figures.md", "  - Reference:",
  "    - reference/index.md", "    - stability.md", "    - formats.md", "    - log.md",
  "    - Lua API:", table.concat(menu.api, "\n"), "    - Verbs:", table.concat(menu.verbs, "\n"),
  "    - C functions:", table.concat(menu.c, "\n"),
  "    - reference/environment.md",
}, "\n") .. "\n"))
