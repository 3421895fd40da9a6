-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap check`: each declared function against the libraries.

local out = require "pmlua.internal.wrap.say"
local shell = require "pmlua.internal.wrap.shell"
local try = require "pmlua.internal.try"
local say = out.say

local M = {
  summary = "list the functions that no library has, and those that link without one",
  arguments = { { name = "DIR", key = "dir", kind = "dir", optional = true, one = "folder" } },
  about = [[
Checks for every function that the headers declare whether the libraries have it, and whether it links without them. Prints
both lists, the other excluded functions with reasons, and the filter entries that would exclude the listed functions.]],
  options = {
    { name = "fix", help = "append these entries to the filter" },
  },
  notes = "Exit status 1 while there is something to fix.",
  examples = { { "pmlua wrap check wrap-zlib --fix", needs = { "libclang" } } },
}

--- A backslash takes the meaning from what a filter would read as its own.
local function escaped(symbol) return (symbol:gsub("[%*%?%[%]\\#]", "\\%0")) end

--- A block of the filter that excludes the functions.
---@param functions pmlua.wrap.function[]
local function block(functions, why)
  local lines = { "", "# " .. why, "SCOREP_REGION_NAMES_BEGIN" }
  for _, f in ipairs(functions) do
    lines[#lines + 1] = ("  EXCLUDE MANGLED %s"):format(escaped(f.symbol)) .. (f.title ~= f.symbol and "  # " .. f.title or "")
  end
  lines[#lines + 1] = "SCOREP_REGION_NAMES_END\n"
  return table.concat(lines, "\n")
end

--- The text that a filter needs to leave out what cannot be wrapped, and what can be linked without the libraries.
---@param p pmlua.wrap.plan
local function entries(p)
  local text = ""
  if #p.missing > 0 then text = text .. block(p.missing, "in no library") end
  if #p.foreign > 0 then text = text .. block(p.foreign, "also link without the libraries") end
  return text
end

--- Append them to the folder's filter; nil and why.
---@param cfg pmlua.wrap.folder
---@param p pmlua.wrap.plan
local function fix(cfg, p)
  local old = shell.slurp(cfg.filter) or ""
  return shell.spit(cfg.filter, old .. entries(p))
end

local function list(what, functions, why)
  say(("%s: %d"):format(what, #functions))
  for _, f in ipairs(functions) do say("  " .. f.title .. (why and ": " .. f.why or "")) end
end

---@return integer status
function M.run(o)
  local folder = require "pmlua.internal.wrap.folder"
  local plan = require "pmlua.internal.wrap.plan"
  local cfg = try(folder.load(o.dir or "."))
  try(folder.make(cfg.build))
  local p = try(plan.make(cfg))
  local other, absent = {}, {}
  for _, functions in ipairs { p.missing, p.foreign } do
    for _, f in ipairs(functions) do absent[f] = true end
  end
  for _, f in ipairs(p.left) do
    if not absent[f] then other[#other + 1] = f end
  end
  say(("wrapped: %d"):format(#p.functions))
  list("left out for other reasons", other, true)
  list("in no library", p.missing)
  list("also link without the libraries", p.foreign)
  if #p.missing + #p.foreign == 0 then return 0 end
  if not o.fix then
    say("these entries of " .. cfg.filter .. " exclude them (--fix appends them):")
    say((entries(p):gsub("\n$", "")))
    return 1
  end
  try(fix(cfg, p))
  say(("%d entries appended to %s"):format(#p.missing + #p.foreign, cfg.filter))
  return 0
end

return M
