-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/run.lua - a run of an experiment: the methods for its script, and the files of its folder.
--
-- Try:  return pml.experiment { name = "demo", measure = os.clock, analyse = function(run) run:say(run:path "data.dat") end }

local columns = require "pmlua.internal.experiment.columns"
local datasets = require "pmlua.internal.experiment.datasets"
local json = require "pmlua.json"
local tabulate = require "pmlua.tabulate"

---@class pmlua.Run
---@field dir string? the folder
---@field cells pmlua.Cell[]
---@field options table<string, any> the experiment's own options
---@field seed integer
---@field rounds integer
---@field repeats integer
---@field unit string unit of the tables
---@field scale number samples times scale are in that unit
local Run = {}
Run.__index = Run

--- Say something once on stderr and keep it in meta.json.
---@param text string
function Run:warn(text)
  self.meta.warnings[#self.meta.warnings + 1] = text
  if self.progress then self.progress:clear() end
  if not self.quiet then io.stderr:write("pmlua: warning: ", require "pmlua.internal.printable"(text), "\n") end
end

-- Handle a failed write: report it once, set the run's status to "failed", and continue measuring.
---@package
function Run:lost(err)
  self:release()
  self.status = "failed"
  if self.meta.error then return end
  self.meta.error = tostring(err)
  if self.progress then self.progress:clear() end
  io.stderr:write("pmlua: ", require "pmlua.internal.printable"(err), "\n")
end

-- Reserve disk space for the tables, because the samples may fill the disk. The file has no name, so it disappears however
-- the process ends.
local reserve_bytes, reserve_per_cell, reserve_most = 128 * 1024, 16 * 1024, 32 * 1024 * 1024

local function fill(f, bytes)
  local block = ("\0"):rep(64 * 1024)
  for _ = 1, (bytes + #block - 1) // #block do
    if not f:write(block) then return nil end
  end
  return f:flush()
end

---@package
function Run:reserve()
  local path = self:path ".reserve"
  local f = require("pmlua.internal.file").new(path)
  if not f then return end
  os.remove(path)
  self.reserved = f
  local bytes = math.min(reserve_bytes + reserve_per_cell * #self.cells, reserve_most)
  if not fill(f, bytes) then self:release() end -- a disk with less than that is left to the run
end

---@package
function Run:release()
  if not self.reserved then return false end
  self.reserved:close()
  self.reserved = nil
  return true
end

-- Write a file of the folder, if need be into the room that was kept for it.
---@package
function Run:save(method, name, content)
  local ok, err = self.folder[method](self.folder, name, content)
  if ok then return true end
  self:lost(err)
  return self.folder[method](self.folder, name, content)
end

--- A path in the folder of the run.
---@param name string
function Run:path(name) return self.dir .. "/" .. name end

--- Print text on stdout; nothing with --json or --csv.
---@param text string
function Run:say(text)
  if not (self.json or self.csv) then io.stdout:write(text, "\n") end
end

--- Print a table, with the units of its columns.
---@param heading string
---@param t {columns: table[], rows: table[]} as for write_table
---@param chosen? string[] names of the columns to print; nil: all
function Run:say_table(heading, t, chosen)
  local at, names, rows = {}, {}, {}
  for i, c in ipairs(t.columns) do
    if not chosen then at[i] = i else at[c[1]] = i end
  end
  for k, key in ipairs(chosen or at) do
    local name, unit = table.unpack(t.columns[at[key]])
    names[k] = (unit == "" or unit == "text") and name or ("%s [%s]"):format(name, unit)
    for i, row in ipairs(t.rows) do
      rows[i] = rows[i] or {}
      rows[i][k] = row[at[key]]
      if unit == "text" and rows[i][k] == nil then rows[i][k] = "-" end
    end
  end
  self:say(("\n%s\n%s"):format(heading, tabulate(names, rows, 1)))
end

--- Name a file of the folder in meta.json.
---@package
function Run:keep_file_name(name, description)
  for _, f in ipairs(self.meta.files) do
    if f.name == name then return end
  end
  self.meta.files[#self.meta.files + 1] = { name = name, description = description }
end

--- Write a table of the experiment's own into the folder.
---@param name string "speedup.dat"
---@param t {columns: table[], rows: table[], title?: string}
---@param description? string for meta.json
function Run:write_table(name, t, description)
  local ok = self:save("write_table", name, {
    title = t.title or (self.exp.name .. " " .. name:gsub("%.dat$", "")), status = self:file_status(),
    columns = t.columns, rows = t.rows,
  })
  if ok then self:keep_file_name(name, description or "table of the experiment") end
end

--- Write tables that are too long for the screen into the folder, as report.txt.
---@param text string
function Run:write_report(text)
  if self:save("write", "report.txt", text) then self:keep_file_name("report.txt", "the printed tables of the experiment") end
end

---@package
function Run:file_status() return self.status == "complete" and "complete" or "incomplete" end

---@package
function Run:write_meta()
  self.meta.status = self.status
  self:save("write", "meta.json", json.encode(self.meta))
end

local standard = {
  { "data.dat", "data", "summary, a row per cell" }, { "rounds.dat", "rounds", "summary per round" },
  { "outliers.dat", "outliers", "largest samples with their position" },
  { "histogram.dat", "histogram", "distribution per cell" },
}

--- The experiment's own columns of a cell.
---@package
function Run:derive(cell)
  cell.derived = {}
  for k, c in ipairs(cell.summary and self.exp.columns or {}) do cell.derived[k] = c.value(cell, self) end
end

-- Tables are written again after each round, and in a long round when the last are some seconds old and cost little:
-- a kill -9 leaves those that were written last.
---@package
function Run:write_tables()
  local begun = self.core.clock.ns()
  for _, cell in ipairs(self.cells) do cell.summary = datasets.summarise(self, cell) end
  for _, cell in ipairs(self.cells) do self:derive(cell) end -- a column may look at another cell's summary
  columns.intervals(self)
  for _, s in ipairs(standard) do
    local ok = self:save("write_table", s[1], datasets[s[2]](self, self:file_status()))
    if ok then self:keep_file_name(s[1], s[3]) end
  end
  self:collect()
  local now = self.core.clock.ns()
  self.tables_due = now + math.max(2000000000, 50 * (now - begun))
  self.tables_again = now + 9 * (now - begun)
end

-- Collect garbage now, so that it does not fall into a measurement: Lua's collector then rests until the heap is twice
-- as large. All of the heap is walked, and it grows with the cells: between two visits, only when more than half as much is new.
---@package
function Run:collect()
  collectgarbage()
  self.live_kb = collectgarbage "count"
end

---@package
function Run:collect_in_time()
  if collectgarbage "count" > 1.6 * (self.live_kb or 0) then self:collect() end
end

---@package
function Run:tables_in_time()
  self.tables_due = self.tables_due or self.core.clock.ns() -- the first cell at once: better one row than none
  if self.core.clock.ns() < self.tables_due then return end
  self:write_tables()
  self:write_meta()
end

--- Write the tables between two rounds, unless so many short ones have gone by that this would take as long as measuring.
function Run:tables_between_rounds()
  if self.core.clock.ns() < (self.tables_again or 0) then return end
  self:write_tables()
  self:write_meta()
end

return Run
