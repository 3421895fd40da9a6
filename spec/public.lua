-- SPDX-License-Identifier: BSD-3-Clause
-- spec/public.lua - names that scripts and command lines depend on: functions, methods and options of Lua, options of verbs and
-- keys of their JSON, environment variables, numbers of file formats.
-- Try: build/pmlua spec/public.lua; --write records them in spec/data/public.tsv.
--
-- A line is KIND, OWNER and the names, in order; who has no names has no line. The line of kind "major" has the major version
-- whose names these are: --write drops a name only for a new one. Lines of kind "removed" stay: the removed name, and its
-- replacement.

local FILE <const> = "spec/data/public.tsv"

-- Verbs that print JSON whose keys do not depend on the machine; in an empty folder, in this order.
local SAMPLES <const> = {
  { "stat", "$PMLUA stat -q --json -e task-clock -- true" },
  { "doctor", "$PMLUA doctor --json" },
  { "events", "$PMLUA events --json" },
  { "bench", "$PMLUA bench -q --no-plot -r 2 --json true" },
  { "compare", "$PMLUA compare --json results/bench/latest results/bench/latest" },
  { "record", "$PMLUA record -q --trace --lib libc -o recorded --json -- touch file" },
  { "trace", "$PMLUA trace --json recorded/traces.otf2" },
  { "report", "PMLUA_REPORT=sections $PMLUA -e 'local s = pml.section.define { label = [[s]] } s:start() s:stop()' && "
    .. "$PMLUA report --json sections" },
}

-- Where each format has its number.
local FORMATS <const> = {
  log = { "core/record/log/pml_log_format.h", "PML__LOG_VERSION (%d+)" },
  summary = { "core/read/summary/pml_summary_pack.c", "#define VERSION (%d+)" },
  guard = { "lua/pmlua/internal/guard.lua", '"pmlua%-guard (%d+)"' },
}

local M = {}

local function add(lines, kind, owner, names)
  table.sort(names)
  if #names > 0 then lines[#lines + 1] = ("%s\t%s\t%s"):format(kind, owner, table.concat(names, " ")) end
end

local function names_of(list, prefix)
  local names = {}
  for _, item in ipairs(list or {}) do
    names[#names + 1] = (prefix or "") .. item.name:gsub("%s", "")
    if item.was then names[#names + 1] = prefix:sub(#item.was == 1 and 2 or 1) .. item.was end -- deprecated
  end
  return names
end

local function add_class(lines, class)
  add(lines, "functions", class.name, names_of(class.functions))
  add(lines, "fields", class.name, names_of(class.fields))
end

local function slurp(path)
  local f <close> = assert(io.open(path))
  return f:read "a"
end

-- Objects whose keys are the program's own names or numbers, and rows that only some programs have.
local LEAVES <const> = { factors = true, metrics = true, bucket = true, left_functions = true }

--- The paths of keys, such as counts[].event.
local function add_keys(keys, value, path)
  if type(value) ~= "table" or LEAVES[path:match "[%a_]*$"] then return end
  for k, v in pairs(value) do
    local at = type(k) == "number" and path .. "[]" or path == "" and k or path .. "." .. k
    if type(k) == "string" then keys[at] = true end
    add_keys(keys, v, at)
  end
end

local function add_json(lines)
  local pml, folder = require "pmlua", os.tmpname()
  local command = assert(pml.sys.realpath((os.getenv("PMLUA_BUILD") or "build") .. "/pmlua"))
  assert(os.remove(folder) and require("lfs").mkdir(folder))
  for _, sample in ipairs(SAMPLES) do
    local verb, line = table.unpack(sample)
    local pipe = io.popen(("cd '%s' && PMLUA='%s' && %s"):format(folder, command, line))
    local text, keys, names = pipe:read "a", {}, {}
    assert(pipe:close(), line)
    add_keys(keys, require("cjson").decode(text), "")
    for key in pairs(keys) do names[#names + 1] = key end
    add(lines, "json", verb, names)
  end
  os.execute(("rm -r '%s'"):format(folder))
end

local function add_formats(lines)
  local names = {}
  for format, at in pairs(FORMATS) do names[#names + 1] = format .. ":" .. assert(slurp(at[1]):match(at[2]), format) end
  add(lines, "formats", "files", names)
end

--- The major version of this tree.
function M.major()
  return slurp("core/base/pml_api.h"):match "#define PML_VERSION_MAJOR (%d+)"
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
  add_json(lines)
  add_formats(lines)
  table.sort(lines)
  return lines
end

--- The recorded names, the names removed since, and the major version of the former.
---@return string[] lines, { name: string, instead: string }[] removed, string major
function M.recorded()
  local lines, removed, major = {}, {}, nil
  for line in io.lines(FILE) do
    local name, instead = line:match "^removed\t([^\t]+)\t(.+)$"
    local number = line:match "^major\tpmlua\t(%d+)$"
    major = major or number
    if name then removed[#removed + 1] = { name = name, instead = instead }
    elseif not number then lines[#lines + 1] = line end
  end
  return lines, removed, major
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

--- The names that may not go yet: all that went within a major version; otherwise those without a replacement.
function M.kept(now)
  local recorded, removed, major = M.recorded()
  local replaced, kept = {}, {}
  for _, r in ipairs(removed) do replaced[r.name] = true end
  for _, name in ipairs(M.beyond(recorded, now)) do
    if major == M.major() or not replaced[name] then kept[#kept + 1] = name end
  end
  return kept
end

if arg and arg[0] and arg[0]:find "public%.lua$" then
  local lines = M.now()
  if arg[1] == "--write" then
    local kept = M.kept(lines)
    if #kept > 0 then
      error("these names stay within a major version, and leave with a line of kind removed in the next: "
        .. table.concat(kept, ", "), 0)
    end
    local _, removed = M.recorded()
    table.insert(lines, 1, "major\tpmlua\t" .. M.major())
    for _, r in ipairs(removed) do lines[#lines + 1] = ("removed\t%s\t%s"):format(r.name, r.instead) end
    assert(assert(io.open(FILE, "w")):write(table.concat(lines, "\n"), "\n")):close()
  else
    print(table.concat(lines, "\n"))
  end
end

return M
