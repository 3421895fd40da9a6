-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/text.lua - the help of a verb, or of an experiment, from its table.
--
-- Try:  pmlua help stat

local kinds = require "pmlua.internal.cli.kinds"

local M = {}

local WIDTH, LABEL = 100, 24 -- characters of a line of help, and of the widest option that has help beside it

--- The placeholder of an option's value in help, "" for a flag: " FILE", "[=FILE]".
function M.value(option)
  if not option.kind then return "" end
  local value = option.value or option.choices and table.concat(option.choices, "|") or kinds[option.kind].value
  if option.list then value = value .. "..." end
  if option.optional then return option.kind == "picture" and " [" .. value .. "]" or "[=" .. value .. "]" end
  return " " .. value
end

--- "-o, --out-dir DIR"
function M.label(option)
  return (option.short and "-" .. option.short .. ", " or "") .. "--" .. option.name .. M.value(option)
end

--- The description of an option: its help, extended by the default and other fields of the table.
function M.about(option)
  local about = option.help
  if option.many then about = about .. "; may be repeated" end
  local default = option.shown or option.default
  if default ~= nil and default ~= "" then about = ("%s (default: %s)"):format(about, tostring(default)) end
  return about
end

--- The arguments as the usage has them: "[PATTERN]", "A B", "DIR...".
function M.arguments(line)
  local words = {}
  for _, argument in ipairs(line.arguments or {}) do
    local word = argument.name .. (argument.many and "..." or "")
    words[#words + 1] = argument.optional and "[" .. word .. "]" or word
  end
  local command = line.command
  if command then
    local text = ("%s %s [ARGS]"):format(command.behind and "--" or "[--]", command.name or "CMD")
    words[#words + 1] = command.optional and "[" .. text .. "]" or text
  end
  return table.concat(words, " ")
end

--- The forms of a verb's command line, without "pmlua".
function M.usage(verb)
  local forms = {}
  for _, form in ipairs(verb.usage or {}) do forms[#forms + 1] = verb.name .. " " .. form end
  if #forms > 0 then return forms end
  if verb.verbs then return { ("%s %s [ARGS]"):format(verb.name, table.concat(verb.verbs, "|")) } end
  local words = { verb.name }
  for _, option in ipairs(verb.options or {}) do
    words[#words + 1] = ("[%s%s]"):format(option.short and "-" .. option.short or "--" .. option.name, M.value(option))
  end
  local arguments = M.arguments(verb)
  words[#words + 1] = arguments ~= "" and arguments or nil
  local all = table.concat(words, " ")
  if #all < WIDTH then return { all } end
  return { (("%s [OPTIONS] %s"):format(verb.name, arguments):gsub("%s+$", "")) }
end

local function wrapped(text, indent)
  local lines, line = {}, nil
  for word in text:gmatch "%S+" do
    if line and #line + 1 + #word > WIDTH - indent then
      lines[#lines + 1], line = line, word
    else
      line = line and line .. " " .. word or word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. (" "):rep(indent))
end

--- Options with their help beside them.
---@param options pmlua.cli.Option[]
function M.options(options)
  local width, lines = 0, {}
  for _, option in ipairs(options) do
    local n = #M.label(option)
    if n <= LABEL then width = math.max(width, n) end
  end
  for i, option in ipairs(options) do
    local label = M.label(option)
    local gap = #label > width and "\n" .. (" "):rep(width + 4) or (" "):rep(width - #label + 2)
    lines[i] = "  " .. label .. gap .. wrapped(M.about(option), width + 4)
  end
  return table.concat(lines, "\n")
end

--- An example's line.
---@param example string|pmlua.cli.Example
function M.example(example) return type(example) == "table" and example[1] or example end

local function add(parts, title, text)
  if text and text ~= "" then parts[#parts + 1] = (title and title .. "\n" or "") .. text:gsub("%s*$", "") end
end

--- The help of a verb.
function M.help(verb)
  local forms, examples, verbs = M.usage(verb), {}, {}
  for i, example in ipairs(verb.examples) do examples[i] = "    " .. M.example(example) end
  for i, name in ipairs(verb.verbs or {}) do
    verbs[i] = ("  %-12s  %s"):format(name, require("pmlua.internal.cli.verb").load(verb.name .. " " .. name).summary)
  end
  local parts = { "usage: pmlua " .. table.concat(forms, "\n       pmlua ") }
  add(parts, nil, verb.summary)
  add(parts, nil, verb.about)
  add(parts, "verbs:", table.concat(verbs, "\n"))
  if verb.options and #verb.options > 0 then add(parts, "options:", M.options(verb.options)) end
  add(parts, nil, verb.notes)
  add(parts, "examples:", table.concat(examples, "\n"))
  return table.concat(parts, "\n\n") .. "\n"
end

return M
