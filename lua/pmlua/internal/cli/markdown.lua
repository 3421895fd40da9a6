-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/markdown.lua - the verbs as the documentation has them, from their tables.
--
-- Try:  pmlua help --markdown stat

local code = require "pmlua.internal.reference.markdown".code
local text = require "pmlua.internal.cli.text"
local verb = require "pmlua.internal.cli.verb"

local M = {}

local function cell(s) return (s:gsub("|", "\\|"):gsub("<", "&lt;"):gsub("%*", "\\*"):gsub("_", "\\_")) end

local function prose(s)
  local parts = {}
  for paragraph in ((s or ""):gsub("%s+$", "") .. "\n\n"):gmatch "(.-)\n\n+" do
    local table_of = ("\n" .. paragraph):find "\n  "
    parts[#parts + 1] = table_of and "```text\n" .. paragraph .. "\n```" or cell(paragraph)
  end
  return table.concat(parts, "\n\n")
end

local function options(list)
  local lines = { "| option | what |", "| --- | --- |" }
  for _, option in ipairs(list) do
    lines[#lines + 1] = ("| %s | %s |"):format(code(text.label(option)), cell(text.about(option)))
  end
  return table.concat(lines, "\n")
end

--- A verb's section.
---@param v pmlua.Verb
function M.verb(v)
  local examples = {}
  for i, example in ipairs(v.examples) do examples[i] = text.example(example) end
  local parts = { ("## pmlua %s"):format(v.name), cell(v.summary:sub(1, 1):upper() .. v.summary:sub(2)) .. ".",
    "```text\npmlua " .. table.concat(text.usage(v), "\npmlua ") .. "\n```" }
  if v.about then parts[#parts + 1] = prose(v.about) end
  if v.options and #v.options > 0 then parts[#parts + 1] = options(v.options) end
  if v.notes then parts[#parts + 1] = prose(v.notes) end
  parts[#parts + 1] = "```sh\n" .. table.concat(examples, "\n") .. "\n```"
  return table.concat(parts, "\n\n") .. "\n"
end

--- The table of all verbs.
function M.verbs()
  local lines = { "| verb | what |", "| --- | --- |" }
  for _, name in ipairs(verb.names()) do
    lines[#lines + 1] = ("| %s | %s |"):format(code(name), cell(verb.load(name).summary))
  end
  return table.concat(lines, "\n") .. "\n"
end

--- All verbs, a section each.
function M.all()
  local parts = { "# The verbs of pmlua\n\n" .. M.verbs() }
  for _, name in ipairs(verb.all()) do parts[#parts + 1] = M.verb(verb.load(name)) end
  return table.concat(parts, "\n")
end

return M
