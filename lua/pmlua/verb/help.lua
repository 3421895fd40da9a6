-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua help [VERB | api [NAME] | environment]`: documentation of the command and the Lua API.
--
--     pmlua help events

local verb = require "pmlua.internal.cli.verb"

local M = {
  summary = "explain the command, its verbs, and the Lua API",
  usage = { "[--man|--markdown] [VERB]", "[--markdown] api [NAME]", "[--markdown] environment" },
  arguments = { { name = "VERB", key = "words", kind = "topic", many = true, optional = true } },
  about = [[
Without VERB: how to call pmlua, and its verbs.
With VERB: its arguments, what it does, and examples.
api: the modules of the Lua API; with NAME a module (eventset), a class (pmlua.Eventset), or a function
(pml.eventset.open, Eventset:read). environment: the environment variables. A module whose name is not a verb needs no
"api": pmlua help experiment.]],
  options = {
    { name = "man", help = "the same as a page for man(1)" },
    { name = "markdown", help = "the same in Markdown; without VERB, all verbs" },
  },
  exclusive = { { "man", "markdown" } },
  examples = { "pmlua help events", "pmlua help wrap init", "pmlua help api pml.eventset", "pmlua help experiment" },
}

local general = [[
usage: pmlua [OPTIONS] SCRIPT.lua [ARGS]    run a script or an experiment ('-': standard input)
       pmlua VERB [ARGS]
       pmlua -e CODE | -i

options:
  -e CODE     run CODE before the script; may be repeated; pml is loaded
  -i          open a prompt after CODE and SCRIPT
  --sim       simulate all of it: instructions and more are counted, times are meaningless (help stat)
  --debug     show a traceback with errors
  --allow-tuning
              the script may set the kernel's frequencies and idle states (pml.tune, pml.balance)
  --version   print the version
  --help      print this
  --          what follows is the script or verb and its arguments

verbs:
]]

local function overview()
  io.write(general)
  for _, name in ipairs(verb.names()) do
    local found, table_of = pcall(verb.load, name)
    io.write(("  %-10s  %s\n"):format(name, found and table_of.summary or "(cannot be loaded)"))
  end
  io.write([[

pmlua help api explains the Lua API, pmlua help environment the environment variables.
An experiment takes --quick, -o DIR, --no-plot, --json and --csv; SCRIPT.lua --help lists its own options.
--opt VALUE and --opt=VALUE mean the same, and times have units (500ms, 2s, 1m). Words after -- are never options.
Exit status: 0 done, 1 failed, 2 misused.

    pmlua -e 'print(pml.clock.ns())'
]])
  return 0
end

--- `model`: the Lua API. A word without a prefix is also compared with verbs, topics and module names.
local function fail(name, model)
  local known = require("pmlua.internal.reference.page").names(model)
  table.move(model.names, 1, #model.names, #known + 1, known)
  for _, names in ipairs { verb.all(), { "api", "environment", "experiment" } } do
    table.move(names, 1, #names, #known + 1, known)
  end
  local nearest, advice = require "pmlua.internal.nearest"(name, known), "pmlua help and pmlua help api list them"
  if name:find "^pml%l*_" then
    advice = "C functions have manual pages: man " .. name:match "^[%w_]+"
  elseif nearest then
    advice = "did you mean '" .. nearest .. "'?"
  end
  local printable = require "pmlua.internal.printable"(name)
  io.stderr:write(("pmlua: help: no verb, module or function '%s'; %s\n"):format(printable, advice))
  return 2
end

--- The page of a name of the Lua API, or the list of its modules.
local function api(name, markdown)
  local model = require("pmlua.internal.reference.model").load()
  if name == "" then
    io.write("The modules of the Lua API; pmlua help api NAME explains one, a class or a function:\n\n",
      require("pmlua.internal.reference.text").modules(model))
    return 0
  end
  local blocks = require("pmlua.internal.reference.page").find(model, name)
  if not blocks then return fail(name, model) end
  io.write(require(markdown and "pmlua.internal.reference.markdown" or "pmlua.internal.reference.text").page(blocks))
  return 0
end

local function write_experiment(markdown)
  local line = require("pmlua.internal.cli.experiment").verb
  io.write(markdown and require("pmlua.internal.cli.markdown").verb(line) or require("pmlua.internal.cli.text").help(line), "\n")
end

---@return integer status
function M.run(o)
  local name = table.concat(o.words, " ")
  if name == "" and o.markdown then
    io.write(require("pmlua.internal.cli.markdown").all())
    return 0
  elseif name == "" and o.man then
    io.write(require("pmlua.internal.cli.man").verbs())
    return 0
  elseif name == "" then return overview() end
  if o.words[1] == "api" then return api(table.concat(o.words, " ", 2), o.markdown) end
  if name == "experiment" then write_experiment(o.markdown) end
  if name == "environment" then
    io.write(require("pmlua.internal.cli.environment")[o.markdown and "markdown" or "text"]())
    return 0
  end
  for _, one in ipairs(verb.all()) do
    if one == name then
      local form = o.man and require("pmlua.internal.cli.man").page or o.markdown and require("pmlua.internal.cli.markdown").verb
        or require("pmlua.internal.cli.text").help
      io.write(form(verb.load(name)))
      return 0
    end
  end
  return api(name, o.markdown) -- neither a verb nor a topic: it may be a module
end

return M
