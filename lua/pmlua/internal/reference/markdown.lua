-- SPDX-License-Identifier: BSD-3-Clause
--- The pages of the reference in Markdown, with anchors and links, and tables aligned.
--
--     pmlua help --markdown api pml.clock

local page = require "pmlua.internal.reference.page"

local M = {}

local TITLES = { parameters = "Parameter", returns = "Returns", fields = "Field" }

local function escaped(text) return (text:gsub("|", "\\|")) end

local function width(text) return utf8.len(text) or #text end

--- Code in a cell of a table. In backquotes a "|" needs a backslash for some readers of Markdown, which others show.
function M.code(text)
  if not text:find "|" then return "`" .. text .. "`" end
  return "<code>" .. text:gsub("[&<>|]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ["|"] = "&#124;" }) .. "</code>"
end

-- A type that is one class is a link to where it is explained.
local function type_of(row, link)
  local name = row.type:match "^(pmlua?%.[%w_.]+)[%[%]]*$"
  local target = name and link(name)
  local code = M.code(page.type(row))
  return target and ("[%s](%s)"):format(code, target) or code
end

--- A table with its columns aligned in the text.
function M.table(head, rows)
  local widths, lines = {}, {}
  for i, title in ipairs(head) do widths[i] = math.max(3, width(title)) end
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i], width(cell)) end
  end
  local function line(row)
    local cells = {}
    for i, cell in ipairs(row) do cells[i] = cell .. (" "):rep(i < #row and widths[i] - width(cell) or 0) end
    return "| " .. table.concat(cells, " | ") .. " |"
  end
  local rule = {}
  for i = 1, #head do rule[i] = ("-"):rep(i < #head and widths[i] or 3) end
  lines[1], lines[2] = line(head), line(rule)
  for _, row in ipairs(rows) do lines[#lines + 1] = line(row) end
  return table.concat(lines, "\n")
end

local function rows_of(block, link)
  local rows = {}
  for i, row in ipairs(block.rows) do
    rows[i] = { row.name and "`" .. row.name .. "`" or "", type_of(row, link), escaped(row.about) }
  end
  return M.table({ TITLES[block.title], "Type", "What" }, rows)
end

--- Blocks as Markdown.
---@param blocks pmlua.reference.Block[]
---@param link? fun(class: string): string? where a class is explained
function M.page(blocks, link)
  local parts = {}
  for _, block in ipairs(blocks) do
    if block.kind == "heading" then
      parts[#parts + 1] = ('<a id="%s"></a>'):format(block.anchor)
      parts[#parts + 1] = ("%s `%s`"):format(("#"):rep(block.level), block.text)
    elseif block.kind == "code" then
      parts[#parts + 1] = "```lua\n" .. block.text .. "\n```"
    elseif block.kind == "rows" then
      parts[#parts + 1] = rows_of(block, link or function() end)
    else
      parts[#parts + 1] = block.text
    end
  end
  return table.concat(parts, "\n\n") .. "\n"
end

return M
