-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/kind.lua - option --kind: only calls of some kinds, such as library, python or mpi.
--
-- Try:  pmlua record --kind library -- ./solver

local keys = require "pmlua.internal.keys"

local M = {}

--- The set of the kinds in a list, such as "python,mpi"; nil and why.
---@param text string
---@return table<string, boolean>? kinds, string? why
local function read(text)
  local kinds = {}
  for word in text:gmatch "[^,]+" do
    if not word:find "^%l[%l%d_]*$" then return nil, ("'%s' is no kind; write one such as library or python"):format(word) end
    kinds[word] = true
  end
  if next(kinds) then return kinds end
  return nil, "name kinds of calls, such as python,mpi"
end

--- The option --kind, with its help.
---@return pmlua.cli.Option
function M.option(help) return { name = "kind", kind = "name", value = "KINDS", read = read, help = help } end

--- The list of a set of kinds, as a question about a trace takes it.
function M.list(kinds) return kinds and table.concat(keys(kinds), ",") end

--- The kind of a section.
---@param section { interface: string? }
function M.of_section(section) return (section.interface or "section"):lower() end

--- The paths of calls of these kinds. The own time of another call is its caller's, if that is one of them.
---@param paths pmlua.calls.path[] depth first
---@param kinds? table<string, boolean> nil: all
---@param levels? integer how many calls that are kept may be inside each other
---@return pmlua.calls.path[]
function M.keep(paths, kinds, levels)
  local kept, above = {}, {} -- above: by depth, the innermost call that is kept, or false
  for _, path in ipairs(paths) do
    local outer = above[path.depth] or false
    local depth = outer and outer.depth + 1 or 0
    if (not kinds or kinds[path.kind]) and depth < (levels or math.huge) then
      local copy = {}
      for name, value in pairs(path) do copy[name] = value end
      copy.depth = depth
      kept[#kept + 1], above[path.depth + 1] = copy, copy
    else
      if outer then outer.exclusive_ns = outer.exclusive_ns + path.exclusive_ns end
      above[path.depth + 1] = outer
    end
  end
  return kept
end

--- The recorded calls of these kinds alone, and a sentence on kinds that no call has.
---@param all table as functions.lua makes it
---@param kinds? table<string, boolean>
---@param levels? integer as of keep
---@return table all, string? missing
function M.narrow(all, kinds, levels)
  local there, missing, results = {}, {}, {}
  for _, f in ipairs(all.functions) do there[f.kind] = true end
  for _, name in ipairs(keys(kinds or {})) do missing[#missing + 1] = not there[name] and name or nil end
  for i, p in ipairs(all.processes) do
    local copy = {}
    for key, value in pairs(p) do copy[key] = value end
    copy.paths = M.keep(p.paths, kinds, levels)
    results[i] = { process = copy }
  end
  local narrowed = require "pmlua.internal.record.functions".of(results)
  if #missing == 0 then return narrowed end
  local list = table.concat(keys(there), ", ")
  return narrowed, ("--kind: no call is of kind %s; %s"):format(table.concat(missing, " or "),
    list ~= "" and "the kinds are " .. list or "no call was recorded")
end

return M
