-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/shell.lua - run compilers and binutils through the shell: quoting, output, flags as words.
--
-- Try:  print(require("pmlua.internal.wrap.shell").run("gcc --version"))

local disk = require "pmlua.internal.file"
local quote = require "pmlua.internal.quote"
local refuse = require "pmlua.core".failure.refuse

local M = {}

M.quote = quote.shell

--- Whether it succeeded, and what it wrote to both streams; tools speak English.
---@return boolean, string output
function M.run(command)
  local pipe = assert(io.popen("{ export LC_ALL=C; " .. command .. "\n} 2>&1 </dev/null"))
  local out = pipe:read("a")
  return pipe:close() == true, out
end

--- The words of flags as the shell sees them: quotes and $(...) are its business.
---@param flags string?
---@return string[]? words, pmlua.Failure? failure
function M.words(flags)
  local words = {}
  if not flags or not flags:find("%S") then return words end
  local done, out = M.run("set -- " .. flags .. "\n[ $# -eq 0 ] || printf '%s\\0' \"$@\"")
  if not done then return refuse("EINVAL", ("the flags %s: %s"):format(flags, (out:gsub("\n.*", "")))) end
  for word in out:gmatch("([^%z]*)%z") do words[#words + 1] = word end
  return words
end

--- The whole of a file, read or written; nil and why.
M.slurp, M.spit = disk.read, disk.write

return M
