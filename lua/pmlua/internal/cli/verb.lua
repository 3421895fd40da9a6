-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/verb.lua - the verbs: each file of pmlua/verb defines one verb by a table.
--
-- Try:  print(require("pmlua.internal.cli.verb").run("help", { "stat" }))
--
-- The table defines its parser (cli/parse), its help (cli/text), its man page (cli/man), its part of the documentation
-- (cli/markdown) and its completion (cli/complete). A new file defines a new verb. A verb with inner verbs (wrap) lists
-- them in `verbs`; they are files of the folder that has its name.

local M = {}

local MISUSED = 2

---@class pmlua.cli.Example
---@field [1] string the line, as typed
---@field status? integer|integer[] how it may end; nil: 0
---@field shell? string that it is typed into; nil: bash
---@field needs? string[] what must be there: programs, libclang, watchpoints

---@class pmlua.Verb: pmlua.cli.Line
---@field name string as "stat" or "wrap init"; the file's place gives it
---@field summary string
---@field about string what it does
---@field notes? string what more there is to know, behind the options
---@field usage? string[] what follows the verb's name, if it is not what options and arguments give
---@field examples (string|pmlua.cli.Example)[]
---@field verbs? string[] its own verbs
---@field output? boolean standard output is what --out FILE takes instead
---@field complain? fun(what: any, status?: integer): integer prints a failure and returns a status, for verbs with another form
---@field run? fun(o: table): integer?, pmlua.Failure|string?, integer? its exit status; or nil, the failure and its status

local here = debug.getinfo(1, "S").source:sub(2):match "^(.*)/internal/cli/[^/]*$" or "../.."

local function entries(dir)
  local found, lfs = pcall(require, "lfs")
  if found then return lfs.dir(dir) end
  return io.popen("ls " .. require("pmlua.internal.quote").shell(dir)):lines()
end

--- The verbs: names of the files in their folder, sorted.
function M.names()
  local names = {}
  for entry in entries(here .. "/verb") do names[#names + 1] = entry:match "^([%w_-]+)%.lua$" end
  table.sort(names)
  return names
end

--- All that can be called: "stat", ..., "wrap", "wrap build", ...
function M.all()
  local all = {}
  for _, name in ipairs(M.names()) do
    all[#all + 1] = name
    local done, verb = pcall(M.load, name)
    for _, inner in ipairs(done and verb.verbs or {}) do all[#all + 1] = name .. " " .. inner end
  end
  return all
end

--- A verb's table, with its name in it; raises what keeps it from being loaded.
---@param name string as "wrap build"
---@return pmlua.Verb
function M.load(name)
  local verb = require("pmlua.verb." .. name:gsub(" ", "."))
  verb.name = name
  return verb
end

--- The inner verb that the first word names, and the words after it; nil and the error.
local function descend(verb, args)
  for _, inner in ipairs(verb.verbs) do
    if inner == args[1] then return M.load(verb.name .. " " .. inner), { table.unpack(args, 2) } end
  end
  if not args[1] then return nil, "name what to do: " .. table.concat(verb.verbs, ", ") end
  local nearest = require "pmlua.internal.nearest"(args[1], verb.verbs)
  return nil, ("unknown verb '%s'; %s"):format(args[1], nearest and "did you mean '" .. nearest .. "'?" or
    "choose one of " .. table.concat(verb.verbs, ", "))
end

--- Report misuse: the fault on one line, and where help is on the next.
---@return integer status
function M.misused(name, fault)
  io.stdout:flush()
  io.stderr:write(("pmlua %s: %s\nsee 'pmlua help %s'\n"):format(name, require "pmlua.internal.printable"(fault), name))
  return MISUSED
end

--- Run a verb, with io.write going to FILE of --out, which is opened before anything else is done. A verb returns its status, or
--- nil, a failure and perhaps a status.
---@return integer status
local function run(verb, o)
  local complain, file, unwritable = verb.complain or require "pmlua.internal.cli.complain"(verb.name)
  if verb.output and o.out then file, unwritable = require("pmlua.internal.file").output(o.out) end
  if unwritable then return complain(unwritable) end
  io.output(file or io.stdout)
  local status, err, failed = require "pmlua.internal.try".catch_traced(verb.run, o)
  if not status then
    status = failed == MISUSED and M.misused(verb.name, err) or complain(err, math.tointeger(failed))
  end
  if not file then return status end
  io.output(io.stdout)
  return file:close() and status or complain(o.out .. ": could not be written completely; is the disk full?")
end

--- Run a verb.
---@return integer status
function M.run(name, args)
  local verb = M.load(name)
  local asked = args[1] == "--help" or args[1] == "-h"
  if verb.verbs and not asked then
    local inner, rest = descend(verb, args)
    if not inner then return M.misused(name, rest) end
    inner.complain = verb.complain
    verb, args = inner, rest
  end
  local parse = require "pmlua.internal.cli.parse"
  local o, misuse = parse.parse(verb, args)
  if not o then return M.misused(verb.name, misuse) end
  if o.help then
    io.write(require("pmlua.internal.cli.text").help(verb))
    return 0
  end
  parse.warn("pmlua " .. verb.name, o)
  return run(verb, o)
end

--- Report an option before the verb or script that does not exist.
---@return integer status
function M.unknown_option(option)
  local near = require "pmlua.internal.nearest"(option, { "--version", "--help", "--debug", "--sim",
    "--allow-tuning" })
  io.stderr:write(("pmlua: no such option: %s; %s\n"):format(require "pmlua.internal.printable"(option),
    near and "did you mean " .. near .. "?" or "see pmlua --help"))
  return MISUSED
end

--- Say that a word on the command line is neither a verb nor a file.
---@return integer status
function M.unknown(name)
  if name:find "/" or name:find "%.lua$" then
    local folder, file = name:match "^(.*/)([^/]*)$"
    local near = require "pmlua.internal.nearest"(file or name, (require("pmlua.internal.file").names(folder or ".")))
    local hint = near and ("; did you mean %s%s?"):format(folder or "", near) or ""
    io.stderr:write(("pmlua: %s: no such file%s\n"):format(name, hint))
    return MISUSED
  end
  local names = M.names()
  names[#names + 1] = "version"
  local nearest = require "pmlua.internal.nearest"(name, names)
  if nearest == "version" then nearest = "--version" end
  io.stderr:write(("pmlua: '%s' is neither a verb nor a file; %s\n"):format(name,
    nearest and "did you mean 'pmlua " .. nearest .. "'?" or "pmlua help lists the verbs"))
  return MISUSED
end

return M
