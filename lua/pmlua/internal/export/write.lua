-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/write.lua - tables as CSV, as lines of JSON, or in a database of SQLite, row by row.
--
-- Try:  pmlua export DIR --to jsonl | head -1

local csv = require "pmlua.internal.cli.csv"
local json = require "pmlua.json"
local quote = require "pmlua.internal.quote"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local function names_of(t)
  local names = {}
  for i, c in ipairs(t.columns) do names[i] = c.name end
  return names
end

--- Truth is true or false in CSV and JSON.
---@param t table of export/tables
---@param write fun(...: string)
---@return boolean? ok
---@return pmlua.Failure? failure
function M.csv(t, write)
  local names = names_of(t)
  write(csv.line(names, #names))
  return t.each(function(cells) write(csv.line(cells, #names)) end)
end

---@param t table
---@param write fun(...: string)
---@return boolean? ok
---@return pmlua.Failure? failure
function M.jsonl(t, write)
  local names = names_of(t)
  return t.each(function(cells)
    local row = {}
    for i, name in ipairs(names) do row[name] = cells[i] end
    write(json.line(row), "\n")
  end)
end

-- --- SQLite ---

local sql_types = { integer = "INTEGER", real = "REAL", text = "TEXT", boolean = "INTEGER" }

--- Whatever is in a text, it ends at its last quote: a zero would end the statement.
local function sql_text(text) return "'" .. text:gsub("%z", ""):gsub("'", "''") .. "'" end

local function sql_value(v)
  if v == nil or v ~= v then return "NULL" end
  if v == true or v == false then return v and "1" or "0" end
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if type(v) ~= "number" then return sql_text(v) end
  if v == math.huge or v == -math.huge then return v > 0 and "9e999" or "-9e999" end
  return (("%.17g"):format(v):gsub("[^%w+-]+", ".")) -- whatever decimal point the locale has
end

local function sql_name(name) return '"' .. name:gsub('"', '""') .. '"' end

local function create(t)
  local columns = {}
  for i, c in ipairs(t.columns) do columns[i] = sql_name(c.name) .. " " .. sql_types[c.type] end
  return ("CREATE TABLE %s (%s);\n"):format(t.name, table.concat(columns, ", "))
end

local ROWS = 200 -- of a statement

local function insert(t, write)
  local rows, n = {}, #t.columns
  local function flush()
    if #rows > 0 then write(("INSERT INTO %s VALUES %s;\n"):format(t.name, table.concat(rows, ","))) end
    rows = {}
  end
  local ok, err = t.each(function(cells)
    local values = {}
    for i = 1, n do values[i] = sql_value(cells[i]) end
    rows[#rows + 1] = "(" .. table.concat(values, ",") .. ")"
    if #rows == ROWS then flush() end
  end)
  flush()
  return ok, err
end

local function fill(tables, pipe)
  local function write(text) pipe:write(text) end
  write ".bail on\nPRAGMA synchronous = OFF;\nBEGIN;\n"
  write "CREATE TABLE columns (\"table\" TEXT, name TEXT, type TEXT, unit TEXT, about TEXT);\n"
  for _, t in ipairs(tables) do
    write(create(t))
    for _, c in ipairs(t.columns) do
      write(("INSERT INTO columns VALUES (%s, %s, %s, %s, %s);\n"):format(sql_text(t.name), sql_text(c.name), sql_text(c.type),
        sql_text(c.unit), sql_text(c.about)))
    end
    local ok, err = insert(t, write)
    if not ok then return nil, err end
  end
  write "COMMIT;\n"
  return true
end

--- A new database with all tables, and one that describes their columns.
---@param tables table[]
---@param path string
---@return boolean? ok
---@return pmlua.Failure? failure
function M.sqlite(tables, path)
  if require "lfs".attributes(path, "mode") then return refuse("EEXIST", path .. ": it exists", "name a new file") end
  local found <close> = assert(io.popen "command -v sqlite3")
  if found:read "a" == "" then return refuse("ENOENT", "--to sqlite needs the command sqlite3", "apt-get install sqlite3") end
  local file = path:find "^/" and path or "./" .. path
  local pipe = assert(io.popen("sqlite3 -batch " .. quote.shell(file), "w"))
  local ok, err = fill(tables, pipe)
  local closed = pipe:close()
  if ok and closed then return true end
  os.remove(path)
  if not ok then return nil, err end
  return refuse("EIO", path .. ": sqlite3 could not write it", "see its message above")
end

return M
