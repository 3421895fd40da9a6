-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua live -- CMD`: run an unmodified program so that it can be asked.
--
--     pmlua live --name SOLVER -- ./solver

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local preload = require "pmlua.internal.preload"

local function name_of(text)
  if not text:find "^[%w_.-]+$" then return nil, "only letters, digits, '_', '.' and '-'" end
  return text
end

local M = {
  summary = "run a program with a live service for pmlua query and pmlua attach",
  about = [[
Runs CMD, unchanged, with a preloaded library. As soon as the program or one of its libraries registers software-defined
events (papi_sde_* or pml_sde_*) or defines a section (pml_section_*), pmlua query and pmlua attach can reach it.
A program that registered nothing gets a message at its end. The exit status is CMD's.]],
  options = {
    { name = "name", kind = "name", read = name_of, help = "name of the program in pmlua query (default: its own)" },
    { name = "report", kind = "file", value = "DIR",
      help = "write sections, counters and recorders, and the values of events over time, to a log in DIR, which "
        .. "survives however the program ends (pmlua report DIR)" },
    { name = "rules", kind = "file", help = "watch rules in Lua (pml.sde.watch) that run inside the program" },
    { name = "export", kind = "text", value = "ADDR:PORT|unix:PATH", help = "also serve its metrics to Prometheus "
      .. "there, as pmlua serve does, from another process, which ends with it" },
    { name = "page", help = "also serve a page for a browser, as pmlua serve --page does; on a free port "
      .. "unless --export names one" },
    { name = "every", kind = "duration", min = 0.001, help = "with --export or --page: read the program at most this often, such "
      .. "as every 100ms (default: 1s)" },
    common.with("quiet", { help = "print nothing unless something fails" }),
  },
  command = { missing = "no command given" },
  examples = { "pmlua live -- ./solver input.mtx", "pmlua live --name SOLVER --rules stop_divergence.lua -- ./solver input.mtx",
    "pmlua live --report out -- ./solver; pmlua report out",
    "pmlua live --export unix:metrics.socket -- ./solver input.mtx", "pmlua live --page --every 100ms -- ./solver input.mtx" },
}

function M.check(o)
  if o.every and not (o.export or o.page) then return "--every needs --export or --page" end
end

local NOT_RUN = 126 -- as shells say it

local complain = require "pmlua.internal.cli.complain" "live"

--- Become the command; the status if that fails.
local function execute(words, variables)
  local _, refused = core.sys.exec(words, variables or {})
  complain(refused:sentence())
  return NOT_RUN
end

--- An absolute path: the program may change its folder before it measures.
local function report_folder(path)
  local lfs = require "lfs"
  if not lfs.attributes(path, "mode") then
    local made, err = lfs.mkdir(path)
    if not made then return nil, ("%s: %s"):format(path, err) end
  end
  if lfs.attributes(path, "mode") ~= "directory" then return nil, path .. ": not a folder" end
  local real, gone = core.sys.realpath(path)
  return real, not real and gone:sentence() or nil
end

--- Start pmlua serve for this process, which becomes the command: in the background, so that the command has no child that
--- it did not start. Its first line says that it listens.
local function serve(o)
  local quote = require "pmlua.internal.quote".shell
  local line = ("%s serve %d --export %s%s --every %gs &"):format(quote(core.sys.realpath "/proc/self/exe"), core.sys.pid(),
    quote(o.export or "127.0.0.1:0"), o.page and " --page" or "", o.every or 1)
  local pipe <close> = io.popen(line)
  local address = pipe:read "l"
  if not address then return false end
  if o.page or not o.quiet then io.stderr:write(("pmlua live: %s at "):format(o.page and "page" or "metrics"), address, "\n") end
  return true
end

---@param o table
---@return integer status
function M.run(o)
  local library, err, status, kind = preload.ready("live", o.command[1])
  if not library then
    local remedy = { static = "; let it call pmlua_live_start() itself", other = "; it runs without, and cannot be asked" }
    complain(err .. (remedy[kind] or ""))
    return kind == "other" and execute(o.command) or status
  end
  local variables = { LD_PRELOAD = preload.with(library), ASAN_OPTIONS = preload.asan() }
  variables.PMLUA_LIVE_NAME = o.name
  -- The program keeps it: the process that has the rules from its start, and reports at its end that it published nothing.
  variables.PMLUA_LIVE_PID = (o.rules or not o.quiet) and ("%d"):format(core.sys.pid()) or nil
  if o.report then
    local folder, refused = report_folder(o.report)
    if not folder then return complain("--report " .. refused) end
    variables.PMLUA_REPORT = folder
  end
  if o.rules then
    local real, gone = core.sys.realpath(o.rules)
    if not real then return complain("--rules " .. gone:sentence()) end
    local sound, wrong = loadfile(o.rules, "t")
    if not sound then return complain("--rules " .. wrong) end
    variables.PMLUA_LIVE_RULES = real
  end
  if (o.export or o.page) and not serve(o) then return 1 end
  return execute(o.command, variables)
end

return M
