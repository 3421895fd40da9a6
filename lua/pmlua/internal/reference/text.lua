-- SPDX-License-Identifier: BSD-3-Clause
--- The pages of the reference for a terminal.
--
--     pmlua help api pml.clock

local page = require "pmlua.internal.reference.page"

local M = {}

local TITLES = { parameters = "takes", returns = "returns", fields = "fields" }
local WIDTH, LABEL = 100, 34 -- characters of a line, and of the widest label that has text beside it

--- Wrap text into lines, each indented by this many blanks.
function M.wrapped(text, indent)
  local lines, line = {}, ""
  for word in text:gmatch "%S+" do
    if line ~= "" and utf8.len(line) + 1 + (utf8.len(word) or #word) > WIDTH - indent then
      lines[#lines + 1] = line
      line = ""
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return (" "):rep(indent) .. table.concat(lines, "\n" .. (" "):rep(indent))
end

local function prose(text, indent)
  local parts = {}
  for paragraph in (text .. "\n\n"):gmatch "(.-)\n\n+" do parts[#parts + 1] = M.wrapped(paragraph, indent) end
  return (table.concat(parts, "\n\n"):gsub("`", ""))
end

local function rows(block, indent)
  local lines = { (" "):rep(indent) .. TITLES[block.title] .. ":" }
  for _, row in ipairs(block.rows) do
    local label = (row.name and row.name .. "  " or "") .. page.type(row)
    local about = row.about ~= "" and M.wrapped((row.about:gsub("`", "")), indent + LABEL + 4) or nil
    label = (" "):rep(indent + 2) .. label
    if about and #label < indent + LABEL + 3 then label, about = label .. about:sub(#label + 1), nil end
    lines[#lines + 1] = label
    lines[#lines + 1] = about
  end
  return table.concat(lines, "\n")
end

--- Blocks as text.
---@param blocks pmlua.reference.Block[]
function M.page(blocks)
  local parts, indent = {}, 0
  for _, block in ipairs(blocks) do
    if block.kind == "heading" then
      indent = block.level == 1 and #blocks > 12 and 0 or 2
      parts[#parts + 1] = block.text
    elseif block.kind == "code" then
      parts[#parts + 1] = (" "):rep(indent + 4) .. block.text:gsub("\n", "\n" .. (" "):rep(indent + 4))
    elseif block.kind == "rows" then
      parts[#parts + 1] = rows(block, indent)
    else
      parts[#parts + 1] = prose(block.text, indent)
    end
  end
  return table.concat(parts, "\n\n") .. "\n"
end

--- The modules, with the first sentence of each.
function M.modules(model)
  local lines = {}
  for _, name in ipairs(model.names) do
    local module = model.modules[name]
    lines[#lines + 1] = ("  %-16s %s"):format(module.class.name,
      M.wrapped((page.summary(module):gsub("`", "")), 19):sub(20))
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
