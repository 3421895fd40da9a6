-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/stat/run.lua - counting a whole command: the sources that can count, and what they counted.
--
-- Try:  for _, r in ipairs(require("pmlua.internal.stat.run").run({ "true" }).rows) do print(r.event, r.value, r.unit) end
--
-- A source is a module of counts/ with
--   name         what stands beside its rows
--   open(o)      a handle for one run; nil and why, if what was asked of it cannot be done. o is options of run()
-- and a handle may have
--   set          string[], more of the command's environment
--   attach(h, pid)   the command waits to begin
--   rows(h, ended)   the command has ended: its rows, in order, and sentences about what they leave out
--   close(h)

local child = require "pmlua.internal.child"
local preload = require "pmlua.internal.preload"

local M = {}

local NOT_RUN, FAILED = 126, 1 -- as shells say it

--- The list to add a source to.
M.sources = {
  (require "pmlua.internal.stat.resources"),
  (require "pmlua.internal.stat.kernel"),
  (require "pmlua.internal.stat.compiler"),
}

---@class pmlua.CountRow
---@field event string
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
---@field child? pmlua.ChildOptions

local function close(handles)
  for _, h in ipairs(handles) do
    if h.close then h:close() end
  end
end

local function open(options)
  local handles, set = {}, {}
  for _, source in ipairs(M.sources) do
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

--- Run a command and count it.
---@param words string[]
---@param options? pmlua.CountOptions
---@return { ended: table, rows: pmlua.CountRow[], notes: string[] }? result
---@return string? err
---@return integer? status for the caller's own end, if it is the command that cannot be run
function M.run(words, options)
  local path, missing, status = preload.locate(words[1])
  if not path then return nil, missing, status end
  options = options or {}
  local handles, set = open(options)
  if not handles then return nil, set, FAILED end
  local how = setmetatable({ environment = set }, { __index = options.child })
  local ended, err = child.run(words, function(pid)
    for _, h in ipairs(handles) do
      if h.attach then h:attach(pid) end
    end
  end, how)
  local rows, notes
  if ended then rows, notes = gather(handles, ended) end
  close(handles)
  if not ended then return nil, err, NOT_RUN end
  return { ended = ended, rows = rows, notes = notes }
end

return M
