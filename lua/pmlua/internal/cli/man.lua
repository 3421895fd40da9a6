-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/man.lua - the page of a verb for man(1), from its table.
--
-- Try:  pmlua help --man stat | man -l -

local text = require "pmlua.internal.cli.text"

local M = {}

--- Text as roff prints it: hyphens that can be copied, no requests by accident.
local function roff(s)
  s = s:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (s:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

--- Prose: fill paragraphs, and keep indented lines unchanged.
local function prose(lines, s)
  for paragraph in ((s or ""):gsub("%s+$", "") .. "\n\n"):gmatch "(.-)\n\n+" do
    local table_of = ("\n" .. paragraph):find "\n  "
    lines[#lines + 1] = table_of and ".PP\n.nf" or ".PP"
    lines[#lines + 1] = roff(paragraph)
    if table_of then lines[#lines + 1] = ".fi" end
  end
end

local function options(lines, list)
  for _, option in ipairs(list) do
    lines[#lines + 1] = ".TP"
    lines[#lines + 1] = ".B " .. roff(text.label(option))
    lines[#lines + 1] = roff(text.about(option)) .. "."
  end
end

local function example(lines, verb)
  lines[#lines + 1] = ".SH EXAMPLES\n.nf"
  for _, one in ipairs(verb.examples) do lines[#lines + 1] = roff(text.example(one)) end
  lines[#lines + 1] = ".fi"
end

--- The name of a verb's page: pmlua-stat, pmlua-wrap-init.
function M.name(name) return "pmlua-" .. name:gsub(" ", "-") end

--- The page.
function M.page(verb)
  local name, forms = M.name(verb.name), {}
  for i, form in ipairs(text.usage(verb)) do forms[i] = ".B pmlua " .. roff(form) end
  local lines = {
    (".TH %s 1 \"\" \"pmlua %s\" \"User Commands\""):format(name:upper(), require "pmlua.core".version),
    ".SH NAME", ("%s \\- %s"):format(roff(name), roff(verb.summary)),
    ".SH SYNOPSIS", table.concat(forms, "\n.br\n"), ".SH DESCRIPTION",
  }
  prose(lines, verb.about)
  if verb.options and #verb.options > 0 then
    lines[#lines + 1] = ".SH OPTIONS"
    options(lines, verb.options)
  end
  for _, inner in ipairs(verb.verbs or {}) do
    lines[#lines + 1] = (".TP\n.BR %s (1)\n%s."):format(roff(M.name(verb.name .. " " .. inner)),
      roff(require("pmlua.internal.cli.verb").load(verb.name .. " " .. inner).summary))
  end
  if verb.notes then
    lines[#lines + 1] = ".SH NOTES"
    prose(lines, verb.notes)
  end
  example(lines, verb)
  lines[#lines + 1] = ".SH SEE ALSO\n.BR pmlua (1)\n"
  return table.concat(lines, "\n")
end

--- The section of pmlua(1) on verbs: the summary of each, and its man page.
function M.verbs()
  local verb, lines = require "pmlua.internal.cli.verb", {}
  for _, name in ipairs(verb.names()) do
    lines[#lines + 1] = (".TP\n.B %s\n%s; see\n.BR %s (1)."):format(roff(name), roff(verb.load(name).summary), roff(M.name(name)))
  end
  return table.concat(lines, "\n") .. "\n"
end

--- The section of pmlua(1) on environment variables.
function M.environment()
  local environment, lines = require "pmlua.internal.cli.environment", {}
  for _, group in ipairs(environment.groups) do
    for _, variable in ipairs(group.variables) do
      lines[#lines + 1] = (".TP\n.B %s\n%s."):format(roff(variable.name), roff(variable.about))
    end
  end
  lines[#lines + 1] = ".PP\n" .. roff(environment.NOTE)
  return table.concat(lines, "\n") .. "\n"
end

--- pmlua(1) from its text, with what the tables say in the places of @VERBS@, @EXPERIMENT@
--- and @ENVIRONMENT@, and the version for @VERSION@.
function M.main(template)
  local lines = {}
  options(lines, require("pmlua.internal.cli.experiment").common)
  local parts = { VERBS = M.verbs(), EXPERIMENT = table.concat(lines, "\n") .. "\n", ENVIRONMENT = M.environment() }
  return (template:gsub("@VERSION@", require "pmlua.core".version):gsub("@(%u+)@\n", parts))
end

--- Write all pages into a folder that is there.
---@param template string file of pmlua(1)
function M.write(template, dir)
  local file, verb = require "pmlua.internal.file", require "pmlua.internal.cli.verb"
  assert(file.write(dir .. "/pmlua.1", M.main(assert(file.read(template)))))
  for _, name in ipairs(verb.all()) do
    assert(file.write(("%s/%s.1"):format(dir, M.name(name)), M.page(verb.load(name))))
  end
end

return M
