-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/common.lua - the options that several verbs have: each means the same wherever it is.
--
-- Try:  print(require("pmlua.internal.cli.common").with("json", { help = "the counts as JSON" }).name)

local M = {}

local common = {
  json = { name = "json", help = "print the results as JSON, every number in full" },
  csv = { name = "csv", help = "print the results as CSV (RFC 4180)" },
  out = { name = "out", short = "o", kind = "file", help = "write the results into FILE, opened before anything else is done" },
  folder = { name = "out", short = "o", kind = "dir", help = "the folder for the results" },
  quiet = { name = "quiet", short = "q", help = "no progress, notes and warnings on standard error; only failures" },
  plot = { name = "plot", kind = "picture", help = "draw the results into FILE (.svg or .png)" },
  event = { name = "event", short = "e", kind = "event", many = true, key = "events", help = "count this event" },
  patience = { name = "patience", kind = "duration", default = "5s", such = "5s or 500ms",
    help = "wait that long for an answer" },
}

--- A common option, with what is particular about it here: its help, its default.
---@param name string
---@param particular? table
---@return pmlua.cli.Option
function M.with(name, particular)
  local option = {}
  for k, v in pairs(common[name]) do option[k] = v end
  for k, v in pairs(particular or {}) do option[k] = v end
  return option
end

return M
