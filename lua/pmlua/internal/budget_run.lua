-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/budget_run.lua - run a program and judge the budgets of its sections, which PML_BUDGET in its
-- file and a file of budgets state.
--
-- Try:  pmlua guard --budget -- ./program
--
-- One run counts the calls of the functions in budgets; if a budget is exceeded, another one records all calls, for the
-- paths. Events of the kernel and of the simulator take a run each, because their counts must not include the recording.

local budgets = require "pmlua.internal.budgets"
local disk = require "pmlua.internal.file"
local refuse = require "pmlua.core".failure.refuse
local temporary = require "pmlua.internal.temporary"
local try = require "pmlua.internal.try"

local M = {}

local EVERYTHING <const> = { "*", "libc*" } -- the C library only if it is named

--- The budgets of the program's file and of the file of budgets; nil and why.
local function of(program, file)
  local text = try(disk.read(program))
  local own = require "pmlua.internal.offers".section(text, "pml_budget") or ""
  local lines = {}
  for line in own:gmatch "%Z+" do lines[#lines + 1] = line end
  local all, wrong = budgets.read(table.concat(lines, "\n"))
  if not all then return refuse(wrong, program .. ", PML_BUDGET") end
  if file then
    local more, err = budgets.read(try(disk.read(file)))
    if not more then return refuse(err, file) end
    for _, budget in ipairs(more) do all[#all + 1] = budget end
  end
  if #all > 0 then return all end
  return refuse("ENOENT", ("%s has no budget"):format(file or program), "write PML_BUDGET(\"SECTION\", \"malloc=0\") in the "
    .. "program, or lines such as SECTION: malloc=0 in a file, and name it as --budget=FILE")
end

--- Run the command under `pmlua record`, and read its logs.
local function record(command, options)
  options.command = command
  return temporary.with("budget", function(dir)
    local ended = try(require "pmlua.verb.record".leave(options, dir))
    local recorded = try(require "pmlua.internal.record.functions".read(dir))
    if ended.status == 0 then return recorded end
    local how = ended.signal and "was ended by signal" or "exited with status"
    return refuse("EFAIL", ("%s %s %d; no budget was checked"):format(command[1], how, ended.signal or ended.status))
  end)
end

local function paths_of(recorded)
  local paths = {}
  for _, process in ipairs(recorded.processes) do
    for _, path in ipairs(process.paths or {}) do paths[#paths + 1] = path end
  end
  return paths
end

--- Why a function cannot be counted: no library has it.
local function unknown(recorded, names)
  for _, process in ipairs(recorded.processes) do
    for _, pattern in ipairs(process.unmatched_patterns or {}) do
      for _, name in ipairs(names) do
        if pattern.pattern == name and not pattern.library then
          return ("no library of %s has a function '%s'%s"):format(process.program, name,
            pattern.nearest ~= "" and "; did you mean " .. pattern.nearest:gsub(",", ", ") .. "?" or "")
        end
      end
    end
  end
end

--- The budgets of calls; nil and why they cannot be judged.
local function judge_calls(command, all)
  local names = budgets.names(all)
  if #names == 0 then return {} end
  local recorded = try(record(command, { lib = EVERYTHING, sym = names }))
  local misspelt = unknown(recorded, budgets.names(all, true))
  if misspelt then return refuse("ENOENT", misspelt) end
  local said = budgets.judge(all, paths_of(recorded))
  if #said == 0 then return said end
  recorded = try(record(command, { lib = EVERYTHING }))
  return budgets.judge(all, paths_of(recorded))
end

-- ---- events ----

local function row_of(rows, name)
  rows[name] = rows[name] or { calls = 0, events = {} }
  return rows[name]
end

--- Add the counts of a run in which no function is recorded, so that the count of a section includes its calls.
local function count_kernel(command, events, rows)
  local recorded = try(record(command, { sym = { "no function" }, events = events }))
  for _, f in ipairs(recorded.functions) do
    local row = row_of(rows, f.name)
    row.calls = row.calls + f.calls
    for event, n in pairs(f.events or {}) do row.events[event] = (row.events[event] or 0) + n end
  end
end

local function count_simulated(command, events, rows)
  local simulation = require "pmlua.internal.simulation.run"
  local all = try(simulation.count(command))
  for _, process in ipairs(all.processes) do
    for _, region in ipairs(process.regions) do
      local row = row_of(rows, region.name)
      row.calls = math.max(row.calls, region.calls)
      for i, short in ipairs(simulation.events) do
        if events["sim::" .. short] then
          row.events["sim::" .. short] = (row.events["sim::" .. short] or 0) + region.inclusive[i]
        end
      end
    end
  end
end

local function judge_events(command, all)
  local kernel, simulated, rows = {}, {}, {}
  for _, name in ipairs(budgets.events(all)) do
    if name:find "^sim::" then simulated[name] = true else kernel[#kernel + 1] = name end
  end
  if #kernel > 0 then count_kernel(command, kernel, rows) end
  if next(simulated) then count_simulated(command, simulated, rows) end
  return budgets.judge_events(all, rows)
end

--- Run a program and judge its budgets.
---@param command string[]
---@param program string its file
---@param file string? more budgets
---@return string[]? sentences about budgets that were exceeded or not checked
---@return pmlua.Failure|integer failure, or the number of budgets
M.judge = try.catching(function(command, program, file)
  local all = try(of(program, file))
  local said = try(judge_calls(command, all))
  for _, line in ipairs(try(judge_events(command, all))) do said[#said + 1] = line end
  return said, #all
end)

return M
