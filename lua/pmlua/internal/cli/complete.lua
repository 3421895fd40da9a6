-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/complete.lua - what the word under the cursor of a shell may become, from the verbs' tables.
--
-- Try:  pmlua completion --words -- stat --j
--
-- The scripts of the shells (cli/shells) ask this for each word, so that they know the verbs of the pmlua that runs and
-- never differ from what the parser takes.

local kinds = require "pmlua.internal.cli.kinds"
local parse = require "pmlua.internal.cli.parse"
local verb = require "pmlua.internal.cli.verb"

local M = {}

local EVENTS = 500 -- names at most

---@class pmlua.cli.Candidates
---@field words { [1]: string, [2]: string? }[] words and what they are
---@field also? string "file", "dir" or "command": what the shell completes by itself
---@field skip? integer with "command": how many words stand before it

local function begins(word, start) return word:sub(1, #start) == start end

local function events(start)
  local words = {}
  if start == "" then return words end
  for _, row in ipairs(require "pmlua.core".event.list(start .. "*") or {}) do
    if begins(row.name, start) then words[#words + 1] = { row.name, row.description } end
    if #words == EVENTS then break end
  end
  return words
end

local function applications(start)
  local words = {}
  for _, app in ipairs(require "pmlua.internal.live.directory".list() or {}) do
    for _, word in ipairs { app.name, ("%d"):format(app.pid) } do
      if begins(word, start) then words[#words + 1] = { word, ("%s (%d)"):format(app.name, app.pid) } end
    end
  end
  return words
end

--- The verbs, or the inner verbs of a verb.
local function verbs(start, of)
  local words = {}
  for _, name in ipairs(of and of.verbs or verb.names()) do
    if begins(name, start) then words[#words + 1] = { name, verb.load(of and of.name .. " " .. name or name).summary } end
  end
  return words
end

--- The topics of help: verbs, and names of the Lua API after "pml".
local function topics(start)
  local words = verbs(start)
  for _, topic in ipairs { { "api", "the Lua API" }, { "environment", "the environment variables" } } do
    if begins(topic[1], start) then words[#words + 1] = topic end
  end
  if not begins(start, "pml") then return words end
  for _, name in ipairs(require("pmlua.internal.reference.page").names(require("pmlua.internal.reference.model").load())) do
    if begins(name, start) then words[#words + 1] = { name } end
  end
  return words
end

--- The values of an option that start with `start`.
local function values(option, start)
  if option.choices then
    local words = {}
    for _, choice in ipairs(option.choices) do
      if begins(choice, start) then words[#words + 1] = { choice } end
    end
    return { words = words }
  end
  local what = kinds[option.kind or "text"].complete
  if what == "event" then return { words = events(start) } end
  if what == "app" then return { words = applications(start) } end
  if what == "topic" then return { words = topics(start) } end
  return { words = {}, also = what }
end

local function option_names(line, start)
  local words = {}
  for _, option in ipairs(line.options or {}) do
    local name = "--" .. option.name
    if begins(name, start) then words[#words + 1] = { name, option.help } end
    if option.short and start == "-" then words[#words + 1] = { "-" .. option.short, option.help } end
  end
  if begins("--help", start) then words[#words + 1] = { "--help", "explain" } end
  return { words = words }
end

--- The next argument's values; arguments count as the parser counts them.
local function argument(line, n, start)
  local slots = line.arguments or {}
  local slot = slots[math.min(n + 1, #slots)]
  if not slot or (n >= #slots and not slot.many) then return { words = {} } end
  return values(slot, start)
end

--- The option whose value the last of these words is to be: after "--name", but not after "--name=value".
local function waiting(index, word)
  local option = word and index[word]
  return option and option.kind and not option.optional and option or nil
end

--- Complete the words of a verb; `first` is the number of words before them.
local function of_verb(line, words, start, first)
  local index, n, i = parse.index(line), 0, 1
  while i <= #words do
    local word = words[i]
    if word == "--" then
      if line.command then return { words = {}, also = "command", skip = first + i } end
      return argument(line, n + #words - i, start)
    end
    local option = waiting(index, word)
    if option then
      if i == #words then return values(option, start) end
      i = i + 1
    elseif not word:find "^%-." then
      local taken = line.arguments and n < #line.arguments and not (line.command and line.command.behind and #line.arguments == 0)
      if line.command and not line.command.behind and not taken then
        return { words = {}, also = "command", skip = first + i - 1 }
      end
      n = n + 1
    end
    i = i + 1
  end
  local name, value = start:match "^(%-%-[^=]+)=(.*)$"
  if name then
    local found = index[name] and index[name].kind and values(index[name], value) or { words = {} }
    for _, word in ipairs(found.words) do word[1] = name .. "=" .. word[1] end
    return found
  end
  if start:find "^%-" then return option_names(line, start) end
  local found = argument(line, n, start)
  if #found.words == 0 and not found.also and line.command and not line.command.behind then
    return { words = {}, also = "command", skip = first + #words }
  end
  return found
end

--- The options of pmlua itself, which main.c reads.
local general = { options = { { name = "sim", help = "simulate all of it" },
  { name = "debug", help = "show a traceback with errors" }, { name = "version", help = "print the version" },
  { name = "allow-tuning", help = "the script may set the kernel's frequencies and idle states" } } }

--- The candidates for the last word.
---@param words string[] after "pmlua", up to the cursor; the last is the word to complete, possibly ""
---@return pmlua.cli.Candidates
function M.candidates(words)
  local start, before, i = words[#words] or "", { table.unpack(words, 1, #words - 1) }, 1
  while before[i] and before[i]:find "^%-." and before[i] ~= "--" do i = i + (before[i] == "-e" and 2 or 1) end
  if before[i] == "--" then i = i + 1 end
  local name = before[i]
  if not name then
    if before[#before] == "-e" then return { words = {} } end
    if start:find "^%-" then return option_names(general, start) end
    return { words = verbs(start), also = "file" }
  end
  for _, known in ipairs(verb.names()) do
    if known == name then
      local line = verb.load(name)
      if line.verbs and not before[i + 1] then return { words = verbs(start, line) } end
      if line.verbs then
        i = i + 1
        for _, inner in ipairs(line.verbs) do
          local there = inner == before[i] and verb.load(name .. " " .. inner)
          if there then return of_verb(there, { table.unpack(before, i + 1) }, start, i) end
        end
        return { words = {} }
      end
      return of_verb(line, { table.unpack(before, i + 1) }, start, i)
    end
  end
  if start:find "^%-%-" then return option_names({ options = require("pmlua.internal.cli.experiment").common }, start) end
  return { words = {}, also = "file" }
end

--- The candidates as the shells' scripts read them: a line ":WHAT SKIP", then a word and what it is on each line.
---@param found pmlua.cli.Candidates
function M.format(found)
  local lines = { (":%s %d"):format(found.also or "none", found.skip or 0) }
  for _, word in ipairs(found.words) do
    local about = (word[2] or ""):gsub("%c", " ")
    lines[#lines + 1] = word[1] .. "\t" .. (#about > 70 and about:sub(1, 67) .. "..." or about)
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
