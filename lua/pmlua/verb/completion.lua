-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua completion SHELL`: a script with which a shell completes pmlua's verbs, options and values.
--
--     source <(pmlua completion bash)

local M = {
  summary = "print the script that completes pmlua's command line in a shell",
  arguments = { { name = "bash|zsh|fish", key = "shell", choices = { "bash", "zsh", "fish" }, optional = true, one = "shell" } },
  about = [[
The script completes verbs, options, values, event names, running applications and files, and after -- the command to run.
make install puts it where bash, zsh and fish look for it.]],
  options = {
    { name = "words", help = "print the possible completions of the last word of a command line (used by the shells); the "
      .. "command line follows --" },
  },
  command = { behind = true, optional = true },
  examples = {
    "source <(pmlua completion bash)",
    { "source <(pmlua completion zsh)", shell = "zsh" },
    { "pmlua completion fish | source", shell = "fish" },
  },
}

local scripts = require "pmlua.internal.cli.shells"

function M.check(o)
  if o.words then return (o.shell or not o.command) and "--words takes no SHELL; the command line follows --" or nil end
  if scripts[o.shell] then return nil end
  return o.shell and ("no completion for %s; choose bash, zsh or fish"):format(o.shell)
    or "name the shell: bash, zsh or fish"
end

---@return integer status
function M.run(o)
  if o.words then
    local complete = require "pmlua.internal.cli.complete"
    io.write(complete.format(complete.candidates(o.command)))
  else
    io.write(scripts[o.shell])
  end
  return 0
end

return M
