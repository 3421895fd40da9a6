-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cause.lua - why two commands differ: other work, another layout, both, or the machine.
--
-- Try:  pmlua bench --cause 'sort /etc/services' 'sort -r /etc/services'
--
-- Two measurements decide, because no number of instructions says how long they take. The simulation counts the instructions of
-- each function exactly: if a function's count differs, the work differs. Samples give the cpu time in the functions with equal
-- counts: if this time differs between the programs, only addresses can be the reason (T. Mytkowicz and others, Producing wrong
-- data without doing anything obviously wrong, ASPLOS 2009). The loader is not counted, because its work depends on file names.

local compare = require "pmlua.compare"
local core = require "pmlua.core"
local dat = require "pmlua.internal.dat"
local guard = require "pmlua.internal.guard"
local json = require "pmlua.json"
local lists = require "pmlua.internal.lists"
local shift = require "pmlua.internal.shift"
local simulation = require "pmlua.internal.simulation.run"
local refuse = core.failure.refuse

local M = {}

--- The metric of a run: cpu time in the functions with equal counts.
M.metric = "unchanged"
M.table = "causes.dat"

local FREQUENCY <const> = 4000
-- Part of the threshold: times cannot show it even if these instructions take ten times the mean.
local NEGLIGIBLE <const> = 0.1
-- A cause needs a lower chance of error than a difference.
local LEVEL <const> = 0.01
-- A sentence names at most three functions, each with at least 1 % of the difference.
local NAMED <const>, NAMED_SHARE <const> = 3, 0.01

---@class pmlua.CauseRow
---@field object string "program" or the file name of a library
---@field name string
---@field a integer instructions
---@field b integer
---@field spread integer difference between two runs of one command
---@field changed integer 1: other work

--- The key of a function in both programs, whose file names differ.
local function key_of(object, name)
  return (object:find "%.so" and object:match "[^/]*$" or "program") .. "\0" .. (name or "(no name)")
end

--- Whether it is the loader, or the library that the simulation preloads.
local function is_loader(object)
  local file = object:match "[^/]*$"
  return (file:find "^ld[-%d.][%w.-]*so" or file:find "^libpmlua%-") ~= nil
end

local function is_counted(row) return row.kind == "function" and not is_loader(row.object) end

--- Count the instructions of each function of a command, in two runs.
---@param words string[]
---@param o { child: pmlua.ChildOptions?, failure: fun(ended: table): string? } failure explains a bad end
---@return table<string, pmlua.GuardRow>? functions, pmlua.Failure? failure
function M.count(words, o)
  local runs, functions = {}, {}
  for i = 1, 2 do
    local all, err = simulation.count(words, { child = o.child })
    if not all then return nil, err end
    local how = o.failure(all.ended)
    if how then return refuse("EFAIL", ("%s under valgrind: %s"):format(words[1], how), all.warnings[1]) end
    runs[i] = guard.rows(all, 1, "", { "*" })
  end
  for _, row in ipairs(lists.filter(guard.spread(runs), is_counted)) do
    local key = key_of(row.object, row.name)
    local known = functions[key]
    if known then row.count, row.spread = known.count + row.count, known.spread + row.spread end
    functions[key] = row
  end
  if next(functions) then return functions end
  return refuse("ENODATA", words[1] .. ": no function was counted", "pmlua stat --sim -- CMD shows what was")
end

local function by_difference(x, y)
  local dx, dy = math.abs(x.b - x.a), math.abs(y.b - y.a)
  if dx ~= dy then return dx > dy end
  return key_of(x.object, x.name) < key_of(y.object, y.name)
end

--- The functions of both commands, those with the largest difference first.
---@return pmlua.CauseRow[]
function M.rows(a, b, threshold)
  local rows, none, both = {}, { count = 0, spread = 0 }, {}
  for _, side in ipairs { a, b } do
    for key in pairs(side) do both[key] = true end
  end
  for key in pairs(both) do
    local x, y, object, name = a[key] or none, b[key] or none, key:match "^(%Z*)%z(.*)$"
    local row = { object = object, name = name, a = x.count, b = y.count, spread = math.max(x.spread, y.spread) }
    local beyond = math.abs(row.b - row.a) - row.spread
    row.changed = beyond > NEGLIGIBLE * threshold * math.max(row.a, row.b) and 1 or 0
    rows[#rows + 1] = row
  end
  table.sort(rows, by_difference)
  return rows
end

-- --- time in functions with equal counts ---

--- Sample a command from its start. Returns a function that gives the share of its samples in functions with equal counts; nil
--- and why there are no samples.
---@param rows pmlua.CauseRow[]
---@param pid integer
---@return { drain: fun(), share: fun(): number? }? sampled, pmlua.Failure? failure
function M.sample(rows, pid)
  local sampler, err = core.sampler.open("task-clock", { pid = pid, inherit = true, on_exec = true, frequency = FREQUENCY })
  if not sampler then return refuse(err) end
  local changed, objects = {}, {}
  for _, row in ipairs(rows) do
    changed[key_of(row.object, row.name)] = row.changed
    objects[row.object] = math.max(objects[row.object] or 0, row.changed)
  end
  local function is_equal(row)
    if not row.object:find "^/[^/]" or is_loader(row.object) then return false end -- the kernel, or code without a file
    local at = sampler:place(row.object, row.place)
    local key = key_of(row.object, at and at.func and core.region.demangle(at.func))
    return (changed[key] or objects[key:match "%Z*"] or 0) == 0
  end
  local function share()
    sampler:stop()
    local equal, all = 0, 0
    for _, row in ipairs(sampler:fold "code" or {}) do
      all, equal = all + row.samples, equal + (is_equal(row) and row.samples or 0)
    end
    sampler:close()
    return all > 0 and equal / all or nil
  end
  return { drain = function() sampler:drain() end, share = share }
end

-- --- the answer ---

local function percent(x) return ("%+.3g %%"):format(100 * x) end

--- Sums over the functions: instructions, differences of all and of changed functions, spread between runs of one command.
local function work_of(rows, threshold)
  local work = { a = 0, b = 0, all = 0, size = 0, spread = 0, named = {} }
  for _, row in ipairs(rows) do
    work.a, work.b, work.spread = work.a + row.a, work.b + row.b, work.spread + row.spread
    work.all = work.all + math.abs(row.b - row.a)
    work.size = work.size + row.changed * math.abs(row.b - row.a)
  end
  for _, row in ipairs(rows) do
    if row.changed == 1 and math.abs(row.b - row.a) >= NAMED_SHARE * work.size then work.named[#work.named + 1] = row.name end
  end
  work.differs = work.size > NEGLIGIBLE * threshold * work.a
  work.unsteady = not work.differs and work.spread > NEGLIGIBLE * threshold * work.a
  return work
end

--- The mean of several layouts' ratios, as a shift of logarithms.
local function mean_of(result)
  local logs = {}
  for _, cell in ipairs(result.cells) do logs[#logs + 1] = cell.ratio and math.log(cell.ratio) end
  return #logs > 1 and shift.pairs(logs) or nil, logs
end

--- Whether times were measured, in enough rounds.
local function has_interval(cell) return cell.low ~= nil and cell.a + cell.b > 0 end

local function is_significant(cell) return (cell.adjusted or 1) <= LEVEL end

--- Neither sure nor noise: not measured, or a difference that may be below the threshold.
local function is_open(cell) return not has_interval(cell) or cell.verdict ~= "same" and is_significant(cell) end

local function is_sure(cell) return cell.verdict:find "^%a+er " ~= nil and is_significant(cell) end

--- Whether a comparison differs in one of its layouts, or in their mean; nil: it cannot be told, and why.
local function differs(result, threshold)
  if not lists.all(result.cells, has_interval) then return nil, "they have no samples, or too few rounds" end
  if lists.any(result.cells, is_sure) then return true end
  local mean = mean_of(result)
  local sure = mean and math.max(mean.low, -mean.high) > math.log(1 + threshold) and mean.p <= LEVEL
  local unknown = lists.find(result.cells, function(cell) return cell.verdict ~= "same" end)
  if sure or not unknown then return sure or false end
  return nil, unknown.verdict:match "%((.*)%)" or ("p is above %g; add runs"):format(LEVEL)
end

--- "B/A 1.031 (1.010 .. 1.053)": of one layout, or the mean of all with the range over them.
local function ratio_text(result)
  local cell, mean, logs = result.cells[1], mean_of(result)
  if not mean then
    return cell.low and ("B/A %.4g (%.4g .. %.4g)"):format(cell.ratio, cell.low, cell.high) or "B/A unknown"
  end
  local ratios = lists.map(logs, math.exp)
  return ("B/A %.4g (%.4g .. %.4g) over %d layouts, in which it is %.4g to %.4g"):format(math.exp(mean.estimate),
    math.exp(mean.low), math.exp(mean.high), #ratios, math.min(table.unpack(ratios)), math.max(table.unpack(ratios)))
end

local function work_text(work)
  local names = table.concat(work.named, ", ", 1, math.min(NAMED, #work.named))
  local more = #work.named > NAMED and (" and %d more functions"):format(#work.named - NAMED) or ""
  return ("%s instructions, in %s%s"):format(percent(work.b / work.a - 1), names, more)
end

local function equal_text(work)
  if work.all == 0 then return "equal counts in every function" end
  return ("counts of functions that differ by only %.2g %%"):format(100 * work.all / work.a)
end

--- The answer for equal work.
local function without_work(work, equal, time, o)
  local layout, why = differs(equal, o.threshold)
  local counts = equal_text(work)
  if work.unsteady then
    return "cannot tell", ("runs of one command differ by %.2g %% of the instructions"):format(100 * work.spread / work.a)
  elseif layout and o.same_file then
    return "cannot tell", ("both run the same file, with %s; its data or its layout take other times: %s"):format(counts,
      ratio_text(equal))
  elseif layout then
    return "layout", ("%s, which take other times at other addresses: %s"):format(counts, ratio_text(equal))
  elseif differs(time, o.threshold) then
    return "cannot tell", ("%s; the elapsed time differs, %s"):format(counts, layout == false
      and "but not in these functions: by waiting, or in the kernel" or "but whether in these functions cannot be told: " .. why)
  elseif layout == nil and lists.any(equal.cells, is_open) then
    return "cannot tell", ("%s; whether their times differ cannot be told: %s"):format(counts, why)
  end
  return "machine", ("%s; %s"):format(counts, layout == false and "the times are the same"
    or "no difference of times can be told from noise: " .. why)
end

--- The answer and its reasons.
---@param rows pmlua.CauseRow[]
---@param equal table comparison of the time in functions with equal counts
---@param time table comparison of the elapsed time
---@param o { threshold: number, same_file: boolean }
---@return "work"|"layout"|"both"|"machine"|"cannot tell" answer, string sentence
function M.judge(rows, equal, time, o)
  local work = work_of(rows, o.threshold)
  if not work.differs then return without_work(work, equal, time, o) end
  local layout, why = differs(equal, o.threshold)
  local others = "the functions with equal counts"
  if layout then
    return "both", ("%s; and %s take other times: %s"):format(work_text(work), others, ratio_text(equal))
  elseif layout == false then
    return "work", ("%s; %s take the same time"):format(work_text(work), others)
  end
  return "work", ("%s; whether %s take the same time cannot be told: %s"):format(work_text(work), others, why)
end

function M.text(cause) return ("cause: %s: %s"):format(cause.answer, cause.sentence) end

local columns = { { "object", "text", "program, or a library" }, { "function", "text", "its name" },
  { "a", "instructions", "count of A" }, { "b", "instructions", "count of B" },
  { "spread", "instructions", "difference between two runs of one command" }, { "changed", "", "1: the work differs" } }

--- The table of a run.
function M.table_of(rows)
  return { columns = columns, rows = lists.map(rows, function(r) return { r.object, r.name, r.a, r.b, r.spread, r.changed } end) }
end

local ADVICE <const> = "measure both in one run: pmlua bench --cause A B"

--- The cause of the difference in a recorded run.
---@param dir string
---@param o { threshold: number }
---@return { answer: string, sentence: string, functions: pmlua.CauseRow[] }? cause, pmlua.Failure? failure
function M.of(dir, o)
  local run, err = require "pmlua.results".open(dir)
  if not run then return nil, err end
  local counts = dat.read(dir .. "/" .. M.table)
  if not counts then return refuse("ENODATA", dir .. " has no counts of functions", ADVICE) end
  local time, equal
  time, err = compare.by(dir, "command", { threshold = o.threshold })
  if time then equal, err = compare.by(dir, "command", { threshold = o.threshold, metric = M.metric }) end
  if not equal then return nil, err end
  local rows = lists.map(counts.rows, function(r)
    return { object = r.object, name = r["function"], a = r.a, b = r.b, spread = r.spread, changed = r.changed }
  end)
  local one, other = table.unpack(run.meta.commands or {})
  local same = one and other and one.file_sha256 ~= nil and one.file_sha256 == other.file_sha256
  local answer, sentence = M.judge(rows, equal, time, { threshold = o.threshold, same_file = same })
  if #equal.cells > 1 and not sentence:find("B/A", 1, true) then sentence = ("%s; %s"):format(sentence, ratio_text(equal)) end
  return { answer = answer, sentence = sentence, functions = json.array(rows) }
end

return M
