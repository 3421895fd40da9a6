-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/quote.lua - quote untrusted text for gnuplot, Graphviz or the shell.
--
-- Try:  print(require("pmlua.internal.quote").gnuplot "cost of `touch x`")
--
-- Each function lists the characters that may stay unescaped. All others are escaped, so that characters that nobody
-- considered are safe. Pictures are XML or are shown by terminals: control characters become blanks, and bytes that
-- are not UTF-8 become question marks.

local M = {}

local function valid(text)
  local parts, from = {}, 1
  while true do
    local length, wrong = utf8.len(text, from)
    if length then break end
    parts[#parts + 1] = text:sub(from, wrong - 1) .. "?"
    from = wrong + 1
  end
  parts[#parts + 1] = text:sub(from)
  return table.concat(parts)
end

--- One line of valid text. U+0080 to U+009F control terminals; U+FFFE and U+FFFF cannot stand in XML.
function M.plain(text)
  text = valid(tostring(text)):gsub("[\0-\31\127]+", " ")
  return (text:gsub("\xC2[\x80-\x9F]", " "):gsub("\xEF\xBF[\xBE\xBF]", "?"))
end

--- The same for a label that gnuplot draws: it does not escape the `>` of `]]>`, which may not stand in XML.
function M.drawn(text) return (M.plain(text):gsub("%]%]>", "]] >")) end

--- A gnuplot string, in double quotes. Its text must be drawn `noenhanced`.
function M.gnuplot(text)
  -- Versions of gnuplot read different numbers of digits, so a digit after an escape is also escaped.
  local inside = M.drawn(text):gsub("[^A-Za-z0-9 _.,:/()+=?%-\128-\255]+[0-7]*", function(run)
    return (run:gsub(".", function(c) return ("\\%03o"):format(c:byte()) end))
  end)
  return '"' .. inside .. '"'
end

--- The inside of a string of Graphviz's; a line break in it is written \n by the caller.
function M.dot_inside(text)
  return (M.plain(text):gsub("[^A-Za-z0-9 _.,:/()+=?%-\128-\255]", function(c)
    return c == "\\" and "\\\\" or ("&#%d;"):format(c:byte())
  end))
end

--- A string of Graphviz's, in double quotes; never one of its HTML.
function M.dot(text) return '"' .. M.dot_inside(text) .. '"' end

--- Text of HTML or XML, also inside of an attribute's quotes.
---@param lines? string "lines": keep its lines and tabs
function M.html(text, lines)
  if lines then
    local out = {}
    for line in (tostring(text) .. "\n"):gmatch "(.-)\r?\n" do out[#out + 1] = M.html((line:gsub("\t", "        "))) end
    return table.concat(out, "\n")
  end
  return (M.plain(text):gsub("[^A-Za-z0-9 _.,:;/()+=?%%*!|~^$@{}%[%]#\128-\255-]", function(c)
    return ("&#%d;"):format(c:byte())
  end))
end

--- A word of the shell. A zero byte cannot be in one and raises.
function M.shell(text)
  text = tostring(text)
  if text:find("\0", 1, true) then error("a word of a command has a zero byte", 2) end
  if text:find("^[A-Za-z0-9_%-+=:,./@]+$") then return text end
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

return M
