-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/csv.lua - tables as CSV, as in RFC 4180, for every verb that has --csv.
--
-- Try:  io.write(require("pmlua.internal.cli.csv").table({ "event", "count" }, { { "a,b", 3 } }))

local M = {}

--- A cell as it stands in a line.
function M.cell(v)
  if v == nil or v ~= v or v == math.huge or v == -math.huge then return "" end
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if type(v) == "number" then return ("%.15g"):format(v) end
  local text = tostring(v)
  return text:find('[",\r\n]') and '"' .. text:gsub('"', '""') .. '"' or text
end

--- One line of n cells; nil and numbers that are not finite become empty cells.
function M.line(cells, n)
  local out = {}
  for i = 1, n do out[i] = M.cell(cells[i]) end
  return table.concat(out, ",") .. "\n"
end

--- A line of names, and one for each row.
function M.table(names, rows)
  local lines = { M.line(names, #names) }
  for i, row in ipairs(rows) do lines[i + 1] = M.line(row, #names) end
  return table.concat(lines)
end

return M
