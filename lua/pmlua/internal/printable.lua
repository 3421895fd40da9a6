-- SPDX-License-Identifier: BSD-3-Clause
--- Text from a file as a terminal may get it: control characters are escaped, so that nothing moves the cursor, hides
-- a line or types an answer.
--
-- Try:  print(require("pmlua.internal.printable")("a\27[2Jb"))

local function hex(bytes) return (bytes:gsub(".", function(c) return ("\\x%02x"):format(c:byte()) end)) end

--- Escape C0, DEL, and C1 in UTF-8, and bytes that are not UTF-8.
---@param text any also a failure
local function printable(text)
  text = tostring(text)
  if not text:find "[%c\127-\255]" then return text end
  if not utf8.len(text) then text = text:gsub("[\128-\255]", hex) end
  return (text:gsub("[%c\127]", hex):gsub("\194[\128-\159]", hex))
end

local M = {}

--- The same for a text of lines, whose ends and tabs stay.
---@param text any a failure, too
function M.lines(text) return (text:gsub("[^\n\t]+", printable)) end

return setmetatable(M, { __call = function(_, text) return printable(text) end })
