-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/tabulate.lua - a table as text: columns aligned, numbers to the right, with four significant digits.
--
-- Try:  print(require("pmlua.tabulate")({"path", "ns"}, {{"page", 12.345}, {"read", 1234.5}}))

local dat = require "pmlua.internal.dat"
local printable = require "pmlua.internal.printable"

---@class pml.tabulate
---@overload fun(names: string[], rows: any[][], fd?: integer, exact?: integer): string
local M = {}

--- A number to four significant digits, without an exponent in the usual range.
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

local function text_of(v, exact)
  if type(v) == "number" then return exact and dat.number(v) or M.number(v) end
  return v == nil and "-" or tostring(v)
end

local function width_of(text) return utf8.len(text) or #text end

local function pad(text, width, right)
  local blanks = (" "):rep(width - width_of(text))
  return right and blanks .. text or text .. blanks
end

--- A text of at most `width` characters, cut in the middle, because names differ at their ends.
---@param text string
---@param width integer at least 5
---@return string
function M.cut(text, width)
  local n = width_of(text)
  if n <= width then return text end
  local left = (width - 2) // 2
  local right = width - 3 - left
  if not utf8.len(text) then return text:sub(1, left) .. "..." .. text:sub(-right) end
  return text:sub(1, utf8.offset(text, left + 1) - 1) .. "..." .. text:sub(utf8.offset(text, -right))
end

--- The width limit of a table: the terminal's width; no limit if the file is not a terminal, so that programs get full names.
---@param fd integer? 1 standard output, 2 standard error; nil: a file, or text that goes elsewhere
---@return integer
function M.columns(fd) return fd and require "pmlua.core".sys.columns(fd) or math.maxinteger end

-- The widest columns of text give way, none below some letters; numbers are never cut. Where that is not enough and
-- columns go below each other, names need no more than a part of the line.
local least, gap = 12, 2

local function fit(width, right, most)
  local sum, whole = -gap, table.move(width, 1, #width, 1, {})
  for _, w in ipairs(width) do sum = sum + w + gap end
  while sum > most do
    local widest
    for i, w in ipairs(width) do
      if not right[i] and w > least and (not widest or w > width[widest]) then widest = i end
    end
    if not widest then
      for i, w in ipairs(whole) do width[i] = right[i] and w or math.min(w, math.max(most // 3, least)) end
      return
    end
    width[widest], sum = width[widest] - 1, sum - 1
  end
end

-- Columns of names stand at the left of every block.
local function names_of(width, right, most)
  local n, sum = 1, width[1] or 0
  while width[n + 2] and not right[n + 1] and sum + gap + width[n + 1] <= most // 2 do
    n = n + 1
    sum = sum + gap + width[n]
  end
  return n, sum
end

--- Columns as blocks that fit, which stand below each other: where no column can give way any more.
---@return integer[][]
local function blocks_of(width, right, most)
  local n, names = names_of(width, right, most)
  local list, sum = {}, math.maxinteger
  for i = n + 1, #width do
    if sum > most - gap - width[i] then
      list[#list + 1], sum = {}, names
      for k = 1, n do list[#list][k] = k end
    end
    table.insert(list[#list], i)
    sum = sum + gap + width[i]
  end
  return #list > 0 and list or { { 1 } }
end

local function add_block(lines, rows, columns, width, right)
  for _, row in ipairs(rows) do
    local parts = {}
    for k, i in ipairs(columns) do
      if row[i] then parts[k] = pad(right[i] and row[i] or M.cut(row[i], width[i]), width[i], right[i]) end
    end
    lines[#lines + 1] = table.concat(parts, (" "):rep(gap)):gsub("%s+$", "")
  end
end

--- Format rows of text as lines that fit: names are cut, and columns that do not fit form a block below.
---@param rows string[][]
---@param right table<integer, boolean> columns of numbers
---@param fd integer? the file that they are for, as for columns()
---@return string[] lines
function M.align(rows, right, fd)
  local width, lines, most = {}, {}, M.columns(fd)
  local shown = {}
  for r, row in ipairs(rows) do
    shown[r] = {}
    for i, text in ipairs(row) do
      shown[r][i] = printable(text)
      width[i] = math.max(width[i] or 0, width_of(shown[r][i]))
    end
  end
  fit(width, right, most)
  for k, columns in ipairs(blocks_of(width, right, most)) do
    if k > 1 then lines[#lines + 1] = "" end
    add_block(lines, shown, columns, width, right)
  end
  return lines
end

--- Text in lines that fit, broken between words.
---@param text string
---@param indent integer blanks before every line but the first, which has as much before it already
---@param fd integer?
---@return string
function M.wrap(text, indent, fd)
  local columns = M.columns(fd)
  if width_of(text) <= columns - indent then return text end
  local most = math.max(columns - indent, 20)
  local lines, line = {}, nil
  for word in text:gmatch "%S+" do
    if line and width_of(line) + 1 + width_of(word) > most then
      lines[#lines + 1], line = line, word
    else
      line = line and line .. " " .. word or word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. (" "):rep(indent))
end

--- Lines of text; a column is aligned to the right when all it holds are numbers.
---@param names string[]
---@param rows any[][]
---@param fd integer? the file that the table is for, as for columns(): on a terminal it fits
---@param exact integer? in so many first columns, numbers have all their digits, because rows differ in them
---@return string
function M.table(names, rows, fd, exact)
  local cells, right = { {} }, {}
  for i, name in ipairs(names) do cells[1][i], right[i] = name, true end
  for r, row in ipairs(rows) do
    cells[r + 1] = {}
    for i = 1, #names do
      cells[r + 1][i] = text_of(row[i], i <= (exact or 0))
      right[i] = right[i] and (row[i] == nil or type(row[i]) == "number")
    end
  end
  return table.concat(M.align(cells, right, fd), "\n")
end

return setmetatable(M, { __call = function(_, ...) return M.table(...) end })
