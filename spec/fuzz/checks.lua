-- SPDX-License-Identifier: BSD-3-Clause
-- spec/fuzz/checks.lua - properties that each reader in Lua must have for any bytes, by the name of the reader.
--
-- M[name]() returns the check of that reader: a function of the input, which raises an error where a property is violated. It
-- returns true if only a working reader can get that far with the input: there `make fuzz-proof` plants its bug.
-- A check in `texts` takes the input as a text and runs for the given number of inputs in `make check-all`; the other checks take
-- a folder of files, which a target in C writes.

local M = { texts = { callgrind = 1000, catalogue = 1000, dat = 1000, data = 1000, expression = 1000, formula = 1000,
                      http = 1000, likwid = 1000 } }

--- A refusal is one line that begins like `pattern`.
local function refused(err, pattern)
  err = type(err) == "table" and err:sentence() or err
  assert(type(err) == "string" and err:find("^" .. (pattern or "") .. "[^\n]+$"), err)
  return false
end

--- Functions of a callgrind file add up to the totals.
function M.callgrind()
  local callgrind = require "pmlua.internal.simulation.callgrind"
  return function(text)
    local out, err = callgrind.parse(text)
    if not out then return refused(err, "line %d+: ") end
    for i, total in ipairs(out.totals) do
      for _, f in ipairs(out.functions) do total = total - f.cost[i] end
      assert(total == 0)
    end
    return #out.functions > 3
  end
end

--- JSON of perf's, Intel's or Arm's metrics.
function M.catalogue()
  local catalogue = require "pmlua.internal.groups.catalogue"
  return function(text)
    local found, err = catalogue.parse { { path = "f", text = text } }
    if not found then return refused(err, "f: ") end
    local n = 0
    for _, group in ipairs(found.groups) do
      for _, m in ipairs(group.metrics) do
        assert(type(m.name) == "string" and type(m.expression) == "string" and m.unit and m.about)
        n = n + 1
      end
    end
    for name, e in pairs(found.events) do
      assert(name == name:upper() and e.code <= 0xffff and math.type(e.config) == "integer")
    end
    return n > 1
  end
end

--- A run's table (data.dat) has finite numbers, and the same table results if it is written and read again.
function M.dat()
  local dat = require "pmlua.internal.dat"
  return function(text)
    local t, err = dat.parse(text, "f")
    if not t then return refused(err, "f:%d+: ") end
    local rows = {}
    for i, row in ipairs(t.rows) do
      rows[i] = {}
      for c, column in ipairs(t.columns) do rows[i][c] = row[column.name] end
      for name, v in pairs(row) do
        assert(v == v and v ~= math.huge and v ~= -math.huge)
        assert(type(v) == "number" or t.columns[t.position[name]].unit == "text")
      end
    end
    local again = assert(dat.parse(dat.format { title = t.title, status = t.status, columns = t.columns, rows = rows }, "g"))
    assert(#again.rows == #t.rows and #again.columns == #t.columns)
    for i, row in ipairs(t.rows) do
      for name, v in pairs(row) do assert(again.rows[i][name] == v or type(v) == "string", tostring(v)) end
    end
    return #t.rows > 0 and #t.rows ~= 3
  end
end

--- A data file has values within its limits, and may be event groups or presets.
function M.data()
  local literal, groups = require "pmlua.internal.literal", require "pmlua.groups"
  local function walk(v, seen)
    if type(v) ~= "table" then return assert(type(v) == "string" or type(v) == "number" or type(v) == "boolean", type(v)) end
    assert(not seen[v] and getmetatable(v) == nil)
    seen[v] = true
    for key, value in pairs(v) do
      walk(key, seen)
      walk(value, seen)
    end
  end
  return function(text)
    local data, err = literal.parse(text, "f")
    if not data then return refused(err, "f:%d+: ") end
    walk(data, {})
    local file, why = groups.parse(text, "f")
    if not file then return refused(why, "f:%d+: ") end
    for _, group in pairs(file.groups) do
      for _, metric in ipairs(group.metrics) do
        groups.value(group, metric, {})
        groups.judge(metric, 1)
      end
    end
    return next(file.groups) ~= nil
  end
end

--- Lua's value of `text` is `v`, if that value is a number below `most`.
local function is_as_in_lua(text, v, most)
  local done, w = pcall(load("return " .. text) or error)
  if done and math.type(w) and math.abs(w) < most then assert(w == v or math.abs(w - v) <= 1e-9 * math.abs(w), text) end
end

--- A metric's expression of perf, Intel or Arm is a formula that compiles; of constants it has the value that Lua gives.
function M.expression()
  local expression, formula = require "pmlua.internal.groups.expression", require "pmlua.formula"
  return function(text)
    local node, why = expression.parse(text)
    if not node then return refused(why) end
    local n = 0
    local written, reason = expression.formula(node, function(name)
      if name:find "^#" then return "number", #name - 3.0 end
      if name == "M" then return "expression", node end
      if name == "U" then return "unknown", "U is unknown" end
      n = n + 1
      return "key", "k" .. n
    end)
    if not written then return refused(reason) end
    local compiled, err = formula.compile(written)
    if not compiled then
      assert(err:find "longer than" or err:find "nested" or err:find "too large" or err:find "1 to 16", err)
      return false
    end
    if n == 0 and not text:find "[%a@#<>|&%%\\]" and not text:find "%+%s*%+" then
      local v, no = compiled:value {}
      if not no then is_as_in_lua((text:gsub("%-%-", "- -")), v, 1e15) end
    end
    return n > 2
  end
end

--- A formula has a value or a reason, and the value that Lua gives; a file of groups is one, or its line is named.
function M.formula()
  local formula, groups = require "pmlua.formula", require "pmlua.groups"
  local counts = setmetatable({ z = 0, n = 0 / 0 }, { __index = function(_, k) return k ~= "x" and #k or nil end })
  return function(text)
    local file, why = groups.parse(text, "f")
    assert(file or why:find "^f:%d+: .", why)
    local f, err = formula.compile(text)
    if not f then return refused(err, "column %d+: ") end
    local v, reason = f:value(counts)
    assert(math.type(v) == "float" and (v == v) == (reason == nil) and v ~= math.huge and v ~= -math.huge)
    local ok, unit = f:check_unit("byte/s", { a = { s = 1 }, b = { byte = 1 } })
    assert(ok or unit:find "^column %d+: .", unit)
    -- Lua's precedence is the one of mathematics, but for a sign before a power.
    if #f.names == 0 and not reason and not text:find "[%a%-][%a%-]" and not text:find "%a"
      and not text:find "^%s*%-.*%^" then
      is_as_in_lua((text:gsub("[%d.]+", "(%0 + 0.0)")), v, math.huge)
    end
    return #f.names > 2
  end
end

--- The header of a request over HTTP is one, or has a status.
function M.http()
  local http = require "pmlua.internal.serve.http"
  return function(text)
    local request, status = http.parse(text)
    if not request then
      assert(status == 400)
      return false
    end
    assert(text:sub(1, #request.method + #request.path + 1) == request.method .. " " .. request.path)
    local n = 0
    for name, value in pairs(request.headers) do
      assert(name == name:lower() and not value:find "[\r\n]")
      n = n + 1
    end
    return n > 2
  end
end

--- One of LIKWID's group files is a group.
function M.likwid()
  local likwid = require "pmlua.internal.groups.likwid"
  return function(text)
    local found, err = likwid.parse(text, "G", "f", "skx")
    if not found then return refused(err, "f:%d+: ") end
    local group = found.groups[1]
    for key, event in pairs(group.events) do
      assert(key:find "^[%a_][%w_]*$" and (event.why or event.name and event.suffix))
    end
    for _, m in ipairs(group.metrics) do assert(#m.expression > 0 and m.name and m.unit) end
    return #group.metrics > 1
  end
end

local function timeline_is_whole(p)
  local timeline = require "pmlua.internal.report.timeline"
  for _, lane in ipairs(p.timeline) do
    local calls = timeline.calls(lane, p.regions)
    assert(#calls <= #lane.events)
    for _, c in ipairs(calls) do assert(c.last >= c.first and c.name) end
    assert(#timeline.boxes(calls, 0, 10) <= #calls)
  end
end

--- A log that can be read is a report in every form, or it is refused for what the log says.
function M.log()
  local sections, report, json = require "pmlua.sections", require "pmlua.report", require "pmlua.json"
  local text, data = require "pmlua.internal.report.text", require "pmlua.internal.report.data"
  local job_summary_of = require "pmlua.internal.report.job_summary".read
  return function(path)
    local read, damaged = sections.read(path) -- the C reader has not looked at the log's recorders
    if not read then return refused(damaged) end
    timeline_is_whole(read)
    local job_summary, err = job_summary_of { path }
    if not job_summary then return refused(err) end
    local r, why = report.build(job_summary, "time")
    if not r then return refused(why) end
    for _, s in ipairs(r.sections) do
      local label = sections.show(s.label)
      assert(utf8.len(label) and not label:find "%c", label)
    end
    assert(utf8.len(text.format(r, { basic = true, detail = true, threads = true, events = true })))
    local parts = {}
    local function write(...)
      for _, part in ipairs { ... } do parts[#parts + 1] = part end
    end
    data.json(r, write)
    assert(json.decode(table.concat(parts)))
    for _, level in ipairs { "basic", "detail", "threads" } do data.csv(r, level, write) end
  end
end

--- `input` in the folder, of a form that a letter says, becomes a trace with all its calls.
function M.import()
  local trace, input = require "pmlua.core".trace, require "pmlua.internal.import.input"
  local of = { p = "perf", c = "chrome", g = "pprof", f = "folded" }
  return function(dir, which)
    local reader = require("pmlua.internal.import." .. (of[which] or "folded"))
    local to = dir .. "/trace"
    os.execute("rm -rf " .. to)
    local file <close>, why = input.open(dir .. "/input")
    if not file then return refused(why) end
    assert(type(reader.is(input.head(file))) == "boolean")
    local archive, err = reader.read(file, "input", to)
    if not archive then return refused(err) end
    assert(archive:close())
    local t <close> = assert(trace.open(archive.path))
    local rows, odd = assert(t:group())
    assert(odd.unmatched == 0 and odd.backward == 0 and odd.unknown == 0)
    local calls = 0
    for _, r in ipairs(rows) do calls = calls + r.calls end
    assert(calls == archive.calls)
    return which == "f" and calls > 5
  end
end

--- meta.json, data.dat and rounds.dat in the folder are a run.
function M.results()
  local results = require "pmlua.results"
  return function(path)
    local run, err = results.open(path)
    if not run then
      assert(err:find(path, 1, true), err)
      return refused(err)
    end
    assert(type(run.meta.name) == "string" and type(run.status) == "string" and run.data.rows)
    assert(run.complete == (run.status == "complete"))
    return run.rounds ~= nil and #run.rounds.rows > 0 and #run.rounds.rows ~= 2
  end
end

--- The folder has the files of a job or one of an event flow, of a killed run or of a compiler: a letter says which.
function M.job()
  local job, text = require "pmlua.internal.report.job", require "pmlua.internal.report.job_text"
  local parts, graph = require "pmlua.internal.record.parts", require "pmlua.internal.flow.graph"
  local killed, database = require "pmlua.internal.experiment.killed", require "pmlua.internal.wrap.database"
  local function report(dir)
    local data, err = job.read(dir)
    if not data then return refused(err) end
    for _, why in ipairs(data.damaged) do refused(why) end
    for _, o in ipairs { { threads = true }, { json = true } } do assert(utf8.len(text.format(data, o))) end
  end
  local function draw(flow)
    for _, g in ipairs(flow.graphs) do graph.key(g) end
    flow:dot {}
    flow:skeleton {}
    flow:data()
  end
  local of = {}
  function of.r(dir) -- the files that a rank leaves for the others
    local united, err = parts.finish(dir, refused)
    if not united then return err and refused(err) end
    report(dir)
    if united.flow then draw(united.flow) end
  end
  function of.f(dir)
    local f, err = graph.read(dir .. "/flow.json")
    if not f then return refused(err) end
    draw(f)
    f:same(f)
  end
  function of.k(dir) killed.known { path = dir } end
  function of.c(dir)
    local all, err = database.read(dir .. "/compile_commands.json")
    if not all then return refused(err) end
    return #all.cflags > 0 and #all.cflags ~= 45
  end
  return function(dir, which) return (of[which] or report)(dir) end
end

return M
