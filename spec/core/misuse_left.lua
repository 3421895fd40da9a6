-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/misuse_left.lua - open and close a handle of each kind, and print how many descriptors and named mappings this
-- process has after each round. Run by misuse_spec.lua, with the arguments of misuse_calls.lua.

package.path = arg[0]:match("^(.*/)") .. "?.lua;" .. package.path
local make = require "misuse_handles"

for _ = 1, 4 do
  for _, handle in pairs(make.all()) do handle:close() end
  collectgarbage()
  os.execute "echo $(ls /proc/$PPID/fd | wc -l) $(awk 'NF > 5' /proc/$PPID/maps | wc -l)"
end
