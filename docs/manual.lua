-- SPDX-License-Identifier: BSD-3-Clause
-- docs/manual.lua - the manual pages of section 3, a page for each family of C functions, from their headers; and a page of
-- each function that leads there.
--
-- Try:  pmlua docs/manual.lua build/man && man -l build/man/pml_eventset.3

local core = require "pmlua.core"
local file = require "pmlua.internal.file"
local headers = require "headers"

local folder = ... or "build/man"

local function roff(s)
  s = s:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("@([%a_][%w_]*)", "\\fI%1\\fP")
  return (s:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

local function preformatted(lines, code)
  lines[#lines + 1] = ".PP\n.in +4n\n.nf\n" .. roff(code) .. "\n.fi\n.in"
end

--- Format prose. Paragraphs that begin with a function's name describe this function; indented lines are code.
local function prose(lines, text)
  for _, part in ipairs(headers.parts(text)) do
    if part.kind == "code" then
      preformatted(lines, part.text)
    elseif part.kind == "entry" then
      lines[#lines + 1] = ".TP\n.B " .. roff(part.name) .. "\n" .. roff(part.text)
    elseif part.kind == "point" then
      lines[#lines + 1] = ".IP \\(bu 2\n" .. roff(part.text)
    else
      lines[#lines + 1] = ".PP\n" .. roff(part.text)
    end
  end
end

local function names_of(family)
  local names = {}
  for _, item in ipairs(family.items) do table.move(item.functions, 1, #item.functions, #names + 1, names) end
  return names
end

local function synopsis(family)
  local lines = { ".SH SYNOPSIS\n.nf\n.B #include " .. family.include }
  local link = family.name == "pmlua" and "pmlua-embed" or "pmlua"
  lines[#lines + 1] = ".PP\nLink with $(pkg\\-config \\-\\-cflags \\-\\-libs " .. roff(link) .. ")\n.fi"
  return table.concat(lines, "\n")
end

--- The page of a family.
local function page(family, families)
  local names = names_of(family)
  local known = table.concat(names, ", ")
  local lines = {
    (".TH %s 3 \"\" \"pmlua %s\" \"Library Functions\""):format(family.name:upper(), core.version),
    ".SH NAME", ("%s%s \\- %s"):format(family.name, known ~= "" and ", " .. known or "", roff(family.summary)),
    synopsis(family), ".SH DESCRIPTION",
  }
  prose(lines, family.about ~= "" and family.about or family.summary:sub(1, 1):upper() .. family.summary:sub(2) .. ".")
  for _, item in ipairs(family.items) do
    if item.code ~= "" then preformatted(lines, item.code) end
    if item.prose then prose(lines, item.prose) end
  end
  local also = {}
  for i, other in ipairs(families) do also[i] = other ~= family and ".BR " .. other.name .. " (3)" or nil end
  local list = {}
  for i = 1, #families do list[#list + 1] = also[i] end
  lines[#lines + 1] = ".SH SEE ALSO\n.BR pmlua (1)\n" .. table.concat(list, "\n") .. "\n"
  return table.concat(lines, "\n")
end

local families = headers.families()
for _, family in ipairs(families) do
  assert(file.write(("%s/%s.3"):format(folder, family.name), page(family, families)))
  for _, name in ipairs(names_of(family)) do
    if name ~= family.name then assert(file.write(("%s/%s.3"):format(folder, name), ".so man3/" .. family.name .. ".3\n")) end
  end
end
