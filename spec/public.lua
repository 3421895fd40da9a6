-- SPDX-License-Identifier: BSD-3-Clause
-- spec/public.lua - names that scripts and command lines depend on: functions, methods and options of Lua, options of verbs,
-- environment variables. Try: build/pmlua spec/public.lua; --write records them in spec/data/public.tsv.
--
-- A line is KIND, OWNER and the names, in order. Lines of kind "removed" stay: the name that went, and what to use instead.

local FILE <const> = "spec/data/public.tsv"

local M = {}

local function add(lines, kind, owner, names)
  table.sort(names)
  lines[#lines + 1] = ("%s\t%s\t%s"):format(kind, owner, table.concat(names, " "))
end

local function names_of(list, prefix)
  local names = {}
  for i, item in ipairs(list or {}) do names[i] = (prefix or "") .. item.name:gsub("%s", "") end
  return names
end

local function add_class(lines, class)
  add(lines, "functions", class.name, names_of(class.functions))
  if #class.fields > 0 then add(lines, "fields", class.name, names_of(class.fields)) end
end

--- The names of today.
---@return string[] lines
function M.now()
  local lines, model = {}, require "pmlua.internal.reference.model".load()
  for _, name in ipairs(model.names) do
    add_class(lines, model.modules[name].class)
    for _, class in ipairs(model.modules[name].classes) do add_class(lines, class) end
  end
  local verb = require "pmlua.internal.cli.verb"
  for _, name in ipairs(verb.all()) do add(lines, "options", name, names_of(verb.load(name).options, "--")) end
  for _, group in ipairs(require "pmlua.internal.cli.environment".groups) do
    local names = names_of(group.variables)
    for i, list in ipairs(names) do names[i] = list:gsub(",", " ") end
    add(lines, "variables", group.title, names)
  end
  table.sort(lines)
  return lines
end

--- The names that were recorded, and those that were removed since.
---@return string[] lines, { name: string, instead: string }[] removed
function M.recorded()
  local lines, removed = {}, {}
  for line in io.lines(FILE) do
    local name, instead = line:match "^removed\t([^\t]+)\t(.+)$"
    if name then removed[#removed + 1] = { name = name, instead = instead } else lines[#lines + 1] = line end
  end
  return lines, removed
end

--- The names in one list of lines that the other lacks.
function M.beyond(a, b)
  local has, out = {}, {}
  local function each(lines, f)
    for _, line in ipairs(lines) do
      local kind, owner, names = line:match "^([^\t]*)\t([^\t]*)\t(.*)$"
      for name in names:gmatch "%S+" do f(kind == "variables" and name or owner .. " " .. name) end
    end
  end
  each(b, function(name) has[name] = true end)
  each(a, function(name) if not has[name] then out[#out + 1] = name end end)
  return out
end

if arg and arg[0] and arg[0]:find "public%.lua$" then
  local lines = M.now()
  if arg[1] == "--write" then
    local _, removed = M.recorded()
    for _, r in ipairs(removed) do lines[#lines + 1] = ("removed\t%s\t%s"):format(r.name, r.instead) end
    assert(assert(io.open(FILE, "w")):write(table.concat(lines, "\n"), "\n")):close()
  else
    print(table.concat(lines, "\n"))
  end
end

return M
