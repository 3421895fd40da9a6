-- SPDX-License-Identifier: BSD-3-Clause
--- Metrics as `perf list --details metric` prints them: of perf before 6.2, which knows no --json.
--
--     Metrics:
--
--       NAME
--            [what it is]
--            [formula]
--
-- Newer versions print groups ("Flops:") before the names in them, break long lines, and add a threshold behind the formula.
-- The text has no units.

local M = {}

--- Is it such a text?
function M.is(text)
  local head = "\n" .. text:sub(1, 65536)
  return head:find "\nMetrics:%s*\n" ~= nil or head:find "\nMetric Groups:%s*\n" ~= nil
end

--- Lines, those in brackets joined until the bracket ends its line.
local function entries(text)
  local list, open = {}, nil
  for line in text:gsub("\r", ""):gmatch "[^\n]*" do
    local inner = line:match "^%s+%[(.*)$"
    if inner then
      open = inner
    elseif open and line:find "%S" then
      open = open .. " " .. line:match "^%s*(.-)%s*$"
    elseif line:find "%S" then
      list[#list + 1] = { line = line }
    end
    if not line:find "%S" then open = nil end
    if open and open:find "%]%s*$" then
      list[#list + 1], open = { bracket = open:match "^(.*)%]%s*$" }, nil
    end
  end
  return list
end

--- The metrics, as rows of perf's JSON.
---@return { MetricName: string, MetricExpr: string, BriefDescription: string, MetricGroup: string? }[]
function M.rows(text)
  local rows, by_name, group, row, inside = {}, {}, nil, nil, false
  for _, entry in ipairs(entries(text)) do
    local heading = entry.line and entry.line:match "^(%S.-):%s*$"
    local name = entry.line and entry.line:match "^%s+(%S+)%s*$"
    if heading == "Metrics" or heading == "Metric Groups" then
      inside, group, row = true, nil, nil
    elseif heading and inside then
      group, row = heading, nil
    elseif name and inside then
      row = by_name[name] or { MetricName = name, texts = {} }
      row.done = by_name[name] ~= nil
      row.MetricGroup = group and (row.MetricGroup and row.MetricGroup .. ";" .. group or group) or row.MetricGroup
      if not row.done then by_name[name], rows[#rows + 1] = row, row end
    elseif entry.bracket and row and not row.done then
      row.texts[#row.texts + 1] = entry.bracket
    elseif entry.line then
      row = nil
    end
  end
  local out = {}
  for _, r in ipairs(rows) do
    if r.texts[2] then
      out[#out + 1] = { MetricName = r.MetricName, BriefDescription = r.texts[1], MetricExpr = r.texts[2],
        MetricGroup = r.MetricGroup }
    end
  end
  return out
end

return M
