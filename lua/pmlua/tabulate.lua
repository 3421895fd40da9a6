-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/tabulate.lua - a table for people: columns aligned, numbers to the right with as many digits as say something.
--
-- Try:  print(require("pmlua.tabulate")({"path", "ns"}, {{"page", 12.345}, {"read", 1234.5}}))

local M = {}

--- A number to four significant digits, never in scientific notation for what people count in.
---@param v number?
---@return string
function M.number(v)
  if v == nil or v ~= v then return "-" end
  if math.type(v) == "integer" then return ("%d"):format(v) end
  local size = math.abs(v)
  if size >= 1000 and size < 1e15 then return ("%.0f"):format(v) end
  if size >= 0.001 and size < 1000 then
    local digits = 3 - math.floor(math.log(size, 10))
    return ("%.*f"):gsub("%*", tostring(math.min(digits, 3))):format(v)
  end
  return ("%.4g"):format(v)
end

local function text_of(v)
  if type(v) == "number" then return M.number(v) end
  return v == nil and "-" or tostring(v)
end

local function pad(text, width, right)
  local blanks = (" "):rep(width - (utf8.len(text) or #text))
  return right and blanks .. text or text .. blanks
end

--- Lines of text; a column is aligned to the right when all it holds are numbers.
---@param names string[]
---@param rows any[][]
---@return string
function M.table(names, rows)
  local cells, width, right = { names }, {}, {}
  for i, name in ipairs(names) do width[i], right[i] = utf8.len(name) or #name, true end
  for r, row in ipairs(rows) do
    cells[r + 1] = {}
    for i = 1, #names do
      local text = text_of(row[i])
      cells[r + 1][i] = text
      width[i] = math.max(width[i], utf8.len(text) or #text)
      right[i] = right[i] and (row[i] == nil or type(row[i]) == "number")
    end
  end
  local lines = {}
  for r, row in ipairs(cells) do
    local parts = {}
    for i = 1, #names do parts[i] = pad(row[i], width[i], right[i]) end
    lines[r] = table.concat(parts, "  "):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

return setmetatable(M, { __call = function(_, ...) return M.table(...) end })
