-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/parse.lua - reads a command line as a verb's table describes it; the same rules for every verb.
--
-- Try:  print(require("pmlua.internal.cli.parse").parse({ options = { { name = "json" } }, command = {} }, { "--json",
--       "ls", "-l" }).json)
--
-- An option is --name VALUE, --name=VALUE, -x VALUE or -xVALUE; a flag is --name or -x. An optional value is given as
-- --name=VALUE. -- ends the options. Where a command follows, it begins after -- or with the first word that is neither
-- an option nor an argument of the verb, and none of its words is looked at.
--
-- lua-argparse is not used: loading it takes two thirds of what all of `pmlua stat -- true` takes, it looks for options
-- behind the first word of a command, and it knows no value that only --name=VALUE gives.

local kinds = require "pmlua.internal.cli.kinds"

local M = {}

local SHOWN = 60 -- bytes of a word in a message

---@class pmlua.cli.Option
---@field name string without the dashes
---@field short? string one letter
---@field kind? string of pmlua.cli.kinds; nil: a flag
---@field value? string what stands for the value in help, if the kind's word is not enough
---@field optional? boolean the value may be left out, and is given as --name=VALUE
---@field many? boolean may be repeated; the result is a list
---@field list? boolean takes all words up to the next option; the result is a list
---@field key? string of the result; by default the name with '_' for '-'
---@field default? any the value, or the text of one, if the option is not given
---@field shown? string the default in help, where there is no one value
---@field choices? string[] of the kind choice
---@field min? number
---@field max? number
---@field unit? string of a time without one
---@field such? string examples of times
---@field empty? boolean "" is a value
---@field was? string a deprecated name or letter, which works with a warning
---@field needs? string the option without which this one means nothing
---@field read? fun(text: string): any, string? instead of the kind's: the value; nil and what is wrong
---@field take? fun(o: table, text: string): string? instead of all that: changes the result; what is wrong
---@field help string

---@class pmlua.cli.Argument
---@field name string in help
---@field key? string of the result; by default the name in lower case
---@field kind? string of pmlua.cli.kinds
---@field many? boolean takes all the words that are left; the result is a list
---@field optional? boolean
---@field when? fun(o: table): boolean whether it is expected
---@field missing? string what to say if it is not there
---@field after? string what to say about a wrong option after it

---@class pmlua.cli.Command
---@field name? string in help, CMD by default
---@field behind? boolean it begins only after --
---@field optional? boolean
---@field missing? string what to say if it is not there

---@class pmlua.cli.Line
---@field options? pmlua.cli.Option[]
---@field arguments? pmlua.cli.Argument[]
---@field command? pmlua.cli.Command
---@field exclusive? string[][] options that exclude each other
---@field check? fun(o: table): string? what is wrong with all of it

--- The field of the result that an option sets.
---@param option { name: string, key: string? }
function M.key(option) return option.key or (option.name:gsub("%-", "_")) end

--- The spelling of a name or letter on the command line.
local function dashed(name) return (#name == 1 and "-" or "--") .. name end

--- Index options by their spelling on the command line.
---@return table<string, pmlua.cli.Option>
function M.index(line)
  local index = {}
  for _, option in ipairs(line.options or {}) do
    index["--" .. option.name] = option
    if option.was then index[dashed(option.was)] = option end
    if option.short then index["-" .. option.short] = option end
  end
  return index
end

local function shortened(text) return #text > SHOWN and text:sub(1, SHOWN) .. "..." or text end

--- The options of one letter.
local function letters(index)
  local all = {}
  for word, option in pairs(index) do all[#all + 1] = word == "-" .. (option.short or "") and word or nil end
  table.sort(all)
  return #all > 0 and "; choose one of " .. table.concat(all, " ") or ""
end

local function unknown(index, word)
  local names = { "help" }
  for _, option in pairs(index) do names[#names + 1] = option.name end
  table.sort(names)
  local near = #word > 3 and require "pmlua.internal.nearest"(word:sub(3), names)
  local hint = near and ("; did you mean --%s?"):format(near)
  return ("no such option: %s%s"):format(shortened(word), hint or not word:find "^%-%-" and letters(index) or "")
end

--- Parse the word at args[i] as an option: the option, its name as typed, and the attached value; nil and the error.
local function option_at(index, word)
  local name, value = word:match "^(%-%-[^=]+)=(.*)$"
  if not name and word:find "^%-[^-]." and not index[word] then name, value = word:sub(1, 2), word:sub(3) end
  name = name or word
  local option = index[name]
  if not option then return nil, unknown(index, name:find "^%-%-" and name or word) end
  if not option.kind and value then
    return nil, name:find "^%-%-" and name .. " takes no value" or unknown(index, word)
  end
  return option, name, value
end

--- Convert a text to the option's value; nil and the error.
---@param name? string as typed
function M.value(option, text, name)
  name = name or "--" .. option.name
  if text == "" and not option.empty then return nil, name .. " needs a value" end
  if option.read then
    local v, wrong = option.read(text)
    if wrong then return nil, ("%s: %s"):format(name, wrong) end
    return v
  end
  local read = kinds[option.kind].read
  if not read then return text end
  local v, needs = read(text, option)
  if v == nil then
    return nil, ("%s needs %s%s, not '%s'"):format(name, needs, option.optional and ", or no value" or "", shortened(text))
  end
  return v
end

local function store(o, option, v)
  local key = M.key(option)
  if not option.many then
    o[key] = v
  else
    o[key] = o[key] or {}
    table.insert(o[key], v)
  end
end

--- Whether the word behind an option is its value: never --, nor an option of this verb.
local function is_value(index, word)
  return word ~= nil and word ~= "--" and not index[word:match "^%-%-[^=]+" or word]
end

--- The value of an option whose value is optional: only a picture's file name may be a separate word.
local function optional_value(option, word)
  return option.kind == "picture" and word and kinds.picture.read(word) and word or nil
end

--- Take words up to the next option, as for --headers; return the index after them.
local function take_list(o, option, name, value, args, i)
  local key = M.key(option)
  o[key] = o[key] or {}
  if value then table.insert(o[key], value) end
  while args[i] and not args[i]:find "^%-%-" do
    for word in args[i]:gmatch "%S+" do table.insert(o[key], word) end
    i = i + 1
  end
  if #o[key] == 0 then return nil, name .. " needs a value" end
  return i
end

local DEPRECATED <const> = { name = "deprecated", many = true }

--- Take the option at args[i]; return the index after it, or nil and the error.
local function take(o, index, args, i)
  local option, name, value = option_at(index, args[i])
  if not option then return nil, name end
  if option.was and name == dashed(option.was) then
    store(o, DEPRECATED, ("%s is deprecated; use --%s"):format(name, option.name))
  end
  i = i + 1
  if not option.kind then
    o[M.key(option)] = true
    return i
  end
  if option.list then return take_list(o, option, name, value, args, i) end
  if not value and option.optional then
    value = optional_value(option, args[i])
    if not value then
      store(o, option, true)
      return i
    end
    i = i + 1
  elseif not value then
    if not is_value(index, args[i]) then return nil, name .. " needs a value" end
    value, i = args[i], i + 1
  end
  if option.take then
    if value == "" then return nil, name .. " needs a value" end
    local wrong = option.take(o, value)
    if wrong then return nil, ("%s: %s"):format(name, wrong) end
    return i
  end
  local v, wrong = M.value(option, value, name)
  if wrong then return nil, wrong end
  store(o, option, v)
  return i
end

--- The argument that takes the next word, if one does.
local function open_argument(line, o)
  for _, argument in ipairs(line.arguments or {}) do
    local key = argument.key or argument.name:lower()
    if (argument.many or o[key] == nil) and not (argument.when and not argument.when(o)) then return argument, key end
  end
end

--- Assign a word to the next argument; nil and the error if no argument accepts it.
local function take_word(line, o, word)
  local argument, key = open_argument(line, o)
  if not argument then
    local last = line.arguments and line.arguments[#line.arguments]
    if not last then return nil, "unexpected argument: " .. word end
    return nil, ("more than one %s: %s"):format(last.one or last.name, word)
  end
  if argument.many then
    o[key] = o[key] or {}
    table.insert(o[key], word)
  else
    o[key] = word
  end
  return true
end

--- A hint on a wrong option after the first argument, or an empty text.
local function after_argument(line, o)
  local argument = line.arguments and line.arguments[1]
  return argument and argument.after and o[argument.key] and "; " .. argument.after or ""
end

--- Parse the words up to the command, which becomes o.command; nil and the error.
local function read(line, o, args)
  local index, i, ended = M.index(line), 1, false
  while i <= #args do
    local word = args[i]
    if not ended and word == "--" then
      if line.command then break end
      ended, i = true, i + 1
    elseif not ended and (word == "--help" or word == "-h") and not index[word] then
      o.help = true
      return true
    elseif not ended and word:find "^%-." then
      local after, wrong = take(o, index, args, i)
      if not after then return nil, wrong .. after_argument(line, o) end
      i = after
    elseif line.command and not line.command.behind and not open_argument(line, o) then
      break
    else
      local taken, wrong = take_word(line, o, word)
      if not taken then return nil, wrong end
      i = i + 1
    end
  end
  if line.command and args[i] then o.command = { table.unpack(args, args[i] == "--" and i + 1 or i) } end
  return true
end

local function default_of(option)
  if option.kind and type(option.default) == "string" then return M.value(option, option.default) end
  return option.default
end

--- Options that lack another or exclude each other, and arguments that are not there.
local function contradiction(line, o)
  local index = M.index(line)
  local function given(name) return o[M.key(index["--" .. name] or { name = name })] end
  for _, names in ipairs(line.exclusive or {}) do
    local first
    for _, name in ipairs(names) do
      if given(name) and first then return ("--%s and --%s cannot be used together"):format(first, name) end
      first = given(name) and name or first
    end
  end
  for _, option in ipairs(line.options or {}) do
    if option.needs and o[M.key(option)] ~= nil and not given(option.needs) then
      return ("--%s works with --%s only"):format(option.name, option.needs)
    end
  end
  for _, argument in ipairs(line.arguments or {}) do
    local expected = not argument.optional and not (argument.when and not argument.when(o))
    if expected and not o[argument.key or argument.name:lower()] then return argument.missing or "say " .. argument.name end
  end
end

local function defaults(line, o)
  for _, option in ipairs(line.options or {}) do
    local key = M.key(option)
    if o[key] == nil then o[key] = default_of(option) end
  end
  for _, argument in ipairs(line.arguments or {}) do
    local key = argument.key or argument.name:lower()
    if argument.many and not o[key] then o[key] = {} end
  end
end

--- Read a command line.
---@return table? o by the options' and arguments' keys, and `command`; only `help` if that was asked for
---@return string? misuse
function M.parse(line, args)
  local o = {}
  local done, misuse = read(line, o, args)
  if not done then return nil, misuse end
  if o.help then return { help = true } end
  misuse = contradiction(line, o)
  if misuse then return nil, misuse end
  local runs = line.command and not line.command.optional
  if runs then o.command = o.command or {} end
  defaults(line, o)
  misuse = line.check and line.check(o)
  if not misuse and runs and #o.command == 0 then misuse = line.command.missing or "no command given" end
  if misuse then return nil, misuse end
  return o
end

--- Print a warning for each deprecated option that was used.
---@param name string as the messages have it, "pmlua stat"
function M.warn(name, o)
  for _, text in ipairs(o.deprecated or {}) do io.stderr:write(("%s: warning: %s\n"):format(name, text)) end
  o.deprecated = nil
end

return M
