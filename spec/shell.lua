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

function M.write(path, text)
  local f <close> = assert(io.open(path, "w"))
  f:write(text)
end

return M
