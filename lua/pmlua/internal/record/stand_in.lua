-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/stand_in.lua - replacements for libraries of annotation interfaces that are not installed.
--
-- Try:  print(require("pmlua.internal.record.stand_in").variable("./app", "/usr/lib/pmlua/preload"))

local M = {}

--- Libraries that pmlua has instead of an interface's own; each is in a folder of this name.
local LIBRARIES <const> = { "libcaliper.so.2" }

--- Whether the loader finds no @library for the program.
local function is_missing(path, library)
  local p = io.popen("LD_TRACE_LOADED_OBJECTS=1 " .. require("pmlua.internal.quote").shell(path) .. " 2>&1 </dev/null")
  local listed = p and p:read "a" or ""
  if p then p:close() end
  return listed:find(library .. " => not found", 1, true) ~= nil
end

--- LD_LIBRARY_PATH with which the loader finds a missing library of an interface; nil: the program needs none.
---@param path string the program
---@param preload string the folder of libraries that are preloaded
---@return string? variable
function M.variable(path, preload)
  local strings = require("pmlua.internal.preload").strings(path)
  for _, library in ipairs(LIBRARIES) do
    if strings:find(library .. "\0", 1, true) and is_missing(path, library) then
      local others = os.getenv "LD_LIBRARY_PATH"
      local own = ("%s/%s"):format(preload, library)
      return "LD_LIBRARY_PATH=" .. (others and others ~= "" and others .. ":" .. own or own)
    end
  end
end

return M
