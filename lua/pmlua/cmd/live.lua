-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua live -- CMD`: run an unmodified program so that it can be asked.
--
--     pmlua live --name SOLVER -- ./solver

local commandline = require "pmlua.commandline"
local core = require "pmlua.core"
local preload = require "pmlua.preload"

local M = {
  summary = "run a program so that pmlua query and pmlua attach can ask it",
  usage = "pmlua live [--name NAME] [--rules FILE] [--] CMD [ARGS]",
  help = [[
CMD is run with a library preloaded that serves questions from the moment on that the program, or a library of its,
registers software-defined events (papi_sde_* or pml_sde_*) or defines a section (pml_section_*). The program
need not be changed. Its exit status is returned. A program that registered nothing says so at its end.

  --name NAME    what it is called in pmlua query; else the program's own name
  --rules FILE   watch rules in Lua (pml.sde.watch) that run inside the program

    pmlua live -- ./solver input.mtx
    pmlua live --name SOLVER --rules stop_divergence.lua -- ./solver input.mtx]],
}

local NOT_RUN = 126 -- as shells say it

local function take(o, name, value)
  if name == "--name" and not value:find("^[%w_.-]+$") then return "--name: only letters, digits, '_', '.' and '-'" end
  o[name:sub(3)] = value
end

local function check(o) return #o.words == 0 and "no command given" or nil end

local line = { flags = {}, values = { ["--name"] = true, ["--rules"] = true }, take = take, check = check }

local function complain(text)
  io.stderr:write("pmlua live: ", require "pmlua.printable"(text), "\n")
end

--- Become the command; the status if that fails.
local function execute(words, variables)
  local _, refused = core.sys.exec(words, variables or {})
  complain((refused:gsub("^[%w_.]+: E%w+: ", "")))
  return NOT_RUN
end

---@param args string[]
---@return integer status
function M.run(args)
  local o, misuse = commandline.parse(args, line)
  if not o then
    io.stderr:write("pmlua live: ", misuse, "; usage: ", M.usage, "\n")
    return 2
  end
  local library, err, status, kind = preload.ready("live", o.words[1])
  if not library then
    local remedy = { static = "; let it call pmlua_live_start() itself", other = "; it runs without, and cannot be asked" }
    complain(err .. (remedy[kind] or ""))
    return kind == "other" and execute(o.words) or status
  end
  local variables = { LD_PRELOAD = preload.with(library) }
  variables.PMLUA_LIVE_NAME = o.name
  variables.PMLUA_LIVE_PID = ("%d"):format(core.sys.pid()) -- which the program keeps: it says at its end if it told nothing
  if o.rules then
    local real, gone = core.sys.realpath(o.rules)
    if not real then
      complain("--rules " .. (gone:gsub("^[%w_.]+: E%w+: ", "")))
      return 1
    end
    variables.PMLUA_LIVE_RULES = real
  end
  return execute(o.words, variables)
end

return M
