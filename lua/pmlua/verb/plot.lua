-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua plot DIR`: draw the figure of a run again, without measuring.
--
--     pmlua plot results/read_overhead/latest

local common = require "pmlua.internal.cli.common"
local printable = require "pmlua.internal.printable"

local M = {
  summary = "draw the figure of a run again, without measuring",
  arguments = { { name = "DIR", key = "dirs", kind = "dir", many = true, missing = "no folder given" } },
  about = [[
DIR is the folder of a run, such as results/read_overhead/latest. plot.svg and plot.png are drawn from its tables.

The folder may come from an untrusted source. pmlua therefore draws with its own scripts and theme and executes nothing in
the folder: neither its plot.gp nor a file that meta.json names. gnuplot runs in a folder of its own and cannot start
programs.

The page of --html needs no other file and contains no script: text from the folder stays text, and the figure is an image.]],
  options = {
    { name = "trust", help = "run the folder's own plot.gp, such as one that you edited; it can do whatever you can" },
    { name = "refresh", help = "first replace plot.gp and theme.gp by pmlua's current ones" },
    { name = "html", help = "write page.html: figure, tooltips, table, machine, script and command, in one file" },
    common.with "quiet",
  },
  notes = "An incomplete run (interrupted, killed) is drawn with what it has, and the figure says so.",
  examples = { { "pmlua plot results/read_overhead/latest", needs = { "gnuplot" } } },
}

---@param options table
---@return integer status
function M.run(options)
  local status = 0
  for _, dir in ipairs(options.dirs) do
    local how = { trust = options.trust, refresh = options.refresh }
    local files, err, run = require "pmlua.plot"[options.html and "page" or "draw"](dir, how)
    if err then io.stderr:write("pmlua plot: ", printable(err), "\n") end
    if not files then status = 1 end
    if run and not run.complete and not options.quiet then
      io.stderr:write(("pmlua plot: %s: this run is incomplete (%s)\n"):format(run.path, printable(run.ending)))
    end
    for _, file in ipairs(files or {}) do print(file) end
  end
  return status
end

return M
