-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua help [VERB]`: what the command can do.
--
--     pmlua help events

local verb = require "pmlua.internal.cli.verb"

local M = {
  summary = "say what the command and its verbs do",
  arguments = { { name = "VERB", key = "words", kind = "verb", many = true, optional = true } },
  about = [[
Without VERB: how pmlua is called and which verbs there are.
With VERB: its arguments, what it does, and examples.]],
  options = {
    { name = "man", help = "the same as a page for man(1), for those who install pmlua" },
    { name = "markdown", help = "the same in Markdown, for its documentation; without VERB all verbs" },
  },
  exclusive = { { "man", "markdown" } },
  examples = { "pmlua help events", "pmlua help wrap init" },
}

local general = [[
usage: pmlua [OPTIONS] SCRIPT.lua [ARGS]    run a script or an experiment ('-': standard input)
       pmlua VERB [ARGS]
       pmlua -e CODE | -i

options:
  -e CODE     run CODE before the script; may be repeated; pml is loaded
  -i          a prompt, after CODE and SCRIPT
  --sim       all of it under simulation: instructions and more are counted exactly, times mean nothing (help stat)
  --debug     errors with a traceback
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

An experiment takes --quick, --out DIR, --no-plot, --json and --csv; SCRIPT.lua --help lists its own options.
--opt VALUE and --opt=VALUE mean the same, and times have units (500ms, 2s, 1m). What stands behind -- is no option.
Exit status: 0 done, 1 failed, 2 misused.

    pmlua -e 'print(pml.clock.ns())'
]])
  return 0
end

---@param o table
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
  for _, one in ipairs(verb.all()) do
    if one == name then
      local form = o.man and require("pmlua.internal.cli.man").page or o.markdown and require("pmlua.internal.cli.markdown").verb
        or require("pmlua.internal.cli.text").help
      io.write(form(verb.load(name)))
      return 0
    end
  end
  local nearest = require "pmlua.internal.nearest"(name, verb.all())
  io.stderr:write(("pmlua: there is no verb '%s'; %s\n"):format(name,
    nearest and "did you mean '" .. nearest .. "'?" or "pmlua help lists them"))
  return 2
end

return M
