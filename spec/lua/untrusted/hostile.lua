-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/untrusted/hostile.lua - texts that are executed, or spoil a picture, if a program takes them for code.
--
-- Try:  for _, text in ipairs(require("spec.lua.untrusted.hostile").texts("touch x", 1, 20)) do print(("%q"):format(text)) end

local M = {}

--- Texts that gnuplot, Graphviz or the shell took, or could take, for code. %s is a command.
local payloads = {
  "cost of `%s`", "$(%s)", "'; system('%s') #", "\"; system(\"%s\") #", "\\\"; system(\"%s\") #", "\"\n!%s\n", "\\`%s\\`",
  "' 1); system('%s'); set ytics add ('", "< %s", "| %s", "'; %s; '", "@run_name `%s`", "\\\\\"`%s`", "{/Symbol `%s`}",
  "<b>%s</b>",
  "\"]; x [URL=\"%s\"", "&lt;%s&#62;", "\\N\\G %s", "%%s %%d `%s`", "a_b^c_{d} ~ {/=20 e} %s", "]]> %s <![CDATA[",
}
local pieces = { "`", "'", '"', "\\", "$", "@", "{", "}", "_", "^", "&", "<", ">", "%", "#", "!", "|", ";", "\n", "\r", "\t",
  "\0", "\27[31m", "\xC2\x9B", "\xff", "\xed\xa0\x80", "\xef\xbf\xbf", "é", "μ", "日", "a", "b", " ", "0" }

--- All payloads with the command in them, then `n` random texts, which have it in them as well.
---@param command string
---@param seed integer
---@param n integer
---@return string[]
function M.texts(command, seed, n)
  local texts = {}
  for i, payload in ipairs(payloads) do texts[i] = payload:format(command) end
  math.randomseed(seed)
  for _ = 1, n do
    local parts = {}
    for i = 1, math.random(12) do
      local dice = math.random(10)
      parts[i] = dice == 1 and string.char(math.random(0, 255)) or dice == 2 and command
        or dice == 3 and payloads[math.random(#payloads)]:format(command) or pieces[math.random(#pieces)]
    end
    texts[#texts + 1] = table.concat(parts)
  end
  return texts
end

--- A text as it stands in XML, each byte of it that could be written in several ways as the byte itself.
---@param xml string
---@return string
function M.unescape(xml)
  local names = { lt = "<", gt = ">", amp = "&", quot = '"', apos = "'" }
  return (xml:gsub("&(#?x?)(%w+);", function(kind, what)
    if kind == "" then return names[what] end
    return utf8.char(tonumber(what, kind == "#" and 10 or 16))
  end):gsub("\xC2\xA0", " "))
end

return M
