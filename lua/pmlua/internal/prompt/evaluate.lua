-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/prompt/evaluate.lua - evaluate typed code: an expression or statements, complete or not, and format the
-- results.
--
-- Try:  print(require("pmlua.internal.prompt.evaluate").compile("1 + 1")())
--
-- Used by the prompt of `pmlua -i`, by `pmlua attach` and by the application that it queries.

local show = require "pmlua.internal.prompt.show"

local M = {}

--- Compile code as an expression, else as statements.
---@param env table? the globals, else the usual ones
---@return function? f, boolean? more true if the code is only the beginning of something
---@return string? err
function M.compile(code, env)
  env = env or _G
  local f = load("return " .. code, "=stdin", "t", env)
  if f then return f end
  local err
  f, err = load(code, "=stdin", "t", env)
  if f then return f end
  return nil, err:sub(-5) == "<eof>", err
end

--- An error object as a message.
function M.describe(err)
  if type(err) == "string" then return err end
  local meta = getmetatable(err)
  if type(meta) == "table" and meta.__tostring then
    local done, text = pcall(tostring, err)
    if done then return text end
  end
  return ("(error object is a %s value)"):format(type(err))
end

--- Results (as table.pack gives them) as a person reads them, tables with their contents; nil without results.
---@return string?
function M.text(results)
  if results.n == 0 then return nil end
  local texts = {}
  for i = 1, results.n do texts[i] = show(results[i]) end
  return #texts == 1 and texts[1] or table.concat(texts, "\t") -- a long one is not copied
end

return M
