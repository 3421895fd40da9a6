-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua export DIR`: every row of the logs of a run, as a table for other programs.
--
--     pmlua export out --to csv >sections.csv

local columns = require "pmlua.internal.export.columns"
local common = require "pmlua.internal.cli.common"
local printable = require "pmlua.internal.printable"

local M = {
  summary = "write every row of the logs of a run as CSV, lines of JSON, or a database of SQLite",
  arguments = { { name = "DIR|FILE", key = "paths", kind = "file", many = true,
    missing = "name what to export: a folder with logs, or logs" } },
  about = [[
DIR is the folder where a run left its logs (PMLUA_REPORT=DIR, pmlua record -o DIR). The table sections has a row for each
rank, thread and section, with a column for each event that sections counted; processes has a row for each process; events
has the software-defined counters and recorders. Of recorded calls, calls has each call path of each thread, functions each
function of each process with quantiles, values the events, arguments and results of functions, openmp the constructs of each
thread. Of a job of MPI, totals has sections and functions over all ranks; messages, pairs and collectives have what ranks
sent to each other. A column has one type, and its name ends in its unit. Logs are read one by one, so that memory does not
grow with them.

CSV and lines of JSON are one table; a database has all of them, and a table called columns that says what each column means.]],
  options = {
    { name = "to", kind = "choice", choices = { "csv", "jsonl", "sqlite" }, shown = "csv", help = "the form of what is written" },
    { name = "table", kind = "choice", choices = columns.NAMES, shown = "sections",
      help = "the table that CSV and lines of JSON are" },
    { name = "columns", help = "print the columns of the table instead, with types, units and what they mean, as CSV" },
    common.with("out", { help = "write into FILE; of SQLite a new file" }),
  },
  exclusive = { { "columns", "out" } },
  examples = {
    { "pmlua export out --to csv -o sections.csv" },
    { "pmlua export out --to sqlite -o run.db", needs = { "sqlite3" } },
  },
}

function M.check(o)
  if o.to == "sqlite" and not o.out and not o.columns then return "--to sqlite needs --out FILE" end
  if o.to == "sqlite" and o.table then return "--to sqlite writes all tables; leave out --table" end
end

local function columns_of(t)
  local rows = {}
  for i, c in ipairs(t.columns) do rows[i] = { c.name, c.type, c.unit, c.about } end
  return require "pmlua.internal.cli.csv".table({ "column", "type", "unit", "meaning" }, rows)
end

--- Into the file that --out names, which is there when it is whole, or to standard output.
local function write_table(o, t)
  local write = require "pmlua.internal.export.write"[o.to or "csv"]
  if not o.out then return write(t, function(...) io.write(...) end) end
  local file, err = require "pmlua.internal.file".output(o.out)
  if not file then return nil, err end
  local ok, why = write(t, function(...) file:write(...) end)
  if not ok then return nil, why end
  return file:close()
end

local function note(text) io.stderr:write("pmlua export: note: ", printable(text), "\n") end

local function export(o)
  local source, err = require "pmlua.internal.export.source".read(o.paths)
  if not source then return nil, err end
  for _, text in ipairs(source.notes) do note(text) end
  local tables = require "pmlua.internal.export.tables"
  local one = tables.of(source, o.table or "sections")
  if o.columns then return io.write(columns_of(one)) end
  if source.merged and one.of_logs then note(source.merged) end
  if o.to ~= "sqlite" then return write_table(o, one) end
  local all = {}
  for i, name in ipairs(columns.NAMES) do all[i] = tables.of(source, name) end
  return require "pmlua.internal.export.write".sqlite(all, o.out)
end

---@param o table
---@return integer status
function M.run(o)
  local ok, err = export(o)
  if ok then return 0 end
  io.stdout:flush()
  io.stderr:write("pmlua export: ", printable(err), "\n")
  return 1
end

return M
