-- SPDX-License-Identifier: BSD-3-Clause
--- Whether Lua code ends inside a string, as completion wants to know at the cursor.
--
-- Try:  print(require("pmlua.internal.prompt.openstring")('pml.eventset { "task-cl'))

--- The beginning of the string that `left` ends in; nil: it ends in none, and whether it ends in a comment.
---@param left string the line up to the cursor
---@return string? text, boolean? comment
return function(left)
  local quote, from
  local i = 1
  while i <= #left do
    local c = left:sub(i, i)
    if quote and c == "\\" then i = i + 1
    elseif c == quote then quote = nil
    elseif not quote and (c == '"' or c == "'") then quote, from = c, i + 1
    elseif not quote and left:sub(i, i + 1) == "--" then return nil, true end
    i = i + 1
  end
  return quote and left:sub(from) or nil
end
