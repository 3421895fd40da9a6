-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/outliers.lua - the text of pmlua report --outliers: how slow calls differ from the others.
--
-- Try:  pmlua record --trace -o out -- ./server; pmlua report out --outliers request

local printable = require "pmlua.internal.printable"
local tables = require "pmlua.internal.report.job_tables"
local tabulate = require "pmlua.tabulate"
local units = require "pmlua.internal.report.units"

local M = {}

local CAUSES <const>, PLACES <const>, NAME <const> = 10, 5, 60

local TITLES <const> = { argument = "value of %s", calls = "calls of %s", time = "time in %s", event = "events %s",
  beside = "other threads in %s", first = "%s",
  self = "time in %s itself" }

local function time(s) return units.scaled(s, "s") end

local function part(v) return units.percent(v) .. " %" end

local SHOWN <const> = { time = time, self = time, first = part, beside = function(v) return ("%.2f"):format(v) end }

local function causes(found)
  local rows = { { "CAUSE", "OTHER CALLS", "SLOW CALLS", "EXPLAINS", "EFFECT", "P" } }
  for i = 1, math.min(#found.causes, CAUSES) do
    local c = found.causes[i]
    local show = SHOWN[c.kind] or tabulate.number
    rows[i + 1] = { TITLES[c.kind]:format(tabulate.cut(printable(c.name), NAME)), show(c.ordinary), show(c.slow),
      c.explains and c.explains > 0 and ("%d of %d"):format(c.explains, found.slow) or "-", ("%+.2f"):format(c.effect),
      ("%.1g"):format(c.p) }
  end
  return tables.lined_up("What distinguishes the slow calls (means)", rows, 1)
    .. (#found.causes > CAUSES and ("and %d more; --json lists all\n"):format(#found.causes - CAUSES) or "")
end

local function places(found)
  local rows = { { "FUNCTION", "SLOW CALLS" } }
  for i = 1, math.min(#found.where, PLACES) do
    local w = found.where[i]
    rows[i + 1] = { tabulate.cut(printable(w.region), NAME), ("%d of %d"):format(w.slow_calls, found.slow) }
  end
  return tables.lined_up("Which function itself has most of the extra time", rows, 1)
end

---@param found pmlua.analysis.Outliers
---@param name string
function M.text(found, name)
  local head = ("%s: %s, median %s; %s\n"):format(printable(name), units.plural(found.calls, "call"), time(found.median_s),
    found.slow == 0 and ("none took longer than %s"):format(time(found.fence_s))
    or ("%d took longer than %s%s"):format(found.slow, time(found.fence_s),
      found.extra_s and (", typically %s longer than the median"):format(time(found.extra_s)) or ""))
  if found.unknown then head = head .. "cannot tell why: " .. found.unknown .. "\n" end
  if found.features > 0 then
    head = head .. ("compared: %s of %d slow and %d other calls\n"):format(
      units.plural(found.features, "property", "properties"), found.compared.slow, found.compared.ordinary)
  end
  return head .. causes(found) .. places(found)
end

return M
