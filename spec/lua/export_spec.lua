-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/export_spec.lua - tests of pmlua export: every row of the logs, in typed columns, as other programs read them.

local support = require "spec.core.support"
local it = support.it
local quote, shell = support.quote, support.shell
local json = require "pmlua.json"
local page = require "spec.page"
local command = support.build .. "/pmlua"
local RANKS, THREADS, SECTIONS = 26, 3, 6

local function export(arguments) return shell(command .. " export " .. arguments) end

--- The balance of each section over the ranks that were in it, by what the texts of the logs say.
local function balances(dir)
  local times, found = {}, {}
  for _, p in ipairs(require "pmlua.sections".read_all { dir }) do
    for _, s in ipairs(p.sections) do
      local t = times[s.label] or { n = 0, sum = 0, max = 0 }
      local rank = 0
      for _, row in ipairs(s.rows) do rank = rank + row.total_ns end
      times[s.label] = { n = t.n + 1, sum = t.sum + rank, max = math.max(t.max, rank) }
    end
  end
  for label, t in pairs(times) do found[label] = ("%.6f"):format(t.max / (t.sum / t.n)) end
  return found
end

--- The output of a program as a table: each line has a section, a tab, and the section's balance.
local function printed(out)
  local found = {}
  for label, value in out:gmatch "([^\t\n]+)\t([%d.]+)\n" do found[label] = value end
  return found
end

--- A file that the page shows.
local function from_page(name, language)
  for _, block in ipairs(page.blocks(support.slurp "docs/how/export.md")) do
    if block.language == language and block.text:find(name, 1, true) then return block.text end
  end
  error(name .. " is not in the page")
end

describe("pmlua export", function()
  local dir

  setup(function()
    if support.missing then return end
    dir = support.folder()
    assert.equal(0, (shell(("%s/spec/logs %s %d %d %d"):format(support.build, dir, RANKS, THREADS, SECTIONS))))
  end)

  local rows = (RANKS * SECTIONS - RANKS // 13) * THREADS

  it("writes a row for each rank, thread and section as CSV and as lines of JSON, which agree", function()
    local out = support.quiet(export(dir))
    local _, lines = out:gsub("\n", "")
    assert.equal(1 + rows, lines)
    local names = {}
    for name in out:match("^[^\n]+"):gmatch "[^,]+" do names[#names + 1] = name end
    local _, objects = export(dir .. " --to jsonl")
    local each = objects:gmatch "[^\n]+"
    local at = 0
    for line in out:gmatch "\n([^\n]+)" do
      local row, i = json.decode(each()), 0
      for cell in (line .. ","):gmatch "([^,]*)," do
        i = i + 1
        local v = row[names[i]]
        assert.equal(cell, math.type(v) == "float" and ("%.15g"):format(v) or tostring(v))
      end
      at = at + 1
    end
    assert.equal(rows, at)
    assert.equal(nil, (each()))
  end)

  it("has the report's sums", function()
    local _, out = export(dir .. " --to jsonl")
    local sums = {}
    for line in out:gmatch "[^\n]+" do
      local row = json.decode(line)
      sums[row.section] = (sums[row.section] or 0) + row.time_ns
    end
    local _, report = shell(command .. " report --json " .. dir)
    for _, s in ipairs(json.decode(report).sections) do
      assert.truthy(math.abs(sums[s.label] / 1e9 - s.time_s) <= 1e-9 * s.time_s, s.label)
    end
  end)

  it("describes each column, with its type and unit", function()
    local _, columns = export(dir .. " --columns")
    local _, out = export(dir)
    local names = {}
    for name, kind in columns:gmatch "\n([^,]+),(%a+),[^\n]+" do
      names[#names + 1] = name
      assert.truthy(({ integer = true, real = true, text = true, boolean = true })[kind], name)
      if name:find "_ns$" then assert.truthy(columns:find("\n" .. name .. "," .. kind .. ",ns,", 1, true), name) end
    end
    assert.equal(out:match "^[^\n]+", table.concat(names, ","))
  end)

  it("has separate tables for processes and software-defined events", function()
    local _, out = export(dir .. " --table processes")
    assert.equal(1 + RANKS, select(2, out:gsub("\n", "")))
    assert.matches("\n25,node0000,1025,26,%./solver %-n 26,%d+,%d+,exit,3,0\n", out)
    _, out = export(dir .. " --table events")
    assert.equal(1, select(2, out:gsub("\n", "")))
  end)

  it("writes one database, and does not overwrite other files", function()
    if select(1, shell "command -v sqlite3") ~= 0 then return pending "sqlite3 is not installed" end
    local db = support.folder() .. "/run's.db"
    local status, _, err = export(("%s --to sqlite --out %s"):format(dir, quote(db)))
    assert.same({ 0, "" }, { status, err })
    local _, out = shell(("sqlite3 %s 'SELECT count(*), typeof(calls), typeof(time_ns) FROM sections'"):format(quote(db)))
    assert.equal(("%d|integer|real\n"):format(rows), out)
    _, out = shell(("sqlite3 %s 'SELECT unit FROM columns WHERE name = \"self_ns\"'"):format(quote(db)))
    assert.equal("ns\n", out)
    status, out, err = export(("%s --to sqlite --out %s"):format(dir, quote(db)))
    assert.same({ 1, "" }, { status, out })
    assert.matches("^pmlua export: [^\n]+: it exists; name a new file\n$", err)
  end)

  it("distinguishes labels of any bytes", function()
    local one = support.folder()
    support.spit(one .. "/f.lua", [[
local pml = require "pmlua"
for _, label in ipairs { "a,b", "it's", "new\nline", "x\"y", "; DROP TABLE sections; --" } do
  local s = assert(pml.section.define { label = label })
  s:start() s:stop()
end
assert(pml.section.write(arg[1]))]])
    assert.equal(0, (shell(("%s %s/f.lua %s/1.pmlog"):format(command, one, one))))
    local _, out = export(one .. " --to jsonl")
    local seen = {}
    for line in out:gmatch "[^\n]+" do seen[json.decode(line).section] = true end
    for _, label in ipairs { "a,b", "it's", "new\\x0aline", "x\"y", "; DROP TABLE sections; --" } do
      assert.truthy(seen[label], label)
    end
    if select(1, shell "command -v sqlite3") ~= 0 then return end
    assert.equal(0, (export(("%s --to sqlite --out %s/r.db"):format(one, one))))
    _, out = shell(("sqlite3 %s/r.db 'SELECT count(DISTINCT section) FROM sections'"):format(one))
    assert.equal("5\n", out)
  end)

  it("says of an experiment's folder where its numbers are", function()
    local folder = support.folder()
    require("spec.core.support").spit(folder .. "/s.lua", [[
      return require "pmlua".experiment { name = "demo", factors = { { "n", { 1 } } }, unit = "ns",
      repeats = 1, rounds = 1, measure = function() return 5 end }]])
    assert.equal(0, (shell(("cd %s && %s s.lua -q --no-plot"):format(folder, command))))
    local status, _, err = export("--to csv " .. folder .. "/results/demo/latest")
    assert.equal(1, status)
    assert.equal("pmlua export: " .. folder .. "/results/demo/latest: the run of an experiment: its table is data.dat, "
      .. "every sample is in samples.csv.gz; for its events name traces.otf2 in this folder\n", err)
    assert.equal(0, (export("--to csv --out " .. folder .. "/e.csv " .. folder .. "/results/demo/latest/traces.otf2")))
  end)

  it("refuses impossible exports in one line", function()
    for arguments, text in pairs { ["/nowhere"] = "/nowhere: ", [dir .. " --to sqlite"] = "--to sqlite needs --out FILE",
      [dir .. " --to sqlite --out x --table events"] = "omit --table", [dir .. " --to xml"] = "--to needs" } do
      local status, out, err = export(arguments)
      assert.truthy(status ~= 0 and out == "", arguments)
      assert.truthy(err:find(text, 1, true) and err:match "^pmlua export: [^\n]+\n", err)
    end
  end)
end)

--- The name of a function, its calls and its time, a tab between them, as the scripts of the page print them.
local function printed_functions(out)
  local found = {}
  for name, calls, ns in out:gmatch "([^\t\n]+)\t(%d+)\t(%d+)[^\n]*\n" do found[name] = { tonumber(calls), tonumber(ns) } end
  return found
end

describe("The output of pmlua export", function()
  local dir, folder, functions

  setup(function()
    if support.missing then return end
    dir, folder = support.folder(), support.folder()
    assert.equal(0, (shell(("%s/spec/logs %s %d %d %d"):format(support.build, dir, RANKS, THREADS, SECTIONS))))
    assert.equal(0, (export(("%s --out %s/sections.csv"):format(dir, folder))))
    local recorded = folder .. "/recorded"
    support.spit(folder .. "/twice.c", "int once(int n) { return n; }\nint twice(int n) { return once(n) + once(n); }\n")
    support.spit(folder .. "/main.c", "int twice(int n);\nint main(int n) { while (n-- > -9) twice(n); return 0; }\n")
    assert.equal(0, (support.shell_in(folder, "gcc -O0 -shared -fPIC twice.c -o libtwice.so && "
      .. "gcc main.c -L. -ltwice -Wl,-rpath,$PWD -o main")))
    assert.equal(0, (shell(("%s record -q -o %s -- sh -c '%s/main; %s/main'"):format(command, recorded, folder, folder))))
    assert.equal(0, (export(("%s --table functions --out %s/functions.csv"):format(recorded, folder))))
    functions = {}
    for line in select(2, export(recorded .. " --table functions --to jsonl")):gmatch "[^\n]+" do
      local row = json.decode(line)
      local f = functions[row["function"]] or { 0, 0 }
      functions[row["function"]] = { f[1] + row.calls, f[2] + row.exclusive_ns }
    end
    assert.same({ 20, 40 }, { functions.twice[1], functions.once[1] })
  end)

  it("is queried by Dask with two workers, as the page shows", function()
    local python
    for _, name in ipairs { "python3", "/usr/bin/python3" } do
      if not python and shell(name .. " -c 'import dask.dataframe, distributed'") == 0 then python = name end
    end
    if not python then return pending "Python has no dask.dataframe and distributed (python3-distributed, python3-pandas)" end
    support.spit(folder .. "/balance.py", from_page("balance.py", "python"))
    local status, out, err = support.shell_in(folder, python .. " balance.py", 300)
    assert.equal(0, status, err)
    assert.same(balances(dir), printed(out))
    support.spit(folder .. "/functions.py", from_page("functions.py", "python"))
    status, out, err = support.shell_in(folder, python .. " functions.py", 300)
    assert.equal(0, status, err)
    assert.same(functions, printed_functions(out))
  end)

  it("is queried by DuckDB, as the page shows", function()
    local status, out = shell "node -p 'require.resolve(\"@duckdb/node-api\")'"
    if status ~= 0 then return pending "node finds no package @duckdb/node-api (npm install @duckdb/node-api, NODE_PATH)" end
    local modules = out:match "^(.*/node_modules)/"
    assert.equal(0, (shell(("ln -sfn %s %s/node_modules"):format(quote(modules), folder))))
    support.spit(folder .. "/balance.mjs", from_page("balance.mjs", "js"))
    local why
    status, out, why = support.shell_in(folder, "node balance.mjs", 120)
    assert.equal(0, status, why)
    assert.same(balances(dir), printed(out))
    support.spit(folder .. "/functions.mjs", from_page("functions.mjs", "js"))
    status, out, why = support.shell_in(folder, "node functions.mjs", 120)
    assert.equal(0, status, why)
    assert.same(functions, printed_functions(out))
  end)
end)
