-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/live/session.lua - what a running application answers to one connection.
--
-- Try:  print(require("pmlua.live.session").handle("eval", "return 6 * 7"))

local core = require "pmlua.core"

_G.pml = core -- what is asked for needs no require

local M = {}

local answers = {}

function answers.info()
  local path = core.live.path()
  return true, ('{"pid":%d,"name":"%s","version":"%s","protocol":1}'):format(core.sys.pid(),
    path and path:match("/%d+%.([^/]*)$") or "", core.version)
end

function answers.eval(payload)
  local f, err = load("return " .. payload, "=eval", "t")
  if not f then f, err = load(payload, "=eval", "t") end
  if not f then return false, err end
  local results = table.pack(pcall(f))
  for i = 2, results.n do results[i] = tostring(results[i]) end
  if not results[1] then return false, results[2] end
  return true, table.concat(results, "\t", 2, results.n)
end

--- Answer one question.
---@param kind string
---@param payload string
---@return boolean ok
---@return string text
function M.handle(kind, payload)
  local answer = answers[kind]
  if not answer then return false, "questions of kind " .. kind .. " are not answered here" end
  return answer(payload)
end

return M
