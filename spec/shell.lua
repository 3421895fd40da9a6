-- SPDX-License-Identifier: BSD-3-Clause
-- spec/shell.lua - for specs that run commands: a shell, bounded in time, and files.

local M = {}

--- The output of a shell command, both streams, and its exit status (124: it was still running after @seconds).
function M.sh(command, seconds)
  local quoted = command:gsub("'", "'\\''")
  local p = assert(io.popen(("timeout %d sh -c '%s' </dev/null 2>&1"):format(seconds or 600, quoted)))
  local out = p:read("a")
  local _, _, code = p:close()
  return out, code
end

--- The output of a command that succeeds.
function M.done(command, seconds)
  local out, code = M.sh(command, seconds)
  if code ~= 0 then error(("status %s of %s:\n%s"):format(code, command, out), 2) end
  return out
end

function M.write(path, text)
  local f <close> = assert(io.open(path, "w"))
  f:write(text)
end

return M
