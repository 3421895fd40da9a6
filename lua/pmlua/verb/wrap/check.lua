-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap check`: each declared function against the libraries.

local out = require "pmlua.internal.wrap.say"
local say, complain = out.say, out.complain

local M = {
  summary = "list the functions that no library has, and those that link without one",
  arguments = { { name = "DIR", key = "dir", kind = "dir", optional = true, one = "folder" } },
  about = [[
Checks for every function that the headers declare whether the libraries have it, and whether it links without them. Prints
both lists, what else is left out and why, and the filter entries that would exclude the listed functions.]],
  options = {
    { name = "fix", help = "append these entries to the filter" },
  },
  notes = "Exit status 1 while there is something to fix.",
  examples = { { "pmlua wrap check wrap-zlib --fix", needs = { "libclang" } } },
}

local function list(what, functions, why)
  say(("%s: %d"):format(what, #functions))
  for _, f in ipairs(functions) do say("  " .. f.title .. (why and ": " .. f.why or "")) end
end

---@return integer status
function M.run(o)
  local check, folder = require "pmlua.internal.wrap.check", require "pmlua.internal.wrap.folder"
  local plan = require "pmlua.internal.wrap.plan"
  local cfg, missing = folder.load(o.dir or ".")
  if not cfg then return complain(missing) end
  local made, refused = folder.make(cfg.build)
  if not made then return complain(refused) end
  local p, err = plan.make(cfg)
  if not p then return complain(err) end
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
  list("link without the libraries, too", p.foreign)
  if #p.missing + #p.foreign == 0 then return 0 end
  if not o.fix then
    say("these entries of " .. cfg.filter .. " exclude them (--fix appends them):")
    say((check.entries(p):gsub("\n$", "")))
    return 1
  end
  local fixed, wrong = check.fix(cfg, p)
  if not fixed then return complain(wrong) end
  say(("%d entries appended to %s"):format(#p.missing + #p.foreign, cfg.filter))
  return 0
end

return M
