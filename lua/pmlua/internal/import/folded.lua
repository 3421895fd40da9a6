-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/import/folded.lua - folded stacks: a line for each call path, "main;solve;cos 42".
--
-- Try:  pmlua import stacks.folded -o imported

local archives = require "pmlua.internal.import.archive"
local input = require "pmlua.internal.import.input"
local refuse = require "pmlua.core".failure.refuse

local M = {}

--- Whether a text begins like this format.
function M.is(head)
  local line = input.first_line(head)
  return line:find "^[^%z\1-\31]+ %d+%.?%d*\r?$" ~= nil and not line:find "^{"
end

--- Times are made of the values: a stack lasts as many ns as its value, one after another.
---@param file file*
---@return table? archive, pmlua.Failure? failure
function M.read(file, name, dir)
  return archives.fill(dir, name, { { name = "samples", unit = "#" } }, nil, function(archive)
    local thread = archive:thread "all"
    local now, n = 0, 0
    for line in file:lines() do
      n = n + 1
      local path, text = line:match "^(.-) ([%d.]+)\r?$"
      local value = math.tointeger(math.floor((tonumber(text) or -1) + 0.5))
      if not path or not value or value < 0 or value > 1 << 53 then
        if line:find "%S" and not line:find "^#" then
          return refuse("EFORMAT", ("%s:%d: not 'OUTER;INNER VALUE'"):format(name, n))
        end
      else
        local stack = {}
        for part in path:gmatch "[^;]+" do stack[#stack + 1] = { name = part } end
        if value > 0 and #stack > 0 then archive:sample(thread, now, now + value, stack, { value }) end
        now = now + value
      end
    end
  end)
end

return M
