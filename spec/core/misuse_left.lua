-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/misuse_left.lua - open, use and close a handle of each kind, and print how many descriptors and named mappings this
-- process has after each round. Run by misuse_spec.lua, with the arguments of misuse_calls.lua and the number of rounds.

package.path = arg[0]:match("^(.*/)") .. "?.lua;" .. package.path
local core = require "pmlua.core"
local make, given = require "misuse_handles", require "misuse_arguments"

--- Call each method with valid arguments; the plugin collects some values before, and the substrates receive events.
local function use(handles)
  handles.plugin:start()
  handles.section:enter():close()
  core.sys.sleep(0.05)
  for kind, methods in pairs(given.methods(handles)) do
    for name, arguments in pairs(methods) do
      pcall(function() return handles[kind][name](handles[kind], table.unpack(arguments)) end) -- some kinds may be missing here
    end
  end
end

for _ = 1, tonumber(arg[4]) do
  local handles = make.all()
  use(handles)
  for _, handle in pairs(handles) do handle:close() end
  collectgarbage()
  os.execute "echo $(ls /proc/$PPID/fd | wc -l) $(awk 'NF > 5' /proc/$PPID/maps | wc -l)"
end
