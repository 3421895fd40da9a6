-- SPDX-License-Identifier: BSD-3-Clause
--- The command line of a verb that runs a program: its own options, then the program's words.
--
--     local o, misuse = require("pmlua.arguments").read(args, {}, { ["--json"] = "flag", ["-o"] = "value" }, take)

local M = {}

--- Reads `-o VALUE`, `--name VALUE`, `--name=VALUE` and flags up to `--` or the first word that is no option.
---@param args string[]
---@param o table becomes what was read: its `words` are the program's; flags are true, by their names
---@param kinds table<string, "flag"|"value"|"optional"> optional: a flag, or --name=VALUE
---@param take fun(o: table, name: string, value: string): string? what is wrong with an option's value
---@return table? o
---@return string? misuse one line
function M.read(args, o, kinds, take)
  local i = 1
  while args[i] and args[i]:find "^%-" do
    local name, value = args[i]:match "^(%-%-[%a-]+)=(.*)$"
    name = name or args[i]
    i = i + 1
    if name == "--" then break end
    local kind = kinds[name]
    if not kind then return nil, "no such option: " .. name end
    if kind == "flag" and value then return nil, name .. " takes no value" end
    if kind == "flag" or (kind == "optional" and not value) then
      o[name:sub(3)] = true
    else
      if not value then value, i = args[i], i + 1 end
      if not value or value == "" then return nil, name .. " needs a value" end
      local wrong = take(o, name, value)
      if wrong then return nil, wrong end
    end
  end
  o.words = { table.unpack(args, i) }
  return o
end

return M
