-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/stat/run.lua - count a whole command: the available sources and their counts.
--
-- Try:  for _, r in ipairs(require("pmlua.internal.stat.run").run({ "true" }).rows) do print(r.event, r.value, r.unit) end
--
-- A source is a module of counts/ with
--   name         the label of its rows
--   open(o)      a handle for one run; nil and the reason if it cannot count as requested. o is options of run()
-- and a handle may have
--   set          string[], additional variables of the command's environment
--   attach(h, places)  count there from now on: options of core.eventset.open; a new command waits until then
--   rows(h, ended)   its rows so far, in order, and sentences about missing counts; ended: nil while it counts
--   close(h)

local child = require "pmlua.internal.child"
local core = require "pmlua.core"
local kernel = require "pmlua.internal.stat.kernel"
local places = require "pmlua.internal.stat.places"
local preload = require "pmlua.internal.preload"
local resources = require "pmlua.internal.stat.resources"

local M = {}

local NOT_RUN <const>, FAILED <const> = 126, 1 -- as shells say it
local STEP_S <const> = 0.05

--- The list to add a source to.
M.sources = {
  resources,
  kernel,
  (require "pmlua.internal.stat.compiler"),
}

---@class pmlua.CountRow
---@field event string
---@field cgroup string? where it was counted
---@field value number? nil: not counted, for this reason:
---@field reason string?
---@field unit string
---@field source string
---@field enabled_ns integer? time the event was to be counted
---@field running_ns integer? time it was; less: the value is scaled from raw
---@field raw integer?
---@field idle string[]? parts of a hybrid event, or places, that never counted
---@field at_least boolean? the value lacks something, which a note tells

---@class pmlua.CountOptions
---@field events? string[] nil: what there is
---@field pid? integer count in this process instead, while the command runs, or until it ends
---@field all? boolean count on all cpus instead
---@field cgroups? string[] count in these cgroups instead
---@field every? { seconds: number, call: fun(rows: pmlua.CountRow[]), begin: fun() } begin where counting begins, then call
---  again and again
---@field ready? fun(pid: integer) called while the command waits to begin
---@field child? pmlua.ChildOptions

local function close(handles)
  for _, h in ipairs(handles) do
    if h.close then h:close() end
  end
end

--- The sources of what a command does, or of a place where others do something.
local function open(options)
  local handles, set = {}, {}
  for _, source in ipairs(options.elsewhere and { resources, kernel } or M.sources) do
    local h, err = source.open(options)
    if not h then
      close(handles)
      return nil, err
    end
    h.source = source.name
    handles[#handles + 1] = h
    table.move(h.set or {}, 1, #(h.set or {}), #set + 1, set)
  end
  return handles, set
end

local function gather(handles, ended)
  local rows, notes = {}, {}
  for _, h in ipairs(handles) do
    local list, more = h:rows(ended)
    for _, row in ipairs(list) do
      row.source = h.source
      rows[#rows + 1] = row
    end
    table.move(more or {}, 1, #(more or {}), #notes + 1, notes)
  end
  return rows, notes
end

local function attach(handles, list)
  for _, h in ipairs(handles) do
    if h.attach then h:attach(list) end
  end
end

--- Run a command with these handles, which count it, or elsewhere meanwhile.
local function run_command(words, handles, set, options)
  local every = options.every and { seconds = options.every.seconds,
    call = function() options.every.call((gather(handles))) end }
  local how = setmetatable({ environment = set, every = every }, { __index = options.child })
  return child.run(words, function(pid)
    if options.ready then options.ready(pid) end
    if not options.elsewhere then attach(handles, { { pid = pid, inherit = true, on_exec = true } }) end
    if options.every then options.every.begin() end
  end, how)
end

--- Wait until Ctrl-C, or the end of the process that is counted.
local function wait(handles, options)
  if options.every then options.every.begin() end
  local began, due = core.clock.ns(), options.every and options.every.seconds or math.huge
  core.sys.on_interrupt()
  while not core.sys.interrupted() and places.go_on(options.pid) do
    local now = (core.clock.ns() - began) / 1e9
    if now >= due then
      options.every.call((gather(handles)))
      due = child.next_due(due, options.every.seconds, (core.clock.ns() - began) / 1e9)
    end
    core.sys.sleep(math.max(0, math.min(STEP_S, due - now)))
  end
  core.sys.on_interrupt(false)
  return { status = 0, real_ns = core.clock.ns() - began }
end

--- Count a command, or while it runs, or until the user has enough.
---@param words string[] none: until Ctrl-C, or until the process that is counted ends
---@param options? pmlua.CountOptions
---@return { ended: table, rows: pmlua.CountRow[], notes: string[] }? result, string? err
---@return integer? status for the caller's own end, if it is the command that cannot be run
function M.run(words, options)
  options = options or {}
  if words[1] then
    local path, missing, status = preload.locate(words[1])
    if not path then return nil, missing, status end
  end
  local list, unknown = places.of(options)
  if unknown then return nil, unknown, FAILED end
  options = setmetatable({ elsewhere = list ~= nil }, { __index = options })
  local handles, set = open(options)
  if not handles then return nil, set, FAILED end
  if list then attach(handles, list) end
  local ended, err
  if words[1] then ended, err = run_command(words, handles, set, options) else ended = wait(handles, options) end
  local rows, notes
  if ended then rows, notes = gather(handles, ended) end
  close(handles)
  if not ended then return nil, err, NOT_RUN end
  return { ended = ended, rows = rows, notes = notes }
end

return M
