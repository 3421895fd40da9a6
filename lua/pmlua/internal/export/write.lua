-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/write.lua - tables as CSV, as lines of JSON, or in a database of SQLite, row by row.
--
-- Try:  pmlua export DIR --to jsonl | head -1

local csv = require "pmlua.internal.cli.csv"
local json = require "pmlua.json"
local quote = require "pmlua.internal.quote"
local rows = require "pmlua.internal.report.rows"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local function names_of(t)
  local names = {}
  for i, c in ipairs(t.columns) do names[i] = c.name end
  return names
end

---@class pmlua.export.Sink
---@field form string csv, jsonl or sql
---@field row fun(cells: any[]) a row, whose truths CSV and JSON have as true or false
---@field text fun(text: string) rows that are in the form already

--- The first line of CSV.
---@param list pmlua.export.Column[]
function M.head(list)
  local names = names_of { columns = list }
  return csv.line(names, #names)
end

---@param t pmlua.export.Table
---@param write fun(...: string)
---@return boolean? ok, pmlua.Failure? failure
function M.csv(t, write)
  local names = names_of(t)
  write(M.head(t.columns))
  return t.each { form = "csv", row = function(cells) write(csv.line(cells, #names)) end, text = write }
end

---@param t pmlua.export.Table
---@param write fun(...: string)
---@return boolean? ok, pmlua.Failure? failure
function M.jsonl(t, write)
  local names = names_of(t)
  local function row(cells)
    local object = {}
    for i, name in ipairs(names) do object[name] = cells[i] end
    write(json.line(object), "\n")
  end
  return t.each { form = "jsonl", row = row, text = write }
end

-- --- SQLite ---

local sql_types = { integer = "INTEGER", real = "REAL", text = "TEXT", boolean = "INTEGER" }

local function sql_name(name) return '"' .. name:gsub('"', '""') .. '"' end

local function create(t)
  local columns = {}
  for i, c in ipairs(t.columns) do columns[i] = sql_name(c.name) .. " " .. sql_types[c.type] end
  return ("CREATE TABLE %s (%s);\n"):format(sql_name(t.name), table.concat(columns, ", "))
end

local BYTES <const> = 1 << 16 -- size of a statement, unless the rows of one log are larger

local function insert(t, write)
  local pieces, bytes = {}, 0
  local function flush()
    if #pieces > 0 then write(("INSERT INTO %s VALUES "):format(sql_name(t.name)), table.concat(pieces, ","), ";\n") end
    pieces, bytes = {}, 0
  end
  local function text(piece)
    if piece == "" then return end
    pieces[#pieces + 1], bytes = piece, bytes + #piece
    if bytes > BYTES then flush() end
  end
  local function row(cells)
    local values = {}
    for i = 1, #t.columns do values[i] = rows.sql(cells[i]) end
    text("(" .. table.concat(values, ",") .. ")")
  end
  local ok, err = t.each { form = "sql", row = row, text = text }
  flush()
  return ok, err
end

local function fill(tables, pipe)
  local function write(...) pipe:write(...) end
  write ".bail on\nPRAGMA synchronous = OFF;\nBEGIN;\n"
  write "CREATE TABLE columns (\"table\" TEXT, name TEXT, type TEXT, unit TEXT, about TEXT);\n"
  for _, t in ipairs(tables) do
    write(create(t))
    for _, c in ipairs(t.columns) do
      write(("INSERT INTO columns VALUES (%s, %s, %s, %s, %s);\n"):format(rows.sql(t.name), rows.sql(c.name), rows.sql(c.type),
        rows.sql(c.unit), rows.sql(c.about)))
    end
    local ok, err = insert(t, write)
    if not ok then return nil, err end
  end
  write "COMMIT;\n"
  return true
end

--- Create a database with all tables, and a table that describes their columns.
---@return boolean? ok, pmlua.Failure? failure
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
