-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/dat.lua - text tables that gnuplot plots, people read, and pmlua reads back strictly.
--
-- Try:  print(require("pmlua.internal.dat").format{ title = "demo", columns = {{"n", "", "how many"}}, rows = {{1}, {2}} })
--
--     # pmlua demo
--     # status: complete
--     # column 1: n [] how many
--     n
--     1
--     2
--
-- The names stand in the line before the first row, as gnuplot's columnheader and pandas.read_csv(comment="#", sep=" ") read
-- them. Until version 0.2 this line began with "# ".
-- A column of unit "text" holds words, in which blanks, quotes, %, #, \ and control bytes are %20 and so on, as in a URL ("-" is
-- an empty word): reading restores the written text. Every other column holds numbers, or NaN for a missing value.
-- A row `false` is a break: the rows after it form gnuplot's next `index`.

local refuse = require "pmlua.core".failure.refuse

local M = {}

local function escape(c) return ("%%%02X"):format(c:byte()) end

--- Text as one word of gnuplot and of people's tools; M.text() has it back. Different texts are different words.
function M.word(text)
  text = tostring(text)
  if text == "" then return "-" end
  if text == "-" or text == "NaN" then return escape(text) .. text:sub(2) end
  local word = text:gsub("[%z\1-\32\127\"'#%%\\]", escape)
  if not utf8.len(word) then word = word:gsub("[\128-\255]", escape) end
  return word
end

--- The text that a word stands for.
function M.text(word)
  if word == "-" then return "" end
  return (word:gsub("%%(%x%x)", function(code) return string.char(tonumber(code, 16)) end))
end

--- The shortest of three precisions that reads back as the same number, with a point in every locale. gnuplot reads the
--- text 1e+18 as the integer 1, but not 1.0e+18.
local function number(v)
  if v ~= v then return "NaN" end
  if math.type(v) == "integer" then return ("%d"):format(v) end
  local text = ("%.10g"):format(v)
  if tonumber(text) ~= v then text = ("%.15g"):format(v) end
  if tonumber(text) ~= v then text = ("%.17g"):format(v) end
  if text:find "^-?%d+$" then return text end
  return (text:gsub("[^%w+-]+", "."):gsub("^(-?%d+)e", "%1.0e"))
end
M.number = number

--- A level of a factor as text: no two levels have the same.
---@param v number|string
---@return string
function M.level(v) return type(v) == "number" and number(v) or tostring(v) end

local function field(v, column, where)
  if column.unit == "text" then return M.word(v == nil and "" or v) end
  if v == nil then return "NaN" end
  if type(v) ~= "number" then error(("%s: column %s holds numbers, not %s"):format(where, column.name, type(v)), 0) end
  if v == math.huge or v == -math.huge then return "NaN" end
  return number(v)
end

local function one_line(text) return (tostring(text):gsub("%c+", " ")) end

local function normalise(columns)
  local out = {}
  for i, c in ipairs(columns) do
    out[i] = {
      name = M.word(c.name or c[1]), unit = one_line(c.unit or c[2] or ""):gsub("[%[%]]", ""),
      description = one_line(c.description or c[3] or ""),
    }
  end
  return out
end

---@class pmlua.Table
---@field title string
---@field status? string "complete" (default) or "incomplete"
---@field columns table[] {name=, unit=, description=} or {name, unit, description}
---@field rows (any[]|false)[]

--- A table as text.
---@param t pmlua.Table
function M.format(t)
  local columns, names = normalise(t.columns), {}
  local out = { "# pmlua " .. one_line(t.title), "# status: " .. (t.status or "complete") }
  for i, c in ipairs(columns) do
    out[#out + 1] = ("# column %d: %s [%s] %s"):format(i, c.name, c.unit, c.description):gsub("%s+$", "")
    if names[c.name] then error(("%s: two columns are called %s"):format(one_line(t.title), c.name), 0) end
    names[i], names[c.name] = c.name, true
  end
  out[#out + 1] = table.concat(names, " ")
  for r, row in ipairs(t.rows) do
    if row then
      local fields = {}
      for i, c in ipairs(columns) do fields[i] = field(row[i], c, ("row %d"):format(r)) end
      out[#out + 1] = table.concat(fields, " ")
    else
      out[#out + 1] = "\n"
    end
  end
  return table.concat(out, "\n") .. "\n"
end

--- Whether the line has the names of all columns, which ends the header.
local function names_line(t, line)
  local names = {}
  for i, c in ipairs(t.columns) do names[i] = M.word(c.name) end
  t.complete_header = #names > 0 and line == table.concat(names, " ")
  return t.complete_header
end

local function header_line(t, line)
  local i, name, unit, description = line:match("^# column (%d+): (%S+) %[([^%[%]]*)%]%s*(.*)$")
  if i then
    if tonumber(i) ~= #t.columns + 1 then return ("column %s out of order"):format(i) end
    name = M.text(name)
    if t.position[name] then return ("column %s appears twice"):format(name) end
    t.columns[#t.columns + 1] = { name = name, unit = unit, description = description }
    t.position[name] = #t.columns
    return nil
  end
  local status = line:match("^# status: (%a+)$")
  if status then
    t.status = status
    return nil
  end
  if names_line(t, line:match "^# (.*)$") then
    t.commented = true
    return nil
  end
  return "not a header line of pmlua: " .. line:sub(1, 40)
end

local function value(token, column)
  if column.unit == "text" then return M.text(token) end
  if token == "NaN" then return nil end
  -- tonumber alone would take hexadecimal; "inf" and "nan" it does not take
  local v = token:match("^[-+]?[%d.]+[eE]?[-+]?%d*$") and tonumber(token)
  if not v or v == math.huge or v == -math.huge then return nil, ("column %s: %q is not a number"):format(column.name, token) end
  return v
end

local function data_line(t, line)
  if not t.complete_header then return not names_line(t, line) and "data before the end of the header" or nil end
  local row, i = {}, 0
  for token in line:gmatch("[^ ]+") do
    i = i + 1
    local column = t.columns[i]
    if column then
      local v, err = value(token, column)
      if err then return err end
      row[column.name] = v
    end
  end
  if i ~= #t.columns then return ("%d columns where %d are declared"):format(i, #t.columns) end
  t.rows[#t.rows + 1] = row
end

local function check_bytes(line)
  if line:sub(-1) == "\r" then return "a line ends in CR LF; pmlua writes LF" end
  local at = line:find("[%c\127]")
  if at then return ("byte 0x%02x in a text file"):format(line:byte(at)) end
  if not utf8.len(line) then return "not UTF-8 text" end
end

--- Read text that `format` made.
---@param name string file name for errors
---@return {title: string, status: string, columns: table[], position: table<string, integer>, rows: table[],
---  commented: boolean?}? table rows by column name; a value that is NaN in the file is nil; commented: by version 0.1
---@return pmlua.Failure? failure "file:line: what"
function M.parse(text, name)
  local t = { columns = {}, position = {}, rows = {} }
  local number_of_line = 0
  local function fail(what) return refuse("EFORMAT", ("%s:%d: %s"):format(name, math.max(number_of_line, 1), what)) end
  if #text > 0 and text:sub(-1) ~= "\n" then return fail "cut short: the last line has no newline" end
  for line in text:gmatch("(.-)\n") do
    number_of_line = number_of_line + 1
    local err = check_bytes(line)
    if not err then
      if number_of_line == 1 then
        t.title = line:match("^# pmlua (.+)$")
        err = not t.title and "not a pmlua table: the first line is not \"# pmlua NAME\"" or nil
      elseif line:sub(1, 1) == "#" then
        err = t.complete_header and "a header line below the header" or header_line(t, line)
      elseif line:find("%S") then
        err = data_line(t, line)
      end
    end
    if err then return fail(err) end
  end
  if number_of_line == 0 then return fail "empty file" end
  if not t.complete_header then return fail "the header is not complete" end
  if not t.status then return fail "no status in the header" end
  return t
end

--- Read a file.
---@return table? table as from parse
---@return pmlua.Failure? failure
function M.read(path)
  local text, err = require("pmlua.internal.file").read(path)
  if not text then return nil, err end
  return M.parse(text, path)
end

return M
