-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua help [VERB]`: what the command can do. A verb is a file beside this one that returns
-- { summary, usage, help, run(args) -> exit status }; a new file is a new verb.
--
--     pmlua help events

local M = {
  summary = "say what the command and its verbs do",
  usage = "pmlua help [VERB]",
  help = [[
Without VERB: how pmlua is called and which verbs there are.
With VERB: its arguments, what it does, and an example.

    pmlua help events]],
}

local here = (debug.getinfo(1, "S").source:sub(2):match("^(.*)/[^/]*$") or ".")

--- The verbs: names of the files in this folder, sorted.
---@return string[]
function M.verbs()
  local names = {}
  local found, lfs = pcall(require, "lfs")
  if found then
    for entry in lfs.dir(here) do
      local name = entry:match("^([%w_-]+)%.lua$")
      if name then names[#names + 1] = name end
    end
  else
    for entry in io.popen("ls " .. require("pmlua.quote").shell(here)):lines() do
      local name = entry:match("^([%w_-]+)%.lua$")
      if name then names[#names + 1] = name end
    end
  end
  table.sort(names)
  return names
end

--- Levenshtein's distance between two short strings.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      diagonal, row[j] = row[j], math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
    end
  end
  return row[#b]
end

--- The name that is nearest to what was asked for, if any is near.
---@param asked string
---@param names string[]
---@return string?
function M.nearest(asked, names)
  local best, least = nil, (#asked < 4 and 1 or math.max(2, #asked // 2)) + 1
  for _, name in ipairs(names) do
    local d = distance(asked:sub(1, 64), name)
    if d < least then best, least = name, d end
  end
  return best
end

--- Say that a word on the command line is neither a verb nor a file.
---@param name string
---@return integer status
function M.unknown(name)
  if name:find "/" or name:find "%.lua$" then
    io.stderr:write(("pmlua: %s: no such file\n"):format(name))
    return 2
  end
  local nearest = M.nearest(name, M.verbs())
  io.stderr:write(("pmlua: '%s' is neither a verb nor a file; %s\n"):format(name,
    nearest and "did you mean 'pmlua " .. nearest .. "'?" or "pmlua help lists the verbs"))
  return 2
end

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
  for _, name in ipairs(M.verbs()) do
    local found, verb = pcall(require, "pmlua.cmd." .. name)
    io.write(("  %-10s  %s\n"):format(name, found and verb.summary or "(cannot be loaded)"))
  end
  io.write([[

An experiment takes --quick, --out DIR, --no-plot and --json; SCRIPT.lua --help lists its own options.
Exit status: 0 done, 1 failed, 2 misused.

    pmlua -e 'print(pml.clock.ns())'
]])
  return 0
end

---@param args string[]
---@return integer status
function M.run(args)
  local name = args[1]
  if not name then return overview() end
  for _, verb in ipairs(M.verbs()) do
    if verb == name then
      local module = require("pmlua.cmd." .. name)
      io.write("usage: ", module.usage, "\n\n", module.summary, "\n\n", module.help:gsub("%s*$", ""), "\n")
      return 0
    end
  end
  local nearest = M.nearest(name, M.verbs())
  io.stderr:write(("pmlua: there is no verb '%s'; %s\n"):format(name,
    nearest and "did you mean '" .. nearest .. "'?" or "pmlua help lists them"))
  return 2
end

return M
