-- SPDX-License-Identifier: BSD-3-Clause
-- docs/reference.lua - the reference in Markdown: the Lua API from its annotations, the verbs from their tables, the environment
-- variables, and the C functions from their headers.
--
-- Try:  pmlua -e 'package.path = "docs/?.lua;" .. package.path; print(require "reference"["reference/c/pml_clock.md"])'

local experiment = require "pmlua.internal.cli.experiment".verb
local headers = require "headers"
local markdown = require "pmlua.internal.reference.markdown"
local model = require "pmlua.internal.reference.model".load()
local page = require "pmlua.internal.reference.page"
local verb = require "pmlua.internal.cli.verb"
local verbs = require "pmlua.internal.cli.markdown"

local pages = {}

local function anchor(class)
  local name = model.of[class]
  return name and ("%s.md#%s"):format(name, class)
end

local function write_api()
  local rows = {}
  for i, name in ipairs(model.names) do
    local module = model.modules[name]
    pages["reference/api/" .. name .. ".md"] = markdown.page(page.of_module(module), anchor)
    rows[i] = { ("[`%s`](api/%s.md)"):format(module.class.name, name), (page.summary(module):gsub("|", "\\|")) }
  end
  return markdown.table({ "Module", "What" }, rows)
end

local function write_verbs()
  local rows = {}
  for _, name in ipairs(verb.all()) do
    local path = "verbs/" .. name:gsub(" ", "-") .. ".md"
    local v = verb.load(name)
    pages["reference/" .. path] = verbs.verb(v):gsub("^## ", "# ")
    rows[#rows + 1] = { ("[`pmlua %s`](%s)"):format(name, path), (v.summary:gsub("|", "\\|")) }
  end
  pages["reference/verbs/experiment.md"] = verbs.verb(experiment):gsub("^## ", "# ")
  rows[#rows + 1] = { "[`pmlua SCRIPT.lua`](verbs/experiment.md)", experiment.summary }
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
      for _, name in ipairs(item.functions) do parts[#parts + 1] = ('<a id="%s"></a>'):format(name) end
      if item.code ~= "" then parts[#parts + 1] = "```c\n" .. item.code .. "\n```" end
      if item.prose then parts[#parts + 1] = prose_of(item.prose) end
    end
    pages["reference/c/" .. family.name .. ".md"] = table.concat(parts, "\n\n") .. "\n"
    rows[#rows + 1] = { ("[`%s`](c/%s.md)"):format(family.name, family.name), escaped(family.summary) }
  end
  return markdown.table({ "Family", "What" }, rows)
end

pages["reference/environment.md"] = require "pmlua.internal.cli.environment".markdown()
pages["reference/index.md"] = table.concat({
  "# Reference",
  "The terminal has the same text: `pmlua help api NAME`, `pmlua help VERB`, `pmlua help environment`, `man pml_eventset`. "
    .. "Editors with the Lua language server complete names from the same annotations.",
  "- [Environment variables](environment.md)\n- [Stability](../stability.md)\n- [Files](../formats.md)\n- [The log](../log.md)\n"
    .. "- [The protocol](../protocol.md)",
  "## Lua API", write_api(),
  "## Verbs", write_verbs(),
  "## C functions", write_c(),
}, "\n\n") .. "\n"

return pages
