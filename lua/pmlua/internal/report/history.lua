-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/history.lua - values of events and sections over time that a live service kept in a log.
--
-- Try:  pmlua live --report out -- ./solver; pmlua report out --history

local core = require "pmlua.core"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

local M = {}

--- The log that a running process writes, among the files that it maps.
---@param pid integer
---@return string? path
function M.log_of(pid)
  local f <close> = io.open(("/proc/%d/maps"):format(pid), "rb")
  for line in f and f:lines() or function() end do
    local path = line:match " (/[^\n]*%.pmlog)$"
    if path and require "lfs".attributes(path, "mode") == "file" then return path end
  end
end

--- The logs that paths name: files, logs in folders, and logs of running programs.
local function logs_of(paths)
  local names = {}
  for i, path in ipairs(paths) do
    names[i] = path
    if not require "lfs".attributes(path, "mode") then
      local app = try(require "pmlua.internal.live.directory".find(path))
      names[i] = M.log_of(app.pid)
      if not names[i] then
        return refuse("ENOENT", ("%s (%d) writes no log"):format(app.name, app.pid), "start it with pmlua live --report DIR")
      end
    end
  end
  return require "pmlua.sections".files(names)
end

--- The series of logs whose events have a name that fits a glob; without `event` all. Parts of one name are one series.
---@param paths string[]
---@param event string?
---@return table[]? series each with log, name, real, instant, times_s and values
---@return pmlua.Failure? failure
M.read = try.catching(function(paths, event)
  local logs = try(logs_of(paths))
  local pattern = event and require "pmlua.internal.own_plugins".pattern_of((event:gsub("^sde:::", "")))
  local list = {}
  for _, log in ipairs(logs) do
    local found, why = core.log.history(log)
    if not found then return refuse(why) end
    for _, s in ipairs(found) do
      s.log = log
      if not pattern or s.name:find(pattern) then list[#list + 1] = s end
    end
  end
  if #list > 0 then return list end
  local what = event and ("no event %s has a history"):format(event) or "no event has a history"
  return refuse("ENOENT", ("%s: %s"):format(table.concat(paths, " "), what),
    "run the program under pmlua live --report DIR, for some seconds, without PMLUA_HISTORY=off")
end)

local function extremes(values)
  local least, most
  for _, v in ipairs(values) do
    if v == v and (not least or v < least) then least = v end
    if v == v and (not most or v > most) then most = v end
  end
  return least, most
end

local function moment(s) return os.date("%Y-%m-%d %H:%M:%S", math.floor(s)) end

--- A row for each series, or, as CSV, for each sample.
---@param list table[]
---@param csv boolean
---@param write fun(text: string)
function M.write(list, csv, write)
  if not csv then
    local rows = {}
    for i, s in ipairs(list) do
      local least, most = extremes(s.values)
      rows[i] = { s.name, #s.values, moment(s.times_s[1]), moment(s.times_s[#s.times_s]), s.values[1], least, most,
        s.values[#s.values] }
    end
    local names = { "EVENT", "SAMPLES", "FROM", "TO", "FIRST", "LEAST", "MOST", "LAST" }
    return write(require "pmlua.tabulate"(names, rows, 1) .. "\n")
  end
  local line = require "pmlua.internal.cli.csv".line
  write(line({ "log", "event", "time_s", "value" }, 4))
  for _, s in ipairs(list) do
    for i, v in ipairs(s.values) do write(line({ s.log, s.name, ("%.3f"):format(s.times_s[i]), v }, 4)) end
  end
end

--- Draw the series over time.
---@param list table[]
---@param path string .svg or .png
function M.draw(list, path)
  local series, from_s = { list = {} }, math.huge
  for _, s in ipairs(list) do from_s = math.min(from_s, s.times_s[1]) end
  for i, s in ipairs(list) do
    local x = {}
    for k, t in ipairs(s.times_s) do x[k] = t - from_s end
    series.list[i] = { name = s.name, recorder = false, x = x, y = s.values }
  end
  return require "pmlua.internal.live.series".picture(series, "since " .. moment(from_s), path)
end

return M
