-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/trace/compared.lua - what pmlua compare prints of two traces.
--
-- Try:  pmlua compare before/traces.otf2 after/traces.otf2

local core = require "pmlua.core"
local csv = require "pmlua.internal.cli.csv"
local disk = require "pmlua.internal.file"
local lists = require "pmlua.internal.lists"
local printable = require "pmlua.internal.printable"
local tables = require "pmlua.internal.report.job_tables"
local units = require "pmlua.internal.report.units"

local M = {}

local SHOWN <const>, NAME <const> = 20, 70

--- Whether a path is a trace: an anchor file, or a folder of pmlua record.
function M.is_trace(path)
  if path:find "%.otf2$" then return true end
  if require "lfs".attributes(path, "mode") ~= "directory" then return false end
  if require "pmlua.internal.report.run".is_one(path) then return false end
  if core.sys.realpath(path .. "/traces.otf2") then return true end
  return lists.any(disk.names(path) or {}, function(name) return name:find "%.pmlog$" end)
end

---@return pmlua.analysis.Difference?, string? err
function M.compare(a, b)
  local trace = require "pmlua.trace"
  local x <close>, err = trace.open(a)
  if not x then return nil, core.failure.sentence(err) end
  local y <close>, why = trace.open(b)
  if not y then return nil, core.failure.sentence(why) end
  local result, refused = require "pmlua.analysis.difference".of(x, y)
  if not result then return nil, core.failure.sentence(refused) end
  result.a, result.b = a, b
  return result
end

local fields = { "path", "calls_a", "calls_b", "a_s", "b_s", "difference_s", "part" }

--- The table as names and rows.
function M.rows(r) return fields, require "pmlua.internal.page".rows(fields, r.paths) end

function M.csv(r) return csv.table(M.rows(r)) end

local function percent(part) return part and units.percent(part) .. " %" or nil end

local function signed(s) return (s > 0 and "+" or "") .. units.scaled(s, "s") end

--- The end of a long path says more than its beginning.
local function shortened(path)
  path = printable(path)
  local n = utf8.len(path) or #path
  return n > NAME and "..." .. path:sub(utf8.offset(path, n - NAME + 4) or -NAME) or path
end

function M.text(r)
  local rows = { { "CALL PATH", "CALLS A", "CALLS B", "A", "B", "B - A", "PART" } }
  local rest = { a_s = 0, b_s = 0, difference_s = 0, n = 0 }
  for i, p in ipairs(r.paths) do
    if i <= SHOWN then
      rows[i + 1] = { shortened(p.path), ("%d"):format(p.calls_a), ("%d"):format(p.calls_b), units.scaled(p.a_s, "s"),
        units.scaled(p.b_s, "s"), signed(p.difference_s), percent(p.part) or "-" }
    else
      rest.n = rest.n + 1
      for _, field in ipairs { "a_s", "b_s", "difference_s" } do rest[field] = rest[field] + p[field] end
    end
  end
  local function total(name, t)
    rows[#rows + 1] = { name, "", "", units.scaled(t.a_s, "s"), units.scaled(t.b_s, "s"), signed(t.difference_s),
      r.difference_s ~= 0 and percent(t.difference_s / r.difference_s) or "-" }
  end
  if rest.n > 0 then total(("and %d more; --csv has all"):format(rest.n), rest) end
  total("all", r)
  return ("A: %s, %s\nB: %s, %s\n"):format(printable(r.a), units.scaled(r.length_a_s, "s"), printable(r.b),
    units.scaled(r.length_b_s, "s")) .. tables.lined_up("Time in calls without the calls inside, of all locations", rows, 1)
    .. "\nEach trace is one run: the difference includes variation between runs.\n"
end

--- The verdict of --fail-on on the whole trace, as a line; nil: within the bounds.
function M.bad(r, bounds)
  if bounds and #r.paths == 0 then return "--fail-on judged nothing: neither trace has calls" end
  local word = r.difference_s > 0 and "slower" or "faster"
  local share = r.a_s > 0 and math.abs(r.difference_s) / r.a_s or math.huge
  for _, b in ipairs(bounds or {}) do
    local named = b.word == word or b.word == (word == "slower" and "more" or "less")
    if named and share > b.bound and r.difference_s ~= 0 then
      return ("%s by %s %%"):format(word, units.percent(share))
    end
  end
  return nil
end

return M
