-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/commandline.lua - options, then a command with words of its own: what the verbs that run one take.
--
-- Try:  print(require("pmlua.commandline").parse({ "--json", "--", "ls", "-l" }, { flags = { ["--json"] = "json" } }).words[2])

local M = {}

---@class pmlua.CommandLine
---@field flags table<string, string> options without a value, to the fields of the result that they make true
---@field values? table<string, any> options that have one; each is given to take
---@field take? fun(o: table, name: string, value: string): string? what is wrong with it
---@field word? fun(o: table, word: string): boolean? a word before the command that is not its first; nil: it is
---@field check? fun(o: table): string? what is wrong with all of it

--- The next option's name and value, and where the words after it begin; nil and what is wrong.
local function option(args, i, line)
  local name, value = args[i]:match("^(%-%-[%w-]+)=(.*)$")
  name, i = name or args[i], i + 1
  if line.flags[name] and not value then return name, nil, i end
  if not line.values or line.values[name] == nil then return nil, "no such option: " .. name end
  if not value then value, i = args[i], i + 1 end
  if not value or value == "" then return nil, name .. " needs a value" end
  return name, value, i
end

--- Read a command line up to the command, whose words are in the field words.
---@param args string[]
---@param line pmlua.CommandLine
---@return table? o
---@return string? misuse
function M.parse(args, line)
  local o, i = {}, 1
  while i <= #args do
    if args[i] == "--" then
      i = i + 1
      break
    elseif args[i]:find("^%-") then
      local name, value, after = option(args, i, line)
      if not name then return nil, value end
      i = after
      local wrong
      if value then wrong = line.take(o, name, value) else o[line.flags[name]] = true end
      if wrong then return nil, wrong end
    elseif line.word and line.word(o, args[i]) then i = i + 1
    else break end
  end
  o.words = { table.unpack(args, i) }
  local wrong = line.check and line.check(o)
  if wrong then return nil, wrong end
  return o
end

return M
