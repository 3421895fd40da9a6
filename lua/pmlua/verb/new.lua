-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua new experiment NAME`, `pmlua new workload NAME`: an experiment or a workload that runs, to be changed.
--
--     pmlua new experiment mine && pmlua mine.lua --quick

local M = {
  summary = "write an experiment, or a workload in C, as a starting point",
  arguments = {
    { name = "experiment|workload", key = "what", choices = { "experiment", "workload" }, one = "start",
      missing = "say experiment or workload" },
    { name = "NAME", key = "name", kind = "name", missing = "no NAME given" },
  },
  about = [[
new experiment NAME writes NAME.lua, an experiment with two factors and a figure. Run it with pmlua NAME.lua.

new workload NAME writes a folder: NAME/NAME.c is the code to measure, NAME/NAME.lua the experiment that runs it, and
NAME/Makefile builds both. make -C NAME run builds, measures and draws.

Both run unchanged. Existing files are never overwritten.]],
  options = {},
  examples = {
    "pmlua new experiment mine && pmlua mine.lua --quick",
    "pmlua new workload kernel && make -C kernel run ARGS=--quick",
  },
}

function M.check(o)
  if o.what ~= "experiment" and o.what ~= "workload" then
    local near = require "pmlua.internal.nearest"(o.what, { "experiment", "workload" })
    return ("cannot write a '%s'; %s"):format(o.what, near and "did you mean " .. near .. "?"
      or "choose experiment or workload")
  end
  if not o.name:find "^[%w_][%w_-]*$" then return ("invalid NAME '%s'; use letters, digits, _ and -"):format(o.name) end
end

local try = require "pmlua.internal.try"

---@return integer status
function M.run(o)
  local files = try(require "pmlua.internal.starts"[o.what](o.name))
  local disk, lfs = require "pmlua.internal.file", require "lfs"
  local names = require "pmlua.internal.keys"(files)
  for _, name in ipairs(names) do
    try(not lfs.symlinkattributes(name), name .. " exists already; choose another name")
  end
  if o.what == "workload" then lfs.mkdir(o.name) end
  for _, name in ipairs(names) do
    try(disk.write(name, files[name]))
    print(name)
  end
  return 0
end

return M
