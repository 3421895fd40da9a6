-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/say.lua - what the verbs of pmlua wrap print, and how they fail.
--
-- Try:  os.exit(require("pmlua.internal.wrap.say").complain("no such folder"))

local M = {}

function M.say(text)
  io.write(require "pmlua.internal.printable".lines(text), "\n")
end

---@param status? integer 1 if nil
---@return integer status
function M.complain(text, status)
  io.stdout:flush()
  io.stderr:write("pmlua wrap: ", require "pmlua.internal.printable".lines((text:gsub("%s+$", ""))), "\n")
  return status or 1
end

return M
